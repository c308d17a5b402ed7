# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Attention to selected sentences in time and memory linear in the number of selected tokens.

All tokens of a sentence have the same added score. Attention over the selected sentences is therefore a weighted sum of
the attentions inside each of them. The queries that read the same sentence are gathered in blocks, so that all work is
multiplication of small matrices. The backward pass recomputes the weights from the merged normaliser.

Dimensions: B batch, H heads, Q queries, K keys, E head width, N sentences, C sentences read per query (the own one
included), R = B H' Q rows (queries of the H' heads at work), M blocks, m blocks of a chunk, L queries of a block, W
tokens of the longest sentence of a chunk.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch.nn import functional

from ...ops.numerics import chunk_size, full_precision
from ...ops.sentence_spans import SentenceSpans
from .block_plan import Chunk, Slab, plan_blocks, rank_sentences
from .buffer_pool import BufferPool, thread_buffers
from .processor import copy_to_device, multiplies_bfloat16

# Maximum number of pairs of a query and a sentence that are planned at a time.
PAIRS_AT_ONCE = 2**16
# Logits are to the base 2, because exp2 of very negative numbers and of minus infinity is as fast as of others.
LOG2_E = math.log2(math.e)


class Dropout(NamedTuple):
    """Dropout on attention weights, which the backward pass can repeat.

    Attributes:
        probability: that a weight is dropped; with 0 nothing is drawn.
        seed: of the random numbers.
    """

    probability: float
    seed: int

    def of_heads(self, first_head: int) -> "Dropout":
        """Dropout with a seed of its own for the slab that begins with this head."""
        return self._replace(seed=self.seed + (first_head << 32))

    def factors(self, weights: torch.Tensor, chunk: Chunk) -> torch.Tensor:
        """0 or 1 / (1 - probability) for each of the chunk's weights [m, W, L]."""
        generator = torch.Generator(weights.device).manual_seed(self.seed + chunk.blocks.start)
        kept = torch.rand(weights.shape, generator=generator, device=weights.device) >= self.probability
        return kept.to(weights.dtype) / (1.0 - self.probability)


