# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Configuration of the hierarchical document translation model."""

from collections.abc import Collection, Mapping
from dataclasses import field
from typing import Any

from .configuration_choices import (
    ATTENTION_KERNELS,
    CONTEXT_ATTENTIONS,
    CONTEXT_BLOCKS,
    CROSS_ATTENTIONS,
    DECODER_SELF_ATTENTIONS,
    ENCODER_SELF_ATTENTIONS,
    POSITION_ENCODINGS,
    SENTENCE_ENCODERS,
)
from .hub_config import strict
from .translation_config import TransformerConfig

SEGMENT_EMBEDDINGS = ("none", "sinusoidal", "learned")
STRUCTURE_LEVELS = ("token", "sentence", "paragraph")
TOKEN_POSITION_ORIGINS = ("document", "sentence")
SENTENCE_ENCODER_SHARINGS = ("layer", "model")
TREE_SELECTIONS = ("cumulative", "node")

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
class HierNMTConfig(TransformerConfig):
    """Everything that defines one HierNMT network and the windows it was trained on.

    Args:
        encoder_layerdrop, decoder_layerdrop: probability of leaving out a layer in training (Fan et al. 2019).
        encoder_self_attention, decoder_self_attention, cross_attention: what a token may look at in each attention
            slot: `document`, `sentence`, `conditional` or, but for the decoder's self-attention, `hierarchical`
            (Trankova et al. 2024, Table 1); in self-attention also `big_bird`.
        num_selected_sentences: t, the sentences whose tokens a token reads in `conditional` and `hierarchical` slots.
            Like the next four it is read at every forward and may be changed on a trained model.
        num_selected_sentences_encoder, num_selected_sentences_decoder, num_selected_sentences_cross: t of one slot
            (`decoder`: its self-attention), where it differs.
        always_keep_own_sentence: a source token's own sentence (in cross-attention: the source sentence with the number
            of the one that is written) is always one of the t.
        relevance_bias: added to the relevance of every selected sentence but the token's own. With -6 a slot that gets
            its weights from a sentence-level model begins almost as it was there, and learns what to read.
        relevance_slope: subtracted from the relevance of a sentence for each one between it and the token's own, before
            the choice and in what is added (in `hierarchical` slots the walk chooses without it): a linear bias as in
            ALiBi (Press et al. 2022), without which these slots don't know how far away a sentence is.
        tree_selection: what decides on a level of the tree: `cumulative` relevance, or that of the `node` alone.
        attention_kernel: how `conditional`, `hierarchical` and `big_bird` slots are computed: `reference` (masked),
            `grouped` (linear), `auto`, whichever is faster, or `triton` (on a GPU, experimental; `big_bird` as with
            `auto`), see `attend_selected_sentences`; under `torch.compile` always `reference`.
        sentence_encoder: what encodes sentences: `source2token` (Trankova et al. 2024, eq. 2) or, for context blocks
            and heads alone, `conv`: summaries by a convolution, whatever the sentences (Shen 2023, section III.1).
        sentence_encoder_sharing: sentences are encoded again in each `layer`, or once for the whole `model`, from the
            embedding output.
        sentence_encoder_heads: queries by which a sentence is pooled (each with its share of the width); the paper has
            one.
        context_block: `none`; `block`: a second attention, over all sentence encodings, in every layer (over those of
            the source in the decoder); `heads`: `num_sentence_heads` of the heads of the encoder's self-attention and
            of the cross-attention read sentence encodings instead of tokens (Trankova et al. 2024, section 2);
            `document`, `conditional` or `hierarchical`: gated blocks that read tokens of other sentences, see
            `GatedContext`, which change nothing at first.
        num_sentence_heads: see `context_block`.
        position_encoding: a name in `POSITION_ENCODINGS`.
        position_embedding_type: `sinusoidal` or `learned` token positions (`multi_level` is always learned).
        segment_shift: distance, in positions, put between two sentences by `segment_shifted`
            (Lupo et al. 2022, section 3.2); 0 is `sequential`.
        segment_embedding: embedding of the sentence index added to `sequential` or `segment_shifted` positions:
            `none`, `sinusoidal` or `learned`.
        structure_levels: levels whose position vectors `multi_level` sums: `token`, `sentence`, `paragraph`.
        token_position_origin: `sequential` positions and the token level of `multi_level` count from the start of the
            `document` (window) or of the `sentence`.
        position_offset: the first sinusoidal position (2 in M2M100).
        sinusoid_endpoint: the slowest sinusoid has a wave length of exactly 10000 * 2 pi (exponents i / (D/2 - 1), as
            in M2M100), not just below (i / (D/2)).
        normalize_embedding: layer norm on the embeddings, positions included, as in mBART.
        restart_target_sentences: in the decoder, a separator opens the sentence behind it: it has the embedding of the
            start token and the first position of that sentence, so that each sentence is written as if it were the
            first.
        max_position_embeddings, max_sentence_positions, max_paragraph_positions: sizes of the learned tables. A
            position beyond the end of its table is an error.
        sentence_position_clamp: sentences and paragraphs beyond the end of their table share its last position instead.
        others: as in `TransformerConfig` and `TranslationConfig`.

    Raises:
        ValueError: an unknown name or an impossible number, naming the value and what is possible.
    """

    model_type = "hier_nmt"
    auto_classes = {
        "AutoConfig": "configuration_hier_nmt.HierNMTConfig",
        "AutoModel": "modeling_hier_nmt.HierNMTModel",
        "AutoModelForSeq2SeqLM": "modeling_hier_nmt.HierNMTForConditionalGeneration",
    }
    encoder_layerdrop: float | int = 0.0
    decoder_layerdrop: float | int = 0.0
    cross_attention: str = "document"
    num_selected_sentences: int = 4
    num_selected_sentences_encoder: int | None = None
    num_selected_sentences_decoder: int | None = None
    num_selected_sentences_cross: int | None = None
    always_keep_own_sentence: bool = False
    relevance_bias: float | int = 0.0
    relevance_slope: float | int = 0.0
    tree_selection: str = "cumulative"
    sentence_encoder: str = "source2token"
    sentence_encoder_sharing: str = "layer"
    sentence_encoder_heads: int = 1
    context_block: str = "none"
    num_sentence_heads: int = 2
    position_encoding: str = "sequential"
    segment_shift: int = 0
    segment_embedding: str = "none"
    structure_levels: list[str] = field(default_factory=lambda: list(STRUCTURE_LEVELS))
    token_position_origin: str = "document"
    max_sentence_positions: int = 128
    max_paragraph_positions: int = 64
    sentence_position_clamp: bool = False
    position_offset: int = 0
    sinusoid_endpoint: bool = False
    normalize_embedding: bool = False
    restart_target_sentences: bool = False

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
    def reads_sentences(self) -> bool:
        """Whether a token's result depends on the sentences (not only the positions) of the tokens before it."""
        slots = (
            DECODER_SELF_ATTENTIONS[self.decoder_self_attention],
            CROSS_ATTENTIONS[self.cross_attention],
        )
        if self.restart_target_sentences or self.context_attention is not None:
            return True
        return self.positions_read_sentences or any(slot.reads_sentences for slot in slots)

    @property
    def positions_read_sentences(self) -> bool:
        """Whether the position encoding of a token depends on which sentence it stands in."""
        if self.position_encoding == "multi_level":
            return self.structure_levels != ["token"] or self.token_position_origin == "sentence"
        is_shifted = self.position_encoding == "segment_shifted" and self.segment_shift > 0
        if self.position_encoding == "sequential" and self.token_position_origin == "sentence":
            return True
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
    def context_attention(self) -> str | None:
        """How a gated context block reads tokens, or None if there is no such block."""
        return self.context_block if self.context_block in CONTEXT_ATTENTIONS else None

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

    def single_sentence_fields(self) -> dict[str, Any]:
        """The fields to change for the Transformer that translates single sentences as this network translates each
        of them alone, with the weights that both have.

        Raises:
            ValueError: there is none.
        """
        for name, unchanged in (
            ("context_block", ("none",)),
            ("segment_embedding", ("none",)),
            ("position_encoding", ("sequential", "segment_shifted")),
        ):
            if (found := getattr(self, name)) not in unchanged:
                raise ValueError(f"{name}={found!r} changes single sentences, too")
        slots = ("encoder_self_attention", "decoder_self_attention", "cross_attention")
        if "big_bird" in [getattr(self, slot) for slot in slots]:
            raise ValueError("'big_bird' attention does not read all of a sentence")
        return {
            **dict.fromkeys(slots, "document"),
            "position_encoding": "sequential",
            "segment_shift": 0,
            "token_position_origin": "document",
            "restart_target_sentences": False,
            "window_sentences": 1,
        }

    def name_choices(self) -> Mapping[str, Collection[str]]:
        """The fields that hold names, and the names that each may hold."""
        return {
            "encoder_self_attention": ENCODER_SELF_ATTENTIONS,
            "decoder_self_attention": DECODER_SELF_ATTENTIONS,
            "cross_attention": CROSS_ATTENTIONS,
            "tree_selection": TREE_SELECTIONS,
            "attention_kernel": ATTENTION_KERNELS,
            "sentence_encoder": SENTENCE_ENCODERS,
            "sentence_encoder_sharing": SENTENCE_ENCODER_SHARINGS,
            "context_block": CONTEXT_BLOCKS,
            "position_encoding": POSITION_ENCODINGS,
            "segment_embedding": SEGMENT_EMBEDDINGS,
            "token_position_origin": TOKEN_POSITION_ORIGINS,
            **super().name_choices(),
        }

    def check_names(self) -> None:
        """Raises a ValueError for a name that no table holds, or for names that rule each other out."""
        if self.decoder_self_attention == "hierarchical":
            raise ValueError(
                "decoder_self_attention='hierarchical' is impossible: nodes of the tree would span sentences that are "
                "not written yet. Choose conditional."
            )
        super().check_names()
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
        super().check_numbers()
        self.check_probabilities("encoder_layerdrop", "decoder_layerdrop")
        self.check_at_least(1, "num_selected_sentences", "max_sentence_positions", "max_paragraph_positions")
        self.check_at_least(1, *(f"num_selected_sentences_{slot}" for slot in ("encoder", "decoder", "cross")))
        self.check_at_least(0, "segment_shift", "position_offset", "relevance_slope")
        if self.restart_target_sentences and self.decoder_start_token_id is None:
            raise ValueError("restart_target_sentences=True needs a decoder_start_token_id.")
        if self.sentence_encoder_heads < 1 or self.d_model % self.sentence_encoder_heads:
            raise ValueError(
                f"sentence_encoder_heads={self.sentence_encoder_heads} must divide d_model={self.d_model}."
            )
        num_heads = min(self.encoder_attention_heads, self.decoder_attention_heads)
        if not 0 <= self.num_context_heads < num_heads:
            raise ValueError(
                f"num_sentence_heads={self.num_sentence_heads} must leave at least one of {num_heads} attention heads."
            )


__all__ = ["HierNMTConfig"]
