# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Selecting the t most relevant sentences for each token and head.

Dimensions: B batch, N sentences, t sentences kept, H heads, Q queries, E head width, C sentences scored per query.
"""

import torch
from torch.nn import functional

from .backends import backend_for
from .document_structure import graph_sentences
from .numerics import chunk_size, full_precision, outside_autocast

# Maximum number of scores, or of elements of gathered keys, in memory at a time.
SCORES_AT_ONCE = 2**22


def keep_top_t(scores: torch.Tensor, t: int) -> torch.Tensor:
    """The scores [..., N] with all but the t highest of a row set to minus infinity (Trankova et al. 2024, eq. 4).

    Of equal scores the first wins, so that exactly t are kept, or all if there are fewer.

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
    """Raises ValueError if t, the number of sentences to select, is below 1."""
    if t < 1:
        raise ValueError(f"t={t} sentences cannot be selected; it must be at least 1.")


def select_top_sentences(scores: torch.Tensor, t: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Indices [..., t] and values [..., t] of the t highest scores of each row, best first.

    Of equal scores the first wins. If fewer than t scores are above minus infinity, the remaining places have index 0
    and a score of minus infinity. The selected scores get gradients.

    Args:
        scores: [..., N].
        t: number of scores, at least 1.

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
    """Relevance query . key / sqrt(E) [B, H, Q, C] of the keys with these indices.

    Args:
        query: [B, H, Q, E].
        key: [B, H, N, E].
        indices: [B, H, Q, C], from 0.
        known: the same scores without gradients, if the caller has them; a backend need not compute them again.
    """
    heads = torch.arange(key.shape[0] * key.shape[1], device=key.device).view(key.shape[0], -1, 1, 1)
    rows, keys = indices + heads * key.shape[2], full_precision(key).flatten(0, 2)
    query = full_precision(query)
    if graph_sentences() is not None:
        products = (functional.embedding(rows, keys) * query[..., None, :]).sum(-1)
        return products * query.shape[-1] ** -0.5
    size = max(chunk_size(SCORES_AT_ONCE, query.device) // max(rows[:, :, :1].numel() * key.shape[-1], 1), 1)
    # Not by matrix multiplication, in which equal keys may get scores that differ in the last digit.
    parts = zip(rows.split(size, dim=2), query.split(size, dim=2), strict=True)
    products_of_parts = [(functional.embedding(few, keys) * some[..., None, :]).sum(-1) for few, some in parts]
    return torch.cat(products_of_parts, dim=2) * query.shape[-1] ** -0.5


def search_all(
    query: torch.Tensor,
    key: torch.Tensor,
    sentence_mask: torch.Tensor,
    t: int,
    own_sentence_ids: torch.Tensor | None,
    num_choosable: torch.Tensor | None,
    query_sentence_ids: torch.Tensor | None = None,
    slope: float = 0.0,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Indices and scores [B, H, Q, t] of `select_by_relevance`, with the same arguments; a few queries at a time."""
    key = full_precision(key).transpose(2, 3)
    sentences = torch.arange(key.shape[3], device=key.device)

    def search(some: slice) -> tuple[torch.Tensor, torch.Tensor]:
        may_choose = sentence_mask[:, None, None]
        if num_choosable is not None:
            may_choose = may_choose & (sentences < num_choosable[:, None, some, None])
        products = (full_precision(query[:, :, some]) @ key).masked_fill(~may_choose, -torch.inf)
        ranked = products
        if slope and query_sentence_ids is not None:
            # Products are compared before they are divided by sqrt(E).
            unscaled = slope * query.shape[-1] ** 0.5
            ranked = nearer(products, unscaled, query_sentence_ids[:, None, some, None], sentences)
        if own_sentence_ids is not None:
            is_own = sentences == own_sentence_ids[:, None, some, None] - 1
            ranked = ranked.masked_fill(is_own & may_choose, torch.inf)
        return _best(products, ranked, t)

    if graph_sentences() is not None:
        # A graph has no loop over queries.
        indices, products = search(slice(None))
    else:
        size = max(chunk_size(SCORES_AT_ONCE, query.device) // max(key.shape[0] * key.shape[1] * key.shape[3], 1), 1)
        found = [search(slice(start, start + size)) for start in range(0, query.shape[2], size)]
        indices, products = (torch.cat(parts, dim=2) for parts in zip(*found, strict=True))
    # Scaled after the comparison: scaling the keys could make equal products differ by a rounding error.
    return indices, products * query.shape[-1] ** -0.5


def _best(products: torch.Tensor, ranked: torch.Tensor, t: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Indices and products [B, H, Q, t] of the highest in `ranked` [B, H, Q, N]: NaN first; of equals, the first."""
    if ranked.shape[-1] < t:
        products, ranked = (
            functional.pad(some, (0, t - some.shape[-1]), value=-torch.inf) for some in (products, ranked)
        )
    # Adding zero turns negative zeros into positive ones.
    order = ranked.add(0.0).nan_to_num(torch.inf, torch.inf, -torch.inf).argsort(dim=-1, descending=True, stable=True)
    indices = order[..., :t]
    best = products.gather(-1, indices)
    return indices.masked_fill(best == -torch.inf, 0), best


def nearer(
    scores: torch.Tensor, slope: float, query_sentence_ids: torch.Tensor, sentences: torch.Tensor
) -> torch.Tensor:
    """Scores minus slope (|i - s| - 1) where sentence s isn't the query's own sentence i or next to it.

    A linear bias like that of ALiBi (Press et al. 2022, section 3), in sentences in place of tokens.

    Args:
        scores: [..., N].
        slope: what each sentence between the two costs.
        query_sentence_ids: ids from 1; they and `sentences` are broadcast to the scores.
        sentences: indices from 0.
    """
    num_between = ((query_sentence_ids - 1 - sentences).abs() - 1).clamp_min(0)
    return scores - slope * num_between.to(scores.dtype)


@outside_autocast
def select_by_relevance(
    sentence_query: torch.Tensor,
    sentence_key: torch.Tensor,
    sentence_mask: torch.Tensor,
    t: int,
    *,
    own_sentence_ids: torch.Tensor | None = None,
    num_choosable: torch.Tensor | None = None,
    query_sentence_ids: torch.Tensor | None = None,
    slope: float = 0.0,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The t most relevant sentences of each query, in any order, and their relevance (Trankova et al. 2024, eq. 3-4).

    Relevance is query . key / sqrt(E), in float32 at least. Only the t selected scores are kept and get gradients; the
    others exist only during the selection. Of equal scores the first sentence wins.

    Args:
        sentence_query: [B, H, Q, E].
        sentence_key: [B, H, N, E].
        sentence_mask: boolean [B, N], True on sentences that may be selected.
        t: number of sentences.
        own_sentence_ids: id [B, Q], from 1, of a sentence that each query always selects.
        num_choosable: how many of the first sentences [B, Q] may be selected (causal attention).
        query_sentence_ids: id [B, Q], from 1, of each query's sentence; needed for the slope alone.
        slope: sentences are ranked by their relevance minus what `nearer` subtracts.

    Returns:
        Indices [B, H, Q, t] from 0, and relevance [B, H, Q, t], without the slope; empty places have index 0 and a
        score of minus infinity.

    Raises:
        ValueError: t is below 1, or there is a slope and no `query_sentence_ids`.
    """
    check_num_selected(t)
    if slope and query_sentence_ids is None:
        raise ValueError(f"slope={slope} needs query_sentence_ids.")
    backend = backend_for(sentence_query)
    search = search_all if backend is None else backend.search_all
    choice = (own_sentence_ids, num_choosable, query_sentence_ids, slope)
    with torch.no_grad():
        indices, scores = search(sentence_query, sentence_key, sentence_mask, t, *choice)
    if not (torch.is_grad_enabled() and (sentence_query.requires_grad or sentence_key.requires_grad)):
        return indices, scores
    is_filled = scores != -torch.inf  # True for NaN, which should stay visible
    relevance = relevance_of_selected if backend is None else backend.relevance
    scores = relevance(sentence_query, sentence_key, indices, scores.masked_fill(~is_filled, 0.0))
    return indices, scores.masked_fill(~is_filled, -torch.inf)
