# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the configurations of all families share: vocabularies, special tokens, windows; and of all Transformers."""

from collections.abc import Collection, Mapping
from typing import Any

from transformers.activations import ACT2FN

from .configuration_choices import POSITION_VECTORS
from .hub_config import HubConfig, strict

_BIG_BIRD_COUNTS = ("big_bird_global_tokens", "big_bird_window_blocks", "big_bird_random_blocks", "big_bird_seed")


@strict
class TranslationConfig(HubConfig):
    """Vocabularies, windows, languages and special tokens of a translation model.

    Args:
        vocab_size: number of (source) tokens V.
        decoder_vocab_size: number of target tokens where the vocabularies are separate; default: `vocab_size`.
        tie_word_embeddings: output layer shares the decoder's embedding matrix.
        share_encoder_decoder_embeddings: encoder and decoder share one matrix (one joint vocabulary), unless
            `tie_word_embeddings` is off, which unties all three.
        dropout: on embeddings, and what else the family says.
        window_sentences: K, the sentences of a window (1: sentence level; 0: whole document).
        max_source_tokens, max_target_tokens: longest window, separators counted.
        source_language, target_language: ISO 639 codes, or None.
        reads_inline_terms: whether the model was trained with translations of terms in its source, see
            `text/inline_terms.py`; then `glossary_method="auto"` writes them there.
        pad_token_id, bos_token_id, eos_token_id, decoder_start_token_id: as everywhere in Transformers.
        sep_token_id: closes a sentence.
        par_token_id: closes the last sentence of a paragraph, in place of `sep_token_id`.

    Raises:
        ValueError: an unknown name or an impossible number, naming the value and what is possible.
    """

    keys_to_ignore_at_inference = ["past_key_values", "cache"]

    vocab_size: int = 16000
    decoder_vocab_size: int | None = None
    encoder_layers: int = 6
    decoder_layers: int = 6
    dropout: float | int = 0.1
    tie_word_embeddings: bool = True
    share_encoder_decoder_embeddings: bool = True
    init_std: float = 0.02
    window_sentences: int = 1
    max_source_tokens: int = 1024
    max_target_tokens: int = 1024
    source_language: str | None = None
    target_language: str | None = None
    reads_inline_terms: bool = False
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
        """Whether encoder and decoder share one matrix."""
        return self.share_encoder_decoder_embeddings

    @property
    def separator_token_ids(self) -> tuple[int, ...]:
        """Ids of the tokens that close a sentence."""
        return tuple(token_id for token_id in (self.sep_token_id, self.par_token_id) if token_id is not None)

    @property
    def paragraph_token_ids(self) -> tuple[int, ...]:
        """Ids of the tokens that close a paragraph."""
        return () if self.par_token_id is None else (self.par_token_id,)

    def name_choices(self) -> Mapping[str, Collection[str]]:
        """The fields that hold names, and the names that each may hold."""
        return {}

    def check_names(self) -> None:
        """Raises a ValueError for a name that no table holds."""
        for name, possible in self.name_choices().items():
            if getattr(self, name) not in possible:
                raise ValueError(f"{name}={getattr(self, name)!r} is unknown; choose one of {', '.join(possible)}.")

    def check_numbers(self) -> None:
        """Raises a ValueError for a number that no network or window can have."""
        self.check_probabilities("dropout")
        self.check_at_least(1, "vocab_size", "decoder_vocab_size", "max_source_tokens", "max_target_tokens")
        self.check_at_least(0, "encoder_layers", "decoder_layers", "init_std", "window_sentences")
        if self.share_encoder_decoder_embeddings and self.decoder_vocab_size != self.vocab_size:
            raise ValueError(
                f"decoder_vocab_size={self.decoder_vocab_size} differs from vocab_size={self.vocab_size}: separate "
                f"vocabularies need share_encoder_decoder_embeddings=False."
            )

    def check_probabilities(self, *names: str) -> None:
        """Raises a ValueError for a field that is not at least 0 and below 1."""
        for name in names:
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} must be at least 0 and below 1.")

    def check_at_least(self, least: int, *names: str) -> None:
        """Raises a ValueError for a field below `least`, 0 or 1; None is not looked at."""
        complaint = "must not be negative" if least == 0 else f"must be at least {least}"
        for name in names:
            if getattr(self, name) is not None and getattr(self, name) < least:
                raise ValueError(f"{name}={getattr(self, name)} {complaint}.")


