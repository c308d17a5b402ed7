# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Buffers that are reused between calls, where fresh memory would cost more than the arithmetic."""

import math
import threading

import torch

# Larger buffers, in bytes, are freed after the call.
LARGEST_KEPT = 24 * 2**20
# Minimum size in bytes of a buffer that is freed, because glibc's malloc may keep freed blocks of up to 32 MiB. The
# part that is never written takes no memory.
SMALLEST_RELEASED = 33 * 2**20


class BufferPool:
    """Named buffers, each created on first use and replaced only if it is too small.

    Args:
        like: tensor with the dtype and the device of the buffers.

    Attributes:
        dtype: dtype of the buffers.
    """

    def __init__(self, like: torch.Tensor):
        self.dtype = like.dtype
        self._device = like.device
        self._buffers: dict[tuple[str, torch.dtype], torch.Tensor] = {}

    def take(self, name: str, *shape: int, dtype: torch.dtype | None = None) -> torch.Tensor:
        """An uninitialised tensor of this shape, valid until the same name and dtype are taken again.

        Args:
            name: of the buffer.
            shape: of the tensor.
            dtype: of the tensor; None: that of `like`.
        """
        size, dtype = math.prod(shape), dtype or self.dtype
        buffer = self._buffers.get((name, dtype))
        if buffer is None or len(buffer) < size:
            is_kept = size * dtype.itemsize <= LARGEST_KEPT or self._device.type != "cpu"
            length = size if is_kept else max(size, SMALLEST_RELEASED // dtype.itemsize)
            # A tensor created in inference mode could not be written outside of it.
            with torch.inference_mode(False):
                buffer = torch.empty(length, dtype=dtype, device=self._device)
            self._buffers[name, dtype] = buffer
        return buffer[:size].view(shape)

    def release(self) -> None:
        """Frees the large buffers, at the end of a call."""
        self._buffers = {name: buffer for name, buffer in self._buffers.items() if buffer.nbytes <= LARGEST_KEPT}


_kept = threading.local()


def thread_buffers(like: torch.Tensor) -> BufferPool:
    """This thread's buffers for tensors like this one; on a CPU they outlive the call.

    On a CPU, every fresh page of memory costs more than the arithmetic on it. Devices get new buffers, because their
    allocators keep memory themselves. A caller may not use a buffer after it has returned.
    """
    if like.device.type != "cpu":
        return BufferPool(like)
    pools = _kept.__dict__.setdefault("pools", {})
    return pools.setdefault(like.dtype, BufferPool(like))


def release_thread_buffers() -> None:
    """Frees the buffers that this thread keeps for the next call."""
    _kept.__dict__.clear()
