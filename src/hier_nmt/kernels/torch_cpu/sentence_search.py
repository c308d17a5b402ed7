# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The search for the most relevant sentences of each query among all of them.

Dimensions: B batch, N sentences, t sentences kept, H heads, Q queries, E head width.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch.nn import functional

from ...ops.numerics import chunk_size, full_precision
from ...ops.sentence_selection import nearer
from .buffer_pool import BufferPool, thread_buffers
from .stable_topk import FEW_SCORES, top_columns, top_members

# Maximum number of scores in memory at a time.
SCORES_AT_ONCE = 2**22
# Up to this many queries are searched in one step, because preparing the keys would take longer.
FEW_QUERIES = 8
# From this many sentences on, groups are compared first, by their best member, and then the members of the best groups.
MIN_GROUPED_SENTENCES = 256


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
    """Indices and scores [B, H, Q, t] of `select_by_relevance`, with the same arguments."""
    key = full_precision(key)
    # Products are compared before they are divided by sqrt(E).
    conditions = Conditions(own_sentence_ids, num_choosable, query_sentence_ids, slope * query.shape[-1] ** 0.5)
    if query.shape[2] <= FEW_QUERIES or query.shape[:3].numel() * key.shape[2] <= FEW_SCORES:
        scores = products_of_few(query, key, sentence_mask)
        columns, num_found = Columns(torch.arange(key.shape[2], device=key.device), 1), min(t, key.shape[2])
        found = select_allowed(scores, num_found, columns, conditions, thread_buffers(key))
        indices, products = (
            functional.pad(some, (0, t - num_found), value=empty)
            for some, empty in zip(found, (0, -torch.inf), strict=True)
        )
    else:
        indices, products = search_many(query, key, sentence_mask, t, conditions)
    # Scaled after the comparison: scaling the keys could make equal products differ by a rounding error.
    scores = products * query.shape[-1] ** -0.5
    return indices, scores.masked_fill_(products == torch.inf, torch.nan)


def products_of_few(query: torch.Tensor, key: torch.Tensor, sentence_mask: torch.Tensor) -> torch.Tensor:
    """Products [B, H, Q, N] of few queries, such as those of a decoding step, in the form that `top_columns` needs.

    Infinity stands for NaN, minus infinity for sentences outside the mask.
    """
    # Adding zero turns negative zeros into positive ones.
    products = (full_precision(query) @ key.transpose(2, 3)).add_(0.0).nan_to_num_(torch.inf, torch.inf, -torch.inf)
    return products.masked_fill_(~sentence_mask[:, None, None], -torch.inf)


def search_many(
    query: torch.Tensor, key: torch.Tensor, sentence_mask: torch.Tensor, t: int, conditions: "Conditions"
) -> tuple[torch.Tensor, torch.Tensor]:
    """Indices and products [B, H, Q, t] for `search_all`; infinity stands for NaN."""
    # Keys with NaN are set to zero: adding minus infinity does not mask a NaN, and a maximum may miss it.
    has_nan = key.isnan().any(-1) & sentence_mask[:, None]
    key = key.masked_fill((has_nan | ~sentence_mask[:, None])[..., None], 0.0)
    columns = Columns.of(key.shape[2], t, key)
    keys = columns.arrange(key, 2)
    limits = keys.new_zeros(keys.shape[:3]).masked_fill_(~columns.arrange(sentence_mask, 1)[:, None], -torch.inf)
    # Sentences whose key has NaN rank before all others.
    limits = limits.masked_fill_(columns.arrange(has_nan, 2), torch.inf)
    # `top_members` needs none if all sentences may be selected.
    has_limits = columns.group_size == 1 or bool((limits != 0).any())
    buffers = thread_buffers(key)
    best = key.new_full((*query.shape[:3], t), -torch.inf)
    indices = torch.zeros(best.shape, dtype=torch.int64, device=query.device)
    num_found = min(t, len(columns.sentences))
    size = chunk_size(SCORES_AT_ONCE, query.device) // max(keys.shape[:3].numel(), 1)
    for start in range(0, query.shape[2], max(size, 1)):
        some = slice(start, start + max(size, 1))
        some_queries = query[:, :, some]
        if query.dtype != key.dtype:
            some_queries = buffers.take("queries of a part", *some_queries.shape).copy_(some_queries)
        scores = limited_products(some_queries, keys, limits if has_limits else None, buffers)
        found = select_allowed(scores, num_found, columns, conditions.of(some), buffers)
        indices[:, :, some, :num_found], best[:, :, some, :num_found] = found
    return indices, best


