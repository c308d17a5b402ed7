# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""A cache in which a decoding step costs what it adds. Transformers' own copies all that it holds for every token.

Dimensions: B batch, H heads, L cached tokens, E width.
"""

import torch
from transformers.cache_utils import DynamicCache, DynamicLayer, EncoderDecoderCache

FIRST_ROOM = 64


class GrowingLayer(DynamicLayer):
    """Keys and values of one layer at the front of memory that has room for more; the room doubles when it is full."""

    def __init__(self) -> None:
        super().__init__()
        self._rooms: dict[str, torch.Tensor] = {}

    def update(  # type: ignore[override]
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: object, **kwargs: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """All keys and values [B, H, L, E], after taking up those of the newest tokens."""
        if torch.is_grad_enabled() and (key_states.requires_grad or value_states.requires_grad):
            return super().update(key_states, value_states, *args, **kwargs)
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        keys = self._extended("keys", self.keys, key_states)
        values = self._extended("values", self.values, value_states)
        self.keys, self.values = keys, values
        return keys, values

    def reset(self) -> None:
        """Holds nothing any more. (That of Transformers 5.4 would hold as much as before, all zero.)"""
        self.__init__()  # type: ignore[misc]

    def reorder_cache(self, beam_idx: torch.LongTensor) -> None:
        """Gives each beam what that of its origin has; on a processor, nothing is copied where all stay."""
        if self.keys is None or self.values is None:
            return
        # Whether all stay is not asked of a device, which would be waited for.
        stay = beam_idx.device.type == "cpu" and torch.equal(beam_idx, torch.arange(len(beam_idx), device="cpu"))
        if not stay and self.get_seq_length() > 0:
            self.keys = self._reordered("keys", self.keys, beam_idx)
            self.values = self._reordered("values", self.values, beam_idx)

    def _extended(self, name: str, held: torch.Tensor | None, newest: torch.Tensor) -> torch.Tensor:
        """What is held and the newest behind it, in the room of that name."""
        num_held = 0 if held is None or not held.numel() else held.shape[-2]
        length = num_held + newest.shape[-2]
        room = self._rooms.get(name)
        # Whoever cropped or selected what is held may have put other memory in its place.
        is_elsewhere = held is not None and num_held > 0 and (room is None or held.data_ptr() != room.data_ptr())
        if room is None or room.shape[2] < length or room.shape[:2] != newest.shape[:2] or is_elsewhere:
            room = newest.new_empty(*newest.shape[:2], max(2 * length, FIRST_ROOM), newest.shape[3])
            self._rooms[name] = room
            if held is not None and num_held:
                room[:, :, :num_held] = held
        room[:, :, num_held:length] = newest
        return room[:, :, :length]

    def _reordered(self, name: str, held: torch.Tensor, beam_idx: torch.Tensor) -> torch.Tensor:
        """The rows of what is held in another order, in a room of that name."""
        rows = beam_idx.to(held.device)
        room = held.new_empty(len(rows), held.shape[1], 2 * held.shape[2], held.shape[3])
        self._rooms[name] = room
        reordered = room[:, :, : held.shape[2]]
        if rows.device.type != "cpu":
            return reordered.copy_(held.index_select(0, rows))
        # Row by row, without memory for all of them in between.
        for row, origin in zip(reordered, rows.tolist(), strict=True):
            row.copy_(held[origin])
        return reordered


class SourceLayer(DynamicLayer):
    """Keys and values of the source, which all beams of a document share: there is nothing to reorder."""

    def reorder_cache(self, beam_idx: torch.LongTensor) -> None:
        """Leaves everything where it is."""


def decoding_cache(num_layers: int) -> EncoderDecoderCache:
    """An empty cache of a decoder of so many layers."""
    target, source = DynamicCache(), DynamicCache()
    target.layers = [GrowingLayer() for _ in range(num_layers)]
    source.layers = [SourceLayer() for _ in range(num_layers)]
    return EncoderDecoderCache(target, source)
