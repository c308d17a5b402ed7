# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Configuration of the hierarchical document translation model."""

from collections.abc import Collection
from dataclasses import field
from typing import Any

from transformers import PreTrainedConfig
from transformers.activations import ACT2FN
from transformers.configuration_utils import strict  # type: ignore[attr-defined]

from .positions import POSITION_ENCODINGS
from .transformer_layers import ATTENTION_CLASSES

POSITION_VECTORS = ("sinusoidal", "learned")
SEGMENT_EMBEDDINGS = ("none", "sinusoidal", "learned")
STRUCTURE_LEVELS = ("token", "sentence", "paragraph")
TOKEN_POSITION_ORIGINS = ("document", "sentence")


@strict
class HierNMTConfig(PreTrainedConfig):
    """Everything that defines one HierNMT network and the windows it was trained on.

    Args:
        vocab_size: number of (source) tokens V.
        decoder_vocab_size: number of target tokens where the vocabularies are separate; default: `vocab_size`.
        d_model: width D of the hidden states.
        encoder_layers, decoder_layers: number of layers.
        encoder_attention_heads, decoder_attention_heads: number of heads H; must divide `d_model`.
        encoder_ffn_dim, decoder_ffn_dim: inner width of the feed-forward blocks.
        dropout: on embeddings and at the end of every block, as in BART.
        attention_dropout: on the attention weights.
        activation_dropout: inside the feed-forward block.
        encoder_layerdrop, decoder_layerdrop: probability of leaving out a layer in training (Fan et al. 2019).
        activation_function: name in `transformers.activations.ACT2FN`.
        normalize_before: layer norm in front of each block and once at the end (pre-norm); else behind each block.
        scale_embedding: multiply token embeddings by sqrt(D).
        tie_word_embeddings: output layer shares the decoder's embedding matrix.
        share_encoder_decoder_embeddings: encoder and decoder share one matrix (one joint vocabulary), unless
            `tie_word_embeddings` is off, which unties all three.
        init_std: standard deviation of the initial weights.
        encoder_self_attention, decoder_self_attention, cross_attention: what a token may look at in each attention
            slot; a name in `ATTENTION_CLASSES` (Trankova et al. 2024, Table 1).
        position_encoding: a name in `POSITION_ENCODINGS`.
        position_embedding_type: `sinusoidal` or `learned` token positions (`multi_level` is always learned).
        segment_shift: distance, in positions, put between two sentences by `segment_shifted`
            (Lupo et al. 2022, section 3.2); 0 is `sequential`.
        segment_embedding: embedding of the sentence index added to `sequential` or `segment_shifted` positions:
            `none`, `sinusoidal` or `learned`.
        structure_levels: levels whose position vectors `multi_level` sums: `token`, `sentence`, `paragraph`.
        token_position_origin: the token level of `multi_level` counts from the start of the `document` (window) or
            of the `sentence`.
        max_position_embeddings, max_sentence_positions, max_paragraph_positions: sizes of the learned tables.
        window_sentences: K, the sentences of a window (1: sentence level; 0: whole document).
        max_source_tokens, max_target_tokens: longest window, separators counted.
        source_language, target_language: ISO 639 codes, or None.
        pad_token_id, bos_token_id, eos_token_id, decoder_start_token_id: as everywhere in Transformers.
        sep_token_id: closes a sentence.
        par_token_id: closes the last sentence of a paragraph, in place of `sep_token_id`.

    Raises:
        ValueError: an unknown name or an impossible number, naming the value and what is possible.
    """

    model_type = "hier_nmt"
    keys_to_ignore_at_inference = ["past_key_values"]
    attribute_map = {
        "hidden_size": "d_model",
        "num_attention_heads": "encoder_attention_heads",
        "num_hidden_layers": "encoder_layers",
    }

    vocab_size: int = 16000
    decoder_vocab_size: int | None = None
    d_model: int = 512
    encoder_layers: int = 6
    decoder_layers: int = 6
    encoder_attention_heads: int = 8
    decoder_attention_heads: int = 8
    encoder_ffn_dim: int = 2048
    decoder_ffn_dim: int = 2048
    dropout: float | int = 0.1
    attention_dropout: float | int = 0.0
    activation_dropout: float | int = 0.0
    encoder_layerdrop: float | int = 0.0
    decoder_layerdrop: float | int = 0.0
    activation_function: str = "relu"
    normalize_before: bool = True
    scale_embedding: bool = True
    tie_word_embeddings: bool = True
    share_encoder_decoder_embeddings: bool = True
    init_std: float = 0.02
    encoder_self_attention: str = "document"
    decoder_self_attention: str = "document"
    cross_attention: str = "document"
    position_encoding: str = "sequential"
    position_embedding_type: str = "sinusoidal"
    segment_shift: int = 0
    segment_embedding: str = "none"
    structure_levels: list[str] = field(default_factory=lambda: list(STRUCTURE_LEVELS))
    token_position_origin: str = "document"
    max_position_embeddings: int = 1024
    max_sentence_positions: int = 128
    max_paragraph_positions: int = 64
    window_sentences: int = 1
    max_source_tokens: int = 1024
    max_target_tokens: int = 1024
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
        super().__post_init__(**kwargs)
        # Not as validators of `strict`, which would hide these errors behind another class than ValueError.
        self.check_names()
        self.check_numbers()

    @property
    def target_vocab_size(self) -> int:
        """Number of target tokens V."""
        return self.vocab_size if self.decoder_vocab_size is None else self.decoder_vocab_size

    @property
    def separator_token_ids(self) -> tuple[int, ...]:
        """Ids of the tokens that close a sentence."""
        return tuple(token_id for token_id in (self.sep_token_id, self.par_token_id) if token_id is not None)

    @property
    def paragraph_token_ids(self) -> tuple[int, ...]:
        """Ids of the tokens that close a paragraph."""
        return () if self.par_token_id is None else (self.par_token_id,)

    @property
    def reads_sentences(self) -> bool:
        """Whether a token's result depends on the sentences (not only the positions) of the tokens before it."""
        slots = (self.decoder_self_attention, self.cross_attention)
        return POSITION_ENCODINGS[self.position_encoding].reads_sentences(self) or any(
            ATTENTION_CLASSES[slot].reads_sentences for slot in slots
        )

    @property
    def reads_paragraphs(self) -> bool:
        """Whether a token's result depends on the paragraphs of the tokens before it."""
        return self.position_encoding == "multi_level" and "paragraph" in self.structure_levels

    def check_names(self) -> None:
        """Raises a ValueError for a name that no table holds."""
        choices: dict[str, Collection[str]] = {
            "encoder_self_attention": ATTENTION_CLASSES,
            "decoder_self_attention": ATTENTION_CLASSES,
            "cross_attention": ATTENTION_CLASSES,
            "position_encoding": POSITION_ENCODINGS,
            "position_embedding_type": POSITION_VECTORS,
            "segment_embedding": SEGMENT_EMBEDDINGS,
            "token_position_origin": TOKEN_POSITION_ORIGINS,
            "activation_function": ACT2FN,
        }
        for name, possible in choices.items():
            if getattr(self, name) not in possible:
                raise ValueError(f"{name}={getattr(self, name)!r} is unknown; choose one of {', '.join(possible)}.")
        levels = self.structure_levels
        if not levels or len(set(levels)) < len(levels) or not set(levels) <= set(STRUCTURE_LEVELS):
            known = ", ".join(STRUCTURE_LEVELS)
            raise ValueError(f"structure_levels={levels!r} must be one or more different names out of {known}.")

    def check_numbers(self) -> None:
        """Raises a ValueError for a number that no network or window can have."""
        for side in ("encoder", "decoder"):
            num_heads = getattr(self, f"{side}_attention_heads")
            if num_heads < 1 or self.d_model % num_heads:
                raise ValueError(f"{side}_attention_heads={num_heads} must divide d_model={self.d_model}.")
        for name in ("dropout", "attention_dropout", "activation_dropout", "encoder_layerdrop", "decoder_layerdrop"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} must be at least 0 and below 1.")
        sizes = ("vocab_size", "decoder_vocab_size", "d_model", "encoder_ffn_dim", "decoder_ffn_dim")
        tables = ("max_position_embeddings", "max_sentence_positions", "max_paragraph_positions")
        for name in (*sizes, *tables, "max_source_tokens", "max_target_tokens"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} must be at least 1.")
        for name in ("segment_shift", "window_sentences"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name}={getattr(self, name)} must not be negative.")
        if self.share_encoder_decoder_embeddings and self.decoder_vocab_size != self.vocab_size:
            raise ValueError(
                f"decoder_vocab_size={self.decoder_vocab_size} differs from vocab_size={self.vocab_size}: separate "
                f"vocabularies need share_encoder_decoder_embeddings=False."
            )


__all__ = ["HierNMTConfig"]
