# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""A cache in which a decoding step costs only what it adds. That of Transformers copies its whole content for every
token.

Dimensions: B batch, H heads, L cached tokens, E width.
"""

import torch
from transformers.cache_utils import DynamicCache, DynamicLayer, EncoderDecoderCache

INITIAL_CAPACITY = 64


class GrowingLayer(DynamicLayer):
    """Keys and values of one layer in buffers with spare capacity, which doubles when a buffer is full."""

    def __init__(self) -> None:
        super().__init__()
        self._storage: dict[str, torch.Tensor] = {}

    def update(  # type: ignore[override]
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: object, **kwargs: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """All keys and values [B, H, L, E], after appending those of the newest tokens."""
        if torch.is_grad_enabled() and (key_states.requires_grad or value_states.requires_grad):
            return super().update(key_states, value_states, *args, **kwargs)
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        keys = self._extended("keys", self.keys, key_states)
        values = self._extended("values", self.values, value_states)
        self.keys, self.values = keys, values
        return keys, values

    def reset(self) -> None:
        """Empties the layer. (In Transformers 5.4 the base class only sets its content to zero.)"""
        self.__init__()  # type: ignore[misc]

    def reorder_cache(self, beam_idx: torch.LongTensor) -> None:
        """Gives each beam the states of the beam that it continues; on a CPU, nothing is copied if all beams stay."""
        if self.keys is None or self.values is None:
            return
        # Reading this from a device would wait for the device.
        stay = beam_idx.device.type == "cpu" and torch.equal(beam_idx, torch.arange(len(beam_idx), device="cpu"))
        if not stay and self.get_seq_length() > 0:
            self.keys = self._reordered("keys", self.keys, beam_idx)
            self.values = self._reordered("values", self.values, beam_idx)

    def _extended(self, name: str, held: torch.Tensor | None, newest: torch.Tensor) -> torch.Tensor:
        """The cached states followed by the newest, in the buffer of that name."""
        num_held = 0 if held is None or not held.numel() else held.shape[-2]
        length = num_held + newest.shape[-2]
        buffer = self._storage.get(name)
        # Cropping or selecting may have replaced the states by a tensor outside of the buffer.
        is_elsewhere = held is not None and num_held > 0 and (buffer is None or held.data_ptr() != buffer.data_ptr())
        if buffer is None or buffer.shape[2] < length or buffer.shape[:2] != newest.shape[:2] or is_elsewhere:
            buffer = newest.new_empty(*newest.shape[:2], max(2 * length, INITIAL_CAPACITY), newest.shape[3])
            self._storage[name] = buffer
            if held is not None and num_held:
                buffer[:, :, :num_held] = held
        buffer[:, :, num_held:length] = newest
        return buffer[:, :, :length]

    def _reordered(self, name: str, held: torch.Tensor, beam_idx: torch.Tensor) -> torch.Tensor:
        """The rows of the cached states in another order, in a buffer of that name."""
        rows = beam_idx.to(held.device)
        buffer = held.new_empty(len(rows), held.shape[1], 2 * held.shape[2], held.shape[3])
        self._storage[name] = buffer
        reordered = buffer[:, :, : held.shape[2]]
        if rows.device.type != "cpu":
            return reordered.copy_(held.index_select(0, rows))
        # Row by row, so that no second copy of all is in memory.
        for row, origin in zip(reordered, rows.tolist(), strict=True):
            row.copy_(held[origin])
        return reordered


class SourceLayer(DynamicLayer):
    """Keys and values of the source, which all beams of a document share, so that nothing is reordered."""

    def reorder_cache(self, beam_idx: torch.LongTensor) -> None:
        """Changes nothing."""


def decoding_cache(num_layers: int) -> EncoderDecoderCache:
    """An empty cache for a decoder with this many layers."""
    target, source = DynamicCache(), DynamicCache()
    target.layers = [GrowingLayer() for _ in range(num_layers)]
    source.layers = [SourceLayer() for _ in range(num_layers)]
    return EncoderDecoderCache(target, source)
