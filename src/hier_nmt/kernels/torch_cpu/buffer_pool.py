# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Buffers that are reused from call to call, where fresh memory would cost more than the arithmetic."""

import math
import threading

import torch

# A buffer of more bytes is freed after the call instead of kept.
LARGEST_KEPT = 24 * 2**20
# Such a buffer has at least so many bytes (what is never written takes no memory): smaller ones might stay with the
# process, because glibc's malloc may keep what has up to 32 MiB.
SMALLEST_RELEASED = 33 * 2**20


class BufferPool:
    """Named buffers, each made at its first use and made again only where it is too small.

    Args:
        like: tensor whose type and device the buffers have.

    Attributes:
        dtype: their type.
    """

    def __init__(self, like: torch.Tensor):
        self.dtype = like.dtype
        self._device = like.device
        self._buffers: dict[tuple[str, torch.dtype], torch.Tensor] = {}

    def take(self, name: str, *shape: int, dtype: torch.dtype | None = None) -> torch.Tensor:
        """An uninitialised tensor of the shape; it holds until the same name and type are taken again.

        Args:
            name: of the buffer.
            shape: of the tensor.
            dtype: if it is not that of `like`.
        """
        size, dtype = math.prod(shape), dtype or self.dtype
        buffer = self._buffers.get((name, dtype))
        if buffer is None or len(buffer) < size:
            is_kept = size * dtype.itemsize <= LARGEST_KEPT or self._device.type != "cpu"
            length = size if is_kept else max(size, SMALLEST_RELEASED // dtype.itemsize)
            # A tensor made in inference mode could not be written to outside.
            with torch.inference_mode(False):
                buffer = torch.empty(length, dtype=dtype, device=self._device)
            self._buffers[name, dtype] = buffer
        return buffer[:size].view(shape)

    def release(self) -> None:
        """Frees the large buffers, at the end of a call."""
        self._buffers = {name: buffer for name, buffer in self._buffers.items() if buffer.nbytes <= LARGEST_KEPT}


_kept = threading.local()


def thread_buffers(like: torch.Tensor) -> BufferPool:
    """The buffers of this thread for tensors like this one, whose buffers outlive the call.

    On a processor every fresh page of memory costs more than the arithmetic on it. Devices get a new buffers, because
    their allocators keep memory themselves. Nothing in it may be needed after the function that took it has returned.
    """
    if like.device.type != "cpu":
        return BufferPool(like)
    pools = _kept.__dict__.setdefault("pools", {})
    return pools.setdefault(like.dtype, BufferPool(like))


def release_thread_buffers() -> None:
    """Frees the buffers that this thread keeps for the next call."""
    _kept.__dict__.clear()