@strict
class TransformerConfig(TranslationConfig):
    """What encoder-decoders of Transformer layers have.

    Args:
        d_model: width D of the hidden states.
        encoder_layers, decoder_layers: number of layers.
        encoder_attention_heads, decoder_attention_heads: number of heads H; must divide `d_model`.
        encoder_ffn_dim, decoder_ffn_dim: inner width of the feed-forward blocks.
        dropout: on embeddings and at the end of every block, as in BART.
        attention_dropout: on the attention weights.
        activation_dropout: inside the feed-forward block.
        activation_function: name in `transformers.activations.ACT2FN`.
        normalize_before: layer norm in front of each block and once at the end (pre-norm); else behind each block.
        scale_embedding: multiply token embeddings by sqrt(D).
        output_bias: the output layer has a bias (Marian's models call it `final_logits_bias`).
        init_std: standard deviation of the initial weights.
        big_bird_block_size: tokens of a block of `big_bird` attention (Zaheer et al. 2020). Like the next four it is
            read at every forward.
        big_bird_global_tokens: first tokens of a document, which all see; those of a source see all.
        big_bird_window_blocks: blocks seen on either side of the own one (before it, in the decoder).
        big_bird_random_blocks: blocks seen elsewhere (before the window, in the decoder), others in each layer and
            head.
        big_bird_seed: from which it follows which these are.
        summary_kernel_size: tokens S of a window of the convolution that makes summaries, the mean length of a
            sentence; windows are half of it apart.
        position_embedding_type: `sinusoidal` or `learned` token positions.
        max_position_embeddings: size of the learned table. A position beyond its end is an error.
        others: as in `TranslationConfig`.
    """

    attribute_map = {
        "hidden_size": "d_model",
        "num_attention_heads": "encoder_attention_heads",
        "num_hidden_layers": "encoder_layers",
    }

    d_model: int = 512
    encoder_attention_heads: int = 8
    decoder_attention_heads: int = 8
    encoder_ffn_dim: int = 2048
    decoder_ffn_dim: int = 2048
    attention_dropout: float | int = 0.0
    activation_dropout: float | int = 0.0
    activation_function: str = "relu"
    normalize_before: bool = True
    scale_embedding: bool = True
    output_bias: bool = False
    encoder_self_attention: str = "document"
    decoder_self_attention: str = "document"
    attention_kernel: str = "auto"
    big_bird_block_size: int = 64
    big_bird_global_tokens: int = 2
    big_bird_window_blocks: int = 1
    big_bird_random_blocks: int = 3
    big_bird_seed: int = 0
    summary_kernel_size: int = 16
    position_embedding_type: str = "sinusoidal"
    max_position_embeddings: int = 1024

    def name_choices(self) -> Mapping[str, Collection[str]]:
        """The fields that hold names, and the names that each may hold."""
        return {"position_embedding_type": POSITION_VECTORS, "activation_function": ACT2FN}

    def check_numbers(self) -> None:
        """Raises a ValueError for a number that no network or window can have."""
        for side in ("encoder", "decoder"):
            num_heads = getattr(self, f"{side}_attention_heads")
            if num_heads < 1 or self.d_model % num_heads:
                raise ValueError(f"{side}_attention_heads={num_heads} must divide d_model={self.d_model}.")
        self.check_probabilities("attention_dropout", "activation_dropout")
        self.check_at_least(1, "d_model", "encoder_ffn_dim", "decoder_ffn_dim", "max_position_embeddings")
        self.check_at_least(1, "summary_kernel_size", "big_bird_block_size")
        self.check_at_least(0, *_BIG_BIRD_COUNTS)
        super().check_numbers()
