# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The choice of the t sentences that matter to each token and head.

Dimensions: B batch, N sentences, t sentences kept, H heads, Q queries, E head width.
"""

import functools
import warnings

import torch
from torch.nn import functional

from .backends import compiled_backend
from .block_plan import RowOrder, counts, narrowed
from .numerics import full_precision, outside_autocast
from .processor import chunk_size, runs_eagerly_on_processor
from .sentence_search import search_all

# Numbers of keys that are gathered at one time.
NUMBERS_AT_ONCE = 2**22
# One product with all keys takes less time than gathering those of such a share of the sentences. It
# holds at most eight scores for each one that is asked for.
DENSE_SHARE = 1 / 8


def keep_top_t(scores: torch.Tensor, t: int) -> torch.Tensor:
    """The scores [..., N] with all but the t highest of a row set to minus infinity (Trankova et al. 2024, eq. 4).

    Of equal scores the first wins, so that exactly t are kept, or all where there are fewer.

    Args:
        scores: [..., N].
        t: number of scores kept, at least 1.

    Raises:
        ValueError: t is below 1.
    """
    check_num_selected(t)
    order = scores.argsort(dim=-1, descending=True, stable=True)
    ranks = order.argsort(dim=-1)
    return scores.masked_fill(ranks >= t, -torch.inf)


def check_num_selected(t: int) -> None:
    """Raises ValueError if t sentences, below 1, are to be selected."""
    if t < 1:
        raise ValueError(f"t={t} sentences cannot be selected; it must be at least 1.")


def select_top_sentences(scores: torch.Tensor, t: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The t highest scores of each row, best first: their indices [..., t] and themselves [..., t].

    Of equal scores the first wins. Places that no score fills, because fewer than t are above minus infinity, have
    index 0 and a score of minus infinity. Gradients reach the scores that were selected.

    Args:
        scores: [..., N].
        t: number of places, at least 1.

    Raises:
        ValueError: t is below 1.
    """
    check_num_selected(t)
    if scores.shape[-1] == 0:
        scores = functional.pad(scores, (0, 1), value=-torch.inf)
    remaining = scores.detach()
    found = []
    for _ in range(min(t, scores.shape[-1])):
        # `max` gives the first of equal maxima, which `topk` does not promise.
        found.append(remaining.max(dim=-1, keepdim=True))
        remaining = remaining.scatter(-1, found[-1].indices, -torch.inf)
    missing = t - len(found)
    indices = functional.pad(torch.cat([best.indices for best in found], dim=-1), (0, missing))
    is_filled = functional.pad(torch.cat([best.values for best in found], dim=-1) != -torch.inf, (0, missing))
    indices = indices.masked_fill(~is_filled, 0)
    return indices, scores.gather(-1, indices).masked_fill(~is_filled, -torch.inf)


class SelectedRelevance(torch.autograd.Function):
    """Relevance of the selected sentences alone, with a backward through nothing but them."""

    @staticmethod
    def forward(ctx, query, key, indices, scores):  # type: ignore[no-untyped-def]
        """The known scores [B, H, Q, C] of the pairs that `indices` [B, H, Q, C] names."""
        ctx.save_for_backward(query, key, indices.int())  # which takes half of the memory
        return scores.clone()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_scores):  # type: ignore[no-untyped-def]
        """Gradients of query [B, H, Q, E] and key [B, H, N, E]."""
        # Detached, because `embedding_bag` prepares for gradients of its own where a weight says it wants them.
        *states, indices = (saved.detach() for saved in ctx.saved_tensors)
        indices = indices.long()
        query, key = map(full_precision, states)
        compiled = compiled_backend(query)
        gradients = relevance_gradients if compiled is None else compiled.relevance_gradients
        grads = gradients(query, key, indices, grad_scores)
        return *(grad.to(some.dtype) for grad, some in zip(grads, states, strict=True)), None, None


def key_rows(indices: torch.Tensor, num_keys: int) -> torch.Tensor:
    """Rows [B * H * Q, C], in keys flattened to [B * H * N, E], of the keys that `indices` [B, H, Q, C] names."""
    batch_size, num_heads, _, num_chosen = indices.shape
    starts = torch.arange(batch_size * num_heads, device=indices.device) * num_keys
    return (indices + starts.view(batch_size, num_heads, 1, 1)).reshape(-1, num_chosen)


