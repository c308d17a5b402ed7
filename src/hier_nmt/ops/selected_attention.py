# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Attention to the tokens of selected sentences: a dense reference, a form of linear cost, and the choice between them.

Dimensions: B batch, H heads, Q queries, K keys, E head width, t selected sentences, N sentences, C sentences read per
query (the own one included), W tokens of the longest of them, M blocks of L queries.
"""

from typing import NamedTuple

import torch
from torch.nn import functional

from ..configuration.configuration_choices import ATTENTION_KERNELS
from .backends import Backend, backend_for, triton_attention
from .document_structure import graph_sentences
from .numerics import full_precision, outside_autocast
from .sentence_spans import SentenceSpans

# With fewer keys, "auto" takes the dense form. With sentences of 25 tokens on one CPU core, the grouped form is faster
# from 400 to 600 keys on with the package's backend; without a backend from 500 (forward) or 800 (with backward) on.
MIN_GROUPED_KEYS = 448
# L: number of queries of a block, which read the same sentence.
BLOCK_QUERIES = 32
# Up to this many queries, as in a decoding step, gather their own keys, if these are not too many in total.
MAX_GATHERING_QUERIES, MAX_GATHERED_KEYS = 8, 2**15
# Added to the logits of tokens that are not read. Finite, because it is also multiplied by zeros.
UNREAD = -1e30


@outside_autocast
def attend_selected_sentences(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    key_sentence_ids: torch.Tensor,
    sentence_indices: torch.Tensor,
    sentence_scores: torch.Tensor,
    *,
    own_sentence_ids: torch.Tensor | None = None,
    query_positions: torch.Tensor | None = None,
    scaling: float | None = None,
    dropout: float = 0.0,
    kernel: str = "auto",
    spans: SentenceSpans | None = None,
) -> torch.Tensor:
    """Attention output [B, H, Q, E] over the tokens of each query's selected sentences (Trankova et al. 2024, eq. 7).

    The weights are the softmax, over those tokens, of query . key * scaling + score of the token's sentence. A query
    that reads nothing gets zeros, and finite gradients.

    Args:
        query: [B, H, Q, E].
        key, value: [B, H, K, E].
        key_sentence_ids: sentence id of each key [B, K], from 1; 0 is padding, which no query reads. If the dense form
            is compiled or runs on a device, no id may exceed K; on a device a larger one is an error.
        sentence_indices: the selected sentences [B, H, Q, t], from 0, without repetition.
        sentence_scores: their scores [B, H, Q, t]; minus infinity marks an empty place.
        own_sentence_ids: id [B, Q] of a sentence that each query also reads, with an added score of 0 (if it is
            selected anyway, with its score).
        query_positions: index [Q] of each query among the keys; later keys are not read (causal attention).
        scaling: factor on query . key; default 1 / sqrt(E).
        dropout: probability on the attention weights.
        kernel: `reference` (dense, with Q x K weights), `grouped` (linear in the number of selected tokens), `triton`
            (the same on a GPU, experimental) or `auto`: the dense form for short documents, where it is faster, else
            `grouped`. Under `torch.compile` it is always the dense form.
        spans: of `key_sentence_ids`, if the caller has them.

    Raises:
        ValueError: the kernel is unknown or is `triton` on a CPU, or shapes differ that must be equal.
        ImportError: the kernel is `triton`, and Triton is not installed.
    """
    if sentence_indices.shape != sentence_scores.shape or key_sentence_ids.shape != (key.shape[0], key.shape[2]):
        raise ValueError(
            f"sentence_indices {tuple(sentence_indices.shape)} and sentence_scores {tuple(sentence_scores.shape)} must "
            f"have the same shape, and key_sentence_ids {tuple(key_sentence_ids.shape)} that of the keys, "
            f"{(len(key), key.shape[2])}."
        )
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    sentence_scores = full_precision(sentence_scores)
    if key.shape[2] == 0 or (sentence_indices.shape[-1] == 0 and own_sentence_ids is None):
        return query.masked_fill(query.new_ones((), dtype=torch.bool), 0.0)
    backend = backend_for(query)
    if not is_grouped(kernel, key.shape[2], backend):
        return attend_selected_sentences_reference(
            query, key, value, key_sentence_ids, sentence_indices, sentence_scores,
            own_sentence_ids=own_sentence_ids, query_positions=query_positions, scaling=scaling, dropout=dropout,
            with_weights=False,
        )[0]  # fmt: skip
    spans = spans or SentenceSpans(key_sentence_ids)
    sentence_ids, scores = read_sentences(sentence_indices, sentence_scores, own_sentence_ids)
    if kernel == "triton":
        attend = triton_attention()
    elif gathers_few(query, spans, sentence_ids):
        attend = attend_gathered
    else:
        attend = attend_sentences if backend is None else backend.attend
    return attend(query, key, value, scores, sentence_ids, spans, query_positions, scaling, dropout)


def is_grouped(kernel: str, num_keys: int, backend: Backend | None = None) -> bool:
    """Whether `attend_selected_sentences` takes the form of linear cost, for this kernel, K keys and this backend.

    Raises:
        ValueError: the kernel is unknown.
    """
    if kernel not in ATTENTION_KERNELS:
        raise ValueError(f"kernel={kernel!r} is unknown; choose one of {', '.join(ATTENTION_KERNELS)}.")
    # The work depends on the selected sentences, but a compiled graph cannot.
    if torch.compiler.is_compiling() or kernel == "reference":
        return False
    fewest = MIN_GROUPED_KEYS if backend is None or backend.min_keys is None else backend.min_keys
    return kernel in ("grouped", "triton") or num_keys >= fewest


def gathers_few(query: torch.Tensor, spans: SentenceSpans, sentence_ids: torch.Tensor) -> bool:
    """Whether the queries are so few that gathering the keys of each is faster than grouping the queries."""
    if query.shape[2] > MAX_GATHERING_QUERIES:
        return False
    return len(query) * query.shape[2] * sentence_ids.shape[-1] * spans.longest <= MAX_GATHERED_KEYS


def read_sentences(
    sentence_indices: torch.Tensor, sentence_scores: torch.Tensor, own_sentence_ids: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids [B, H, Q, C] of the sentences that each query reads, 0 for none, and their added scores [B, H, Q, C].

    Args:
        sentence_indices, sentence_scores, own_sentence_ids: as in `attend_selected_sentences`.
    """
    is_selected = sentence_scores != -torch.inf
    sentence_ids = (sentence_indices + 1).masked_fill(~is_selected, 0)
    scores = sentence_scores.masked_fill(~is_selected, 0.0)
    if own_sentence_ids is None:
        return sentence_ids, scores
    own = own_sentence_ids[:, None, :, None].expand(*sentence_ids.shape[:-1], 1)
    own = own.masked_fill((sentence_ids == own).any(-1, keepdim=True), 0)
    return torch.cat([sentence_ids, own], dim=-1), functional.pad(scores, (0, 1))


