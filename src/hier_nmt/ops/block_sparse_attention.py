# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Block-sparse attention, in time and memory linear in the number of blocks: each block of queries reads a few blocks.

Keys are gathered for a few blocks at a time, as many as fit into the processor's cache, and again in the backward pass,
so that neither all gathered keys nor all weights exist at once.

Dimensions: B batch, S tokens, H heads, E head width, R = B S H rows of states (and one more for places without a
token), U units (a block of a document in a head), m units at a time, b tokens of a block, L keys of a block, C blocks
it reads.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch.autograd.function import once_differentiable
from torch.nn import functional

from .big_bird_pattern import BigBirdPlan
from .numerics import chunk_size
from .selected_attention import UNREAD

# Elements of the largest temporary tensor of a step.
NUMBERS_AT_ONCE = 2**19


class Step(NamedTuple):
    """Units that are computed together.

    Attributes:
        units: their indices.
        queries: rows of their queries [m, b].
        keys: rows of the keys they read [m, L].
        attend_mask: boolean [m, 1 or b, L].
    """

    units: slice
    queries: torch.Tensor
    keys: torch.Tensor
    attend_mask: torch.Tensor


@dataclass(frozen=True)
class BlockUnits:
    """The units of a batch and what they read.

    Attributes:
        token_at: index [B, number of blocks * b] of the token at each position of a document; S where there is none.
        row, head, block: of each unit [U].
        blocks: the blocks it reads [U, C]; -1 for none.
        num_tokens: of each document [B].
        num_global: first tokens of the document that it reads too.
        block_size: b.
        is_causal: no query reads a later key.
        num_heads: H.
    """

    token_at: torch.Tensor
    row: torch.Tensor
    head: torch.Tensor
    block: torch.Tensor
    blocks: torch.Tensor
    num_tokens: torch.Tensor
    num_global: int
    block_size: int
    is_causal: bool
    num_heads: int

    @classmethod
    def from_plan(cls, plan: BigBirdPlan, layer_idx: int, num_heads: int, num_places: int) -> "BlockUnits":
        """The units of one layer.

        Args:
            plan: which tokens attend to which.
            layer_idx: index of the layer.
            num_heads: H.
            num_places: S.
        """
        pattern, num_blocks = plan.pattern, plan.num_blocks
        largest = max(-(-num_places // pattern.block_size), 1)
        all_blocks = torch.arange(largest, device=num_blocks.device).expand(len(num_blocks), -1)  # [B, X]
        window = pattern.window(all_blocks, num_blocks)[:, None].expand(-1, num_heads, -1, -1)
        random = pattern.random_blocks(all_blocks, num_blocks, layer_idx, num_heads)
        exists = (all_blocks < num_blocks[:, None])[:, None].expand(-1, num_heads, -1)  # [B, H, X]
        row, head, block = exists.nonzero().unbind(1)
        return cls(
            token_at(plan, num_places, max(largest * pattern.block_size, pattern.num_global)),
            row,
            head,
            block,
            torch.cat([window, random.expand(len(num_blocks), num_heads, largest, -1)], dim=-1)[exists],
            plan.num_tokens,
            pattern.num_global,
            pattern.block_size,
            pattern.is_causal,
            num_heads,
        )

    @property
    def num_keys(self) -> int:
        """L."""
        return self.num_global + self.blocks.shape[1] * self.block_size

    def steps(self, num_places: int) -> Iterator[Step]:
        """All units, a few at a time, with their rows among those of S = `num_places` tokens."""
        size = max(chunk_size(NUMBERS_AT_ONCE, self.row.device) // (self.block_size * self.num_keys), 1)
        for start in range(0, len(self.row), size):
            units = slice(start, min(start + size, len(self.row)))
            queries = self._positions(self.block[units, None])
            keys, is_read = self._keys(units)
            attend_mask = is_read[:, None]
            if self.is_causal:
                attend_mask = attend_mask & (keys[:, None] <= queries[..., None])
            yield Step(units, self._rows(units, queries, num_places), self._rows(units, keys, num_places), attend_mask)

    def _positions(self, blocks: torch.Tensor) -> torch.Tensor:
        """Positions [m, C b] of the tokens of the blocks [m, C]."""
        places = torch.arange(self.block_size, device=blocks.device)
        return (blocks[..., None] * self.block_size + places).flatten(1)

    def _keys(self, units: slice) -> tuple[torch.Tensor, torch.Tensor]:
        """Positions [m, L] of the keys that units read, and a boolean [m, L], True where there is a key to read."""
        in_blocks = self._positions(self.blocks[units])
        first = torch.arange(self.num_global, device=in_blocks.device).expand(len(in_blocks), -1)
        positions = torch.cat([first, in_blocks], dim=1)
        is_read = positions < self.num_tokens[self.row[units], None]
        # The global tokens are read once, before the blocks. Positions in missing blocks are negative.
        is_read[:, self.num_global :] &= in_blocks >= self.num_global
        return positions.clamp_min(0), is_read

    def _rows(self, units: slice, positions: torch.Tensor, num_places: int) -> torch.Tensor:
        """Rows of the tokens at these positions [m, L] of the units' documents."""
        row, head = self.row[units, None], self.head[units, None]
        index = self.token_at[row, positions]
        last = len(self.token_at) * num_places * self.num_heads
        return ((row * num_places + index) * self.num_heads + head).masked_fill(index == num_places, last)


def token_at(plan: BigBirdPlan, num_places: int, length: int) -> torch.Tensor:
    """Index [B, length] of the token at each position of a document; S = `num_places` where there is none."""
    positions = plan.key_positions[:, :num_places].masked_fill(~plan.is_visible[:, :num_places], length)
    index = torch.arange(num_places, device=positions.device).expand_as(positions)
    empty = positions.new_full((len(positions), length + 1), num_places)
    return empty.scatter(1, positions, index)[:, :length]


def blocked_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    units: BlockUnits,
    scaling: float,
    dropout: float = 0.0,
) -> torch.Tensor:
    """Attention output [B, S, H, E] of the units; zeros on padding.

    Args:
        query, key, value: [B, H, S, E].
        units: the units, and the blocks that they read.
        scaling: factor on query . key.
        dropout: probability on the attention weights.
    """
    shape = query.transpose(1, 2).shape
    rows = [states.transpose(1, 2).reshape(-1, query.shape[-1]) for states in (query, key, value)]
    return _BlockedAttention.apply(*rows, units, shape[1], scaling, dropout).view(shape)


class _BlockedAttention(torch.autograd.Function):
    """`blocked_attention` of states as rows [R, E]."""

    @staticmethod
    def forward(
        ctx: Any,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        units: BlockUnits,
        num_places: int,
        scaling: float,
        dropout: float,
    ) -> torch.Tensor:
        """Rows [R, E]."""
        dtype = torch.promote_types(query.dtype, torch.float32)
        output = query.new_zeros(len(query) + 1, query.shape[1])
        normalizers = torch.empty(len(units.row), units.block_size, 1, dtype=dtype, device=query.device)
        kept = []
        for step in units.steps(num_places):
            logits = _logits(_take(query, step.queries, dtype), _take(key, step.keys, dtype), step.attend_mask, scaling)
            normalizers[step.units] = logits.logsumexp(-1, keepdim=True)
            weights = logits.sub_(normalizers[step.units]).exp_()
            if dropout > 0.0:
                kept.append(torch.rand_like(weights) >= dropout)
                weights = weights * kept[-1] / (1 - dropout)
            attended = weights @ _take(value, step.keys, dtype)
            output[step.queries] = attended.to(output.dtype)
        ctx.save_for_backward(query, key, value, output[:-1], normalizers, *kept)
        ctx.units, ctx.num_places, ctx.scaling, ctx.dropout = units, num_places, scaling, dropout
        return output[:-1]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, output_gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """Gradients of the rows of queries, keys and values, [R, E] each."""
        query, key, value, output, normalizers, *kept = ctx.saved_tensors
        dtype = normalizers.dtype
        gradients = [query.new_zeros(len(query) + 1, query.shape[1], dtype=dtype) for _ in range(3)]
        expected = (output_gradient.to(dtype) * output.to(dtype)).sum(-1, keepdim=True)  # [R, 1]
        # The additional row, for places without a token, gets no gradient.
        output_gradient, expected = (functional.pad(part, (0, 0, 0, 1)) for part in (output_gradient, expected))
        for index, step in enumerate(ctx.units.steps(ctx.num_places)):
            queries, keys = _take(query, step.queries, dtype), _take(key, step.keys, dtype)
            weights = _logits(queries, keys, step.attend_mask, ctx.scaling).sub_(normalizers[step.units]).exp_()
            of_output = _take(output_gradient, step.queries, dtype)
            of_weights = of_output @ _take(value, step.keys, dtype).mT
            dropped = weights
            if kept:
                factors = kept[index] / (1 - ctx.dropout)
                of_weights, dropped = of_weights * factors, weights * factors
            _add(gradients[2], step.keys, dropped.mT @ of_output)
            of_logits = of_weights.sub_(_take(expected, step.queries, dtype)).mul_(weights).mul_(ctx.scaling)
            gradients[0][step.queries] = of_logits @ keys
            _add(gradients[1], step.keys, of_logits.mT @ queries)
        inputs = (query, key, value)
        return *(g[:-1].to(states.dtype) for g, states in zip(gradients, inputs, strict=True)), None, None, None, None


def _take(states: torch.Tensor, rows: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The rows [m, L, E] of states [R, E] or more; where there is no token, some other row, which has no effect."""
    return states.index_select(0, rows.flatten().clamp_max(len(states) - 1)).to(dtype).view(*rows.shape, -1)


def _add(total: torch.Tensor, rows: torch.Tensor, states: torch.Tensor) -> None:
    """Adds states [m, L, E] to the rows [m, L] of the total."""
    total.index_add_(0, rows.flatten(), states.flatten(0, 1))


def _logits(queries: torch.Tensor, keys: torch.Tensor, attend_mask: torch.Tensor, scaling: float) -> torch.Tensor:
    """Logits [m, b, L], finite even where the mask excludes all keys."""
    return (queries @ keys.mT).mul_(scaling).masked_fill_(~attend_mask, UNREAD)
