# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Relevance of selected sentences, computed for these alone, forward and backward.

Dimensions: B batch, N sentences, H heads, Q queries, E head width, C sentences scored per query.
"""

import functools
import warnings
from collections.abc import Callable

import torch
from torch.nn import functional

from ...ops.numerics import chunk_size, full_precision
from .block_plan import counts
from .processor import runs_eagerly_on_processor

# Maximum number of elements of keys that are gathered at a time.
NUMBERS_AT_ONCE = 2**22
# From this share of the sentences on, one product with all keys is faster than gathering the selected ones. It computes
# at most eight scores for each one that is needed.
DENSE_SHARE = 1 / 8


class SelectedRelevance(torch.autograd.Function):
    """Relevance of the selected sentences, with a backward pass through these alone."""

    @staticmethod
    def forward(ctx, query, key, indices, scores, gradients):  # type: ignore[no-untyped-def]
        """The known scores [B, H, Q, C] of the keys with these indices [B, H, Q, C]."""
        ctx.gradients = gradients
        ctx.save_for_backward(query, key, indices.int())  # int32 takes half of the memory
        return scores.clone()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_scores):  # type: ignore[no-untyped-def]
        """Gradients of query [B, H, Q, E] and key [B, H, N, E]."""
        # Detached, because `embedding_bag` would prepare gradients for weights that require them.
        *states, indices = (saved.detach() for saved in ctx.saved_tensors)
        indices = indices.long()
        query, key = map(full_precision, states)
        grads = ctx.gradients(query, key, indices, grad_scores)
        return *(grad.to(some.dtype) for grad, some in zip(grads, states, strict=True)), None, None, None


def key_rows(indices: torch.Tensor, num_keys: int) -> torch.Tensor:
    """Rows [B * H * Q, C], in keys flattened to [B * H * N, E], of the keys with the indices [B, H, Q, C]."""
    batch_size, num_heads, _, num_chosen = indices.shape
    starts = torch.arange(batch_size * num_heads, device=indices.device) * num_keys
    return (indices + starts.view(batch_size, num_heads, 1, 1)).reshape(-1, num_chosen)


def relevance_of_selected(
    query: torch.Tensor,
    key: torch.Tensor,
    indices: torch.Tensor,
    known: torch.Tensor | None = None,
    score: Callable[..., torch.Tensor] | None = None,
    gradients: Callable[..., tuple[torch.Tensor, torch.Tensor]] | None = None,
) -> torch.Tensor:
    """Relevance [B, H, Q, C] of `sentence_selection.relevance_of_selected`, with the same arguments and two more.

    Args:
        score, gradients: replacements of `score_rows` and `relevance_gradients`.
    """
    if known is None:
        with torch.no_grad():
            known = (score or score_rows)(query, key, indices)
    return SelectedRelevance.apply(query, key, indices, known, gradients or relevance_gradients)


def score_rows(query: torch.Tensor, key: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
    """Relevance [B, H, Q, C] of the keys with the indices [B, H, Q, C], without gradients."""
    scale = query.shape[-1] ** -0.5
    # A row of a sparse matrix cannot have more values than columns.
    is_sampled = runs_eagerly_on_processor(query, key, indices) and indices.shape[-1] <= key.shape[2]
    if not is_sampled and indices.shape[-1] >= DENSE_SHARE * key.shape[2]:
        return (query @ key.transpose(2, 3)).gather(-1, indices) * scale
    rows, keys, queries = key_rows(indices, key.shape[2]), key.flatten(0, 2), query.flatten(0, 2)
    if is_sampled:
        return sampled_products(queries, keys, rows).mul_(scale).view(indices.shape)
    size = max(chunk_size(NUMBERS_AT_ONCE, query.device) // (rows.shape[1] * key.shape[-1]), 1)
    # Not by matrix multiplication, in which equal keys may get scores that differ in the last digit.
    parts = zip(rows.split(size), queries.split(size), strict=True)
    scores = torch.cat([(keys[few] * some_queries[:, None]).sum(-1) for few, some_queries in parts])
    return scores.view(indices.shape) * scale


def sampled_products(queries: torch.Tensor, keys: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """Products [R, C] of each of the queries [R, E] with its own keys, whose rows [R, C] in `keys` [K, E] are given."""
    announce_sparse_tensors()
    starts = torch.arange(0, rows.numel() + 1, rows.shape[1], device=rows.device)
    zeros = queries.new_zeros(rows.numel())
    size = len(queries), len(keys)
    products = torch.sparse_csr_tensor(starts, rows.flatten(), zeros, size, check_invariants=False)
    return torch.sparse.sampled_addmm(products, queries, keys.t(), out=products).values().view(rows.shape)


@functools.cache
def announce_sparse_tensors() -> None:
    """Makes a first sparse tensor and suppresses PyTorch's one-time warning that they are in beta state."""
    with warnings.catch_warnings(action="ignore"):
        torch.sparse_csr_tensor([0, 0], [], [], (1, 1), check_invariants=False, device="cpu")


def relevance_gradients(
    query: torch.Tensor, key: torch.Tensor, indices: torch.Tensor, grad_scores: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Gradients of query [B, H, Q, E] and key [B, H, N, E] of `relevance_of_selected`, from those of the scores."""
    grad_products = grad_scores * query.shape[-1] ** -0.5
    if indices.shape[-1] >= DENSE_SHARE * key.shape[2]:
        weights = query.new_zeros(*query.shape[:3], key.shape[2]).scatter_add_(-1, indices, grad_products)
        # A key that no query selected has no effect, even if it is NaN.
        selected_key = key.masked_fill((weights == 0).all(2)[..., None], 0.0)
        return weights @ selected_key, weights.transpose(2, 3) @ query
    rows, weights = key_rows(indices, key.shape[2]), grad_products.flatten(0, 2)  # [R, C] with R = B H Q
    grad_query = functional.embedding_bag(rows, key.flatten(0, 2), mode="sum", per_sample_weights=weights)
    by_key = rows.flatten().argsort()
    counted = counts(rows.flatten(), key.shape[:3].numel())
    grad_key = functional.embedding_bag(
        by_key // rows.shape[1],
        query.flatten(0, 2),
        offsets=counted.cumsum(0) - counted,
        mode="sum",
        per_sample_weights=weights.flatten()[by_key],
    ).view_as(key)
    return grad_query.view_as(query), grad_key
