# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The inputs of an attention slot, and the plans and masks that are made from them once per forward pass.

Dimensions: B batch, S source tokens, Q query length, K key length, D model width.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from transformers.cache_utils import Cache, EncoderDecoderCache
from transformers.masking_utils import create_bidirectional_mask, create_causal_mask

from ..configuration.configuration_hier_nmt import HierNMTConfig
from ..configuration.library_internals import configured_attention, named_cache
from ..ops.document_structure import DocumentStructure
from ..ops.sentence_spans import SentenceSpans


@dataclass(frozen=True)
class AttentionInputs:
    """The inputs that all layers of an attention slot share in one forward pass.

    Attributes:
        config: the model's configuration.
        inputs_embeds: query side embeddings [B, Q, D]; only shape, type and device are read.
        attention_mask: mask of the keys [B, K], nonzero = attend; or a complete 4-dimensional mask; or None.
        queries: structure of the Q queries. In cross-attention a query belongs to the sentence whose token it predicts.
        keys: structure of the keys: of the whole prefix in decoder self-attention (it may be longer than K for a static
            cache), of the source in cross-attention. None if it is unknown.
        is_causal: no token attends to a later one.
        encoder_hidden_states: the keys' states [B, S, D] in cross-attention, else None.
        cache: self-attention cache, or None.
        source_cache: in cross-attention, the cache that also stores what was computed from the source, or None.
    """

    config: HierNMTConfig
    inputs_embeds: torch.Tensor
    attention_mask: torch.Tensor | None
    queries: DocumentStructure
    keys: DocumentStructure | None
    is_causal: bool = False
    encoder_hidden_states: torch.Tensor | None = None
    cache: Cache | None = None
    source_cache: EncoderDecoderCache | None = None

    def query_positions(self) -> torch.Tensor | None:
        """Index [Q] of each query among the keys, in causal attention."""
        if not self.is_causal:
            return None
        num_queries = self.inputs_embeds.shape[1]
        past_length = 0 if self.cache is None else self.cache.get_seq_length()
        return past_length + torch.arange(num_queries, device=self.inputs_embeds.device)


def kept_with_cache(cache: EncoderDecoderCache | None, layer_idx: int, name: str, compute: Callable[[], Any]) -> Any:
    """The result of `compute` for the source, computed once per generation and stored with the cache.

    It is not reordered with the beams, because all beams of a document have the same source.

    Args:
        cache: of the decoder; None: it is computed in every call.
        layer_idx: the layer whose cached cross-attention tells whether this is the first call.
        name: under which the result is stored.
        compute: computes the result.
    """
    if cache is None:
        return compute()
    kept = cache.__dict__.setdefault("source_memory", {})
    if (name, layer_idx) not in kept or not cache.is_updated.get(layer_idx):
        kept[name, layer_idx] = compute()
    return kept[name, layer_idx]


@dataclass(frozen=True)
class SelectionPlan:
    """What all layers of a slot that reads selected sentences share in one forward pass.

    Attributes:
        key_sentence_ids: ids of the sentences of the keys [B, K or more], 0 on padding.
        query_sentence_ids: ids of the sentences of the queries [B, Q].
        query_positions: index [Q] of each query among the keys, in causal attention.
        spans: the positions of the tokens of the keys' sentences, computed on first use.
        own_sentence_ids: ids [B, Q] of sentences that are read whether they are selected or not.
    """

    key_sentence_ids: torch.Tensor
    query_sentence_ids: torch.Tensor
    spans: SentenceSpans
    query_positions: torch.Tensor | None = None
    own_sentence_ids: torch.Tensor | None = None

    @classmethod
    def from_inputs(cls, inputs: AttentionInputs) -> "SelectionPlan":
        """The plan of a slot; ValueError as in `visible_sentence_ids`."""
        ids = visible_sentence_ids(inputs)
        spans = kept_with_cache(inputs.source_cache, 0, "spans", lambda: SentenceSpans(ids))
        return cls(ids, inputs.queries.sentence_ids, spans, inputs.query_positions())


