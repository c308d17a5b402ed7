# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The translation network that reads summaries of the document beside its tokens (HAN, Shen 2023).

All that it has in common with `hier_nmt` (windows, masks, caches, generation) is that family's code.

Dimensions: B batch, S source tokens, T target tokens, N summaries, D model width.
"""

from transformers.utils.output_capturing import OutputRecorder

from .conditional_attention import SentenceContextAttention
from .configuration_han import HANConfig
from .han_layers import HANDecoderLayer, HANEncoderLayer
from .modeling_hier_nmt import (
    HierNMTDecoder,
    HierNMTEncoder,
    HierNMTForConditionalGeneration,
    HierNMTModel,
    HierNMTPreTrainedModel,
)
from .multi_head_attention import MultiHeadAttention


class HANPreTrainedModel(HierNMTPreTrainedModel):
    """What all HAN models share: configuration class and abilities."""

    config: HANConfig  # type: ignore[assignment]  # it has the fields that the shared parts read
    _no_split_modules = ["HANEncoderLayer", "HANDecoderLayer"]


class HANEncoder(HANPreTrainedModel, HierNMTEncoder):
    """Embeds a source window, summarises it by a convolution, and runs it through the layers, which read both."""

    _can_record_outputs = {
        "hidden_states": HANEncoderLayer,
        "attentions": MultiHeadAttention,
        "context_attentions": OutputRecorder(SentenceContextAttention, index=1),
    }
    layer_class = HANEncoderLayer


class HANDecoder(HANPreTrainedModel, HierNMTDecoder):
    """Runs a target prefix, or its newest tokens, through the layers, which read the source's summaries too."""

    _can_record_outputs = {
        "hidden_states": HANDecoderLayer,
        "attentions": OutputRecorder(MultiHeadAttention, index=1, layer_name="self_attn"),
        "cross_attentions": OutputRecorder(MultiHeadAttention, index=1, layer_name="encoder_attn"),
        "context_attentions": OutputRecorder(SentenceContextAttention, index=1),
    }
    layer_class = HANDecoderLayer


class HANModel(HANPreTrainedModel, HierNMTModel):
    """Encoder and decoder without the output layer."""

    encoder_class = HANEncoder
    decoder_class = HANDecoder


class HANForConditionalGeneration(HANPreTrainedModel, HierNMTForConditionalGeneration):
    """The document translation model: logits of the next target token."""

    model_class = HANModel


__all__ = ["HANForConditionalGeneration", "HANModel", "HANPreTrainedModel"]
