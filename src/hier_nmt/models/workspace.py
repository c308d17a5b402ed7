# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Memory that a loop uses again and again, where fresh memory would cost more than the arithmetic."""

import math

import torch


class Workspace:
    """Named buffers, each made at its first use and made again only where it is too small.

    Args:
        like: tensor whose type and device the buffers have.
    """

    def __init__(self, like: torch.Tensor):
        self._like = like
        self._buffers: dict[str, torch.Tensor] = {}

    def take(self, name: str, *shape: int, dtype: torch.dtype | None = None) -> torch.Tensor:
        """An uninitialised tensor of the shape; it holds until the same name is taken again.

        Args:
            name: of the buffer; always taken with the same type.
            shape: of the tensor.
            dtype: if it is not that of `like`.
        """
        size = math.prod(shape)
        buffer = self._buffers.get(name)
        if buffer is None or len(buffer) < size:
            buffer = self._buffers[name] = self._like.new_empty(size, dtype=dtype or self._like.dtype)
        return buffer[:size].view(shape)
