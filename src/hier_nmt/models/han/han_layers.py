# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Encoder and decoder layer whose tokens attend to tokens and summaries in parallel (Shen 2023, section III.3).

Dimensions: B batch, S source tokens, T target tokens, N summaries, D model width.
"""

from typing import Any

import torch
from torch import nn
from transformers.cache_utils import EncoderDecoderCache

from ...attention.attention_plan import kept_with_cache
from ...attention.conditional_attention import SentenceContextAttention
from ...attention.multi_head_attention import DocumentAttention, MultiHeadAttention
from ...configuration.library_internals import GradientCheckpointingLayer
from ...ops.document_structure import Sentences
from ..hier_nmt.transformer_layers import (
    DECODER_SELF_ATTENTION_CLASSES,
    ENCODER_SELF_ATTENTION_CLASSES,
    FeedForward,
    Residual,
)

# A `HANConfig`, which has the fields that the parts of `hier_nmt` read of their own configuration.
Config = Any


class TokensAndSummaries(nn.Module):
    """The block x + self-attention(x) + attention(x to the summaries), with its layer norm (Shen 2023, Table 1).

    Args:
        config: the model's configuration.
        attention: class of the self-attention.
        num_heads: H, of either attention.
        layer_idx: index of the layer.
        is_causal: whether the tokens are those of the target.
    """

    def __init__(
        self,
        config: Config,
        attention: type[MultiHeadAttention],
        num_heads: int,
        layer_idx: int,
        is_causal: bool = False,
    ):
        super().__init__()
        head_dim = config.d_model // num_heads
        self.self_attn = attention(config, num_heads, head_dim, layer_idx, is_causal)
        self.context_attn = SentenceContextAttention(config, num_heads, head_dim)
        self.residual = Residual(config)

    def forward(self, hidden_states: torch.Tensor, plan: Any, summary_keys: Any, **kwargs: Any) -> torch.Tensor:
        """States [B, S, D] -> states [B, S, D].

        Args:
            hidden_states: [B, S, D].
            plan: that of the self-attention.
            summary_keys: the result of `context_attn.sentence_keys` for the summaries; None if there are none.
        """
        entering = self.residual.pre(hidden_states)
        change = self.self_attn(entering, plan, **kwargs)[0]
        if summary_keys is not None:
            change = change + self.context_attn(entering, summary_keys, **kwargs)[0]
        return self.residual.post(hidden_states, change)


class HANEncoderLayer(GradientCheckpointingLayer):
    """Tokens and summaries of the source, then the feed-forward block."""

    def __init__(self, config: Config, layer_idx: int):
        super().__init__()
        attention = ENCODER_SELF_ATTENTION_CLASSES[config.encoder_self_attention]
        self.attention = TokensAndSummaries(config, attention, config.encoder_attention_heads, layer_idx)
        self.feed_forward = FeedForward(config, config.encoder_ffn_dim)
        self.feed_forward_residual = Residual(config)

    def forward(
        self,
        hidden_states: torch.Tensor,
        plan: Any,
        sentences: Sentences,
        sentence_states: torch.Tensor,
        **kwargs: Any,
    ) -> torch.Tensor:
        """States [B, S, D] -> states [B, S, D].

        Args:
            hidden_states: [B, S, D].
            plan: that of the self-attention.
            sentences: which summaries there are.
            sentence_states: the summaries [B, N, D].
        """
        keys = self.attention.context_attn.sentence_keys(sentence_states, sentences.mask)
        hidden_states = self.attention(hidden_states, plan, keys, **kwargs)
        return self.feed_forward_residual(hidden_states, self.feed_forward)


class HANDecoderLayer(GradientCheckpointingLayer):
    """Tokens of the target and summaries of the source, then cross-attention, then the feed-forward block."""

    def __init__(self, config: Config, layer_idx: int):
        super().__init__()
        self.layer_idx = layer_idx
        num_heads = config.decoder_attention_heads
        attention = DECODER_SELF_ATTENTION_CLASSES[config.decoder_self_attention]
        self.attention = TokensAndSummaries(config, attention, num_heads, layer_idx, is_causal=True)
        self.encoder_attn = DocumentAttention(config, num_heads, config.d_model // num_heads, layer_idx)
        self.feed_forward = FeedForward(config, config.decoder_ffn_dim)
        self.encoder_attn_residual = Residual(config)
        self.feed_forward_residual = Residual(config)

    def forward(
        self,
        hidden_states: torch.Tensor,
        self_plan: Any,
        encoder_hidden_states: torch.Tensor | None,
        cross_plan: Any,
        source_sentences: Sentences | None = None,
        source_sentence_states: torch.Tensor | None = None,
        cache: EncoderDecoderCache | None = None,
        **kwargs: Any,
    ) -> torch.Tensor:
        """States [B, T, D] -> states [B, T, D].

        Args:
            hidden_states: [B, T, D].
            self_plan, cross_plan: those of the attentions.
            encoder_hidden_states: [B, S, D], or None.
            source_sentences: which summaries of the source there are.
            source_sentence_states: these summaries [B, N, D].
            cache: of the decoder, or None.

        Raises:
            ValueError: there are source states but no summaries of them.
        """
        keys = None
        if encoder_hidden_states is not None:
            if source_sentences is None or source_sentence_states is None:
                raise ValueError(NO_SUMMARIES)
            mask, make_keys = source_sentences.mask, self.attention.context_attn.sentence_keys
            keys = kept_with_cache(
                cache, self.layer_idx, "sentence_keys", lambda: make_keys(source_sentence_states, mask)
            )
        hidden_states = self.attention(hidden_states, self_plan, keys, cache=cache, **kwargs)
        if encoder_hidden_states is not None:
            entering = self.encoder_attn_residual.pre(hidden_states)
            change = self.encoder_attn(entering, cross_plan, encoder_hidden_states, cache=cache, **kwargs)[0]
            hidden_states = self.encoder_attn_residual.post(hidden_states, change)
        return self.feed_forward_residual(hidden_states, self.feed_forward)


NO_SUMMARIES = (
    "This decoder reads summaries of the source: pass as encoder_outputs all that the encoder returned, not its last "
    "states alone."
)
