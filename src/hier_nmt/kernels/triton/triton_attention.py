# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Attention to selected sentences on a GPU, in Triton, if it is requested by name.

Each program computes a block of queries that read the same sentence: it reads the sentence's tokens once and writes
sums for its queries, which are merged as in `grouped_attention.py`. The programs of the backward pass add to the
gradients of their tokens. The tests run it in Triton's interpreter (TRITON_INTERPRET=1); on an H100 it gave what the
dense form gives. The factor of the logits is a constant of the kernels, because Triton rounds arguments to float32.

Dimensions: B batch, H heads, Q queries, K keys, E head width, C sentences read per query, R = B H Q rows, M blocks, L
queries of a block.
"""

import os
from functools import partial
from typing import Any

import torch
import triton
import triton.language as tl
from torch.nn import functional

from ..torch_cpu.block_plan import plan_blocks
from ..torch_cpu.grouped_attention import LOG2_E, flat_rows, grouped_attention, merge

# Minimum size of the matrices that the matrix units of a GPU multiply.
SHORTEST = 16
# Number of tokens of a sentence that are read at a time.
TOKENS_AT_ONCE = 32


@triton.jit
def read_tokens(  # type: ignore[no-untyped-def]
    queries, positions, key, value, spans, start, offset, first, length, columns, width, num_keys,
    scaling: tl.constexpr, TOKENS: tl.constexpr, IS_CAUSAL: tl.constexpr,
):  # fmt: skip
    """The tokens of a block's sentence from `first` on: their places in the keys and which of these exist [TOKENS, E],
    keys and values [TOKENS, E], and the queries' logits [L, TOKENS], minus infinity where the mask excludes a token."""
    index = first + tl.arange(0, TOKENS)
    is_token = index < length
    token = tl.load(spans + start + index, mask=is_token, other=0)  # row * K + index
    places = (token + offset)[:, None] * width + columns[None, :]
    exists = is_token[:, None] & (columns < width)[None, :]
    keys = tl.load(key + places, mask=exists, other=0.0)
    values = tl.load(value + places, mask=exists, other=0.0)
    attend_mask = is_token[None, :]
    if IS_CAUSAL:
        attend_mask &= (token % num_keys)[None, :] <= positions[:, None]
    logits = tl.dot(queries, tl.trans(keys), input_precision="ieee") * scaling
    return places, exists, keys, values, tl.where(attend_mask, logits, float("-inf"))


@triton.jit
def dropout_factors(seed, first, length, probability, L: tl.constexpr, TOKENS: tl.constexpr):  # type: ignore[no-untyped-def]
    """0 or 1 / (1 - probability) for each weight [L, TOKENS] of a block, the same in every call."""
    index = tl.arange(0, L)[:, None] * length + first + tl.arange(0, TOKENS)[None, :]
    return tl.where(tl.rand(seed, index.to(tl.int32)) < probability, 0.0, 1.0 / (1.0 - probability))


@triton.jit
def attend_blocks(  # type: ignore[no-untyped-def]
    query, key, value, row, start, length, offset, spans, positions, outputs, most_of, total_of,
    width, num_queries, num_keys, probability, seed, scaling: tl.constexpr,
    E: tl.constexpr, L: tl.constexpr, TOKENS: tl.constexpr, IS_CAUSAL: tl.constexpr, HAS_DROPOUT: tl.constexpr,
):  # fmt: skip
    """The part of `attend_slab` for one block: writes outputs [L, E], largest logits [L] and sums [L] of its slots."""
    block = tl.program_id(0).to(tl.int64)
    slots = block * L + tl.arange(0, L)
    columns = tl.arange(0, E)
    has_column = (columns < width)[None, :]
    rows = tl.load(row + slots).to(tl.int64)
    queries = tl.load(query + rows[:, None] * width + columns[None, :], mask=has_column, other=0.0)
    block_start, block_length, block_offset = tl.load(start + block), tl.load(length + block), tl.load(offset + block)
    query_positions = rows
    if IS_CAUSAL:
        query_positions = tl.load(positions + rows % num_queries)
    most = tl.full([L], float("-inf"), total_of.dtype.element_ty)
    total = tl.zeros([L], total_of.dtype.element_ty)
    sums = tl.zeros([L, E], outputs.dtype.element_ty)
    for first in range(0, block_length, TOKENS):
        _, _, _, values, logits = read_tokens(
            queries, query_positions, key, value, spans, block_start, block_offset, first, block_length, columns,
            width, num_keys, scaling, TOKENS, IS_CAUSAL,
        )  # fmt: skip
        now = tl.maximum(most, tl.max(logits, 1))
        # If nothing has been read so far, infinities are not subtracted, which would give NaN.
        shift = tl.where(now == float("-inf"), 0.0, now)
        weights = tl.exp2(logits - shift[:, None])
        factor = tl.exp2(most - shift)
        total = total * factor + tl.sum(weights, 1)
        if HAS_DROPOUT:
            weights *= dropout_factors(seed + block, first, block_length, probability, L, TOKENS)
        product = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        sums = sums * factor[:, None] + product.to(sums.dtype)
        most = now
    tl.store(outputs + slots[:, None] * width + columns[None, :], sums, mask=has_column)
    tl.store(most_of + slots, most)
    tl.store(total_of + slots, total)


