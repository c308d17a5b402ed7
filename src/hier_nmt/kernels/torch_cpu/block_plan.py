# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which queries read which sentences, and which of them are computed together: integers only.

The pairs of a query and a sentence that it reads are sorted by sentence and head. The pairs of one sentence and head
are a block, or several blocks of equal size if there are many. Blocks with similar numbers of tokens and queries are
computed together, which keeps padding low. Sentences and blocks are planned on the CPU, pairs on the device of the
states; the CPU waits for a device once, to learn how many queries read each sentence.

Dimensions: B batch, H' heads at work, Q queries, K keys, N sentences, C sentences read per query (the own one
included), R = B H' Q rows, M blocks, m blocks of a chunk, L queries of the largest block of a chunk, W tokens of its
longest sentence.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch.nn import functional

from ...ops.numerics import chunk_size
from .processor import copy_to_device

# Maximum number of queries in a block.
MOST_QUERIES = 1024
# Larger numbers of queries are rounded up to a multiple of this number, which makes products faster.
MULTIPLE = 8
# A chunk is divided if that saves more empty slots than this.
CHUNK_COST = 1024
# Elements of the largest temporary tensor of a chunk.
NUMBERS_AT_ONCE = 2**18
# The sentences of a chunk are of one length class: up to 8 tokens, up to 11, up to 16, ...
LENGTH_CLASSES = [8 * 2 ** (step / 2) for step in range(40)]


class RankedSentences(NamedTuple):
    """The tokens of each sentence of a batch, with the sentences ranked by length, the shortest first.

    Attributes:
        rank: rank of each sentence [B * (1 + N)], at the index `row * (1 + N) + id`; B * (1 + N) for sentences without
            tokens and for id 0, the padding.
        start: where the sentence's tokens begin in `keys`, by rank [B * (1 + N)]; on the CPU.
        length: its number of tokens, by rank [B * (1 + N)]; on the CPU.
        row: its document, by rank [B * (1 + N)]; on the CPU.
        keys: the tokens of all sentences [B * K], as `row * K + index`.
    """

    rank: torch.Tensor
    start: torch.Tensor
    length: torch.Tensor
    row: torch.Tensor
    keys: torch.Tensor


