# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Multi-head attention to the whole document or to the own sentence, and what all attention slots share.

Dimensions: B batch, S source tokens, N sentences, Q query length, K key length, H heads, D model width, E head width.
"""

from dataclasses import replace
from typing import Any

import torch
from torch import nn
from transformers.cache_utils import EncoderDecoderCache
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from ..configuration.configuration_hier_nmt import HierNMTConfig
from ..configuration.library_internals import configured_attention
from ..ops.selected_attention import attend_selected_sentences, attend_selected_sentences_reference, is_grouped
from .attention_plan import UNKNOWN_SENTENCES, AttentionInputs, SelectionPlan, dense_mask, sentence_mask


def eager_attention_forward(
    module: nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float,
    dropout: float = 0.0,
    **kwargs: Any,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attention output [B, Q, H, E] and weights [B, H, Q, K], in plain operations.

    A query whose keys are all masked gets zeros, as in torch's scaled dot product attention.

    Args:
        module: the attention module, for its training flag.
        query: [B, H, Q, E].
        key, value: [B, H, K, E].
        attention_mask: additive [B, 1, Q, K], or boolean with True = attend, or None.
        scaling: factor on the logits.
        dropout: probability on the weights.
    """
    logits = query * scaling @ key.transpose(2, 3)
    if attention_mask is None:
        weights = logits.softmax(-1)
    else:
        if attention_mask.dtype == torch.bool:
            attention_mask = torch.zeros_like(attention_mask, dtype=logits.dtype).masked_fill(
                ~attention_mask, torch.finfo(logits.dtype).min
            )
        sees_anything = (attention_mask > torch.finfo(attention_mask.dtype).min / 2).any(-1, keepdim=True)
        # If a query attends to any key, the weights of masked keys are exactly zero.
        weights = (logits + attention_mask.where(sees_anything, 0.0)).softmax(-1) * sees_anything
    weights = nn.functional.dropout(weights, p=dropout, training=module.training)
    return (weights @ value).transpose(1, 2).contiguous(), weights