@triton.jit
def block_gradients(  # type: ignore[no-untyped-def]
    query, key, value, grad_output, row, start, length, offset, spans, positions, shift, delta,
    grad_query, grad_key, grad_value, grad_scores,
    width, num_queries, num_keys, probability, seed, scaling: tl.constexpr, scaling_to_base_2: tl.constexpr,
    E: tl.constexpr, L: tl.constexpr, TOKENS: tl.constexpr, IS_CAUSAL: tl.constexpr, HAS_DROPOUT: tl.constexpr,
):  # fmt: skip
    """The part of `slab_gradients` for one block: writes the gradients of its slots and adds to those of its tokens."""
    block = tl.program_id(0).to(tl.int64)
    slots = block * L + tl.arange(0, L)
    columns = tl.arange(0, E)
    has_column = (columns < width)[None, :]
    rows = tl.load(row + slots).to(tl.int64)
    of_rows = rows[:, None] * width + columns[None, :]
    queries = tl.load(query + of_rows, mask=has_column, other=0.0)
    grads = tl.load(grad_output + of_rows, mask=has_column, other=0.0)
    block_start, block_length, block_offset = tl.load(start + block), tl.load(length + block), tl.load(offset + block)
    query_positions = rows
    if IS_CAUSAL:
        query_positions = tl.load(positions + rows % num_queries)
    added, deltas = tl.load(shift + slots), tl.load(delta + rows)
    sums = tl.zeros([L, E], grad_query.dtype.element_ty)
    score_sums = tl.zeros([L], grad_scores.dtype.element_ty)
    for first in range(0, block_length, TOKENS):
        places, exists, keys, values, logits = read_tokens(
            queries, query_positions, key, value, spans, block_start, block_offset, first, block_length, columns,
            width, num_keys, scaling_to_base_2, TOKENS, IS_CAUSAL,
        )  # fmt: skip
        weights = tl.exp2(logits + added[:, None])
        grad_weights = tl.dot(grads, tl.trans(values), input_precision="ieee").to(added.dtype)
        read = weights
        if HAS_DROPOUT:
            factors = dropout_factors(seed + block, first, block_length, probability, L, TOKENS)
            read, grad_weights = weights * factors, grad_weights * factors
        grad_logits = weights * (grad_weights - deltas[:, None])
        score_sums += tl.sum(grad_logits, 1)
        grad_logits = (grad_logits * scaling).to(keys.dtype)
        sums += tl.dot(grad_logits, keys, input_precision="ieee").to(sums.dtype)
        of_keys = tl.dot(tl.trans(grad_logits), queries, input_precision="ieee")
        of_values = tl.dot(tl.trans(read.to(grads.dtype)), grads, input_precision="ieee")
        tl.atomic_add(grad_key + places, of_keys.to(grad_key.dtype.element_ty), mask=exists)
        tl.atomic_add(grad_value + places, of_values.to(grad_value.dtype.element_ty), mask=exists)
    tl.store(grad_query + slots[:, None] * width + columns[None, :], sums, mask=has_column)
    tl.store(grad_scores + slots, score_sums)


