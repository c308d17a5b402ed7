# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which queries read which sentences, sorted into blocks of equal work: integers only.

The pairs of a query and a sentence that it reads are sorted by sentence (the shortest first) and head, and cut into
blocks of queries; next to nothing is padded.

Dimensions: B batch, H' heads at work, Q queries, K keys, N sentences, C sentences read per query (the own one
included), R = B H' Q rows, M blocks, m blocks of a chunk, L queries of a block, W words of the longest sentence of a
chunk.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch.nn import functional

# Queries of a block, where enough of them read the same sentence.
BLOCK_QUERIES = 64
# Numbers in the largest temporary of a chunk, which is to stay in the processor's cache.
NUMBERS_AT_ONCE = 2**18
# Sentences of a chunk are of one class of lengths: up to 8 words, up to 10, ... each a quarter longer than the last.
LENGTH_CLASSES = [8 * 2 ** (step / 3) for step in range(60)]


class SentenceWords(NamedTuple):
    """Where the words of each sentence of a batch are; its sentences are ranked by length, the shortest first.

    Attributes:
        rank: rank of each place [B * (1 + N)], a place being `row * (1 + N) + number`; B * (1 + N) for places without
            words and for number 0, the padding.
        start: where its words begin in `keys`, by rank [B * (1 + N)].
        length: its number of words, by rank [B * (1 + N)].
        row: its document, by rank [B * (1 + N)].
        keys: the words of all sentences [B * K], as `row * K + index`.
    """

    rank: torch.Tensor
    start: torch.Tensor
    length: torch.Tensor
    row: torch.Tensor
    keys: torch.Tensor