def rank_sentences(key_sentence_ids: torch.Tensor) -> RankedSentences:
    """The ranked sentences of keys with the ids `key_sentence_ids` [B, K], from 1; 0 is padding."""
    batch_size, _ = key_sentence_ids.shape
    num_numbers = int(key_sentence_ids.max()) + 1
    num_places = batch_size * num_numbers
    device = key_sentence_ids.device
    places = (key_sentence_ids + torch.arange(batch_size, device=device)[:, None] * num_numbers).flatten()
    keys = places.argsort(stable=True)
    count = counts(places, num_places).cpu()
    start = count.cumsum(0) - count
    count[::num_numbers] = 0  # padding
    length, place = count.sort(stable=True)
    rank = torch.empty_like(place).scatter_(0, place, torch.arange(num_places, device=count.device))
    rank.masked_fill_(count == 0, num_places)
    return RankedSentences(copy_to_device(rank, device), start[place], length, place // num_numbers, keys)


def counts(numbers: torch.Tensor, bound: int) -> torch.Tensor:
    """How often each integer below the bound occurs in `numbers` [L]: [bound]."""
    if numbers.device.type == "cpu":
        return torch.bincount(numbers, minlength=bound)
    # `bincount` reads the largest number, for which it would wait for the device.
    return numbers.new_zeros(bound).scatter_add_(0, numbers, torch.ones_like(numbers))


class RowOrder(NamedTuple):
    """The memory order of states [B, H, L, E] as rows [B * H * L, E].

    Attributes:
        num_heads: H.
        length: L.
        is_by_token: whether the heads of a token are adjacent, as after a projection; False: the tokens of a head are.
    """

    num_heads: int
    length: int
    is_by_token: bool = False

    @classmethod
    def of(cls, states: torch.Tensor) -> "RowOrder":
        """The order of these states [B, H, L, E]."""
        is_by_token = not states.is_contiguous() and states.transpose(1, 2).is_contiguous()
        return cls(states.shape[1], states.shape[2], is_by_token)

    def flatten(self, states: torch.Tensor) -> torch.Tensor:
        """The states [B, H, L, ...] as rows."""
        return (states.transpose(1, 2) if self.is_by_token else states).flatten(0, 2)

    def unflatten(self, rows: torch.Tensor) -> torch.Tensor:
        """The states [B, H, L, ...] of the rows."""
        if self.is_by_token:
            return rows.view(-1, self.length, self.num_heads, *rows.shape[1:]).transpose(1, 2)
        return rows.view(-1, self.num_heads, self.length, *rows.shape[1:])

    def offset(self, document: torch.Tensor, head: torch.Tensor) -> torch.Tensor:
        """The number to add to the `places` of tokens of these documents and heads to get their rows."""
        return head if self.is_by_token else (document * (self.num_heads - 1) + head) * self.length

    def places(self, tokens: torch.Tensor) -> torch.Tensor:
        """The rows of the tokens `document * L + index`, without their `offset`."""
        return tokens * self.num_heads if self.is_by_token else tokens


class ChunkPlan(NamedTuple):
    """Blocks that are computed together.

    Attributes:
        blocks: their indices.
        slots: the indices of their slots.
        num_queries: L, the number of slots of each block.
        longest: W.
        is_even: whether all of their sentences have W tokens.
    """

    blocks: slice
    slots: slice
    num_queries: int
    longest: int
    is_even: bool


@dataclass(frozen=True)
class Blocks:
    """Which queries read which sentences, for some of the heads.

    Attributes:
        row: query in each slot [slots], int32; arbitrary in empty slots.
        group: sentence and head of each block [M], `rank * H' + head`; the blocks of a group are adjacent. On the CPU.
        is_divided: whether any group has several blocks.
        start: where the tokens of a block's sentence begin in `RankedSentences.keys` [M].
        length: number of these tokens [M].
        offset: `RowOrder.offset` of a block's document and head [M].
        slot: slot of each pair [R, C], int32; the number of slots for pairs without a sentence.
        chunks: the blocks that are computed together, in order; empty if each block is computed alone.
    """

    row: torch.Tensor
    group: torch.Tensor
    is_divided: bool
    start: torch.Tensor
    length: torch.Tensor
    offset: torch.Tensor
    slot: torch.Tensor
    chunks: list[ChunkPlan]


def plan_blocks(
    numbers: torch.Tensor,
    ranked: RankedSentences,
    key_order: RowOrder,
    *,
    first_head: int = 0,
    num_queries: int | None = None,
) -> Blocks:
    """The blocks for queries that read the sentences `numbers` [B, H', Q, C].

    Args:
        numbers: ids of the sentences; 0 is none.
        ranked: the tokens of the sentences.
        key_order: memory order of the keys.
        first_head: the first of the heads at work.
        num_queries: number of slots of every block, if each block is computed alone; there are no chunks then. None: a
            block has as many slots as the largest block of its chunk needs.
    """
    batch_size, num_heads, _, num_choices = numbers.shape
    num_places, num_pairs = len(ranked.rank), numbers.numel()
    num_groups = num_places * num_heads
    device = numbers.device
    first_place = torch.arange(0, num_places, num_places // batch_size, device=device)[:, None, None, None]
    heads = torch.arange(num_heads, device=device)[:, None, None]
    rank = ranked.rank.index_select(0, (numbers + first_place).flatten()).view(numbers.shape)
    group_of_pair = rank.mul_(num_heads).add_(heads).flatten()
    count = counts(group_of_pair, num_groups + num_heads)[:num_groups].cpu()
    length = ranked.length.repeat_interleave(num_heads)
    if num_queries is None:
        most = (chunk_size(NUMBERS_AT_ONCE, device) // length.clamp_min(1)).clamp_(1, MOST_QUERIES)
        num_blocks = (count + most - 1) // most
        size = rounded_up((count + num_blocks - 1) // num_blocks.clamp_min(1))
    else:
        num_blocks = (count + num_queries - 1) // num_queries
        size = torch.full_like(count, num_queries)

    # In the order of the work: by length class, then by size. Groups that no query reads have no blocks.
    length_class = torch.searchsorted(torch.tensor(LENGTH_CLASSES, device=count.device), length.to(torch.float32))
    order = (length_class * (num_pairs + MULTIPLE) + size).argsort()
    place = torch.empty_like(order).scatter_(0, order, torch.arange(num_groups, device=count.device))
    place = narrowed(functional.pad(place, (0, num_heads), value=num_groups), num_groups + 1)
    place = copy_to_device(place, device)
    pair = place.index_select(0, group_of_pair).sort().indices
    num_blocks = num_blocks[order]
    index = torch.repeat_interleave(num_blocks)
    group = order[index]
    place_in_group = torch.arange(len(group), device=count.device) - (num_blocks.cumsum(0) - num_blocks)[index]
    size = size[group]
    filled = (count[group] - place_in_group * size).clamp_min_(0).minimum(size)
    if num_queries is None:
        chunks = plan_chunks(length[group], length_class[group], size, device)
        num_slots = chunks[-1].slots.stop if chunks else 0
        in_chunk = count.new_tensor([chunk.blocks.stop - chunk.blocks.start for chunk in chunks])
        slots = count.new_tensor([chunk.num_queries for chunk in chunks])
        slots = slots.repeat_interleave(in_chunk)
    else:
        chunks, slots, num_slots = [], size, len(group) * num_queries

    # A pair's slot is its place in the order plus the number of empty slots before it. The pairs after the last block
    # have no sentence.
    gaps = functional.pad((slots - filled).cumsum(0) - (slots - filled), (0, 1), value=num_slots)
    filled = torch.cat([filled, num_pairs - filled.sum(0, keepdim=True)])
    gaps, filled = copy_to_device(gaps, device), copy_to_device(filled, device)
    block = torch.repeat_interleave(filled, output_size=num_pairs)
    slot = gaps.index_select(0, block).add_(torch.arange(num_pairs, device=device)).clamp_max_(num_slots)
    slot_pair = torch.full((num_slots + 1,), num_pairs, device=device).scatter_(0, slot, pair)[:-1]
    rank, head = group // num_heads, group % num_heads
    return Blocks(
        row=(slot_pair // num_choices).clamp_max_(num_pairs // num_choices - 1).int(),
        group=group,
        is_divided=bool((num_blocks > 1).any()),
        start=copy_to_device(ranked.start[rank], device),
        length=copy_to_device(ranked.length[rank], device),
        offset=copy_to_device(key_order.offset(ranked.row[rank], head + first_head), device),
        slot=torch.empty_like(slot).scatter_(0, pair, slot).view(-1, num_choices).int(),
        chunks=chunks,
    )


def rounded_up(size: torch.Tensor) -> torch.Tensor:
    """The numbers of queries, rounded up to multiples of `MULTIPLE` above `2 * MULTIPLE`, for faster products."""
    return torch.where(size > 2 * MULTIPLE, (size + MULTIPLE - 1) // MULTIPLE * MULTIPLE, size)


def narrowed(numbers: torch.Tensor, bound: int) -> torch.Tensor:
    """The numbers, all below the bound, in the smallest dtype: sorting takes a third to a half of the time."""
    return numbers.to(torch.int16 if bound <= 2**15 else torch.int32 if bound <= 2**31 else torch.int64)


def plan_chunks(
    length: torch.Tensor, length_class: torch.Tensor, size: torch.Tensor, device: torch.device
) -> list[ChunkPlan]:
    """Chunks of blocks, each of one length class and small enough to be computed at a time.

    Args:
        length: number of tokens of each block [M].
        length_class: its length class [M], ascending.
        size: its number of queries [M], ascending within a class.
        device: where the chunks are computed.
    """
    if not len(size):
        return []
    of_class = torch.unique_consecutive(length_class, return_counts=True)[1]
    index = torch.repeat_interleave(of_class)
    longest = torch.zeros_like(of_class).scatter_reduce_(0, index, length, "amax")
    shortest = longest.scatter_reduce(0, index, length, "amin")
    sizes, chunk_cost = size.tolist(), chunk_size(CHUNK_COST, device)
    chunks: list[ChunkPlan] = []
    start = slot = 0
    for count, long, short in torch.stack([of_class, longest, shortest], dim=1).tolist():
        end = start + count
        slots_at_once = chunk_size(NUMBERS_AT_ONCE, device) // max(long, 32)
        while start < end:
            stop = min(start + max(slots_at_once // sizes[start], 1), end)
            # The last block is the largest.
            stop = min(start + max(slots_at_once // sizes[stop - 1], 1), stop)
            if (stop - start) * (sizes[stop - 1] - sizes[start]) > chunk_cost:
                saved, place = max(
                    ((place - start) * (sizes[stop - 1] - sizes[place - 1]), place) for place in range(start + 1, stop)
                )
                stop = place if saved > chunk_cost else stop
            num_queries = sizes[stop - 1]
            slots = slice(slot, slot + (stop - start) * num_queries)
            chunks.append(ChunkPlan(slice(start, stop), slots, num_queries, long, short == long))
            start, slot = stop, slots.stop
    return chunks


class Chunk(NamedTuple):
    """Some blocks, ready to be computed.

    Attributes:
        blocks: their indices.
        slots: the indices of their slots.
        rows: row of each query in the flattened queries [m, L].
        keys: rows of the tokens [m, W] in the order of `RowOrder`; the number of rows where there is no token.
        attend_mask: boolean [m, W, L or 1], or None if nothing is masked.
    """

    blocks: slice
    slots: slice
    rows: torch.Tensor
    keys: torch.Tensor
    attend_mask: torch.Tensor | None

    def of_slots(self, states: torch.Tensor) -> torch.Tensor:
        """The chunk's part [m, L, ...] of the states of all slots [slots, ...]."""
        return states[self.slots].unflatten(0, self.rows.shape)


class Slab(NamedTuple):
    """The plan of some heads, made without their states.

    Attributes:
        blocks: which of their queries read which sentences.
        ranked: the tokens of all sentences.
        key_order: memory order of the keys.
        num_heads: H'.
        num_queries: Q.
        query_positions: index [Q] of each query among the keys, or None.
    """

    blocks: Blocks
    ranked: RankedSentences
    key_order: RowOrder
    num_heads: int
    num_queries: int
    query_positions: torch.Tensor | None

    def chunks(self) -> Iterator[Chunk]:
        """The blocks, a few of one length class at a time."""
        plans = self.blocks.chunks
        most_tokens = chunk_size(NUMBERS_AT_ONCE, self.blocks.start.device)
        known_until = first = 0
        for place, plan in enumerate(plans):
            if plan.blocks.start >= known_until:
                # The tokens of the following chunks are looked up at the same time.
                first = plan.blocks.start
                for following in plans[place:]:
                    num_tokens = (following.blocks.stop - first) * plan.longest
                    if following.longest != plan.longest or (following is not plan and num_tokens > most_tokens):
                        break
                    known_until = following.blocks.stop
                ranked, keys, is_token = self._tokens(slice(first, known_until), plan.longest, plan.is_even)
            here = slice(plan.blocks.start - first, plan.blocks.stop - first)
            attend_mask = None if is_token is None else is_token[here, :, None]
            yield self._chunk(plan, ranked[here], keys[here], attend_mask)

    def _tokens(
        self, blocks: slice, longest: int, is_even: bool
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """The tokens of some blocks [m, W]: as `row * K + index`, as rows of the keys, and which places hold a token.

        The last is None if all blocks have the same number of tokens.
        """
        index = torch.arange(longest, device=self.blocks.start.device)
        places = self.blocks.start[blocks, None] + index
        if is_even:
            ranked = self.ranked.keys[places]
            return ranked, self.key_order.places(ranked) + self.blocks.offset[blocks, None], None
        is_token = index < self.blocks.length[blocks, None]
        ranked = self.ranked.keys[places.masked_fill_(~is_token, 0)]
        keys = self.key_order.places(ranked) + self.blocks.offset[blocks, None]
        keys.masked_fill_(~is_token, len(self.ranked.keys) * self.key_order.num_heads)
        return ranked, keys, is_token

    def _chunk(
        self, plan: ChunkPlan, ranked: torch.Tensor, keys: torch.Tensor, attend_mask: torch.Tensor | None
    ) -> Chunk:
        rows = self.blocks.row[plan.slots].view(-1, plan.num_queries)
        if self.query_positions is not None:
            positions = self.query_positions[rows % self.num_queries]
            is_past = (ranked % self.key_order.length)[..., None] <= positions[:, None, :]
            attend_mask = is_past if attend_mask is None else is_past & attend_mask
        return Chunk(plan.blocks, plan.slots, rows, keys, attend_mask)
