# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Attention to selected sentences in time and memory linear in the number of selected tokens.

The score that is added is the same for all tokens of a sentence, so attention over the selected sentences is a merge of
plain attentions inside each of them. The pairs of a query and a sentence that it reads are sorted by sentence (the
shortest first) and head, and cut into blocks of queries, so that all work is multiplications of small matrices, and
next to nothing is padded. The backward pass computes the weights anew from the merged normaliser.

Dimensions: B batch, H heads, Q queries, K keys, E head width, N sentences, C sentences read per query (the own one
included), R = B H' Q rows (queries of the H' heads at work), M blocks, m blocks of a chunk, L queries of a block, W
words of the longest sentence of a chunk.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch.nn import functional

from .workspace import Workspace

# Queries of a block, where enough of them read the same sentence.
BLOCK_QUERIES = 32
# Numbers in the largest temporary of a chunk, which is to stay in the processor's cache.
NUMBERS_AT_ONCE = 2**18
# Pairs that are planned at one time.
PAIRS_AT_ONCE = 2**16
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
    is_sentence = (torch.arange(num_places, device=device) % num_numbers > 0) & (count > 0)
    length, place = (count * is_sentence).sort(stable=True)
    rank = torch.empty_like(place).scatter_(0, place, torch.arange(num_places, device=device))
    return SentenceWords(rank.masked_fill(~is_sentence, num_places), start[place], length, place // num_numbers, keys)


@dataclass(frozen=True)
class Blocks:
    """Which queries read which sentences, for some of the heads.

    Attributes:
        row: query in each slot [M, L]; 0 where there is none.
        pair: pair in each slot [M, L], `row * C + choice`; R * C where there is none.
        group: sentence and head of each block [M], `rank * H' + head`.
        start: where the words of its sentence begin in `SentenceWords.keys` [M].
        length: how many these are [M], ascending.
        offset: what turns a key's `row * K + index` into its row among the keys of the H' heads [M].
        slot: slot of each pair [R, C], M * L for pairs that name no sentence.
    """

    row: torch.Tensor
    pair: torch.Tensor
    group: torch.Tensor
    start: torch.Tensor
    length: torch.Tensor
    offset: torch.Tensor
    slot: torch.Tensor


def plan_blocks(numbers: torch.Tensor, words: SentenceWords) -> Blocks:
    """The blocks for the sentences `numbers` [B, H', Q, C] that the queries read (0: none)."""
    batch_size, num_heads, _, num_choices = numbers.shape
    num_places = len(words.rank)
    device = numbers.device
    first_place = torch.arange(0, num_places, num_places // batch_size, device=device)[:, None, None, None]
    heads = torch.arange(num_heads, device=device)[:, None, None]
    group, pair = (words.rank[numbers + first_place] * num_heads + heads).flatten().sort()
    num_groups = num_places * num_heads
    count = torch.bincount(group, minlength=num_groups + num_heads)[:num_groups]
    length = choose_block_length(len(group), count)
    blocks = (count + length - 1) // length
    # Blocks are filled from the front, so a pair's slot lies behind its place in the order by the gaps before it.
    gaps = (blocks * length - count).cumsum(0) - (blocks * length - count)
    block_group = torch.repeat_interleave(blocks)
    num_slots = len(block_group) * length
    slot = torch.arange(len(group), device=device) + functional.pad(gaps, (0, num_heads))[group]
    slot = slot.masked_fill(group >= num_groups, num_slots)
    slot_pair = torch.full((num_slots + 1,), numbers.numel(), device=device).scatter_(0, slot, pair)[:-1]
    rank, head = block_group // num_heads, block_group % num_heads
    num_keys = len(words.keys) // batch_size
    return Blocks(
        row=(slot_pair // num_choices).masked_fill_(slot_pair == numbers.numel(), 0).view(-1, length),
        pair=slot_pair.view(-1, length),
        group=block_group,
        start=words.start[rank],
        length=words.length[rank],
        offset=(words.row[rank] * (num_heads - 1) + head) * num_keys,
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
            for first in range(start, end, size):
                yield self._chunk(slice(first, min(first + size, end)), long, is_even=short == long)
            start = end

    def _chunk(self, blocks: slice, longest: int, is_even: bool) -> Chunk:
        rows = self.blocks.row[blocks]
        index = torch.arange(longest, device=rows.device)
        words = self.blocks.start[blocks, None] + index
        is_word, may_look = None, None
        if not is_even:
            is_word = index < self.blocks.length[blocks, None]
            words, may_look = words.masked_fill_(~is_word, 0), is_word[..., None]
        words = self.words.keys[words]
        keys = words + self.blocks.offset[blocks, None]
        if is_word is not None:
            keys.masked_fill_(~is_word, len(self.words.keys) * self.num_heads)
        if self.query_positions is not None:
            is_past = (words % self.num_keys)[..., None] <= self.query_positions[rows % self.num_queries][:, None, :]
            may_look = is_past if may_look is None else is_past & may_look
        return Chunk(blocks, rows, keys, may_look)


class Dropout(NamedTuple):
    """Dropout on attention weights, whose choices can be made again in the backward pass.

    Attributes:
        probability: of a weight to be dropped; 0 draws nothing.
        seed: of the choices.
    """

    probability: float
    seed: int

    def of_heads(self, first_head: int) -> "Dropout":
        """The same with choices of its own for the slab that begins with this head."""
        return self._replace(seed=self.seed + (first_head << 32))

    def factors(self, weights: torch.Tensor, chunk: Chunk) -> torch.Tensor:
        """0 or 1 / (1 - probability) for each of the chunk's weights [m, W, L]."""
        generator = torch.Generator(weights.device).manual_seed(self.seed + chunk.blocks.start)
        kept = torch.rand(weights.shape, generator=generator, device=weights.device) >= self.probability
        return kept.to(weights.dtype) / (1.0 - self.probability)


class Arithmetic(NamedTuple):
    """Gathering and multiplying in memory that is used again for every chunk.

    Attributes:
        states: workspace of the type of the states.
        sums: workspace of the type of the scores, in which sums are kept.
    """

    states: Workspace
    sums: Workspace

    def gather(self, name: str, states: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """The rows [..., E] that `rows` names in `states` [L, E]."""
        target = self.states.take(name, rows.numel(), states.shape[1])
        torch.index_select(states, 0, rows.flatten(), out=target)
        return target.view(*rows.shape, -1)

    def multiply(self, name: str, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        """The products of matrices [m, a, b] and [m, b, c]."""
        return torch.bmm(left, right, out=self.states.take(name, len(left), left.shape[1], right.shape[2]))

    def multiply_into(self, target: torch.Tensor, left: torch.Tensor, right: torch.Tensor) -> None:
        """Writes the products of matrices [m, a, b] and [m, b, c] to `target`."""
        if target.dtype == left.dtype:
            torch.bmm(left, right, out=target)
        else:
            target.copy_(self.multiply("product", left, right))

    def logits(self, chunk: Chunk, query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
        """Logits [m, W, L] of the words [m, W, E] for the queries [m, L, E]: words first, which multiplies faster."""
        logits = self.multiply("logits", key, query.transpose(1, 2))
        return logits if chunk.may_look is None else logits.masked_fill_(~chunk.may_look, -torch.inf)


def attend_slab(
    slab: Slab,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    scores: torch.Tensor,
    dropout: Dropout,
    arithmetic: Arithmetic,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Outputs [R, E], and the logarithm of the sum of exponentials [R] of what each row read.

    Args:
        slab: the plan.
        query: scaled queries [R, E].
        key, value: [B * H' * K, E].
        scores: added scores [R, C].
        dropout: on the weights.
        arithmetic: does the work.
    """
    num_blocks, length = slab.blocks.row.shape
    # One slot more than there are: that of pairs which name no sentence.
    outputs = arithmetic.sums.take("slots", num_blocks * length + 1, value.shape[1])
    largest, total = arithmetic.sums.take("slot sums", 2, num_blocks * length + 1)
    outputs[-1], largest[-1], total[-1] = 0.0, -torch.inf, 0.0
    by_block = [slots[:-1].unflatten(0, (num_blocks, length)) for slots in (outputs, largest, total)]
    for chunk in slab.chunks():
        keys = chunk.keys if chunk.may_look is None else chunk.keys.clamp_max(len(key) - 1)
        queries, some_keys = arithmetic.gather("queries", query, chunk.rows), arithmetic.gather("keys", key, keys)
        logits = arithmetic.logits(chunk, queries, some_keys)
        most = logits.amax(1, keepdim=True).clamp_min_(torch.finfo(logits.dtype).min)
        weights = logits.sub_(most).exp_()
        by_block[1][chunk.blocks], by_block[2][chunk.blocks] = most[:, 0], weights.sum(1, dtype=scores.dtype)
        if dropout.probability > 0.0:
            weights = weights * dropout.factors(weights, chunk)
        values = arithmetic.gather("values", value, keys)
        arithmetic.multiply_into(by_block[0][chunk.blocks], weights.transpose(1, 2), values)
    return merge(slab.blocks.slot, outputs, largest, total, scores)


def merge(
    slot: torch.Tensor, outputs: torch.Tensor, largest: torch.Tensor, total: torch.Tensor, scores: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Outputs [R, E] and normalisers [R] of the rows from those of their slots.

    Args:
        slot: slot of each pair [R, C].
        outputs: sums of exp(logit - largest) value [slots, E].
        largest: largest logit [slots], before the added score.
        total: sums of exp(logit - largest) [slots].
        scores: added scores [R, C].
    """
    logits = scores + largest[slot]
    most = logits.amax(-1, keepdim=True).clamp_min_(torch.finfo(scores.dtype).min)
    factors = logits.sub_(most).exp_()
    sums = (factors * total[slot]).sum(-1, keepdim=True)
    # A row that reads nothing has a sum of 0, and gets zeros.
    factors /= sums.clamp_min(torch.finfo(scores.dtype).tiny)
    merged = functional.embedding_bag(slot, outputs, mode="sum", per_sample_weights=factors)
    return merged, torch.where(sums > 0, most + sums.log(), torch.inf)[:, 0]


class SlabStates(NamedTuple):
    """Forward and backward states of a slab: query (scaled), output and grad_output [R, E], key and value
    [B * H' * K, E], scores [R, C], normaliser [R]."""

    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    scores: torch.Tensor
    output: torch.Tensor
    normaliser: torch.Tensor
    grad_output: torch.Tensor


class SlabGradients(NamedTuple):
    """Gradients of a slab's query (scaled) [R, E], key and value [B * H' * K, E] and scores [R, C]."""

    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    scores: torch.Tensor


def slab_gradients(slab: Slab, states: SlabStates, dropout: Dropout, arithmetic: Arithmetic) -> SlabGradients:
    """The gradients of `attend_slab`, with the weights computed anew from what it gave."""
    query, key, value, scores, output, normaliser, grad_output = states
    num_blocks, length = slab.blocks.row.shape
    delta = (grad_output * output).sum(-1, dtype=scores.dtype)  # [R]
    shift = functional.pad((scores - normaliser[:, None]).flatten(), (0, 1), value=-torch.inf)  # [R C + 1]
    grad_query = arithmetic.sums.take("slots", num_blocks * length + 1, query.shape[1])
    grad_scores = arithmetic.sums.take("slot sums", num_blocks * length + 1)
    grad_query[-1], grad_scores[-1] = 0.0, 0.0
    by_block = [slots[:-1].unflatten(0, (num_blocks, length)) for slots in (grad_query, grad_scores)]
    # The row behind the last takes what the words behind a shorter sentence's end would get.
    grad_key, grad_value = arithmetic.sums.take("keys", 2, len(key) + 1, key.shape[1]).zero_()
    for chunk in slab.chunks():
        keys = chunk.keys if chunk.may_look is None else chunk.keys.clamp_max(len(key) - 1)
        queries, some_keys = arithmetic.gather("queries", query, chunk.rows), arithmetic.gather("keys", key, keys)
        values, grads = arithmetic.gather("values", value, keys), arithmetic.gather("grads", grad_output, chunk.rows)
        logits = arithmetic.logits(chunk, queries, some_keys)
        weights = logits.add_(shift[slab.blocks.pair[chunk.blocks]][:, None, :]).exp_()
        grad_weights = arithmetic.multiply("grad weights", values, grads.transpose(1, 2))
        read = weights
        if dropout.probability > 0.0:
            factors = dropout.factors(weights, chunk)
            read, grad_weights = weights * factors, grad_weights.mul_(factors)
        grad_logits = grad_weights.sub_(delta[chunk.rows][:, None, :]).mul_(weights)
        by_block[1][chunk.blocks] = grad_logits.sum(1, dtype=scores.dtype)
        arithmetic.multiply_into(by_block[0][chunk.blocks], grad_logits.transpose(1, 2), some_keys)
        word_values = arithmetic.multiply("grad values", read, grads)
        word_keys = arithmetic.multiply("grad keys", grad_logits, queries)
        add_sums(slab, chunk, [(grad_value, word_values), (grad_key, word_keys)])
    return SlabGradients(
        functional.embedding_bag(slab.blocks.slot, grad_query, mode="sum"),
        grad_key[:-1],
        grad_value[:-1],
        grad_scores[slab.blocks.slot],
    )


def add_sums(slab: Slab, chunk: Chunk, parts: list[tuple[torch.Tensor, torch.Tensor]]) -> None:
    """Adds, for each (total [rows, E], blocks [m, W, E]), the sums over the blocks of equal sentence and head."""
    count = torch.unique_consecutive(slab.blocks.group[chunk.blocks], return_counts=True)[1]
    starts = count.cumsum(0) - count
    numbers = torch.arange(len(chunk.keys), device=count.device)
    rows = chunk.keys[starts].flatten()
    for total, blocks in parts:
        sums = functional.embedding_bag(numbers, blocks.flatten(1).to(total.dtype), starts, mode="sum")
        # Within one chunk no row occurs twice (but for the one behind the last).
        total.index_copy_(0, rows, total.index_select(0, rows) + sums.view(len(rows), -1))


class GroupedAttention(torch.autograd.Function):
    """`grouped_attention`, one slab of heads after the other, with a backward that holds no weights."""

    @staticmethod
    def forward(ctx, query, key, value, scores, numbers, words, query_positions, scaling, dropout):  # type: ignore[no-untyped-def]
        """Output [B, H, Q, E]."""
        output = torch.empty(query.shape, dtype=query.dtype, device=query.device)
        normaliser = scores.new_empty(scores.shape[:3])
        arithmetic = Arithmetic(Workspace(query), Workspace(scores))
        slabs = []
        for heads in head_slabs(numbers):
            some = numbers[:, heads]
            blocks = plan_blocks(some, words)
            slabs.append(Slab(blocks, words, some.shape[1], some.shape[2], key.shape[2], query_positions))
            flat_query, flat_key, flat_value, flat_scores = flat_rows(heads, query, key, value, scores)
            of_heads = dropout.of_heads(heads.start)
            merged, sums = attend_slab(
                slabs[-1], flat_query * scaling, flat_key, flat_value, flat_scores, of_heads, arithmetic
            )
            output[:, heads] = merged.view(query[:, heads].shape)
            normaliser[:, heads] = sums.view(some.shape[:3])
        ctx.save_for_backward(query, key, value, scores, output, normaliser)
        ctx.plan = (slabs, scaling, dropout)
        return output

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_output):  # type: ignore[no-untyped-def]
        """Gradients of query, key, value and scores."""
        query, key, value, scores, output, normaliser = ctx.saved_tensors
        slabs, scaling, dropout = ctx.plan
        inputs = (query, key, value, scores)
        grads = [torch.empty(states.shape, dtype=states.dtype, device=states.device) for states in inputs]
        arithmetic = Arithmetic(Workspace(query), Workspace(scores))
        first = 0
        for slab in slabs:
            heads = slice(first, first + slab.num_heads)
            states = SlabStates(*flat_rows(heads, *inputs, output, normaliser, grad_output))
            states = states._replace(query=states.query * scaling)
            found = slab_gradients(slab, states, dropout.of_heads(first), arithmetic)
            for whole, part in zip(grads, found._replace(query=found.query * scaling), strict=True):
                whole[:, heads] = part.view(whole[:, heads].shape)
            first = heads.stop
        return *grads, None, None, None, None, None


def head_slabs(numbers: torch.Tensor) -> list[slice]:
    """Heads whose pairs `numbers` [B, H, Q, C] are planned at one time."""
    num_heads = numbers.shape[1]
    size = max(PAIRS_AT_ONCE * num_heads // max(numbers.numel(), 1), 1)
    return [slice(start, min(start + size, num_heads)) for start in range(0, num_heads, size)]


def flat_rows(heads: slice, *states: torch.Tensor) -> list[torch.Tensor]:
    """The states [B, H, L, ...] of some heads as rows [B * H' * L, ...]."""
    return [some[:, heads].flatten(0, 2) for some in states]


def grouped_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    words: SentenceWords,
    sentence_indices: torch.Tensor,
    sentence_scores: torch.Tensor,
    *,
    own_sentence_ids: torch.Tensor | None = None,
    query_positions: torch.Tensor | None = None,
    scaling: float,
    dropout: float = 0.0,
) -> torch.Tensor:
    """Output [B, H, Q, E] of `attend_selected_sentences`, whose arguments these are; `words` are those of the keys."""
    is_selected = sentence_scores > -torch.inf
    numbers = (sentence_indices + 1).masked_fill(~is_selected, 0)
    scores = sentence_scores.masked_fill(~is_selected, 0.0)
    if own_sentence_ids is not None:
        own = own_sentence_ids[:, None, :, None].expand(*numbers.shape[:-1], 1)
        own = own.masked_fill((numbers == own).any(-1, keepdim=True), 0)
        numbers, scores = torch.cat([numbers, own], dim=-1), functional.pad(scores, (0, 1))
    # A sentence that has no words among these keys is not read.
    numbers = numbers.masked_fill(numbers >= len(words.rank) // len(query), 0)
    seed = int(torch.randint(2**48, ())) if dropout > 0.0 else 0
    return GroupedAttention.apply(
        query, key, value, scores, numbers, words, query_positions, scaling, Dropout(dropout, seed)
    )
