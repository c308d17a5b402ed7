# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Configuration of the recurrent encoder-decoder, a model of single sentences."""

from collections.abc import Collection, Mapping
from typing import Any

from .configuration_choices import RNN_ATTENTIONS, RNN_TYPES
from .hub_config import strict
from .translation_config import TranslationConfig


@strict
class RNNNMTConfig(TranslationConfig):
    """Everything that defines one recurrent encoder-decoder (Ogunnaike 2022, sections 3 and 4).

    Args:
        vocab_size: number of (source) tokens V.
        decoder_vocab_size: number of target tokens where the vocabularies are separate; default: `vocab_size`.
        embedding_size: width E of the token embeddings and of the attentional vector that the output layer reads.
        hidden_size: width D of the recurrent states of encoder and decoder.
        encoder_layers, decoder_layers: number of recurrent layers.
        rnn_type: `lstm` or `gru`.
        bidirectional: the encoder reads in both directions, with D / 2 units in each.
        attention: what the decoder reads of the source at every step: `additive`, the source states by additive
            attention (Bahdanau et al. 2014), or `none`, the last state of the encoder (Cho et al. 2014).
        attention_size: width A in which additive attention compares states; default: `hidden_size`.
        input_feeding: the decoder also reads the attentional vector of the previous step (Luong et al. 2015, section
            3.3).
        dropout: on embeddings, between recurrent layers and on the attentional vector.
        tie_word_embeddings: the output layer shares the decoder's embedding matrix.
        share_encoder_decoder_embeddings: encoder and decoder share one matrix (one joint vocabulary), unless
            `tie_word_embeddings` is off, which unties all three.
        init_std: standard deviation of the initial weights, except those of recurrent layers, which are initialised
            by Xavier's uniform distribution.
        window_sentences: always 1.
        max_source_tokens, max_target_tokens: maximum length of a sentence, including the token that closes it.
        source_language, target_language: ISO 639 codes, or None.
        pad_token_id, bos_token_id, eos_token_id, decoder_start_token_id: as everywhere in Transformers.
        sep_token_id, par_token_id: the tokens that close sentences and paragraphs in windows of other models; here
            they are tokens like any other.

    Raises:
        ValueError: an unknown name or an impossible number; the message has the value and what is possible.
    """

    model_type = "rnn_nmt"
    auto_classes = {
        "AutoConfig": "configuration_rnn_nmt.RNNNMTConfig",
        "AutoModel": "modeling_rnn_nmt.RNNNMTModel",
        "AutoModelForSeq2SeqLM": "modeling_rnn_nmt.RNNNMTForConditionalGeneration",
    }
    attribute_map = {"num_hidden_layers": "encoder_layers"}

    embedding_size: int = 512
    hidden_size: int = 1024
    encoder_layers: int = 1
    decoder_layers: int = 1
    rnn_type: str = "lstm"
    bidirectional: bool = True
    attention: str = "additive"
    attention_size: int | None = None
    input_feeding: bool = False
    init_std: float = 0.05
    max_source_tokens: int = 256
    max_target_tokens: int = 256

    def __post_init__(self, **kwargs: Any) -> None:
        if self.attention_size is None:
            self.attention_size = self.hidden_size
        super().__post_init__(**kwargs)

    @property
    def has_one_embedding(self) -> bool:
        """Whether encoder, decoder and output layer share one matrix."""
        return self.share_encoder_decoder_embeddings and self.tie_word_embeddings

    def name_choices(self) -> Mapping[str, Collection[str]]:
        """The fields that hold names, and the names that each may hold."""
        return {"rnn_type": RNN_TYPES, "attention": RNN_ATTENTIONS}

    def check_numbers(self) -> None:
        """Raises a ValueError for a number that no network of single sentences can have."""
        self.check_at_least(1, "embedding_size", "hidden_size", "attention_size", "encoder_layers", "decoder_layers")
        if self.bidirectional and self.hidden_size % 2:
            raise ValueError(f"hidden_size={self.hidden_size} must be even: a bidirectional encoder halves it.")
        if self.window_sentences != 1:
            raise ValueError(
                f"window_sentences={self.window_sentences} is impossible: a recurrent model translates each sentence "
                f"alone. Leave it at 1."
            )
        super().check_numbers()


__all__ = ["RNNNMTConfig"]
