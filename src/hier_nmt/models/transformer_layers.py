# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Multi-head attention by scope, feed-forward block, encoder and decoder layer.

Dimensions: B batch, S source tokens, T target tokens, Q query length, K key length, H heads, D model width, E head
width.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from transformers.activations import ACT2FN
from transformers.cache_utils import Cache, EncoderDecoderCache
from transformers.masking_utils import create_bidirectional_mask, create_causal_mask
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from .document_structure import DocumentStructure

if TYPE_CHECKING:
    from .configuration_hier_nmt import HierNMTConfig


@dataclass(frozen=True)
class AttentionInputs:
    """What an attention slot may know before its layers run: the same for every layer of one forward.

    Attributes:
        config: the model's configuration.
        inputs_embeds: query side embeddings [B, Q, D]; only shape, type and device are read.
        attention_mask: mask of the keys [B, K], nonzero = may look; or a ready 4-dimensional mask; or None.
        queries: structure of the Q queries. In cross-attention a query belongs to the sentence it writes.
        keys: structure of the keys: of the whole prefix in decoder self-attention (it may be longer than K for a static
            cache), of the source in cross-attention. None where the caller left it unknown.
        is_causal: no token may look at a later one.
        encoder_hidden_states: the keys' states [B, S, D] in cross-attention, else None.
        past_key_values: self-attention cache, or None.
    """

    config: "HierNMTConfig"
    inputs_embeds: torch.Tensor
    attention_mask: torch.Tensor | None
    queries: DocumentStructure
    keys: DocumentStructure | None
    is_causal: bool = False
    encoder_hidden_states: torch.Tensor | None = None
    past_key_values: Cache | None = None


