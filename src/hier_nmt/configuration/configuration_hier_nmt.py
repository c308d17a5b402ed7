# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Configuration of the hierarchical document translation model."""

from collections.abc import Collection
from dataclasses import field
from typing import Any

from transformers.activations import ACT2FN

from .configuration_choices import (
    ATTENTION_KERNELS,
    CROSS_ATTENTIONS,
    DECODER_SELF_ATTENTIONS,
    ENCODER_SELF_ATTENTIONS,
    POSITION_ENCODINGS,
    SENTENCE_ENCODERS,
)
from .hub_config import HubConfig, strict

POSITION_VECTORS = ("sinusoidal", "learned")
SEGMENT_EMBEDDINGS = ("none", "sinusoidal", "learned")
STRUCTURE_LEVELS = ("token", "sentence", "paragraph")
TOKEN_POSITION_ORIGINS = ("document", "sentence")
CONTEXT_BLOCKS = ("none", "block", "heads")
SENTENCE_ENCODER_SHARINGS = ("layer", "model")
TREE_SELECTIONS = ("cumulative", "node")
BIG_BIRD_COUNTS = ("big_bird_global_tokens", "big_bird_window_blocks", "big_bird_random_blocks", "big_bird_seed")

# Positions that restart in each sentence, so that documents may be longer than those of the training.
_WHOLE_DOCUMENTS: dict[str, Any] = {
    "window_sentences": 0,
    "position_encoding": "multi_level",
    "token_position_origin": "sentence",
    "max_sentence_positions": 2048,
    "max_paragraph_positions": 1024,
    "max_source_tokens": 65536,
    "max_target_tokens": 65536,
}
_SENTENCES: dict[str, Any] = {
    "encoder_self_attention": "sentence",
    "decoder_self_attention": "sentence",
    "cross_attention": "sentence",
}
_CONDITIONAL: dict[str, Any] = {
    "encoder_self_attention": "conditional",
    "decoder_self_attention": "conditional",
    "cross_attention": "conditional",
}
PRESETS: dict[str, dict[str, Any]] = {
    "transformer": {"window_sentences": 1},
    "document": _WHOLE_DOCUMENTS,
    "s4to4": {"window_sentences": 4, "position_encoding": "segment_shifted"},
    "sentence-context": {**_WHOLE_DOCUMENTS, **_SENTENCES, "context_block": "block"},
    "sentence-heads": {**_WHOLE_DOCUMENTS, **_SENTENCES, "context_block": "heads"},
    "conditional": {**_WHOLE_DOCUMENTS, **_CONDITIONAL},
    "hierarchical": {
        **_WHOLE_DOCUMENTS,
        **_CONDITIONAL,
        "encoder_self_attention": "hierarchical",
        "cross_attention": "hierarchical",
    },
}