class Arithmetic(NamedTuple):
    """Gathering and multiplying in memory that is reused for every chunk.

    Attributes:
        states: buffers with the dtype of the states.
        sums: buffers with the dtype of the scores, for sums.
    """

    states: BufferPool
    sums: BufferPool

    @classmethod
    def of(cls, query: torch.Tensor, scores: torch.Tensor) -> "Arithmetic":
        """The arithmetic for queries and scores like these."""
        return cls(thread_buffers(to_compute_dtype(query[:0])), thread_buffers(scores))

    def release(self) -> None:
        """Frees the large buffers."""
        self.states.release()
        self.sums.release()

    def gather(self, name: str, states: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """The rows [..., E] of `states` [L, E] with the indices `rows` [...]."""
        target = self.states.take(name, rows.numel(), states.shape[1])
        torch.index_select(states, 0, rows.flatten(), out=target)
        return target.view(*rows.shape, -1)

    def multiply(self, name: str, left: torch.Tensor, right: torch.Tensor, factor: float = 1.0) -> torch.Tensor:
        """The products of matrices [m, a, b] and [m, b, c], times the factor."""
        target = self.states.take(name, len(left), left.shape[1], right.shape[2])
        return target.baddbmm_(left, right, beta=0, alpha=factor)

    def multiply_into(self, target: torch.Tensor, left: torch.Tensor, right: torch.Tensor, factor: float = 1.0) -> None:
        """Writes the products of matrices [m, a, b] and [m, b, c], times the factor, to `target`."""
        if target.dtype == left.dtype:
            target.baddbmm_(left, right, beta=0, alpha=factor)
        else:
            target.copy_(self.multiply("product", left, right, factor))

    def as_states(self, weights: torch.Tensor) -> torch.Tensor:
        """The weights in the dtype of the states, in which they are multiplied."""
        if weights.dtype == self.states.dtype:
            return weights
        return self.states.take("weights", *weights.shape).copy_(weights)

    def logits(self, chunk: Chunk, query: torch.Tensor, key: torch.Tensor, scaling: float) -> torch.Tensor:
        """Logits [m, W, L], to the base 2, of the tokens [m, W, E] for the queries [m, L, E].

        With tokens as rows the products are faster. The elementwise operations use the dtype of the sums, which is also
        faster than bfloat16.
        """
        logits = self.multiply("logits", key, query.transpose(1, 2), scaling * LOG2_E)
        if logits.dtype != self.sums.dtype:
            logits = self.sums.take("logits", *logits.shape).copy_(logits)
        return logits.masked_fill_(~chunk.attend_mask, -torch.inf)


def attend_slab(
    slab: Slab,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    scores: torch.Tensor,
    scaling: float,
    dropout: Dropout,
    arithmetic: Arithmetic,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Outputs [R, E] and normalisers [R]: the logarithm, to the base 2, of the sum of the exponentials of each row.

    Args:
        slab: the plan of the heads.
        query: [R, E].
        key, value: [B * H * K, E].
        scores: added scores [R, C].
        scaling: factor on query . key.
        dropout: on the weights.
        arithmetic: gathers and multiplies.
    """
    # One additional slot, for pairs without a sentence.
    num_slots = len(slab.blocks.row) + 1
    outputs = arithmetic.states.take("slots", num_slots, value.shape[1])
    sums = arithmetic.sums.take("slot sums", 2, num_slots)
    outputs[-1], sums[0, -1], sums[1, -1] = 0.0, -torch.inf, 0.0
    for chunk in slab.chunks():
        keys = chunk.keys.clamp_max(len(key) - 1)
        queries, some_keys = arithmetic.gather("queries", query, chunk.rows), arithmetic.gather("keys", key, keys)
        logits = arithmetic.logits(chunk, queries, some_keys, scaling)
        most = logits.amax(1, keepdim=True).clamp_min_(torch.finfo(logits.dtype).min)
        chunk.of_slots(sums[0]).copy_(most[:, 0])
        weights = logits.sub_(most).exp2_()
        torch.sum(weights, 1, out=chunk.of_slots(sums[1]))
        if dropout.probability > 0.0:
            weights = weights * dropout.factors(weights, chunk)
        weights, values = arithmetic.as_states(weights), arithmetic.gather("values", value, keys)
        arithmetic.multiply_into(chunk.of_slots(outputs), weights.transpose(1, 2), values)
    return merge(slab.blocks.slot, outputs, sums, scores)


def merge(
    slot: torch.Tensor, outputs: torch.Tensor, sums: torch.Tensor, scores: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Outputs [R, E] and normalisers [R], to the base 2, of the rows, merged from those of their slots.

    Args:
        slot: slot of each pair [R, C].
        outputs: sums of 2^(logit - largest) * value [slots, E].
        sums: largest logit, without the added score, and sum of 2^(logit - largest) [2, slots].
        scores: added scores [R, C].
    """
    largest, total = sums.index_select(1, slot.flatten()).view(2, *slot.shape)
    logits = largest.add_(scores, alpha=LOG2_E)
    most = logits.amax(-1, keepdim=True).clamp_min_(torch.finfo(scores.dtype).min)
    factors = logits.sub_(most).exp2_()
    whole = total.mul_(factors).sum(-1, keepdim=True)
    # A row that reads nothing has a sum of 0 and gets zeros.
    factors /= whole.clamp_min(torch.finfo(scores.dtype).tiny)
    merged = functional.embedding_bag(slot, outputs, mode="sum", per_sample_weights=factors.to(outputs.dtype))
    return merged, torch.where(whole > 0, most + whole.log2(), torch.inf)[:, 0]


class SlabStates(NamedTuple):
    """Forward and backward states of a slab: query, output and grad_output [R, E], key and value [B * H * K, E],
    scores [R, C], normaliser [R]."""

    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    scores: torch.Tensor
    output: torch.Tensor
    normaliser: torch.Tensor
    grad_output: torch.Tensor


class SlabGradients(NamedTuple):
    """Gradients of a slab's query [R, E] and scores [R, C]."""

    query: torch.Tensor
    scores: torch.Tensor


def slab_gradients(
    slab: Slab,
    states: SlabStates,
    grad_key: torch.Tensor,
    grad_value: torch.Tensor,
    scaling: float,
    dropout: Dropout,
    arithmetic: Arithmetic,
) -> SlabGradients:
    """The gradients of `attend_slab`, with the weights recomputed from its results.

    The gradients of keys and values are added to `grad_key` and `grad_value` [B * H * K + 1, E]; the last row takes
    those of the padding of shorter sentences.
    """
    query, key, value, scores, output, normaliser, grad_output = states
    num_slots = len(slab.blocks.row) + 1
    products = torch.mul(grad_output, output, out=arithmetic.states.take("slots", *output.shape))
    delta = products.sum(-1, dtype=scores.dtype)  # [R]
    # Added to the logits of each slot; minus infinity in empty slots, so that they read nothing.
    shift = arithmetic.sums.take("shift", num_slots).fill_(-torch.inf)
    shift.scatter_(0, slab.blocks.slot.flatten().long(), (scores * LOG2_E - normaliser[:, None]).flatten())
    grad_query = arithmetic.sums.take("slots", num_slots, query.shape[1])
    grad_scores = arithmetic.sums.take("slot sums", num_slots)
    grad_query[-1], grad_scores[-1] = 0.0, 0.0
    for chunk in slab.chunks():
        keys = chunk.keys.clamp_max(len(key) - 1)
        queries, some_keys = arithmetic.gather("queries", query, chunk.rows), arithmetic.gather("keys", key, keys)
        values, grads = arithmetic.gather("values", value, keys), arithmetic.gather("grads", grad_output, chunk.rows)
        logits = arithmetic.logits(chunk, queries, some_keys, scaling)
        weights = arithmetic.as_states(logits.add_(chunk.of_slots(shift)[:, None, :]).exp2_())
        grad_weights = arithmetic.multiply("grad weights", values, grads.transpose(1, 2))
        read = weights
        if dropout.probability > 0.0:
            factors = dropout.factors(weights, chunk)
            read, grad_weights = weights * factors, grad_weights.mul_(factors)
        grad_logits = grad_weights.sub_(
            delta.index_select(0, chunk.rows.flatten()).view(chunk.rows.shape)[:, None, :]
        ).mul_(weights)
        torch.sum(grad_logits, 1, dtype=scores.dtype, out=chunk.of_slots(grad_scores))
        arithmetic.multiply_into(chunk.of_slots(grad_query), grad_logits.transpose(1, 2), some_keys, scaling)
        token_values = arithmetic.multiply("grad values", read, grads)
        token_keys = arithmetic.multiply("grad keys", grad_logits, queries, scaling)
        add_sums(slab, chunk, [(grad_value, token_values), (grad_key, token_keys)])
    return SlabGradients(
        functional.embedding_bag(slab.blocks.slot, grad_query, mode="sum"), grad_scores[slab.blocks.slot]
    )


def add_sums(slab: Slab, chunk: Chunk, parts: list[tuple[torch.Tensor, torch.Tensor]]) -> None:
    """Adds to each total [rows, E] its blocks [m, W, E], summed over the blocks of the same sentence and head."""
    if not slab.blocks.is_divided:
        for total, blocks in parts:
            total.index_copy_(0, chunk.keys.flatten(), blocks.flatten(0, 1).to(total.dtype))
        return
    count = torch.unique_consecutive(slab.blocks.group[chunk.blocks], return_counts=True)[1]
    starts = copy_to_device(count.cumsum(0) - count, chunk.keys.device)
    members = torch.arange(len(chunk.keys), device=starts.device)
    rows = chunk.keys[starts]
    for total, blocks in parts:
        sums = functional.embedding_bag(members, blocks.flatten(1).to(total.dtype), starts, mode="sum")
        sums = sums.view(*rows.shape, -1)
        # Blocks are sorted, so only the first group can continue one of the previous chunk. No row occurs twice in a
        # chunk, except the additional last one.
        sums[0] += total.index_select(0, rows[0])
        total.index_copy_(0, rows.flatten(), sums.flatten(0, 1))


class GroupedAttention(torch.autograd.Function):
    """`grouped_attention`, one slab of heads at a time, with a backward pass that recomputes the weights."""

    @staticmethod
    def forward(ctx, query, key, value, scores, sentence_ids, ranked, query_positions, scaling, dropout):  # type: ignore[no-untyped-def]
        """Output [B, H, Q, E]."""
        output, normaliser = None, scores.new_empty(scores.shape[:3])
        arithmetic = Arithmetic.of(query, scores)
        flat_key, flat_value = rows_in_compute_dtype(slice(None), key, value)
        slabs = []
        for heads in head_slabs(sentence_ids):
            some = sentence_ids[:, heads]
            blocks = plan_blocks(some, ranked, key.shape[1], first_head=heads.start)
            slabs.append(
                Slab(blocks, ranked, key.shape[1], key.shape[2], some.shape[1], some.shape[2], query_positions)
            )
            flat_query, flat_scores = rows_in_compute_dtype(heads, query, scores)
            of_heads = dropout.of_heads(heads.start)
            merged, sums = attend_slab(
                slabs[-1], flat_query, flat_key, flat_value, flat_scores, scaling, of_heads, arithmetic
            )
            output = with_heads(output, heads, merged.to(query.dtype), query)
            normaliser[:, heads] = sums.view(some.shape[:3])
        arithmetic.release()
        ctx.save_for_backward(query, key, value, scores, output, normaliser)
        ctx.plan = (slabs, scaling, dropout)
        return output

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_output):  # type: ignore[no-untyped-def]
        """Gradients of query, key, value and scores."""
        query, key, value, scores, output, normaliser = ctx.saved_tensors
        slabs, scaling, dropout = ctx.plan
        grad_query = grad_scores = None
        flat_key, flat_value = rows_in_compute_dtype(slice(None), key, value)
        grad_key, grad_value = (scores.new_zeros(len(states) + 1, states.shape[1]) for states in (flat_key, flat_value))
        arithmetic = Arithmetic.of(query, scores)
        first = 0
        for slab in slabs:
            heads = slice(first, first + slab.num_heads)
            of_query, *others = rows_in_compute_dtype(heads, query, scores, output, normaliser, grad_output)
            states = SlabStates(of_query, flat_key, flat_value, *others)
            found = slab_gradients(slab, states, grad_key, grad_value, scaling, dropout.of_heads(first), arithmetic)
            grad_query = with_heads(grad_query, heads, found.query.to(query.dtype), query)
            grad_scores = with_heads(grad_scores, heads, found.scores, scores)
            first = heads.stop
        arithmetic.release()
        grad_key, grad_value = (rows[:-1].to(key.dtype).view(key.shape) for rows in (grad_key, grad_value))
        return grad_query, grad_key, grad_value, grad_scores, None, None, None, None, None


def with_heads(whole: torch.Tensor | None, heads: slice, part: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """The states [B, H, L, ...] with those of some heads set to the rows `part` [B * H' * L, ...].

    Args:
        whole: the states so far, or None before the first heads.
        heads: the heads to set.
        part: their rows.
        like: a tensor with the shape of the whole.
    """
    if heads == slice(0, like.shape[1]):
        return part.view(like.shape)
    if whole is None:
        whole = part.new_empty(like.shape)
    whole[:, heads] = part.view(whole[:, heads].shape)
    return whole


def head_slabs(sentence_ids: torch.Tensor) -> list[slice]:
    """Slices of the heads, each with few enough pairs `sentence_ids` [B, H, Q, C] to be planned at a time."""
    num_heads = sentence_ids.shape[1]
    size = max(chunk_size(PAIRS_AT_ONCE, sentence_ids.device) * num_heads // max(sentence_ids.numel(), 1), 1)
    return [slice(start, min(start + size, num_heads)) for start in range(0, num_heads, size)]


def flat_rows(heads: slice, *states: torch.Tensor) -> list[torch.Tensor]:
    """The states [B, H, L, ...] of some heads as rows [B * H' * L, ...]."""
    return [some[:, heads].flatten(0, 2) for some in states]


def rows_in_compute_dtype(heads: slice, *states: torch.Tensor) -> list[torch.Tensor]:
    """The rows of some heads in the dtype in which they are computed."""
    return [to_compute_dtype(rows) for rows in flat_rows(heads, *states)]


def to_compute_dtype(states: torch.Tensor) -> torch.Tensor:
    """The states, converted to float32 on a CPU without instructions for products in their dtype."""
    has_instructions = states.dtype == torch.bfloat16 and multiplies_bfloat16()
    return states if states.device.type != "cpu" or has_instructions else full_precision(states)


def grouped_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    scores: torch.Tensor,
    sentence_ids: torch.Tensor,
    spans: SentenceSpans,
    query_positions: torch.Tensor | None,
    scaling: float,
    dropout: float = 0.0,
    apply: Callable[..., torch.Tensor] | None = None,
) -> torch.Tensor:
    """Output [B, H, Q, E] of `selected_attention.attend_sentences`, with the same arguments and one more.

    Args:
        apply: the attention function, which takes ranked sentences and a `Dropout`; default: `GroupedAttention`.
    """
    ranked = spans.derived("ranked", rank_sentences)
    # Sentences without tokens among these keys are not read.
    sentence_ids = sentence_ids * (sentence_ids < len(ranked.rank) // len(query))
    seed = int(torch.randint(2**48, ())) if dropout > 0.0 else 0
    attend = GroupedAttention.apply if apply is None else apply
    return attend(query, key, value, scores, sentence_ids, ranked, query_positions, scaling, Dropout(dropout, seed))