def dense_mask(inputs: AttentionInputs, and_mask_function: Callable | None = None) -> Any:
    """The mask of a dense attention in the form its implementation wants (None: everything may be seen).

    Args:
        inputs: the slot's inputs.
        and_mask_function: index function (batch, head, query, key) -> bool that restricts what may be seen further.
    """
    if inputs.is_causal:
        return create_causal_mask(
            config=inputs.config,
            inputs_embeds=inputs.inputs_embeds,
            attention_mask=inputs.attention_mask,
            past_key_values=inputs.past_key_values,
            and_mask_function=and_mask_function,
        )
    return create_bidirectional_mask(
        config=inputs.config,
        inputs_embeds=inputs.inputs_embeds,
        attention_mask=inputs.attention_mask,
        encoder_hidden_states=inputs.encoder_hidden_states,
        and_mask_function=and_mask_function,
    )


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

    A query that may see nothing gets zeros, as in torch's scaled dot product attention.

    Args:
        module: the attention module, for its training flag.
        query: [B, H, Q, E].
        key, value: [B, H, K, E].
        attention_mask: additive [B, 1, Q, K], or boolean with True = may look, or None.
        scaling: factor on the logits.
        dropout: probability on the weights.
    """
    logits = query @ key.transpose(2, 3) * scaling
    if attention_mask is not None:
        if attention_mask.dtype == torch.bool:
            attention_mask = torch.zeros_like(attention_mask, dtype=logits.dtype).masked_fill(
                ~attention_mask, torch.finfo(logits.dtype).min
            )
        logits = logits + attention_mask
    weights = logits.softmax(-1)
    if attention_mask is not None:
        weights = weights.masked_fill(attention_mask <= torch.finfo(attention_mask.dtype).min / 2, 0.0)
    weights = nn.functional.dropout(weights, p=dropout, training=module.training)
    return (weights @ value).transpose(1, 2).contiguous(), weights


class MultiHeadAttention(nn.Module):
    """Multi-head attention with cached keys and values; subclasses say what a token may look at.

    Args:
        config: the model's configuration.
        num_heads: H.
        layer_idx: index of the layer, for the cache.
        is_causal: decoder self-attention.

    Attributes:
        reads_sentences: whether the plan depends on sentence numbers.
    """

    reads_sentences = True

    def __init__(self, config: "HierNMTConfig", num_heads: int, layer_idx: int, is_causal: bool = False):
        super().__init__()
        self.config = config
        self.num_heads = num_heads
        self.head_dim = config.d_model // num_heads
        self.scaling = self.head_dim**-0.5
        self.dropout = config.attention_dropout
        self.layer_idx = layer_idx
        self.is_causal = is_causal
        self.q_proj = nn.Linear(config.d_model, config.d_model)
        self.k_proj = nn.Linear(config.d_model, config.d_model)
        self.v_proj = nn.Linear(config.d_model, config.d_model)
        self.out_proj = nn.Linear(config.d_model, config.d_model)

    @classmethod
    def plan(cls, inputs: AttentionInputs) -> Any:
        """Whatever all layers of this slot share in one forward; handed to `forward` as `plan`."""
        raise NotImplementedError

    def forward(
        self,
        hidden_states: torch.Tensor,
        plan: Any,
        key_value_states: torch.Tensor | None = None,
        past_key_values: EncoderDecoderCache | None = None,
        **kwargs: Any,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Attended states [B, Q, D] and, from the eager implementation, weights [B, H, Q, K].

        Args:
            hidden_states: queries [B, Q, D].
            plan: what `plan` gave for this slot; here the mask.
            key_value_states: source states [B, S, D] in cross-attention, None in self-attention.
            past_key_values: cache, or None.
        """
        query = self._split_heads(self.q_proj(hidden_states))
        key, value = self._keys_and_values(hidden_states, key_value_states, past_key_values)
        attend = ALL_ATTENTION_FUNCTIONS.get_interface(self.config._attn_implementation, eager_attention_forward)
        dropout = self.dropout if self.training else 0.0
        output, weights = attend(self, query, key, value, plan, dropout=dropout, scaling=self.scaling, **kwargs)
        return self.out_proj(output.flatten(2)), weights

    def _split_heads(self, states: torch.Tensor) -> torch.Tensor:
        return states.unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2)  # [B, H, Q, E]

    def _keys_and_values(
        self,
        hidden_states: torch.Tensor,
        key_value_states: torch.Tensor | None,
        past_key_values: EncoderDecoderCache | None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Keys and values [B, H, K, E], cached ones included; the source's are projected once per generation."""
        states = hidden_states
        if key_value_states is not None:
            if past_key_values is not None and past_key_values.is_updated.get(self.layer_idx):
                layer: Any = past_key_values.cross_attention_cache.layers[self.layer_idx]
                return layer.keys, layer.values
            states = key_value_states
        key, value = self._split_heads(self.k_proj(states)), self._split_heads(self.v_proj(states))
        if past_key_values is None:
            return key, value
        if key_value_states is None:
            return past_key_values.self_attention_cache.update(key, value, self.layer_idx)
        past_key_values.is_updated[self.layer_idx] = True
        return past_key_values.cross_attention_cache.update(key, value, self.layer_idx)


class DocumentAttention(MultiHeadAttention):
    """A token sees every token of the document (before itself, in decoder self-attention)."""

    reads_sentences = False

    @classmethod
    def plan(cls, inputs: AttentionInputs) -> Any:
        """The padding (and causal) mask."""
        return dense_mask(inputs)


class SentenceAttention(MultiHeadAttention):
    """A token sees the tokens of its own sentence; in cross-attention those of the source sentence with the number of
    the sentence it writes, or of the last source sentence once it writes more than there are."""

    @classmethod
    def plan(cls, inputs: AttentionInputs) -> Any:
        """The padding (and causal) mask, restricted to equal sentence numbers."""
        if inputs.keys is None:
            raise ValueError(
                "Sentence attention needs the sentence numbers of all keys. With past_key_values, pass "
                "decoder_sentence_ids for the whole target prefix; with encoder_outputs alone, pass sentence_ids."
            )
        key_ids = inputs.keys.sentence_ids
        query_ids = inputs.queries.sentence_ids
        if inputs.encoder_hidden_states is not None:
            query_ids = query_ids.clamp_min(1).minimum(key_ids.max(-1, keepdim=True).values)
        return sentence_mask(inputs, query_ids, key_ids)


def sentence_mask(inputs: AttentionInputs, query_ids: torch.Tensor, key_ids: torch.Tensor) -> Any:
    """Dense mask that lets queries see keys with their own sentence number.

    Args:
        inputs: the slot's inputs.
        query_ids: sentence numbers of the queries [B, Q].
        key_ids: sentence numbers of all keys [B, K or longer].
    """
    mask = inputs.attention_mask
    if mask is not None and mask.ndim == 4:
        same_sentence = query_ids[:, None, :, None] == key_ids[:, None, None, : mask.shape[-1]]
        if mask.dtype == torch.bool:
            return mask & same_sentence
        return mask.masked_fill(~same_sentence, torch.finfo(mask.dtype).min)
    ids_by_index = key_ids if inputs.is_causal else query_ids

    def same_sentence_at(batch: Any, head: Any, query: Any, key: Any) -> Any:
        return ids_by_index[batch, query] == key_ids[batch, key]

    return dense_mask(inputs, same_sentence_at)


ATTENTION_CLASSES: dict[str, type[MultiHeadAttention]] = {
    "document": DocumentAttention,
    "sentence": SentenceAttention,
}


class FeedForward(nn.Module):
    """Position-wise feed-forward block (Vaswani et al. 2017, section 3.3)."""

    def __init__(self, config: "HierNMTConfig", ffn_dim: int):
        super().__init__()
        self.fc1 = nn.Linear(config.d_model, ffn_dim)
        self.fc2 = nn.Linear(ffn_dim, config.d_model)
        self.activation_fn = ACT2FN[config.activation_function]
        self.activation_dropout = config.activation_dropout

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        """States [B, Q, D] -> states [B, Q, D]."""
        hidden_states = self.activation_fn(self.fc1(hidden_states))
        hidden_states = nn.functional.dropout(hidden_states, p=self.activation_dropout, training=self.training)
        return self.fc2(hidden_states)


class Residual(nn.Module):
    """Residual connection with layer norm, in front of the block (`normalize_before`) or behind it, and dropout."""

    def __init__(self, config: "HierNMTConfig"):
        super().__init__()
        self.layer_norm = nn.LayerNorm(config.d_model)
        self.normalize_before = config.normalize_before
        self.dropout = config.dropout

    def forward(self, hidden_states: torch.Tensor, block: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
        """hidden_states + block(hidden_states), all [B, Q, D]."""
        entering = self.layer_norm(hidden_states) if self.normalize_before else hidden_states
        change = nn.functional.dropout(block(entering), p=self.dropout, training=self.training)
        hidden_states = hidden_states + change
        return hidden_states if self.normalize_before else self.layer_norm(hidden_states)


class HierNMTEncoderLayer(GradientCheckpointingLayer):
    """Self-attention of the configured scope, then the feed-forward block."""

    def __init__(self, config: "HierNMTConfig", layer_idx: int):
        super().__init__()
        attention = ATTENTION_CLASSES[config.encoder_self_attention]
        self.self_attn = attention(config, config.encoder_attention_heads, layer_idx)
        self.self_attn_residual = Residual(config)
        self.feed_forward = FeedForward(config, config.encoder_ffn_dim)
        self.feed_forward_residual = Residual(config)

    def forward(self, hidden_states: torch.Tensor, plan: Any, **kwargs: Any) -> torch.Tensor:
        """States [B, S, D] -> states [B, S, D]; `plan` is the slot's."""
        hidden_states = self.self_attn_residual(hidden_states, lambda states: self.self_attn(states, plan, **kwargs)[0])
        return self.feed_forward_residual(hidden_states, self.feed_forward)


class HierNMTDecoderLayer(GradientCheckpointingLayer):
    """Causal self-attention and cross-attention of the configured scopes, then the feed-forward block."""

    def __init__(self, config: "HierNMTConfig", layer_idx: int):
        super().__init__()
        num_heads = config.decoder_attention_heads
        self.self_attn = ATTENTION_CLASSES[config.decoder_self_attention](config, num_heads, layer_idx, is_causal=True)
        self.self_attn_residual = Residual(config)
        self.encoder_attn = ATTENTION_CLASSES[config.cross_attention](config, num_heads, layer_idx)
        self.encoder_attn_residual = Residual(config)
        self.feed_forward = FeedForward(config, config.decoder_ffn_dim)
        self.feed_forward_residual = Residual(config)

    def forward(
        self,
        hidden_states: torch.Tensor,
        self_plan: Any,
        encoder_hidden_states: torch.Tensor | None,
        cross_plan: Any,
        past_key_values: EncoderDecoderCache | None = None,
        **kwargs: Any,
    ) -> torch.Tensor:
        """States [B, T, D] -> states [B, T, D]; the plans are the slots', `encoder_hidden_states` [B, S, D] or None."""
        hidden_states = self.self_attn_residual(
            hidden_states,
            lambda states: self.self_attn(states, self_plan, past_key_values=past_key_values, **kwargs)[0],
        )
        if encoder_hidden_states is not None:
            hidden_states = self.encoder_attn_residual(
                hidden_states,
                lambda states: self.encoder_attn(
                    states, cross_plan, encoder_hidden_states, past_key_values=past_key_values, **kwargs
                )[0],
            )
        return self.feed_forward_residual(hidden_states, self.feed_forward)