def find_words(key_sentence_ids: torch.Tensor) -> SentenceWords:
    """The words of the sentences numbered in `key_sentence_ids` [B, K] from 1; 0 is padding."""
    batch_size, _ = key_sentence_ids.shape
    num_numbers = int(key_sentence_ids.max()) + 1
    num_places = batch_size * num_numbers
    device = key_sentence_ids.device
    places = (key_sentence_ids + torch.arange(batch_size, device=device)[:, None] * num_numbers).flatten()
    keys = places.argsort(stable=True)
    count = torch.bincount(places, minlength=num_places)
    start = count.cumsum(0) - count
    count[::num_numbers] = 0  # padding
    length, place = count.sort(stable=True)
    rank = torch.empty_like(place).scatter_(0, place, torch.arange(num_places, device=device))
    return SentenceWords(rank.masked_fill_(count == 0, num_places), start[place], length, place // num_numbers, keys)


@dataclass(frozen=True)
class Blocks:
    """Which queries read which sentences, for some of the heads.

    Attributes:
        row: query in each slot [M, L], int32; the last where there is none.
        group: sentence and head of each block [M], `rank * H' + head`.
        start: where the words of its sentence begin in `SentenceWords.keys` [M].
        length: how many these are [M], ascending.
        offset: what turns a key's `row * K + index` into its row among the keys of the H' heads [M].
        slot: slot of each pair [R, C], M * L for pairs that name no sentence.
    """

    row: torch.Tensor
    group: torch.Tensor
    start: torch.Tensor
    length: torch.Tensor
    offset: torch.Tensor
    slot: torch.Tensor


def plan_blocks(numbers: torch.Tensor, words: SentenceWords, *, shortest: int = 1) -> Blocks:
    """The blocks, of so many queries at least, for the sentences `numbers` [B, H', Q, C] that these read (0: none)."""
    batch_size, num_heads, _, num_choices = numbers.shape
    num_places, num_pairs = len(words.rank), numbers.numel()
    device = numbers.device
    first_place = torch.arange(0, num_places, num_places // batch_size, device=device)[:, None, None, None]
    heads = torch.arange(num_heads, device=device)[:, None, None]
    rank = words.rank.index_select(0, (numbers + first_place).flatten()).view(numbers.shape)
    group, pair = rank.mul_(num_heads).add_(heads).flatten().sort()
    num_groups = num_places * num_heads
    count = torch.bincount(group, minlength=num_groups + num_heads)[:num_groups]
    length = max(choose_block_length(num_pairs, count), shortest)
    blocks = (count + length - 1) // length
    block_group = torch.repeat_interleave(blocks)
    num_slots = len(block_group) * length
    # Blocks are filled from the front, so a pair's slot lies behind its place in the order by the gaps before it.
    gaps = blocks * length - count
    gaps = functional.pad(gaps.cumsum(0) - gaps, (0, num_heads), value=num_slots)
    slot = gaps.index_select(0, group).add_(torch.arange(num_pairs, device=device)).clamp_max_(num_slots)
    slot_pair = torch.full((num_slots + 1,), num_pairs, device=device).scatter_(0, slot, pair)[:-1]
    block_rank, head = block_group // num_heads, block_group % num_heads
    num_keys = len(words.keys) // batch_size
    return Blocks(
        row=(slot_pair // num_choices).clamp_max_(num_pairs // num_choices - 1).int().view(-1, length),
        group=block_group,
        start=words.start[block_rank],
        length=words.length[block_rank],
        offset=(words.row[block_rank] * (num_heads - 1) + head) * num_keys,
        slot=torch.empty_like(slot).scatter_(0, pair, slot).view(-1, num_choices),
    )


def choose_block_length(num_pairs: int, count: torch.Tensor) -> int:
    """Number of queries of a block: no more than fill it on average, with `count` pairs in each group."""
    num_groups = int((count > 0).sum())
    if num_pairs >= BLOCK_QUERIES // 2 * num_groups:
        return BLOCK_QUERIES
    return BLOCK_QUERIES // 4 if num_pairs >= BLOCK_QUERIES // 8 * num_groups else 1


class Chunk(NamedTuple):
    """Some blocks of sentences of about the same length, ready to be multiplied.

    Attributes:
        blocks: which blocks they are.
        rows: row of each query in the flattened queries [m, L].
        keys: rows of the words in the flattened keys [m, W]; the number of keys where there is none.
        may_look: boolean [m, W, L or 1], or None where all is to be seen.
    """

    blocks: slice
    rows: torch.Tensor
    keys: torch.Tensor
    may_look: torch.Tensor | None


class Slab(NamedTuple):
    """What is known of some heads before their states are.

    Attributes:
        blocks: which of their queries read which sentences.
        words: of all sentences.
        num_heads: H'.
        num_queries: Q.
        num_keys: K.
        query_positions: index [Q] of each query among the keys, or None.
    """

    blocks: Blocks
    words: SentenceWords
    num_heads: int
    num_queries: int
    num_keys: int
    query_positions: torch.Tensor | None

    def chunks(self) -> Iterator[Chunk]:
        """The blocks, as many of one class of lengths at a time as the processor's cache holds."""
        lengths = self.blocks.length
        if not len(lengths):
            return
        bounds = torch.tensor(LENGTH_CLASSES, device=lengths.device)
        ends = torch.searchsorted(lengths.to(bounds.dtype), bounds, right=True)
        shortest = lengths[functional.pad(ends[:-1], (1, 0)).clamp_max(len(lengths) - 1)]
        longest = lengths[(ends - 1).clamp_min(0)]
        start = 0
        for end, short, long in torch.stack([ends, shortest, longest], dim=1).tolist():
            size = max(NUMBERS_AT_ONCE // (self.blocks.row.shape[1] * max(long, 32)), 1)
            size_of_words = max(NUMBERS_AT_ONCE // max(long, 32) // size, 1) * size
            for first in range(start, end, size_of_words):
                some = slice(first, min(first + size_of_words, end))
                words, keys, is_word = self._words(some, long, is_even=short == long)
                for place in range(some.start, some.stop, size):
                    blocks = slice(place, min(place + size, some.stop))
                    here = slice(place - first, blocks.stop - first)
                    may_look = None if is_word is None else is_word[here, :, None]
                    yield self._chunk(blocks, words[here], keys[here], may_look)
            start = end

    def _words(
        self, blocks: slice, longest: int, is_even: bool
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """For the words of some blocks [m, W]: `row * K + index`, their rows in the keys, and whether they are words.

        The last is None where all blocks have the same number of words.
        """
        index = torch.arange(longest, device=self.blocks.start.device)
        places = self.blocks.start[blocks, None] + index
        if is_even:
            words = self.words.keys[places]
            return words, words + self.blocks.offset[blocks, None], None
        is_word = index < self.blocks.length[blocks, None]
        words = self.words.keys[places.masked_fill_(~is_word, 0)]
        keys = (words + self.blocks.offset[blocks, None]).masked_fill_(~is_word, len(self.words.keys) * self.num_heads)
        return words, keys, is_word

    def _chunk(self, blocks: slice, words: torch.Tensor, keys: torch.Tensor, may_look: torch.Tensor | None) -> Chunk:
        rows = self.blocks.row[blocks]
        if self.query_positions is not None:
            is_past = (words % self.num_keys)[..., None] <= self.query_positions[rows % self.num_queries][:, None, :]
            may_look = is_past if may_look is None else is_past & may_look
        return Chunk(blocks, rows, keys, may_look)