def visible_sentence_ids(inputs: AttentionInputs) -> torch.Tensor:
    """Ids of the sentences of the keys [B, K or more], 0 where the mask hides them.

    Raises:
        ValueError: the sentences of the keys are unknown, or the mask has more than two dimensions.
    """
    if inputs.keys is None:
        raise ValueError(UNKNOWN_SENTENCES)
    sentence_ids, mask = inputs.keys.sentence_ids, inputs.attention_mask
    if mask is None:
        return sentence_ids
    if mask.ndim == 4 and inputs.is_causal:
        # `generate` makes such masks for static caches. The last query attends to everything but padding.
        newest = mask[:, 0, -1]
        mask = newest if newest.dtype == torch.bool else newest > torch.finfo(newest.dtype).min / 2
    if mask.ndim != 2:
        raise ValueError(f"Attention to sentences needs a mask of shape (batch, keys), not {tuple(mask.shape)}.")
    return sentence_ids[:, : mask.shape[1]] * mask.bool()


UNKNOWN_SENTENCES = (
    "This attention needs the sentence ids of all keys. With a cache, pass decoder_sentence_ids for the "
    "whole target prefix; with encoder_outputs alone, pass sentence_ids."
)


def dense_mask(inputs: AttentionInputs, and_mask_function: Callable | None = None) -> Any:
    """The mask of a dense attention in the form that its implementation takes (None: nothing is masked).

    Args:
        inputs: the slot's inputs.
        and_mask_function: index function (batch, head, query, key) -> bool that further restricts which keys are
            attended to.
    """
    if inputs.is_causal:
        return create_causal_mask(
            config=inputs.config,
            inputs_embeds=inputs.inputs_embeds,
            attention_mask=inputs.attention_mask,
            and_mask_function=and_mask_function,
            **named_cache(inputs.cache),
        )
    return create_bidirectional_mask(
        config=inputs.config,
        inputs_embeds=inputs.inputs_embeds,
        attention_mask=inputs.attention_mask,
        encoder_hidden_states=inputs.encoder_hidden_states,
        and_mask_function=and_mask_function,
    )


def sentence_mask(inputs: AttentionInputs, query_ids: torch.Tensor, key_ids: torch.Tensor) -> Any:
    """Dense mask with which queries attend to keys that have the same sentence id.

    Args:
        inputs: the slot's inputs.
        query_ids: sentence ids of the queries [B, Q].
        key_ids: sentence ids of all keys [B, K or longer].
    """
    mask = inputs.attention_mask
    if mask is None or mask.ndim == 2:
        if configured_attention(inputs.config) not in ("eager", "sdpa"):
            return _sentence_mask_by_index(inputs, query_ids, key_ids)
        # An index function would be evaluated at all positions, which is slow in every decoding step.
        mask = dense_mask(inputs)
    if mask is None:
        mask = torch.ones_like(key_ids[:, None, None], dtype=torch.bool)
        positions = inputs.query_positions()
        if positions is not None:
            mask = mask & (torch.arange(key_ids.shape[1], device=key_ids.device) <= positions[:, None])
    same_sentence = query_ids[:, None, :, None] == key_ids[:, None, None, : mask.shape[-1]]
    if mask.dtype == torch.bool:
        return mask & same_sentence
    return mask.masked_fill(~same_sentence, torch.finfo(mask.dtype).min)


def _sentence_mask_by_index(inputs: AttentionInputs, query_ids: torch.Tensor, key_ids: torch.Tensor) -> Any:
    """As `sentence_mask`, in the mask format of the attention implementation."""
    ids_by_index = key_ids if inputs.is_causal else query_ids

    def same_sentence_at(batch: Any, head: Any, query: Any, key: Any) -> Any:
        return ids_by_index[batch, query] == key_ids[batch, key]

    return dense_mask(inputs, same_sentence_at)
