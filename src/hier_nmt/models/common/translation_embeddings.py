# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Embeddings of encoder-decoders with a joint vocabulary or two separate ones, for the models of all families.

The classes are mixed into models that have a `TranslationConfig`.
"""

from typing import Any

import torch
from torch import nn

from ...configuration.library_internals import resized_embedding, resized_output_layer
from .target_labels import shift_tokens_right

_TIED_TO_SHARED = {
    "lm_head.weight": "model.shared.weight",
    "model.encoder.embed_tokens.weight": "model.shared.weight",
    "model.decoder.embed_tokens.weight": "model.shared.weight",
}


class TranslationModelMixin:
    """For every model and every part of a model."""

    config: Any
    device: Any

    @property
    def dummy_inputs(self) -> dict[str, torch.Tensor]:
        """A batch of two short windows, one padded."""
        input_ids = torch.tensor([[6, 7, 8, 9, 10], [6, 7, 8, 0, 0]], device=self.device)
        attention_mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], device=self.device)
        return {"input_ids": input_ids, "attention_mask": attention_mask, "decoder_input_ids": input_ids}

    def resize_token_embeddings(self, *args: Any, **kwargs: Any) -> nn.Embedding:
        """Resizes as the base class does and keeps the configuration's two sizes of a joint vocabulary equal."""
        embeddings = super().resize_token_embeddings(*args, **kwargs)  # type: ignore[misc]
        if self.config.share_encoder_decoder_embeddings:
            self.config.decoder_vocab_size = embeddings.weight.shape[0]
        return embeddings


class EncoderDecoderEmbeddingsMixin:
    """An encoder and a decoder, each with `embed_tokens`, and `shared`, the embedding of both, if there is one."""

    config: Any
    encoder: Any
    decoder: Any

    def get_input_embeddings(self) -> nn.Embedding:
        """The embedding of the source tokens; of all tokens if the vocabulary is joint."""
        return self.encoder.embed_tokens

    def set_input_embeddings(self, value: Any) -> None:
        """Replaces what `get_input_embeddings` returns."""
        self.encoder.embed_tokens = value
        if self.config.has_one_embedding:
            self.shared = value
            self.decoder.embed_tokens = value


class OutputLayerMixin:
    """A `model` with these embeddings, and the output layer `lm_head`."""

    config: Any
    model: Any
    lm_head: Any

    def tied_weights(self) -> dict[str, str]:
        """For `_tied_weights_keys`: each tied weight and the one that it is tied to."""
        if self.config.has_one_embedding:
            return dict(_TIED_TO_SHARED)
        return {"lm_head.weight": "model.decoder.embed_tokens.weight"}

    def prepare_decoder_input_ids_from_labels(self, labels: torch.Tensor) -> torch.Tensor:
        """Decoder inputs [B, T] that go with the labels [B, T]."""
        if self.config.pad_token_id is None or self.config.decoder_start_token_id is None:
            raise ValueError("Labels need a configuration with pad_token_id and decoder_start_token_id.")
        return shift_tokens_right(labels, self.config.pad_token_id, self.config.decoder_start_token_id)

    def resize_token_embeddings(self, *args: Any, **kwargs: Any) -> nn.Embedding:
        """Resizes the joint vocabulary, including the output layer, or the source vocabulary if there are two."""
        if self.config.share_encoder_decoder_embeddings:
            return super().resize_token_embeddings(*args, **kwargs)  # type: ignore[misc]
        return self.model.resize_token_embeddings(*args, **kwargs)

    def resize_decoder_token_embeddings(self, new_num_tokens: int) -> nn.Module:
        """The target's embedding after resizing it and the output layer to `new_num_tokens`.

        Raises:
            ValueError: the vocabulary is joint; `resize_token_embeddings` resizes that.
        """
        if self.config.share_encoder_decoder_embeddings:
            raise ValueError("The vocabulary is joint (share_encoder_decoder_embeddings); use resize_token_embeddings.")
        decoder = self.model.decoder
        decoder.embed_tokens = resized_embedding(self, decoder.embed_tokens, new_num_tokens)  # type: ignore[arg-type]
        self.lm_head = resized_output_layer(self, self.lm_head, new_num_tokens)  # type: ignore[arg-type]
        self.config.decoder_vocab_size = new_num_tokens
        self.tie_weights()  # type: ignore[attr-defined]
        return decoder.embed_tokens