def attend_sentences(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    scores: torch.Tensor,
    sentence_ids: torch.Tensor,
    spans: SentenceSpans,
    query_positions: torch.Tensor | None,
    scaling: float,
    dropout: float = 0.0,
) -> torch.Tensor:
    """Output [B, H, Q, E] of queries that read the sentences with these ids, in time and memory linear in B H Q C W.

    All tokens of a sentence have the same added score. Attention over several sentences is therefore a weighted sum of
    the attentions inside each of them, which are computed in blocks of queries that read the same sentence.

    Args:
        query: [B, H, Q, E].
        key, value: [B, H, K, E].
        scores: added to the logits of each sentence's tokens [B, H, Q, C].
        sentence_ids: [B, H, Q, C]; 0 is none, and sentences without keys are not read.
        spans: of the keys.
        query_positions, scaling, dropout: as in `attend_selected_sentences`.
    """
    blocks = query_blocks(sentence_ids)
    indices, is_read = spans.tokens_of_blocks(blocks.document, blocks.sentence_id)  # [M, W]
    document, head = blocks.document[:, None], blocks.head[:, None]
    queries, keys, values = (
        query[document, head, blocks.query],
        key[document, head, indices],
        value[document, head, indices],
    )
    is_read = is_read[:, None]
    if query_positions is not None:
        is_read = is_read & (indices[:, None] <= query_positions[blocks.query][..., None])
    logits = full_precision(queries @ keys.transpose(1, 2) * scaling).masked_fill(~is_read, UNREAD)  # [M, L, W]
    weights = functional.dropout(logits.softmax(-1).to(value.dtype), p=dropout)
    # For each pair of a query and a sentence: the output there, and the logarithm of its weight.
    read = (weights @ values).flatten(0, 1)[blocks.slot]  # [B, H, Q, C, E]
    normaliser = logits.logsumexp(-1).flatten()[blocks.slot] + scores
    reads_nothing = ~is_read.expand(logits.shape).any(-1).flatten()[blocks.slot]
    shares = normaliser.masked_fill(reads_nothing, UNREAD).softmax(-1).to(value.dtype)
    output = (shares[..., None, :] @ read)[..., 0, :]
    return output.masked_fill(reads_nothing.all(-1, keepdim=True), 0.0)