def limited_products(
    queries: torch.Tensor, keys: torch.Tensor, limits: torch.Tensor | None, buffers: BufferPool
) -> torch.Tensor:
    """Products [B, H, Q, N] of queries [B, H, Q, E] and keys [B, H, N, E], plus limits [B, H, N] if there are any.

    Limits of zero turn negative zeros into positive ones, which `top_columns` needs.
    """
    scores = buffers.take("scores", *queries.shape[:3], keys.shape[2])
    if limits is not None:
        scores.copy_(limits[:, :, None])
    scores.flatten(0, 1).baddbmm_(queries.flatten(0, 1), keys.flatten(0, 1).transpose(1, 2), beta=limits is not None)
    return scores


class Conditions(NamedTuple):
    """What the queries may select and prefer.

    Attributes:
        own_sentence_ids, num_choosable, query_sentence_ids: [B, Q], as for `select_by_relevance`.
        slope: of `nearer`, for products; not used without `query_sentence_ids`.
    """

    own_sentence_ids: torch.Tensor | None
    num_choosable: torch.Tensor | None
    query_sentence_ids: torch.Tensor | None
    slope: float

    def of(self, some: slice) -> "Conditions":
        """Those of some queries."""
        return self.each(lambda ids: ids[:, some])

    def each(self, change: Callable[[torch.Tensor], torch.Tensor]) -> "Conditions":
        """The same with all tensors changed."""
        own, choosable, of_query = (None if ids is None else change(ids) for ids in self[:3])
        return Conditions(own, choosable, of_query, self.slope)


class Columns(NamedTuple):
    """An order of the sentences in which groups of neighbours are compared quickly.

    In scores of shape [G, N / G], a column is a group of G neighbouring sentences.

    Attributes:
        sentences: index of the sentence at each place; indices beyond the last sentence fill up the last group.
        group_size: G; 1 if single sentences are compared.
    """

    sentences: torch.Tensor
    group_size: int

    @classmethod
    def of(cls, num_sentences: int, t: int, key: torch.Tensor) -> "Columns":
        """The columns for selecting t of N sentences, for scores with the dtype and the device of these keys."""
        # The number of groups is about that of the members of t groups.
        group_size = 2 ** round(math.log2(max(num_sentences / t, 1)) / 2)
        if num_sentences < MIN_GROUPED_SENTENCES or key.dtype != torch.float32 or key.device.type != "cpu":
            group_size = 1
        num_groups = -(-num_sentences // group_size)
        numbers = torch.arange(num_groups * group_size, device=key.device)
        return cls(numbers.view(num_groups, group_size).t().flatten(), group_size)

    def arrange(self, states: torch.Tensor, dim: int) -> torch.Tensor:
        """The states of the sentences in this order, with zeros (or False) for indices beyond the last sentence."""
        if self.group_size == 1:
            return states
        missing = len(self.sentences) - states.shape[dim]
        padding = states.new_zeros([missing if place == dim else size for place, size in enumerate(states.shape)])
        return torch.cat([states, padding], dim).index_select(dim, self.sentences)


def select_allowed(
    scores: torch.Tensor, t: int, columns: Columns, conditions: Conditions, buffers: BufferPool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Sentences and scores [B, H, Q, t] of the t <= N best of the scores [B, H, Q, N], of those that may be selected.

    The limits are those of `select_by_relevance`. The scores of other sentences are overwritten.
    """
    own, choosable, query_sentence_ids, slope = conditions.each(lambda ids: ids[:, None, :, None])
    if choosable is not None:
        scores.masked_fill_(columns.sentences >= choosable, -torch.inf)
    ranked = scores
    if query_sentence_ids is not None and slope:
        ranked = nearer(scores, slope, query_sentence_ids, columns.sentences)
    if own is not None:
        ranked = ranked.masked_fill((columns.sentences == own - 1) & (scores != -torch.inf), torch.inf)
    if columns.group_size == 1:
        if t == scores.shape[-1]:
            sentences = torch.arange(t, device=scores.device).expand(scores.shape)
        else:
            sentences = top_columns(ranked, t, buffers)
        best = scores.gather(-1, sentences)
    else:
        sentences, best = top_members(ranked, t, columns.group_size, buffers)
        if ranked is not scores:
            num_groups = scores.shape[-1] // columns.group_size
            best = scores.gather(-1, sentences % columns.group_size * num_groups + sentences // columns.group_size)
    return sentences.masked_fill(best == -torch.inf, 0), best