class MultiHeadAttention(nn.Module):
    """Multi-head attention with cached keys and values; subclasses define which keys a token attends to.

    Args:
        config: the model's configuration.
        num_heads: H.
        head_dim: E.
        layer_idx: index of the layer, for the cache.
        is_causal: decoder self-attention.
    """

    def __init__(self, config: HierNMTConfig, num_heads: int, head_dim: int, layer_idx: int, is_causal: bool = False):
        super().__init__()
        self.config = config
        self.num_heads = num_heads
        self.head_dim = head_dim
        self.scaling = self.head_dim**-0.5
        self.dropout = config.attention_dropout
        self.layer_idx = layer_idx
        self.is_causal = is_causal
        self.q_proj = nn.Linear(config.d_model, num_heads * head_dim)
        self.k_proj = nn.Linear(config.d_model, num_heads * head_dim)
        self.v_proj = nn.Linear(config.d_model, num_heads * head_dim)
        self.out_proj = nn.Linear(num_heads * head_dim, config.d_model)

    @classmethod
    def plan(cls, inputs: AttentionInputs) -> Any:
        """What all layers of this slot share in one forward pass; `forward` gets it as `plan`."""
        raise NotImplementedError

    def forward(
        self,
        hidden_states: torch.Tensor,
        plan: Any,
        key_value_states: torch.Tensor | None = None,
        cache: EncoderDecoderCache | None = None,
        sentence_keys: Any = None,
        pooling: Any = None,
        **kwargs: Any,
    ) -> tuple[torch.Tensor | None, ...]:
        """Attended states [B, Q, D] and, from the eager implementation, weights [B, H, Q, K].

        Args:
            hidden_states: queries [B, Q, D].
            plan: what `plan` gave for this slot; here the mask.
            key_value_states: source states [B, S, D] in cross-attention, None in self-attention.
            cache: of the decoder, or None.
            sentence_keys, pooling: for slots that read sentence encodings.
        """
        query = self._split_heads(self.q_proj(hidden_states))
        key, value = self._keys_and_values(hidden_states, key_value_states, cache)
        attend = ALL_ATTENTION_FUNCTIONS.get_interface(configured_attention(self.config), eager_attention_forward)
        dropout = self.dropout if self.training else 0.0
        output, weights = attend(self, query, key, value, plan, dropout=dropout, scaling=self.scaling, **kwargs)
        return self.out_proj(output.flatten(2)), weights

    def sentence_keys(self, sentence_states: torch.Tensor | None, sentence_mask: torch.Tensor | None) -> Any:
        """What `forward` needs of the encodings [B, N, D] of the keys' sentences: nothing in dense slots."""
        return None

    def _attend_selected(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        sentence_indices: torch.Tensor,
        sentence_scores: torch.Tensor,
        plan: SelectionPlan,
        output_attentions: bool | None,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Attended states [B, Q, D] and, on request, weights [B, H, Q, K], of queries that read selected sentences."""
        states, chosen = (query, key, value), (sentence_indices, sentence_scores)
        key_sentence_ids = plan.key_sentence_ids[:, : key.shape[2]]
        options: dict[str, Any] = {
            "own_sentence_ids": plan.own_sentence_ids,
            "query_positions": plan.query_positions,
            "scaling": self.scaling,
            "dropout": self.dropout if self.training else 0.0,
        }
        weights = None
        # As in Transformers, the configuration decides unless the call does.
        if self.config.output_attentions if output_attentions is None else output_attentions:
            output, weights = attend_selected_sentences_reference(*states, key_sentence_ids, *chosen, **options)
        else:
            # There may be fewer keys than ids.
            spans = plan.spans if plan.spans.key_sentence_ids.shape == key_sentence_ids.shape else None
            options |= {"kernel": self.config.attention_kernel, "spans": spans}
            output = attend_selected_sentences(*states, key_sentence_ids, *chosen, **options)
        return self.out_proj(output.transpose(1, 2).flatten(2)), weights

    def _split_heads(self, states: torch.Tensor) -> torch.Tensor:
        return states.unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2)  # [B, H, Q, E]

    def _keys_and_values(
        self,
        hidden_states: torch.Tensor,
        key_value_states: torch.Tensor | None,
        cache: EncoderDecoderCache | None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Keys and values [B, H, K, E], cached ones included; the source's are projected once per generation."""
        states = hidden_states
        if key_value_states is not None:
            if cache is not None and cache.is_updated.get(self.layer_idx):
                layer: Any = cache.cross_attention_cache.layers[self.layer_idx]
                return layer.keys, layer.values
            states = key_value_states
        key, value = self._split_heads(self.k_proj(states)), self._split_heads(self.v_proj(states))
        if cache is None:
            return key, value
        if key_value_states is None:
            return cache.self_attention_cache.update(key, value, self.layer_idx)
        cache.is_updated[self.layer_idx] = True
        return cache.cross_attention_cache.update(key, value, self.layer_idx)


class DocumentAttention(MultiHeadAttention):
    """Each token attends to every token of the document (in decoder self-attention, up to itself)."""

    @classmethod
    def plan(cls, inputs: AttentionInputs) -> Any:
        """The padding (and causal) mask."""
        return dense_mask(inputs)


class SentenceAttention(MultiHeadAttention):
    """Each token attends to the tokens of its own sentence; in cross-attention, to those of the source sentence with
    the id of the sentence that it predicts, or of the last source sentence if there are fewer."""

    @classmethod
    def plan(cls, inputs: AttentionInputs) -> Any:
        """The padding (and causal) mask, restricted to equal sentence ids."""
        if inputs.keys is None:
            raise ValueError(UNKNOWN_SENTENCES)
        key_ids = inputs.keys.sentence_ids
        query_ids = inputs.queries.sentence_ids
        if inputs.encoder_hidden_states is not None:
            query_ids = query_ids.clamp_min(1).minimum(key_ids.max(-1, keepdim=True).values)
        mask = inputs.attention_mask
        if (mask is None or mask.ndim == 2) and is_grouped(inputs.config.attention_kernel, key_ids.shape[1]):
            return replace(SelectionPlan.from_inputs(inputs), own_sentence_ids=query_ids)
        return sentence_mask(inputs, query_ids, key_ids)

    def forward(self, hidden_states: torch.Tensor, plan: Any, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """As in `MultiHeadAttention`; in long documents, in time and memory linear in their length."""
        if not isinstance(plan, SelectionPlan):
            return super().forward(hidden_states, plan, *args, **kwargs)
        return self._forward_linear(hidden_states, plan, *args, **kwargs)

    def _forward_linear(
        self,
        hidden_states: torch.Tensor,
        plan: SelectionPlan,
        key_value_states: torch.Tensor | None = None,
        cache: EncoderDecoderCache | None = None,
        output_attentions: bool | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        query = self._split_heads(self.q_proj(hidden_states))
        key, value = self._keys_and_values(hidden_states, key_value_states, cache)
        nothing = query.new_zeros(*query.shape[:-1], 0)
        return self._attend_selected(query, key, value, nothing.long(), nothing, plan, output_attentions)