class QueryBlocks(NamedTuple):
    """Queries in blocks of L that read the same sentence with the same head.

    Attributes:
        document, head, sentence_id: of each block [M].
        query: its queries [M, L]; unused places hold query 0.
        slot: where each pair of a query and a sentence is in the blocks [B, H, Q, C], `block * L + index`.
    """

    document: torch.Tensor
    head: torch.Tensor
    sentence_id: torch.Tensor
    query: torch.Tensor
    slot: torch.Tensor


def query_blocks(sentence_ids: torch.Tensor) -> QueryBlocks:
    """The blocks for queries that read the sentences with these ids [B, H, Q, C]."""
    batch_size, num_heads, num_queries, num_choices = sentence_ids.shape
    num_ids = int(sentence_ids.max()) + 1
    heads = torch.arange(batch_size * num_heads, device=sentence_ids.device).view(batch_size, num_heads, 1, 1)
    group, pair = (sentence_ids + heads * num_ids).flatten().sort(stable=True)
    groups, group_of_pair, size = group.unique_consecutive(return_inverse=True, return_counts=True)
    num_blocks = (size + BLOCK_QUERIES - 1) // BLOCK_QUERIES
    in_group = torch.arange(len(pair), device=pair.device) - (size.cumsum(0) - size)[group_of_pair]
    slot_of_pair = (num_blocks.cumsum(0) - num_blocks)[group_of_pair] * BLOCK_QUERIES + in_group
    block_group = groups.repeat_interleave(num_blocks)
    query = pair.new_zeros(len(block_group) * BLOCK_QUERIES).scatter(0, slot_of_pair, pair // num_choices % num_queries)
    head = block_group // num_ids
    return QueryBlocks(
        head // num_heads,
        head % num_heads,
        block_group % num_ids,
        query.view(-1, BLOCK_QUERIES),
        torch.empty_like(pair).scatter(0, pair, slot_of_pair).view(sentence_ids.shape),
    )


def attend_gathered(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    scores: torch.Tensor,
    sentence_ids: torch.Tensor,
    spans: SentenceSpans,
    query_positions: torch.Tensor | None,
    scaling: float,
    dropout: float,
) -> torch.Tensor:
    """The same as `attend_sentences`, for a few queries: the keys and values of each query are gathered."""
    indices, is_read = spans.tokens_of(sentence_ids.flatten(1))
    indices, is_read = (found.view(*sentence_ids.shape, -1) for found in (indices, is_read))  # [B, H, Q, C, W]
    if query_positions is not None:
        is_read = is_read & (indices <= query_positions[:, None, None])
    rows = torch.arange(len(key), device=key.device)[:, None, None, None, None]
    heads = torch.arange(key.shape[1], device=key.device)[:, None, None, None]
    keys, values = (states[rows, heads, indices].flatten(3, 4) for states in (key, value))  # [B, H, Q, C W, E]
    logits = full_precision((query[..., None, :] @ keys.transpose(3, 4))[..., 0, :] * scaling)  # [B, H, Q, C W]
    logits = logits + scores[..., None].expand(indices.shape).flatten(3)
    is_read = is_read.flatten(3)
    reads_nothing = ~is_read.any(-1, keepdim=True)
    # A query that reads nothing is not masked, so that its weights are finite; its output is set to zero below.
    weights = logits.masked_fill(~is_read & ~reads_nothing, -torch.inf).softmax(-1).to(value.dtype)
    output = (functional.dropout(weights, p=dropout)[..., None, :] @ values)[..., 0, :]
    return output.masked_fill(reads_nothing, 0.0)


@outside_autocast
def attend_selected_sentences_reference(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    key_sentence_ids: torch.Tensor,
    sentence_indices: torch.Tensor,
    sentence_scores: torch.Tensor,
    *,
    own_sentence_ids: torch.Tensor | None = None,
    query_positions: torch.Tensor | None = None,
    scaling: float,
    dropout: float = 0.0,
    with_weights: bool = True,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Output [B, H, Q, E] and weights [B, H, Q, K] of `attend_selected_sentences`, over all keys under a mask."""
    sentence_scores = full_precision(sentence_scores)
    # Compiled code cannot depend on the largest id, and reading it from a device would wait for the device.
    is_bounded = torch.compiler.is_compiling() or key.device.type != "cpu"
    num_sentences = graph_sentences() or (key.shape[2] if is_bounded else int(key_sentence_ids.max()))
    num_columns = 1 + num_sentences
    biases = biases_by_sentence(sentence_indices, sentence_scores, num_columns, own_sentence_ids)
    # A product with a matrix of ones and zeros is exact, and its backward pass is fast.
    sentences = torch.arange(num_columns, device=key.device)[:, None]
    membership = (key_sentence_ids[:, None] == sentences).to(biases.dtype)  # [B, 1 + N, K]
    logits = torch.bmm(biases.flatten(1, 2), membership)  # [B, H Q, K], in float32 at least
    logits = logits.view(-1, *query.shape[2:3], key.shape[2])  # [B H, Q, K]
    if query.dtype == logits.dtype:
        logits.baddbmm_(query.flatten(0, 1), key.flatten(0, 1).transpose(1, 2), alpha=scaling)
    else:
        logits += query.flatten(0, 1) @ key.flatten(0, 1).transpose(1, 2) * scaling
    if query_positions is not None:
        is_future = torch.arange(key.shape[2], device=key.device) > query_positions[:, None]
        logits += logits.new_zeros(is_future.shape).masked_fill_(is_future, UNREAD)
    logits = logits.view(*query.shape[:3], -1)
    # If a query reads any token, the weights of the others are exactly zero.
    reads_nothing = logits.detach().amax(-1, keepdim=True) < UNREAD / 2
    weights = logits.softmax(-1).to(query.dtype)
    if with_weights:
        # The output is computed from the returned weights, so that these have a gradient.
        weights = weights.masked_fill(reads_nothing, 0.0)
        return functional.dropout(weights, p=dropout) @ value, weights
    return (functional.dropout(weights, p=dropout) @ value).masked_fill_(reads_nothing, 0.0), None


def biases_by_sentence(
    sentence_indices: torch.Tensor,
    sentence_scores: torch.Tensor,
    num_columns: int,
    own_sentence_ids: torch.Tensor | None,
) -> torch.Tensor:
    """The score that is added to the logits of each sentence's tokens [B, H, Q, 1 + N], by id; 0 is no sentence.

    Args:
        sentence_indices, sentence_scores, own_sentence_ids: as in `attend_selected_sentences`.
        num_columns: 1 + N; sentences with larger ids have no keys.
    """
    biases = sentence_scores.new_full((*sentence_scores.shape[:-1], num_columns), UNREAD)
    if own_sentence_ids is not None:
        own = own_sentence_ids.masked_fill(own_sentence_ids >= num_columns, 0)
        biases.scatter_(-1, own[:, None, :, None].expand(*biases.shape[:-1], 1), 0.0)
    is_missing = (sentence_scores == -torch.inf) | (sentence_indices + 1 >= num_columns)
    ids = (sentence_indices + 1).masked_fill(is_missing, 0)
    biases = biases.scatter_(-1, ids, sentence_scores.masked_fill(is_missing, UNREAD))
    biases[..., 0] = UNREAD
    return biases
