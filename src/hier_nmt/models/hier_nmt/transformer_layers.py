# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The attention slots, the feed-forward block, encoder and decoder layer.

Dimensions: B batch, S source tokens, T target tokens, N sentences, Q query length, D model width.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from transformers.activations import ACT2FN
from transformers.cache_utils import EncoderDecoderCache

from ...attention.attention_plan import kept_with_cache
from ...attention.big_bird_attention import BigBirdAttention
from ...attention.conditional_attention import (
    CausalConditionalAttention,
    ConditionalAttention,
    ConditionalCrossAttention,
    HierarchicalAttention,
    HierarchicalCrossAttention,
    SentenceContextAttention,
    SentencePooling,
)
from ...attention.convolutional_summaries import ConvolutionalSummaries
from ...attention.gated_context import ContextInputs, GatedContext
from ...attention.multi_head_attention import DocumentAttention, MultiHeadAttention, SentenceAttention
from ...attention.sentence_encoder import SentenceEncoder
from ...configuration.configuration_hier_nmt import HierNMTConfig
from ...configuration.library_internals import GradientCheckpointingLayer
from ...ops.document_structure import Sentences

ENCODER_SELF_ATTENTION_CLASSES: dict[str, type[MultiHeadAttention]] = {
    "document": DocumentAttention,
    "sentence": SentenceAttention,
    "conditional": ConditionalAttention,
    "hierarchical": HierarchicalAttention,
    "big_bird": BigBirdAttention,
}
DECODER_SELF_ATTENTION_CLASSES: dict[str, type[MultiHeadAttention]] = {
    "document": DocumentAttention,
    "sentence": SentenceAttention,
    "conditional": CausalConditionalAttention,
    "big_bird": BigBirdAttention,
}
CROSS_ATTENTION_CLASSES: dict[str, type[MultiHeadAttention]] = {
    "document": DocumentAttention,
    "sentence": SentenceAttention,
    "conditional": ConditionalCrossAttention,
    "hierarchical": HierarchicalCrossAttention,
}
# The encoders of what context blocks read. Slots that select sentences need the first, which encodes sentences.
SENTENCE_ENCODER_CLASSES: dict[str, type[SentenceEncoder] | type[ConvolutionalSummaries]] = {
    "source2token": SentenceEncoder,
    "conv": ConvolutionalSummaries,
}


def target_context_attention(context_attention: str) -> str:
    """How the decoder's context block reads the target: a tree would span sentences that do not exist yet."""
    return "conditional" if context_attention == "hierarchical" else context_attention


def sentence_units(config: HierNMTConfig, sentence_ids: torch.Tensor) -> Sentences:
    """What the configured sentence encoder encodes of documents with the ids `sentence_ids` [B, S]."""
    return SENTENCE_ENCODER_CLASSES[config.sentence_encoder].units(config, sentence_ids)


