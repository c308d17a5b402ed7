# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The translation network that reads summaries of the document in addition to its tokens (HAN, Shen 2023).

Windows, masks, caches and generation are the code of `hier_nmt`.

Dimensions: B batch, S source tokens, T target tokens, N summaries, D model width, V vocabulary, W width of word
vectors.
"""

from typing import Any

import torch
from torch import nn
from transformers import initialization as init

from ...attention.conditional_attention import SentenceContextAttention
from ...attention.multi_head_attention import MultiHeadAttention
from ...configuration.configuration_han import HANConfig
from ...configuration.library_internals import OutputRecorder
from ..hier_nmt.encoder_decoder import HierNMTDecoder, HierNMTEncoder, HierNMTPreTrainedModel
from ..hier_nmt.modeling_hier_nmt import HierNMTForConditionalGeneration, HierNMTModel
from .han_layers import HANDecoderLayer, HANEncoderLayer
from .word_vectors import NearestWordOutput, WordVectorEmbedding, mean_squared_error


class HANPreTrainedModel(HierNMTPreTrainedModel):
    """Base of all HAN models: configuration class and capabilities."""

    config: HANConfig  # type: ignore[assignment]  # it has the fields that the shared parts read
    _no_split_modules = ["HANEncoderLayer", "HANDecoderLayer"]

    def _init_weights(self, module: nn.Module) -> None:
        """Initialises as the base class does, and word vectors, until they are set, like embeddings."""
        super()._init_weights(module)
        if isinstance(module, NearestWordOutput):
            init.normal_(module.weight, mean=0.0, std=self.config.init_std)

    def token_embedding(self, vocab_size: int) -> nn.Embedding:
        """A new embedding of this many tokens, learned or from word vectors."""
        if self.config.word_vector_size is None:
            return super().token_embedding(vocab_size)
        return WordVectorEmbedding(vocab_size, self.config.word_vector_size, self.config.d_model)

    def output_layer(self) -> nn.Module:
        """A new output layer: logits, or minus squared distances to word vectors."""
        if self.config.word_vector_size is None:
            return super().output_layer()
        return NearestWordOutput(self.config.target_vocab_size, self.config.word_vector_size, self.config.d_model)

    def mean_loss(
        self, logits: torch.Tensor, labels: torch.Tensor, num_items_in_batch: torch.Tensor | int | None
    ) -> torch.Tensor:
        """Cross-entropy of the labels [B, T], or the mean squared error of the predicted word vectors."""
        if self.config.word_vector_size is None:
            return super().mean_loss(logits, labels, num_items_in_batch)
        return mean_squared_error(logits, labels, self.config.word_vector_size, num_items_in_batch)

    def tie_weights(self, *args: Any, **kwargs: Any) -> None:
        """Ties as the base class does and freezes the word vectors, which loading a checkpoint makes trainable."""
        super().tie_weights(*args, **kwargs)
        for module in self.modules():
            if isinstance(module, (WordVectorEmbedding, NearestWordOutput)):
                module.weight.requires_grad_(False)

    def resize_token_embeddings(self, *args: Any, **kwargs: Any) -> nn.Embedding:
        """Resizes learned embeddings; ValueError for word vectors, whose number is fixed."""
        if self.config.word_vector_size is not None:
            raise ValueError("Word vectors cannot be resized; make a model of the new size and use set_word_vectors.")
        return super().resize_token_embeddings(*args, **kwargs)


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
    """The document translation model: logits of the next target token, or how near the predicted vector is to that of
    each word."""

    model_class = HANModel

    def set_word_vectors(self, source: torch.Tensor, target: torch.Tensor) -> None:
        """Sets the word vectors of the source words [V, W] and of the target words [V, W].

        Raises:
            ValueError: their shapes are not those of the configuration, or it has no word vectors.
        """
        if self.config.word_vector_size is None:
            raise ValueError("This model has no word vectors: its configuration has word_vector_size=None.")
        for name, stack, vectors in (("source", self.model.encoder, source), ("target", self.model.decoder, target)):
            weight = stack.embed_tokens.weight
            if vectors.shape != weight.shape:
                raise ValueError(f"The {name} vectors must be {list(weight.shape)}, got {list(vectors.shape)}.")
            with torch.no_grad():
                weight.copy_(vectors)


__all__ = ["HANForConditionalGeneration", "HANModel", "HANPreTrainedModel"]
