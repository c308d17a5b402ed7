# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The choice of the t sentences that matter to each token and head.

Dimensions: B batch, N sentences, t sentences kept, H heads, Q queries, E head width.
"""

import functools
import math
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch.nn import functional

from .compiled_form import compiled_form
from .linear import convolved, is_convolved
from .precision import full_precision, outside_autocast
from .processor import multiplies_512_bits, runs_eagerly_on_processor
from .sentence_blocks import RowOrder, narrowed
from .top_scores import FEW_SCORES, top_columns, top_members
from .workspace import Workspace, kept_workspace

# Scores held at one time by the search among all sentences.
SCORES_AT_ONCE = 2**22
# Numbers of keys that are gathered at one time.
NUMBERS_AT_ONCE = 2**22
# So few queries find their sentences in one step, because making all keys ready takes longer.
FEW_QUERIES = 8
# From so many sentences on, groups of them are compared by their best before single ones are.
MIN_GROUPED_SENTENCES = 256
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
        compiled = compiled_form(query)
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
    compiled = compiled_form(query)
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
    size = max(NUMBERS_AT_ONCE // (rows.shape[1] * key.shape[-1]), 1)
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
    counts = torch.bincount(rows.flatten(), minlength=key.shape[:3].numel())
    grad_key = functional.embedding_bag(
        by_key // rows.shape[1],
        order.flatten(query),
        offsets=counts.cumsum(0) - counts,
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
        own_sentence_ids: numbers [B, Q] from 1 of sentences that are always among the t.
        num_choosable: only the first so many sentences [B, Q] may be chosen (causal attention).

    Returns:
        Indices [B, H, Q, t] from 0, and scores [B, H, Q, t]; places without a sentence have index 0 and a score of
        minus infinity.

    Raises:
        ValueError: t is below 1.
    """
    check_num_selected(t)
    compiled = compiled_form(sentence_query)
    search = search_all if compiled is None else compiled.search_all
    with torch.no_grad():
        indices, scores = search(sentence_query, sentence_key, sentence_mask, t, own_sentence_ids, num_choosable)
    if not (torch.is_grad_enabled() and (sentence_query.requires_grad or sentence_key.requires_grad)):
        return indices, scores
    is_filled = scores != -torch.inf  # true of what is no number, which is not to be hidden
    scores = SelectedRelevance.apply(sentence_query, sentence_key, indices, scores.masked_fill(~is_filled, 0.0))
    return indices, scores.masked_fill(~is_filled, -torch.inf)