class FeedForward(nn.Module):
    """Position-wise feed-forward block (Vaswani et al. 2017, section 3.3)."""

    def __init__(self, config: HierNMTConfig, ffn_dim: int):
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
    """Residual connection with layer norm, before the block (`normalize_before`) or after it, and dropout."""

    def __init__(self, config: HierNMTConfig):
        super().__init__()
        self.layer_norm = nn.LayerNorm(config.d_model)
        self.normalize_before = config.normalize_before
        self.dropout = config.dropout

    def pre(self, hidden_states: torch.Tensor) -> torch.Tensor:
        """The input of the block [B, Q, D]."""
        return self.layer_norm(hidden_states) if self.normalize_before else hidden_states

    def post(self, hidden_states: torch.Tensor, change: torch.Tensor) -> torch.Tensor:
        """The states [B, Q, D] plus the output of the block, `change` [B, Q, D]."""
        change = nn.functional.dropout(change, p=self.dropout, training=self.training)
        hidden_states = hidden_states + change
        return hidden_states if self.normalize_before else self.layer_norm(hidden_states)

    def forward(self, hidden_states: torch.Tensor, block: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
        """hidden_states + block(hidden_states), all [B, Q, D]."""
        return self.post(hidden_states, block(self.pre(hidden_states)))


class SentenceReadingLayer(GradientCheckpointingLayer):
    """A layer with an attention slot, sentence heads beside it and a context block after it (Trankova et al. 2024,
    section 2), all of which read encodings of the same sentences. Heads and block exist if the configuration has them.

    Args:
        config: the model's configuration.
        num_heads: H, sentence heads included.
    """

    def __init__(self, config: HierNMTConfig, num_heads: int):
        super().__init__()
        self.head_dim = config.d_model // num_heads
        self.num_token_heads = num_heads - config.num_context_heads
        self.sentence_heads: SentenceContextAttention | None = None
        self.context_attn: SentenceContextAttention | None = None
        self.context: GatedContext | None = None
        if config.num_context_heads > 0:
            self.sentence_heads = SentenceContextAttention(config, config.num_context_heads, self.head_dim, False)
        if config.context_block == "block":
            self.context_attn = SentenceContextAttention(config, num_heads, self.head_dim)
            self.context_attn_residual = Residual(config)

    def _sentence_keys(self, attention: MultiHeadAttention, states: Any, mask: Any) -> tuple[Any, Any, Any]:
        """What the slot's attention, the sentence heads and the context block make of the encodings [B, N, D]."""
        heads = None if self.sentence_heads is None else self.sentence_heads.sentence_keys(states, mask)
        context = None if self.context_attn is None else self.context_attn.sentence_keys(states, mask)
        return attention.sentence_keys(states, mask), heads, context

    def _read_context(self, hidden_states: torch.Tensor, keys: Any, **kwargs: Any) -> torch.Tensor:
        """The states [B, Q, D] after the context block."""
        context_attn = self.context_attn
        if context_attn is None:
            return hidden_states
        return self.context_attn_residual(hidden_states, lambda states: context_attn(states, keys, **kwargs)[0])


class HierNMTEncoderLayer(SentenceReadingLayer):
    """Self-attention of the configured kind, the context block if there is one, then the feed-forward block."""

    def __init__(self, config: HierNMTConfig, layer_idx: int):
        super().__init__(config, config.encoder_attention_heads)
        attention = ENCODER_SELF_ATTENTION_CLASSES[config.encoder_self_attention]
        self.self_attn = attention(config, self.num_token_heads, self.head_dim, layer_idx)
        self.self_attn_residual = Residual(config)
        encodes = config.encoder_reads_encodings and config.sentence_encoder_sharing == "layer"
        self.sentence_encoder = SENTENCE_ENCODER_CLASSES[config.sentence_encoder](config) if encodes else None
        if config.context_attention is not None:
            attention = ENCODER_SELF_ATTENTION_CLASSES[config.context_attention]
            self.context = GatedContext(config, attention, config.encoder_attention_heads, layer_idx)
        self.feed_forward = FeedForward(config, config.encoder_ffn_dim)
        self.feed_forward_residual = Residual(config)

    def forward(
        self,
        hidden_states: torch.Tensor,
        plan: Any,
        sentences: Sentences | None = None,
        sentence_states: torch.Tensor | None = None,
        context: ContextInputs | None = None,
        **kwargs: Any,
    ) -> torch.Tensor:
        """States [B, S, D] -> states [B, S, D].

        Args:
            hidden_states: [B, S, D].
            plan: the slot's.
            sentences: where the sentences are, if their encodings are read.
            sentence_states: their encodings [B, N, D], if all layers share them.
            context: of the gated context block, if there is one.
        """
        entering = self.self_attn_residual.pre(hidden_states)
        if self.sentence_encoder is not None and sentences is not None:
            sentence_states = self.sentence_encoder(entering, sentences.sentence_ids, sentences.num_sentences)
        mask = None if sentences is None else sentences.mask
        keys, heads_keys, context_keys = self._sentence_keys(self.self_attn, sentence_states, mask)
        change = self.self_attn(entering, plan, sentence_keys=keys, **kwargs)[0]
        if self.sentence_heads is not None:
            change = change + self.sentence_heads(entering, heads_keys, **kwargs)[0]
        hidden_states = self.self_attn_residual.post(hidden_states, change)
        hidden_states = self._read_context(hidden_states, context_keys, **kwargs)
        if self.context is not None and context is not None:
            hidden_states = self.context(hidden_states, context, **kwargs)
        return self.feed_forward_residual(hidden_states, self.feed_forward)


class HierNMTDecoderLayer(SentenceReadingLayer):
    """Causal self-attention and cross-attention of the configured kinds, the context block if there is one (it reads
    source sentences), then the feed-forward block."""

    def __init__(self, config: HierNMTConfig, layer_idx: int):
        super().__init__(config, config.decoder_attention_heads)
        self.layer_idx = layer_idx
        self_attention = DECODER_SELF_ATTENTION_CLASSES[config.decoder_self_attention]
        cross_attention = CROSS_ATTENTION_CLASSES[config.cross_attention]
        num_heads = config.decoder_attention_heads
        self.self_attn = self_attention(config, num_heads, self.head_dim, layer_idx, is_causal=True)
        self.self_attn_residual = Residual(config)
        self.encoder_attn = cross_attention(config, self.num_token_heads, self.head_dim, layer_idx)
        self.encoder_attn_residual = Residual(config)
        own_encoders = config.sentence_encoder_sharing == "layer"
        self.sentence_encoder = (
            SentenceEncoder(config) if own_encoders and config.decoder_reads_target_encodings else None
        )
        encodes = own_encoders and config.decoder_reads_source_encodings
        self.source_sentence_encoder = SENTENCE_ENCODER_CLASSES[config.sentence_encoder](config) if encodes else None
        if config.context_attention is not None:
            target_attention = DECODER_SELF_ATTENTION_CLASSES[target_context_attention(config.context_attention)]
            source_attention = CROSS_ATTENTION_CLASSES[config.context_attention]
            context_idx = config.decoder_layers + layer_idx
            self.target_context = GatedContext(config, target_attention, num_heads, context_idx, is_causal=True)
            self.context = GatedContext(config, source_attention, num_heads, context_idx)
        self.feed_forward = FeedForward(config, config.decoder_ffn_dim)
        self.feed_forward_residual = Residual(config)

    def forward(
        self,
        hidden_states: torch.Tensor,
        self_plan: Any,
        encoder_hidden_states: torch.Tensor | None,
        cross_plan: Any,
        source_sentences: Sentences | None = None,
        source_sentence_states: torch.Tensor | None = None,
        pooling: SentencePooling | None = None,
        cache: EncoderDecoderCache | None = None,
        target_context: ContextInputs | None = None,
        source_context: ContextInputs | None = None,
        **kwargs: Any,
    ) -> torch.Tensor:
        """States [B, T, D] -> states [B, T, D].

        Args:
            hidden_states: [B, T, D].
            self_plan, cross_plan: the slots'.
            encoder_hidden_states: [B, S, D], or None.
            source_sentences: where the source's sentences are, if their encodings are read.
            source_sentence_states: their encodings [B, N, D], if all layers share them.
            pooling: how target sentences are encoded, if all layers share it.
            cache: of the decoder, or None.
            target_context, source_context: of the gated context blocks, if there are any.
        """
        entering = self.self_attn_residual.pre(hidden_states)
        if self.sentence_encoder is not None:
            pooling = SentencePooling(entering, self.sentence_encoder)
        attended = self.self_attn(entering, self_plan, cache=cache, pooling=pooling, **kwargs)
        hidden_states = self.self_attn_residual.post(hidden_states, attended[0])
        if target_context is not None:
            hidden_states = self.target_context(hidden_states, target_context, cache=cache, **kwargs)
        if encoder_hidden_states is None:
            return self.feed_forward_residual(hidden_states, self.feed_forward)

        # Before the cross-attention, which marks the cache as filled.
        keys, heads_keys, context_keys = kept_with_cache(
            cache,
            self.layer_idx,
            "sentence_keys",
            lambda: self._source_keys(encoder_hidden_states, source_sentences, source_sentence_states),
        )
        entering = self.encoder_attn_residual.pre(hidden_states)
        change = self.encoder_attn(
            entering, cross_plan, encoder_hidden_states, cache=cache, sentence_keys=keys, **kwargs
        )[0]
        if self.sentence_heads is not None:
            change = change + self.sentence_heads(entering, heads_keys, **kwargs)[0]
        hidden_states = self.encoder_attn_residual.post(hidden_states, change)
        hidden_states = self._read_context(hidden_states, context_keys, **kwargs)
        if self.context is not None and source_context is not None:
            hidden_states = self.context(hidden_states, source_context, cache=cache, **kwargs)
        return self.feed_forward_residual(hidden_states, self.feed_forward)

    def _source_keys(
        self, encoder_hidden_states: torch.Tensor, sentences: Sentences | None, sentence_states: torch.Tensor | None
    ) -> tuple[Any, Any, Any]:
        """`_sentence_keys` of the source's sentences."""
        if sentences is None:
            return None, None, None
        if self.source_sentence_encoder is not None:
            sentence_states = self.source_sentence_encoder(
                encoder_hidden_states, sentences.sentence_ids, sentences.num_sentences
            )
        return self._sentence_keys(self.encoder_attn, sentence_states, sentences.mask)
