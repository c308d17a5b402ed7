# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""One vector per sentence: source2token pooling of the states of its tokens.

Dimensions: B batch, S tokens, N sentences, H pooling heads, E their width, D model width, M pairs of tree nodes.
"""

import torch
from torch import nn
from torch.nn import functional

from ..configuration.configuration_hier_nmt import HierNMTConfig
from ..ops.document_structure import Sentences, graph_sentences
from ..ops.numerics import full_precision


def source2token(
    hidden_states: torch.Tensor,
    sentence_ids: torch.Tensor,
    num_sentences: int,
    query: torch.Tensor,
    key_weight: torch.Tensor,
    value_weight: torch.Tensor,
    output_weight: torch.Tensor,
) -> torch.Tensor:
    """Encodings [B, N, D] of sentences: softmax(q (S_j W^K)^T / sqrt(E)) (S_j W^V) W^O (Trankova et al. 2024, eq. 2).

    Nothing is padded to the longest sentence: time and memory follow the number of tokens. Keys and values of tokens
    are never made; the query is carried through W^K and the pooled states through W^V, which is the same product.

    Args:
        hidden_states: token states [B, S, D].
        sentence_ids: sentence id of each token [B, S], from 1; 0 is padding, which is ignored. A sentence
            without tokens gets zeros.
        num_sentences: N, at least the largest id.
        query: one learned query per head [H, E]; [E] for a single head.
        key_weight, value_weight: [H * E, D], as in `torch.nn.functional.linear`.
        output_weight: [D, H * E].

    Raises:
        ValueError: an id is larger than N (for tokens on the CPU; other devices raise errors of their own).
    """
    if sentence_ids.device.type == "cpu" and not torch.compiler.is_compiling():
        highest = int(sentence_ids.max()) if sentence_ids.numel() else 0
        if highest > num_sentences:
            raise ValueError(f"Sentence id {highest} is above num_sentences={num_sentences}.")
    query = query.reshape(-1, query.shape[-1])
    num_heads, head_dim = query.shape
    key_of_query = keys_of_queries(query, key_weight)
    if graph_sentences() is not None:
        logits = functional.linear(hidden_states, key_of_query) * head_dim**-0.5
        pooled = dense_pooling(hidden_states, sentence_ids, num_sentences, logits)
        values = torch.einsum("bnhd,hed->bnhe", pooled, value_weight.unflatten(0, (num_heads, head_dim)))
        return functional.linear(values.flatten(2), output_weight)
    batch_size = len(hidden_states)
    row_starts = torch.arange(batch_size, device=sentence_ids.device)[:, None] * (num_sentences + 1)
    places = (sentence_ids + row_starts).flatten()  # [B S] into rows of one bin for padding and N for sentences
    num_places = batch_size * (num_sentences + 1)
    states = hidden_states.flatten(0, 1)
    weights = weights_in_sentence(functional.linear(states, key_of_query) * head_dim**-0.5, places, num_places)
    order = places.argsort(stable=True)
    counts = places.new_zeros(num_places).scatter_add(0, places, torch.ones_like(places))
    if states.is_cuda:
        # In half precision, CUDA has no gradient of the weights of `embedding_bag`.
        states = full_precision(states)
    weights = weights.to(states.dtype)[order]
    # The weighted states of all tokens are never in memory at the same time.
    pooled_heads = [
        functional.embedding_bag(
            order, states, counts.cumsum(0) - counts, mode="sum", per_sample_weights=weights[:, head]
        )
        for head in range(num_heads)
    ]
    pooled = torch.stack(pooled_heads, dim=1).to(hidden_states.dtype)
    pooled = pooled.unflatten(0, (batch_size, num_sentences + 1))[:, 1:]  # [B, N, H, D]
    values = torch.einsum("bnhd,hed->bnhe", pooled, value_weight.unflatten(0, (num_heads, head_dim)))
    return functional.linear(values.flatten(2), output_weight)


def keys_of_queries(query: torch.Tensor, key_weight: torch.Tensor) -> torch.Tensor:
    """Queries [H, E] carried through the projection of the keys [H E, D]: the products [H, D] with states are those of
    the queries with their keys."""
    return torch.einsum("he,hed->hd", query, key_weight.unflatten(0, query.shape))


def dense_pooling(
    hidden_states: torch.Tensor, sentence_ids: torch.Tensor, num_sentences: int, logits: torch.Tensor
) -> torch.Tensor:
    """States [B, N, H, D] of the sentences' tokens, averaged by the softmax of the logits [B, S, H] in each sentence:
    with a row of weights over all tokens for each sentence, for graphs that cannot sort tokens."""
    sentences = torch.arange(1, num_sentences + 1, device=sentence_ids.device)
    is_in = sentence_ids[:, None, None] == sentences[:, None]  # [B, 1, N, S]
    scores = logits.transpose(1, 2)[:, :, None].masked_fill(~is_in, torch.finfo(logits.dtype).min)  # [B, H, N, S]
    weights = scores.softmax(-1) * is_in
    return (weights @ hidden_states[:, None]).transpose(1, 2)


def weights_in_sentence(logits: torch.Tensor, places: torch.Tensor, num_places: int) -> torch.Tensor:
    """Softmax of the logits [L, H] over the entries with the same place, [L, H], in float32 at least.

    Args:
        logits: [L, H].
        places: integers [L] below `num_places`.
        num_places: number of places.
    """
    logits = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    index = places[:, None].expand_as(logits)
    # The maximum only shifts the exponents, which changes neither the result nor its gradient.
    largest = logits.new_full((num_places, logits.shape[1]), -torch.inf)
    largest = largest.scatter_reduce(0, index, logits.detach(), "amax")
    exponentials = (logits - largest[places]).exp()
    totals = logits.new_zeros(num_places, logits.shape[1]).index_add(0, places, exponentials)
    return exponentials / totals[places]


class SentenceEncoder(nn.Module):
    """Source2token pooling with its learned query and projections (Trankova et al. 2024, eq. 2)."""

    def __init__(self, config: HierNMTConfig):
        super().__init__()
        num_heads = config.sentence_encoder_heads
        self.query = nn.Parameter(torch.empty(num_heads, config.d_model // num_heads))
        self.k_proj = nn.Linear(config.d_model, config.d_model, bias=False)
        self.v_proj = nn.Linear(config.d_model, config.d_model, bias=False)
        self.out_proj = nn.Linear(config.d_model, config.d_model, bias=False)

    @classmethod
    def units(cls, config: HierNMTConfig, sentence_ids: torch.Tensor) -> Sentences:
        """What is encoded of documents with the ids `sentence_ids` [B, S]: their sentences."""
        return Sentences.from_ids(sentence_ids)

    def forward(self, hidden_states: torch.Tensor, sentence_ids: torch.Tensor, num_sentences: int) -> torch.Tensor:
        """Encodings [B, N, D] of the sentences of the states [B, S, D], numbered in `sentence_ids` [B, S] from 1."""
        weights = (self.k_proj.weight, self.v_proj.weight, self.out_proj.weight)
        return source2token(hidden_states, sentence_ids, num_sentences, self.query, *weights)

    def of_tokens(self, hidden_states: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Encodings [B, S, D] of sentences of one token each, of the states [B, S, D], and logits [B, S, 1]: the
        encoding of a sentence is the average of its tokens', weighted by the softmax of their logits in it. There must
        be one pooling query."""
        query = self.query.view(1, -1)
        logits = functional.linear(hidden_states, keys_of_queries(query, self.k_proj.weight)) * query.shape[1] ** -0.5
        return self.out_proj(self.v_proj(hidden_states)), logits


class PairMerge(SentenceEncoder):
    """Source2token over the two children of a tree node (Trankova et al. 2024, section 3.3.1)."""

    def forward(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        """Encodings [B, M, D] of the parents of the pairs (`left`, `right`), both [B, M, D]."""
        batch_size, num_pairs, _ = left.shape
        members = torch.stack([left, right], dim=2).flatten(1, 2)  # [B, 2M, D]
        numbers = torch.arange(num_pairs, device=left.device).repeat_interleave(2) + 1
        return super().forward(members, numbers.expand(batch_size, -1), num_pairs)
