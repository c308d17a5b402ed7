# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Configuration of the recurrent encoder-decoder, a model of single sentences."""

from typing import Any

from .configuration_choices import RNN_ATTENTIONS, RNN_TYPES
from .hub_config import HubConfig, strict


@strict
class RNNNMTConfig(HubConfig):
    """Everything that defines one recurrent encoder-decoder (Ogunnaike 2022, sections 3 and 4).

    Args:
        vocab_size: number of (source) tokens V.
        decoder_vocab_size: number of target tokens where the vocabularies are separate; default: `vocab_size`.
        embedding_size: width E of the token embeddings and of the attentional vector that the output layer reads.
        hidden_size: width D of the recurrent states, of the encoder's and of the decoder's.
        encoder_layers, decoder_layers: number of recurrent layers.
        rnn_type: `lstm` or `gru`.
        bidirectional: the encoder reads in both directions, with D / 2 units in each.
        attention: what the decoder reads of the source at every step: `additive`, the attended states (Bahdanau et al.
            2014), or `none`, the state in which the encoder ended (Cho et al. 2014).
        attention_size: width A in which additive attention compares states; default: `hidden_size`.
        input_feeding: the decoder also reads the attentional vector of the step before (Luong et al. 2015, section
            3.3).
        dropout: on embeddings, between recurrent layers and on the attentional vector.
        tie_word_embeddings: the output layer shares the decoder's embedding matrix.
        share_encoder_decoder_embeddings: encoder and decoder share one matrix (one joint vocabulary), unless
            `tie_word_embeddings` is off, which unties all three.
        init_std: standard deviation of the initial weights, but for those of the recurrent layers, which are drawn
            uniformly (Xavier).
        window_sentences: always 1.
        max_source_tokens, max_target_tokens: longest sentence, the token that closes it counted.
        source_language, target_language: ISO 639 codes, or None.
        pad_token_id, bos_token_id, eos_token_id, decoder_start_token_id: as everywhere in Transformers.
        sep_token_id, par_token_id: what closes sentences and paragraphs in windows of other models; here they are
            tokens like any other.

    Raises:
        ValueError: an unknown name or an impossible number, naming the value and what is possible.
    """

    model_type = "rnn_nmt"
    auto_classes = {
        "AutoConfig": "configuration_rnn_nmt.RNNNMTConfig",
        "AutoModel": "modeling_rnn_nmt.RNNNMTModel",
        "AutoModelForSeq2SeqLM": "modeling_rnn_nmt.RNNNMTForConditionalGeneration",
    }
    keys_to_ignore_at_inference = ["past_key_values", "cache"]
    attribute_map = {"num_hidden_layers": "encoder_layers"}

    vocab_size: int = 16000
    decoder_vocab_size: int | None = None
    embedding_size: int = 512
    hidden_size: int = 1024
    encoder_layers: int = 1
    decoder_layers: int = 1
    rnn_type: str = "lstm"
    bidirectional: bool = True
    attention: str = "additive"
    attention_size: int | None = None
    input_feeding: bool = False
    dropout: float | int = 0.1
    tie_word_embeddings: bool = True
    share_encoder_decoder_embeddings: bool = True
    init_std: float = 0.05
    window_sentences: int = 1
    max_source_tokens: int = 256
    max_target_tokens: int = 256
    source_language: str | None = None
    target_language: str | None = None
    is_encoder_decoder: bool = True
    use_cache: bool = True
    pad_token_id: int | None = 0
    bos_token_id: int | None = 1
    eos_token_id: int | list[int] | None = 2
    decoder_start_token_id: int | None = 1
    sep_token_id: int | None = 4
    par_token_id: int | None = 5

    def __post_init__(self, **kwargs: Any) -> None:
        if self.decoder_vocab_size is None:
            self.decoder_vocab_size = self.vocab_size
        if self.attention_size is None:
            self.attention_size = self.hidden_size
        super().__post_init__(**kwargs)
        # Not as validators of `strict`, which would hide these errors behind another class than ValueError.
        self.check_names()
        self.check_numbers()

    @property
    def target_vocab_size(self) -> int:
        """Number of target tokens V."""
        return self.vocab_size if self.decoder_vocab_size is None else self.decoder_vocab_size

    @property
    def has_one_embedding(self) -> bool:
        """Whether encoder, decoder and output layer share one matrix."""
        return self.share_encoder_decoder_embeddings and self.tie_word_embeddings

    @property
    def separator_token_ids(self) -> tuple[int, ...]:
        """Ids of the tokens that close a sentence."""
        return tuple(token_id for token_id in (self.sep_token_id, self.par_token_id) if token_id is not None)

    def check_names(self) -> None:
        """Raises a ValueError for a name that no table holds."""
        for name, possible in (("rnn_type", RNN_TYPES), ("attention", RNN_ATTENTIONS)):
            if getattr(self, name) not in possible:
                raise ValueError(f"{name}={getattr(self, name)!r} is unknown; choose one of {', '.join(possible)}.")

    def check_numbers(self) -> None:
        """Raises a ValueError for a number that no network of single sentences can have."""
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout={self.dropout} must be at least 0 and below 1.")
        sizes = ("vocab_size", "decoder_vocab_size", "embedding_size", "hidden_size", "attention_size")
        layers = ("encoder_layers", "decoder_layers")
        for name in (*sizes, *layers, "max_source_tokens", "max_target_tokens"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} must be at least 1.")
        if self.bidirectional and self.hidden_size % 2:
            raise ValueError(f"hidden_size={self.hidden_size} must be even: a bidirectional encoder halves it.")
        if self.window_sentences != 1:
            raise ValueError(
                f"window_sentences={self.window_sentences} is impossible: a recurrent model translates each sentence "
                f"alone. Leave it at 1."
            )
        if self.share_encoder_decoder_embeddings and self.decoder_vocab_size != self.vocab_size:
            raise ValueError(
                f"decoder_vocab_size={self.decoder_vocab_size} differs from vocab_size={self.vocab_size}: separate "
                f"vocabularies need share_encoder_decoder_embeddings=False."
            )


__all__ = ["RNNNMTConfig"]