@strict
class HierNMTConfig(HubConfig):
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
            slot: `document`, `sentence`, `conditional` or, but for the decoder's self-attention, `hierarchical`
            (Trankova et al. 2024, Table 1); in self-attention also `big_bird`.
        num_selected_sentences: t, the sentences whose tokens a token reads in `conditional` and `hierarchical` slots.
            Like the next four it is read at every forward and may be changed on a trained model.
        num_selected_sentences_encoder, num_selected_sentences_decoder, num_selected_sentences_cross: t of one slot
            (`decoder`: its self-attention), where it differs.
        always_keep_own_sentence: a source token's own sentence (in cross-attention: the source sentence with the number
            of the one that is written) is always one of the t.
        tree_selection: what decides on a level of the tree: `cumulative` relevance, or that of the `node` alone.
        attention_kernel: how `conditional`, `hierarchical` and `big_bird` slots are computed: `reference` (masked),
            `grouped` (linear), `auto`, whichever is faster, or `triton` (on a GPU, experimental; `big_bird` as with
            `auto`), see `attend_selected_sentences`; under `torch.compile` always `reference`.
        big_bird_block_size: tokens of a block of `big_bird` attention (Zaheer et al. 2020). Like the next four it is
            read at every forward.
        big_bird_global_tokens: first tokens of a document, which all see; those of a source see all.
        big_bird_window_blocks: blocks seen on either side of the own one (before it, in the decoder).
        big_bird_random_blocks: blocks seen elsewhere (before the window, in the decoder), others in each layer and
            head.
        big_bird_seed: from which it follows which these are.
        sentence_encoder: what encodes sentences: `source2token` (Trankova et al. 2024, eq. 2) or, for context blocks
            and heads alone, `conv`: summaries by a convolution, whatever the sentences (Shen 2023, section III.1).
        summary_kernel_size: tokens S of a window of `conv`, the mean length of a sentence; windows are half of it
            apart.
        sentence_encoder_sharing: sentences are encoded anew in each `layer`, or once for the whole `model`, from the
            embedding output.
        sentence_encoder_heads: queries by which a sentence is pooled (each with its share of the width); the paper has
            one.
        context_block: `none`; `block`: a second attention, over all sentence encodings, in every layer (over those of
            the source in the decoder); `heads`: `num_sentence_heads` of the heads of the encoder's self-attention and
            of the cross-attention read sentence encodings instead of tokens (Trankova et al. 2024, section 2).
        num_sentence_heads: see `context_block`.
        position_encoding: a name in `POSITION_ENCODINGS`.
        position_embedding_type: `sinusoidal` or `learned` token positions (`multi_level` is always learned).
        segment_shift: distance, in positions, put between two sentences by `segment_shifted`
            (Lupo et al. 2022, section 3.2); 0 is `sequential`.
        segment_embedding: embedding of the sentence index added to `sequential` or `segment_shifted` positions:
            `none`, `sinusoidal` or `learned`.
        structure_levels: levels whose position vectors `multi_level` sums: `token`, `sentence`, `paragraph`.
        token_position_origin: the token level of `multi_level` counts from the start of the `document` (window) or
            of the `sentence`.
        max_position_embeddings, max_sentence_positions, max_paragraph_positions: sizes of the learned tables. A
            position beyond the end of its table is an error.
        sentence_position_clamp: sentences and paragraphs beyond the end of their table share its last position instead.
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
    auto_classes = {
        "AutoConfig": "configuration_hier_nmt.HierNMTConfig",
        "AutoModel": "modeling_hier_nmt.HierNMTModel",
        "AutoModelForSeq2SeqLM": "modeling_hier_nmt.HierNMTForConditionalGeneration",
    }
    keys_to_ignore_at_inference = ["past_key_values", "cache"]
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
    num_selected_sentences: int = 4
    num_selected_sentences_encoder: int | None = None
    num_selected_sentences_decoder: int | None = None
    num_selected_sentences_cross: int | None = None
    always_keep_own_sentence: bool = False
    tree_selection: str = "cumulative"
    attention_kernel: str = "auto"
    big_bird_block_size: int = 64
    big_bird_global_tokens: int = 2
    big_bird_window_blocks: int = 1
    big_bird_random_blocks: int = 3
    big_bird_seed: int = 0
    sentence_encoder: str = "source2token"
    summary_kernel_size: int = 16
    sentence_encoder_sharing: str = "layer"
    sentence_encoder_heads: int = 1
    context_block: str = "none"
    num_sentence_heads: int = 2
    position_encoding: str = "sequential"
    position_embedding_type: str = "sinusoidal"
    segment_shift: int = 0
    segment_embedding: str = "none"
    structure_levels: list[str] = field(default_factory=lambda: list(STRUCTURE_LEVELS))
    token_position_origin: str = "document"
    max_position_embeddings: int = 1024
    max_sentence_positions: int = 128
    max_paragraph_positions: int = 64
    sentence_position_clamp: bool = False
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

    @classmethod
    def preset(cls, name: str, **changes: Any) -> "HierNMTConfig":
        """The configuration of one of the papers' systems, with some fields changed.

        `transformer` (one sentence at a time, Vaswani et al. 2017), `s4to4` (windows of four sentences, Lupo et al.
        2022; give the `segment_shift`), and of Trankova et al. 2024, all for whole documents: `document` (full
        attention), `sentence-context` and `sentence-heads` (section 2), `conditional` (3.2) and `hierarchical` (3.3).

        Args:
            name: of the system.
            changes: fields that differ from it.

        Raises:
            ValueError: there is no such preset, or no such field.
        """
        if name not in PRESETS:
            raise ValueError(f"preset {name!r} is unknown; choose one of {', '.join(PRESETS)}.")
        default = cls()
        for change, value in changes.items():
            of_class = getattr(cls, change, None)
            is_derived = callable(of_class) or (isinstance(of_class, property) and of_class.fset is None)
            if is_derived or not hasattr(default, change):
                raise ValueError(f"{change}={value!r} changes nothing: {cls.__name__} has no such field.")
        return cls(**{**PRESETS[name], **changes})

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
        slots = (
            DECODER_SELF_ATTENTIONS[self.decoder_self_attention],
            CROSS_ATTENTIONS[self.cross_attention],
        )
        return self.positions_read_sentences or any(slot.reads_sentences for slot in slots)

    @property
    def positions_read_sentences(self) -> bool:
        """Whether the position encoding of a token depends on which sentence it stands in."""
        if self.position_encoding == "multi_level":
            return self.structure_levels != ["token"] or self.token_position_origin == "sentence"
        is_shifted = self.position_encoding == "segment_shifted" and self.segment_shift > 0
        return is_shifted or self.segment_embedding != "none"

    @property
    def reads_paragraphs(self) -> bool:
        """Whether a token's result depends on the paragraphs of the tokens before it."""
        return self.position_encoding == "multi_level" and "paragraph" in self.structure_levels

    @property
    def num_context_heads(self) -> int:
        """Number of heads that read sentence encodings instead of tokens."""
        return self.num_sentence_heads if self.context_block == "heads" else 0

    @property
    def has_context(self) -> bool:
        """Whether a context block or heads read all sentence encodings."""
        return self.context_block == "block" or self.num_context_heads > 0

    @property
    def encoder_reads_encodings(self) -> bool:
        """Whether encoder layers read encodings of the source's sentences."""
        slot = ENCODER_SELF_ATTENTIONS[self.encoder_self_attention]
        return self.has_context or slot.reads_sentence_encodings

    @property
    def decoder_reads_source_encodings(self) -> bool:
        """Whether decoder layers read encodings of the source's sentences."""
        return self.has_context or CROSS_ATTENTIONS[self.cross_attention].reads_sentence_encodings

    @property
    def decoder_reads_target_encodings(self) -> bool:
        """Whether decoder layers read encodings of the target's sentences."""
        return DECODER_SELF_ATTENTIONS[self.decoder_self_attention].reads_sentence_encodings

    def selected_sentences(self, slot: str) -> int:
        """t of the slot `encoder`, `decoder` or `cross`."""
        of_slot = getattr(self, f"num_selected_sentences_{slot}")
        return self.num_selected_sentences if of_slot is None else of_slot

    def check_names(self) -> None:
        """Raises a ValueError for a name that no table holds."""
        choices: dict[str, Collection[str]] = {
            "encoder_self_attention": ENCODER_SELF_ATTENTIONS,
            "decoder_self_attention": DECODER_SELF_ATTENTIONS,
            "cross_attention": CROSS_ATTENTIONS,
            "tree_selection": TREE_SELECTIONS,
            "attention_kernel": ATTENTION_KERNELS,
            "sentence_encoder": SENTENCE_ENCODERS,
            "sentence_encoder_sharing": SENTENCE_ENCODER_SHARINGS,
            "context_block": CONTEXT_BLOCKS,
            "position_encoding": POSITION_ENCODINGS,
            "position_embedding_type": POSITION_VECTORS,
            "segment_embedding": SEGMENT_EMBEDDINGS,
            "token_position_origin": TOKEN_POSITION_ORIGINS,
            "activation_function": ACT2FN,
        }
        if self.decoder_self_attention == "hierarchical":
            raise ValueError(
                "decoder_self_attention='hierarchical' is impossible: nodes of the tree would span sentences that are "
                "not written yet. Choose conditional."
            )
        for name, possible in choices.items():
            if getattr(self, name) not in possible:
                raise ValueError(f"{name}={getattr(self, name)!r} is unknown; choose one of {', '.join(possible)}.")
        self.check_summaries()
        levels = self.structure_levels
        if not levels or len(set(levels)) < len(levels) or not set(levels) <= set(STRUCTURE_LEVELS):
            known = ", ".join(STRUCTURE_LEVELS)
            raise ValueError(f"structure_levels={levels!r} must be one or more different names out of {known}.")

    def check_summaries(self) -> None:
        """Raises a ValueError where a slot chooses among sentences and the sentence encoder knows of none."""
        slots = {
            "encoder_self_attention": ENCODER_SELF_ATTENTIONS,
            "decoder_self_attention": DECODER_SELF_ATTENTIONS,
            "cross_attention": CROSS_ATTENTIONS,
        }
        for name, table in slots.items():
            if self.sentence_encoder == "conv" and table[getattr(self, name)].reads_sentence_encodings:
                raise ValueError(
                    f"sentence_encoder='conv' with {name}={getattr(self, name)!r} is impossible: its summaries are not "
                    f"those of sentences, among which that slot chooses."
                )

    def check_numbers(self) -> None:
        """Raises a ValueError for a number that no network or window can have."""
        for side in ("encoder", "decoder"):
            num_heads = getattr(self, f"{side}_attention_heads")
            if num_heads < 1 or self.d_model % num_heads:
                raise ValueError(f"{side}_attention_heads={num_heads} must divide d_model={self.d_model}.")
        for name in ("dropout", "attention_dropout", "activation_dropout", "encoder_layerdrop", "decoder_layerdrop"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} must be at least 0 and below 1.")
        slots = ("num_selected_sentences", "num_selected_sentences_encoder", "num_selected_sentences_decoder")
        for name in (*slots, "num_selected_sentences_cross"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} must be at least 1.")
        if self.sentence_encoder_heads < 1 or self.d_model % self.sentence_encoder_heads:
            raise ValueError(
                f"sentence_encoder_heads={self.sentence_encoder_heads} must divide d_model={self.d_model}."
            )
        num_heads = min(self.encoder_attention_heads, self.decoder_attention_heads)
        if not 0 <= self.num_context_heads < num_heads:
            raise ValueError(
                f"num_sentence_heads={self.num_sentence_heads} must leave at least one of {num_heads} attention heads."
            )
        sizes = ("vocab_size", "decoder_vocab_size", "d_model", "encoder_ffn_dim", "decoder_ffn_dim")
        tables = ("max_position_embeddings", "max_sentence_positions", "max_paragraph_positions")
        for name in (
            *sizes,
            *tables,
            "summary_kernel_size",
            "big_bird_block_size",
            "max_source_tokens",
            "max_target_tokens",
        ):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} must be at least 1.")
        for name in (
            "encoder_layers",
            "decoder_layers",
            "init_std",
            "segment_shift",
            "window_sentences",
            *BIG_BIRD_COUNTS,
        ):
            if getattr(self, name) < 0:
                raise ValueError(f"{name}={getattr(self, name)} must not be negative.")
        if self.share_encoder_decoder_embeddings and self.decoder_vocab_size != self.vocab_size:
            raise ValueError(
                f"decoder_vocab_size={self.decoder_vocab_size} differs from vocab_size={self.vocab_size}: separate "
                f"vocabularies need share_encoder_decoder_embeddings=False."
            )


__all__ = ["HierNMTConfig"]
