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


class ChunkPlan(NamedTuple):
    """Blocks that are computed together.

    Attributes:
        blocks: their indices.
        slots: the indices of their slots.
        num_queries: L, the number of slots of each block.
        longest: W.
    """

    blocks: slice
    slots: slice
    num_queries: int
    longest: int


@dataclass(frozen=True)
class Blocks:
    """Which queries read which sentences, for some of the heads.

    Attributes:
        row: query in each slot [slots], int32; arbitrary in empty slots.
        group: sentence and head of each block [M], `rank * H' + head`; the blocks of a group are adjacent. On the CPU.
        is_divided: whether any group has several blocks.
        start: where the tokens of a block's sentence begin in `RankedSentences.keys` [M].
        length: number of these tokens [M].
        offset: what to add to a block's `RankedSentences.keys` [M] to get the rows of its keys in [B * H * K, E].
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
    num_key_heads: int,
    *,
    first_head: int = 0,
    num_queries: int | None = None,
) -> Blocks:
    """The blocks for queries that read the sentences `numbers` [B, H', Q, C].

    Args:
        numbers: ids of the sentences; 0 is none.
        ranked: the tokens of the sentences.
        num_key_heads: H, the number of heads of the keys.
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
        most = (chunk_size(NUMBERS_AT_ONCE, device) // length.clamp_min(1)).clamp_min_(1)
        num_blocks = (count + most - 1) // most
        size = (count + num_blocks - 1) // num_blocks.clamp_min(1)
    else:
        num_blocks = (count + num_queries - 1) // num_queries
        size = torch.full_like(count, num_queries)

    # In the order of the work: by length class, then by size. Groups that no query reads have no blocks.
    length_class = torch.searchsorted(torch.tensor(LENGTH_CLASSES, device=count.device), length.to(torch.float32))
    order = (length_class * (num_pairs + 1) + size).argsort()
    place = torch.empty_like(order).scatter_(0, order, torch.arange(num_groups, device=count.device))
    place = copy_to_device(functional.pad(place, (0, num_heads), value=num_groups), device)
    pair = place.index_select(0, group_of_pair).sort().indices
    num_blocks = num_blocks[order]
    index = torch.repeat_interleave(num_blocks)
    group = order[index]
    place_in_group = torch.arange(len(group), device=count.device) - (num_blocks.cumsum(0) - num_blocks)[index]
    size = size[group]
    filled = (count[group] - place_in_group * size).clamp_min_(0).minimum(size)
    if num_queries is None:
        chunks = plan_chunks(length[group], length_class[group], size, chunk_size(NUMBERS_AT_ONCE, device))
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
    num_keys = len(ranked.keys) // batch_size
    offset = (ranked.row[rank] * (num_key_heads - 1) + head + first_head) * num_keys
    return Blocks(
        row=(slot_pair // num_choices).clamp_max_(num_pairs // num_choices - 1).int(),
        group=group,
        is_divided=bool((num_blocks > 1).any()),
        start=copy_to_device(ranked.start[rank], device),
        length=copy_to_device(ranked.length[rank], device),
        offset=copy_to_device(offset, device),
        slot=torch.empty_like(slot).scatter_(0, pair, slot).view(-1, num_choices).int(),
        chunks=chunks,
    )


def plan_chunks(
    length: torch.Tensor, length_class: torch.Tensor, size: torch.Tensor, numbers_at_once: int
) -> list[ChunkPlan]:
    """Chunks of blocks, each of one length class and small enough to be computed at a time.

    Args:
        length: number of tokens of each block [M].
        length_class: its length class [M], ascending.
        size: its number of queries [M], ascending within a class.
        numbers_at_once: elements of the largest temporary tensor of a chunk.
    """
    if not len(size):
        return []
    of_class = torch.unique_consecutive(length_class, return_counts=True)[1]
    index = torch.repeat_interleave(of_class)
    longest = torch.zeros_like(of_class).scatter_reduce_(0, index, length, "amax")
    sizes = size.tolist()
    chunks: list[ChunkPlan] = []
    start = slot = 0
    for count, long in torch.stack([of_class, longest], dim=1).tolist():
        end = start + count
        slots_at_once = numbers_at_once // max(long, 32)
        while start < end:
            stop = min(start + max(slots_at_once // sizes[start], 1), end)
            # The last block is the largest.
            stop = min(start + max(slots_at_once // sizes[stop - 1], 1), stop)
            num_queries = sizes[stop - 1]
            slots = slice(slot, slot + (stop - start) * num_queries)
            chunks.append(ChunkPlan(slice(start, stop), slots, num_queries, long))
            start, slot = stop, slots.stop
    return chunks


class Chunk(NamedTuple):
    """Some blocks, ready to be computed.

    Attributes:
        blocks: their indices.
        slots: the indices of their slots.
        rows: row of each query in the flattened queries [m, L].
        keys: rows of the tokens [m, W] among the keys [B * H * K, E]; the number of rows where there is no token.
        attend_mask: boolean [m, W, L or 1].
    """

    blocks: slice
    slots: slice
    rows: torch.Tensor
    keys: torch.Tensor
    attend_mask: torch.Tensor

    def of_slots(self, states: torch.Tensor) -> torch.Tensor:
        """The chunk's part [m, L, ...] of the states of all slots [slots, ...]."""
        return states[self.slots].unflatten(0, self.rows.shape)


class Slab(NamedTuple):
    """The plan of some heads, made without their states.

    Attributes:
        blocks: which of their queries read which sentences.
        ranked: the tokens of all sentences.
        num_key_heads: H.
        num_keys: K.
        num_heads: H'.
        num_queries: Q.
        query_positions: index [Q] of each query among the keys, or None.
    """

    blocks: Blocks
    ranked: RankedSentences
    num_key_heads: int
    num_keys: int
    num_heads: int
    num_queries: int
    query_positions: torch.Tensor | None

    def chunks(self) -> Iterator[Chunk]:
        """The blocks, a few of one length class at a time."""
        return map(self._chunk, self.blocks.chunks)

    def _chunk(self, plan: ChunkPlan) -> Chunk:
        length, offset = (some[plan.blocks, None] for some in (self.blocks.length, self.blocks.offset))
        index = torch.arange(plan.longest, device=length.device)
        is_token = index < length
        places = (self.blocks.start[plan.blocks, None] + index).masked_fill_(~is_token, 0)
        tokens = self.ranked.keys[places]
        keys = (tokens + offset).masked_fill_(~is_token, len(self.ranked.keys) * self.num_key_heads)
        rows = self.blocks.row[plan.slots].view(-1, plan.num_queries)
        attend_mask = is_token[:, :, None]
        if self.query_positions is not None:
            positions = self.query_positions[rows % self.num_queries]
            attend_mask = attend_mask & ((tokens % self.num_keys)[..., None] <= positions[:, None, :])
        return Chunk(plan.blocks, plan.slots, rows, keys, attend_mask)