def relevance_of_selected(query: torch.Tensor, key: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
    """Relevance query . key / sqrt(E) of the keys that `indices` names, [B, H, Q, C].

    Args:
        query: [B, H, Q, E].
        key: [B, H, N, E].
        indices: [B, H, Q, C], from 0.
    """
    compiled = compiled_backend(query)
    with torch.no_grad():
        scores = (score_rows if compiled is None else compiled.relevance)(query, key, indices)
    return SelectedRelevance.apply(query, key, indices, scores)


def score_rows(query: torch.Tensor, key: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
    """`relevance_of_selected` without gradients."""
    scale = query.shape[-1] ** -0.5
    # A sparse matrix cannot have more numbers than places.
    is_sampled = runs_eagerly_on_processor(query, key, indices) and indices.shape[-1] <= key.shape[2]
    if not is_sampled and indices.shape[-1] >= DENSE_SHARE * key.shape[2]:
        return (query @ key.transpose(2, 3)).gather(-1, indices) * scale
    rows, keys, queries = key_rows(indices, key.shape[2]), key.flatten(0, 2), query.flatten(0, 2)
    if is_sampled:
        return sampled_products(queries, keys, rows).mul_(scale).view(indices.shape)
    size = max(chunk_size(NUMBERS_AT_ONCE, query.device) // (rows.shape[1] * key.shape[-1]), 1)
    # Not as products of matrices: equal keys may get scores there that differ in the last digit.
    parts = zip(rows.split(size), queries.split(size), strict=True)
    scores = torch.cat([(keys[few] * some_queries[:, None]).sum(-1) for few, some_queries in parts])
    return scores.view(indices.shape) * scale


def sampled_products(queries: torch.Tensor, keys: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """Products [R, C] of each of the queries [R, E] with its own keys, those that `rows` [R, C] names of all [K, E]."""
    announce_sparse_tensors()
    starts = torch.arange(0, rows.numel() + 1, rows.shape[1], device=rows.device)
    zeros = queries.new_zeros(rows.numel())
    size = len(queries), len(keys)
    products = torch.sparse_csr_tensor(starts, rows.flatten(), zeros, size, check_invariants=False)
    return torch.sparse.sampled_addmm(products, queries, keys.t(), out=products).values().view(rows.shape)


@functools.cache
def announce_sparse_tensors() -> None:
    """Makes a first sparse tensor, with which PyTorch says once that these are new, and nobody hears it."""
    with warnings.catch_warnings(action="ignore"):
        torch.sparse_csr_tensor([0, 0], [], [], (1, 1), check_invariants=False, device="cpu")


def relevance_gradients(
    query: torch.Tensor, key: torch.Tensor, indices: torch.Tensor, grad_scores: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Gradients of query [B, H, Q, E] and key [B, H, N, E] of `relevance_of_selected`, from those of its scores."""
    grad_products = grad_scores * query.shape[-1] ** -0.5
    if indices.shape[-1] >= DENSE_SHARE * key.shape[2]:
        weights = query.new_zeros(*query.shape[:3], key.shape[2]).scatter_add_(-1, indices, grad_products)
        # A key that nobody selected has no effect, whatever it holds.
        selected_key = key.masked_fill((weights == 0).all(2)[..., None], 0.0)
        return weights @ selected_key, weights.transpose(2, 3) @ query
    order = RowOrder.of(query)
    rows = order.flatten(key_rows(indices, key.shape[2]).view(indices.shape))  # [R, C] with R = B H Q
    weights = order.flatten(grad_products).contiguous()
    grad_query = functional.embedding_bag(rows, key.flatten(0, 2), mode="sum", per_sample_weights=weights)
    by_key = narrowed(rows.flatten(), key.shape[:3].numel()).argsort()
    counted = counts(rows.flatten(), key.shape[:3].numel())
    grad_key = functional.embedding_bag(
        by_key // rows.shape[1],
        order.flatten(query),
        offsets=counted.cumsum(0) - counted,
        mode="sum",
        per_sample_weights=weights.flatten()[by_key],
    ).view_as(key)
    return order.unflatten(grad_query), grad_key


@outside_autocast
def select_by_relevance(
    sentence_query: torch.Tensor,
    sentence_key: torch.Tensor,
    sentence_mask: torch.Tensor,
    t: int,
    *,
    own_sentence_ids: torch.Tensor | None = None,
    num_choosable: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The t most relevant sentences of each query, in any order, and their relevance (Trankova et al. 2024, eq. 3-4).

    Relevance is query . key / sqrt(E), in float32 at least. All scores of a query exist only while it chooses, and the
    backward pass goes through the t kept ones alone. Of equal scores the first sentence wins.

    Args:
        sentence_query: [B, H, Q, E].
        sentence_key: [B, H, N, E].
        sentence_mask: boolean [B, N], True on sentences that may be chosen.
        t: number of sentences.
        own_sentence_ids: ids [B, Q] from 1 of sentences that are always among the t.
        num_choosable: only the first so many sentences [B, Q] may be chosen (causal attention).

    Returns:
        Indices [B, H, Q, t] from 0, and scores [B, H, Q, t]; places without a sentence have index 0 and a score of
        minus infinity.

    Raises:
        ValueError: t is below 1.
    """
    check_num_selected(t)
    compiled = compiled_backend(sentence_query)
    search = search_all if compiled is None else compiled.search_all
    with torch.no_grad():
        indices, scores = search(sentence_query, sentence_key, sentence_mask, t, own_sentence_ids, num_choosable)
    if not (torch.is_grad_enabled() and (sentence_query.requires_grad or sentence_key.requires_grad)):
        return indices, scores
    is_filled = scores != -torch.inf  # true of what is no number, which is not to be hidden
    scores = SelectedRelevance.apply(sentence_query, sentence_key, indices, scores.masked_fill(~is_filled, 0.0))
    return indices, scores.masked_fill(~is_filled, -torch.inf)
