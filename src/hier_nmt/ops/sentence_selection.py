# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The choice of the t sentences that matter to each token and head.

Dimensions: B batch, N sentences, t sentences kept, H heads, Q queries, E head width, C sentences scored per query.
"""

import torch
from torch.nn import functional

from .backends import backend_for
from .numerics import chunk_size, full_precision, outside_autocast

# Scores, and elements of keys that are gathered, that are held at a time.
SCORES_AT_ONCE = 2**22


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


def relevance_of_selected(
    query: torch.Tensor, key: torch.Tensor, indices: torch.Tensor, known: torch.Tensor | None = None
) -> torch.Tensor:
    """Relevance query . key / sqrt(E) of the keys that `indices` names, [B, H, Q, C].

    Args:
        query: [B, H, Q, E].
        key: [B, H, N, E].
        indices: [B, H, Q, C], from 0.
        known: the same scores without gradients, which a backend need not compute again.
    """
    heads = torch.arange(len(key) * key.shape[1], device=key.device).view(len(key), -1, 1, 1)
    rows, keys = indices + heads * key.shape[2], full_precision(key).flatten(0, 2)
    query = full_precision(query)
    size = max(chunk_size(SCORES_AT_ONCE, query.device) // max(rows[:, :, :1].numel() * key.shape[-1], 1), 1)
    # Not as products of matrices: equal keys may get scores there that differ in the last digit.
    parts = zip(rows.split(size, dim=2), query.split(size, dim=2), strict=True)
    products = [(functional.embedding(few, keys) * some[..., None, :]).sum(-1) for few, some in parts]
    return torch.cat(products, dim=2) * query.shape[-1] ** -0.5


def search_all(
    query: torch.Tensor,
    key: torch.Tensor,
    sentence_mask: torch.Tensor,
    t: int,
    own_sentence_ids: torch.Tensor | None,
    num_choosable: torch.Tensor | None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Indices and scores [B, H, Q, t] of `select_by_relevance`, whose arguments these are, some queries at a time."""
    size = max(chunk_size(SCORES_AT_ONCE, query.device) // max(key.shape[:3].numel(), 1), 1)
    key = full_precision(key).transpose(2, 3)
    sentences = torch.arange(key.shape[3], device=key.device)
    found = []
    for start in range(0, query.shape[2], size):
        some = slice(start, start + size)
        may_choose = sentence_mask[:, None, None]
        if num_choosable is not None:
            may_choose = may_choose & (sentences < num_choosable[:, None, some, None])
        products = (full_precision(query[:, :, some]) @ key).masked_fill(~may_choose, -torch.inf)
        ranked = products
        if own_sentence_ids is not None:
            is_own = sentences == own_sentence_ids[:, None, some, None] - 1
            ranked = products.masked_fill(is_own & may_choose, torch.inf)
        found.append(_best(products, ranked, t))
    indices, products = (torch.cat(parts, dim=2) for parts in zip(*found, strict=True))
    # Keys that are scaled before would make products that are equal differ by a rounding.
    return indices, products * query.shape[-1] ** -0.5


def _best(products: torch.Tensor, ranked: torch.Tensor, t: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Indices and products [B, H, Q, t] of the highest in `ranked` [B, H, Q, N]: NaN first, of equal ones the first."""
    if ranked.shape[-1] < t:
        products, ranked = (
            functional.pad(some, (0, t - some.shape[-1]), value=-torch.inf) for some in (products, ranked)
        )
    # A zero is added because no zero may be negative.
    order = ranked.add(0.0).nan_to_num(torch.inf, torch.inf, -torch.inf).argsort(dim=-1, descending=True, stable=True)
    indices = order[..., :t]
    best = products.gather(-1, indices)
    return indices.masked_fill(best == -torch.inf, 0), best


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
    backend = backend_for(sentence_query)
    search = search_all if backend is None else backend.search_all
    with torch.no_grad():
        indices, scores = search(sentence_query, sentence_key, sentence_mask, t, own_sentence_ids, num_choosable)
    if not (torch.is_grad_enabled() and (sentence_query.requires_grad or sentence_key.requires_grad)):
        return indices, scores
    is_filled = scores != -torch.inf  # true of NaN, which is not to be hidden
    relevance = relevance_of_selected if backend is None else backend.relevance
    scores = relevance(sentence_query, sentence_key, indices, scores.masked_fill(~is_filled, 0.0))
    return indices, scores.masked_fill(~is_filled, -torch.inf)