class TritonAttention(torch.autograd.Function):
    """The same as `GroupedAttention`, with the same arguments."""

    @staticmethod
    def forward(ctx, query, key, value, scores, sentence_ids, ranked, query_positions, scaling, dropout):  # type: ignore[no-untyped-def]
        """Output [B, H, Q, E]; ValueError where Triton cannot run."""
        check_device(query)
        # The larger blocks are taken if they would be half full with all sentences read equally often.
        num_groups = len(ranked.rank) * query.shape[1]
        length = 4 * SHORTEST if sentence_ids.numel() >= 2 * SHORTEST * num_groups else SHORTEST
        blocks = plan_blocks(sentence_ids, ranked, key.shape[1], num_queries=length)
        of_query, of_key, of_value, of_scores = (rows.contiguous() for rows in all_rows(query, key, value, scores))
        num_blocks = len(blocks.group)
        # One additional slot, for pairs without a sentence.
        outputs = scores.new_zeros(len(blocks.row) + 1, query.shape[-1])
        sums = scores.new_zeros(2, len(outputs))
        sums[0, -1] = -torch.inf
        plan = (blocks.row, blocks.start, blocks.length, blocks.offset, ranked.keys, query_positions)
        sizes = (query.shape[-1], query.shape[2], key.shape[2], dropout.probability, dropout.seed)
        constants = constants_of(query, length, query_positions, dropout)
        if num_blocks:
            with torch.cuda.device_of(query):
                attend_blocks[(num_blocks,)](
                    of_query, of_key, of_value, *plan, outputs, *sums, *sizes, scaling * LOG2_E, **constants
                )
        merged, normaliser = merge(blocks.slot, outputs, sums, of_scores)
        output = merged.to(query.dtype).view(query.shape)
        ctx.save_for_backward(query, key, value, scores, output, normaliser)
        ctx.plan = (blocks, plan, scaling, sizes, constants)
        return output

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_output):  # type: ignore[no-untyped-def]
        """Gradients of query, key, value and scores."""
        *inputs, output, normaliser = ctx.saved_tensors
        blocks, plan, scaling, sizes, constants = ctx.plan
        of_query, of_key, of_value, of_scores = (rows.contiguous() for rows in all_rows(*inputs))
        of_output, of_grads = (rows.contiguous() for rows in all_rows(output, grad_output))
        delta = (of_output * of_grads).sum(-1, dtype=of_scores.dtype)
        num_slots = len(blocks.row) + 1
        shift = of_scores.new_full((num_slots,), -torch.inf)
        shift.scatter_(0, blocks.slot.flatten().long(), (of_scores * LOG2_E - normaliser[:, None]).flatten())
        grad_query, grad_scores = of_scores.new_zeros(num_slots, of_query.shape[1]), of_scores.new_zeros(num_slots)
        grad_key, grad_value = (of_scores.new_zeros(of_key.shape) for _ in range(2))
        if len(blocks.group):
            with torch.cuda.device_of(of_query):
                block_gradients[(len(blocks.group),)](
                    of_query, of_key, of_value, of_grads, *plan, shift, delta, grad_query, grad_key, grad_value,
                    grad_scores, *sizes, scaling, scaling * LOG2_E, **constants,
                )  # fmt: skip
        of_rows = functional.embedding_bag(blocks.slot, grad_query, mode="sum")
        found = (of_rows, grad_key, grad_value, grad_scores[blocks.slot])
        grads = [grad.to(some.dtype).view(some.shape) for grad, some in zip(found, inputs, strict=True)]
        return *grads, None, None, None, None, None


def check_device(query: torch.Tensor) -> None:
    """Raises a ValueError if the query is on a device on which Triton cannot run."""
    if query.device.type == "cpu" and os.environ.get("TRITON_INTERPRET", "0") in ("", "0"):
        raise ValueError("attention_kernel='triton' runs on a GPU, but the model is on the CPU; choose 'auto'.")


def all_rows(*states: torch.Tensor) -> list[torch.Tensor]:
    """The states [B, H, L, ...] as rows [B * H * L, ...]."""
    return flat_rows(slice(None), *states)


def constants_of(
    query: torch.Tensor, length: int, query_positions: torch.Tensor | None, dropout: Any
) -> dict[str, int | bool]:
    """The constants for which the kernels are compiled."""
    return {
        "E": max(triton.next_power_of_2(query.shape[-1]), SHORTEST),
        "L": length,
        "TOKENS": TOKENS_AT_ONCE,
        "IS_CAUSAL": query_positions is not None,
        "HAS_DROPOUT": dropout.probability > 0.0,
    }


# `selected_attention.attend_sentences` in Triton.
attend_sentences = partial(grouped_attention, apply=TritonAttention.apply)