def search_all(
    query: torch.Tensor,
    key: torch.Tensor,
    sentence_mask: torch.Tensor,
    t: int,
    own_sentence_ids: torch.Tensor | None,
    num_choosable: torch.Tensor | None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Indices and scores [B, H, Q, t] of `select_by_relevance`, whose arguments these are."""
    arguments = query, full_precision(key), sentence_mask, t, own_sentence_ids, num_choosable
    is_few = query.shape[2] <= FEW_QUERIES or query.shape[:3].numel() * key.shape[2] <= FEW_SCORES
    indices, products = (search_few if is_few else search_many)(*arguments)
    # Keys that are scaled before would make products that are equal differ by a rounding.
    scores = products * query.shape[-1] ** -0.5
    return indices, scores.masked_fill_(products == torch.inf, torch.nan)


def search_few(
    query: torch.Tensor,
    key: torch.Tensor,
    sentence_mask: torch.Tensor,
    t: int,
    own_sentence_ids: torch.Tensor | None,
    num_choosable: torch.Tensor | None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """As `search_many`, for few queries, such as those of a decoding step: in one step, with every key as it is."""
    # As `top_columns` asks for: a zero is added because no zero may be negative, and what is no number wins.
    products = (full_precision(query) @ key.transpose(2, 3)).add_(0.0).nan_to_num_(torch.inf, torch.inf, -torch.inf)
    products.masked_fill_(~sentence_mask[:, None, None], -torch.inf)
    columns = Columns(torch.arange(key.shape[2], device=key.device), 1)
    num_found = min(t, key.shape[2])
    indices, best = select_allowed(products, num_found, columns, own_sentence_ids, num_choosable, kept_workspace(key))
    return functional.pad(indices, (0, t - num_found)), functional.pad(best, (0, t - num_found), value=-torch.inf)


def search_many(
    query: torch.Tensor,
    key: torch.Tensor,
    sentence_mask: torch.Tensor,
    t: int,
    own_sentence_ids: torch.Tensor | None,
    num_choosable: torch.Tensor | None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Indices and products [B, H, Q, t] for `search_all`; infinity stands for what is no number."""
    # Minus infinity added to a product that is no number would not take it away, and a maximum might miss it.
    is_no_number = key.isnan().any(-1) & sentence_mask[:, None]
    key = key.masked_fill((is_no_number | ~sentence_mask[:, None])[..., None], 0.0)
    columns = Columns.of(key.shape[2], t, key)
    keys = columns.arrange(key, 2)
    limits = keys.new_zeros(keys.shape[:3]).masked_fill_(~columns.arrange(sentence_mask, 1)[:, None], -torch.inf)
    # What is no number is chosen before all others.
    limits = limits.masked_fill_(columns.arrange(is_no_number, 2), torch.inf)
    # `top_members` need none where everything may be chosen.
    has_limits = columns.group_size == 1 or bool((limits != 0).any())
    workspace = kept_workspace(key)
    best = key.new_full((*query.shape[:3], t), -torch.inf)
    indices = torch.zeros(best.shape, dtype=torch.int64, device=query.device)
    num_found = min(t, len(columns.sentences))
    for documents, heads, some in parts_of_search(query, keys):
        here = documents, heads
        some_queries = query[*here, some]
        if query.dtype != key.dtype:
            some_queries = workspace.take("queries of a part", *some_queries.shape).copy_(some_queries)
        scores = limited_products(some_queries, keys[here], limits[here] if has_limits else None, workspace)
        own = None if own_sentence_ids is None else own_sentence_ids[documents, some]
        choosable = None if num_choosable is None else num_choosable[documents, some]
        found = select_allowed(scores, num_found, columns, own, choosable, workspace)
        indices[*here, some, :num_found], best[*here, some, :num_found] = found
    return indices, best


def parts_of_search(query: torch.Tensor, key: torch.Tensor) -> Iterator[tuple[slice, slice, slice]]:
    """The documents, heads and queries [B, H, Q, E] for which scores of all keys [B, H, N, E] are held at one time."""
    (batch_size, num_heads, num_queries, _), num_keys = query.shape, key.shape[2]
    parts = [(slice(None), slice(None))]
    size = SCORES_AT_ONCE // max(batch_size * num_heads * num_keys, 1)
    if num_queries * num_keys >= SCORES_AT_ONCE // 8 and runs_eagerly_on_processor(key):
        # Products of one head, that stay in the processor's cache, are found and compared faster.
        parts = [(slice(b, b + 1), slice(h, h + 1)) for b in range(batch_size) for h in range(num_heads)]
        # Convolutions give fresh memory, of which less is faster; kept memory is better made use of in larger parts.
        size = SCORES_AT_ONCE // (2 if are_convolved(query, key) else 1) // num_keys
    for documents, heads in parts:
        for start in range(0, num_queries, max(size, 1)):
            yield documents, heads, slice(start, start + max(size, 1))


def limited_products(
    queries: torch.Tensor, keys: torch.Tensor, limits: torch.Tensor | None, workspace: Workspace
) -> torch.Tensor:
    """Products [B, H, Q, N] of queries [B, H, Q, E] and keys [B, H, N, E], plus limits [B, H, N] if there are any.

    Limits of zero make negative zeros positive, as `top_columns` asks for.
    """
    if queries.shape[:2].numel() == 1 and are_convolved(queries, keys):
        return convolved(queries[0, 0], keys[0, 0], None if limits is None else limits[0, 0])[None, None]
    scores = workspace.take("scores", *queries.shape[:3], keys.shape[2])
    if limits is not None:
        scores.copy_(limits[:, :, None])
    scores.flatten(0, 1).baddbmm_(queries.flatten(0, 1), keys.flatten(0, 1).transpose(1, 2), beta=limits is not None)
    return scores


def are_convolved(queries: torch.Tensor, keys: torch.Tensor) -> bool:
    """Whether queries [..., E] are multiplied by keys [..., E] as a convolution.

    It brings fresh memory, which costs more than it saves where it is hardly faster.
    """
    return is_convolved(queries, keys) and multiplies_512_bits()


class Columns(NamedTuple):
    """In which order the sentences are scored, so that groups of neighbours are quickly compared.

    The scores [G, N / G] of such columns have a group of G neighbours below one another.

    Attributes:
        sentences: index of the sentence in each column; indices beyond the last sentence fill up the last group.
        group_size: G, or 1 where single sentences are compared.
    """

    sentences: torch.Tensor
    group_size: int

    @classmethod
    def of(cls, num_sentences: int, t: int, key: torch.Tensor) -> "Columns":
        """The columns for N sentences of which t are to be found, for scores of the type and device of these keys."""
        # As many groups as members of t groups.
        group_size = 2 ** round(math.log2(max(num_sentences / t, 1)) / 2)
        if num_sentences < MIN_GROUPED_SENTENCES or key.dtype != torch.float32 or key.device.type != "cpu":
            group_size = 1
        num_groups = -(-num_sentences // group_size)
        numbers = torch.arange(num_groups * group_size, device=key.device)
        return cls(numbers.view(num_groups, group_size).t().flatten(), group_size)

    def arrange(self, states: torch.Tensor, dim: int) -> torch.Tensor:
        """The states of the sentences in this order, zeros (or False) behind the last."""
        if self.group_size == 1:
            return states
        missing = len(self.sentences) - states.shape[dim]
        padding = states.new_zeros([missing if place == dim else size for place, size in enumerate(states.shape)])
        return torch.cat([states, padding], dim).index_select(dim, self.sentences)


def select_allowed(
    scores: torch.Tensor,
    t: int,
    columns: Columns,
    own_sentence_ids: torch.Tensor | None,
    num_choosable: torch.Tensor | None,
    workspace: Workspace,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The t <= N best [B, H, Q, t] of the scores [B, H, Q, N], within what `select_by_relevance` is told to allow.

    The scores of what is not allowed are overwritten.
    """
    if num_choosable is not None:
        scores.masked_fill_(columns.sentences >= num_choosable[:, None, :, None], -torch.inf)
    ranked = scores
    if own_sentence_ids is not None:
        is_own = (columns.sentences == own_sentence_ids[:, None, :, None] - 1) & (scores != -torch.inf)
        ranked = scores.masked_fill(is_own, torch.inf)
    if columns.group_size == 1:
        if t == scores.shape[-1]:
            sentences = torch.arange(t, device=scores.device).expand(scores.shape)
        else:
            sentences = top_columns(ranked, t, workspace)
        best = scores.gather(-1, sentences)
    else:
        sentences, best = top_members(ranked, t, columns.group_size, workspace)
        if ranked is not scores:
            num_groups = scores.shape[-1] // columns.group_size
            best = scores.gather(-1, sentences % columns.group_size * num_groups + sentences // columns.group_size)
    return sentences.masked_fill(best == -torch.inf, 0), best
