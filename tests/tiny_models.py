# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Models of two layers of width 16 in float64, of every variant, and documents of a few words to run them on."""

from typing import Any

import torch

from hier_nmt import HierNMTConfig, HierNMTForConditionalGeneration

PAD, BOS, EOS, UNK, SEP, PAR = range(6)
NUM_TOKENS = 30

SENTENCE_SCOPE = {
    "encoder_self_attention": "sentence",
    "decoder_self_attention": "sentence",
    "cross_attention": "sentence",
}
CONDITIONAL = {
    "encoder_self_attention": "conditional",
    "decoder_self_attention": "conditional",
    "cross_attention": "conditional",
    "num_selected_sentences": 2,
}
HIERARCHICAL = {**CONDITIONAL, "encoder_self_attention": "hierarchical", "cross_attention": "hierarchical"}
VARIANTS: dict[str, dict[str, Any]] = {
    "sequential": {},
    "learned": {"position_embedding_type": "learned", "normalize_before": False},
    "segment_shifted": {"position_encoding": "segment_shifted", "segment_shift": 5},
    "segment_embedding": {"segment_embedding": "learned"},
    "multi_level": {"position_encoding": "multi_level"},
    "sentence_scope": SENTENCE_SCOPE,
    "sentence_scope_multi_level": {
        **SENTENCE_SCOPE,
        "position_encoding": "multi_level",
        "token_position_origin": "sentence",
    },
    "conditional": CONDITIONAL,
    "conditional_grouped": {**CONDITIONAL, "attention_kernel": "grouped", "always_keep_own_sentence": True},
    "conditional_biased": {**CONDITIONAL, "always_keep_own_sentence": True, "relevance_bias": -3},
    "conditional_near": {**CONDITIONAL, "always_keep_own_sentence": True, "relevance_slope": 0.5},
    "hierarchical": {**HIERARCHICAL, "tree_selection": "node"},
    "hierarchical_shared_encoder": {
        **HIERARCHICAL,
        "sentence_encoder_sharing": "model",
        "position_encoding": "multi_level",
        "always_keep_own_sentence": True,
    },
    "context_block": {**SENTENCE_SCOPE, "context_block": "block"},
    "context_block_of_summaries": {"context_block": "block", "sentence_encoder": "conv", "summary_kernel_size": 4},
    "context_heads_of_shared_summaries": {
        **SENTENCE_SCOPE,
        "context_block": "heads",
        "num_sentence_heads": 1,
        "sentence_encoder": "conv",
        "summary_kernel_size": 3,
        "sentence_encoder_sharing": "model",
    },
    "context_heads": {"context_block": "heads", "num_sentence_heads": 1, "sentence_encoder_heads": 2},
}

# Three sentences in two paragraphs, then a single sentence, then one in which every sentence is empty.
SOURCES = [[6, 7, 8, SEP, 9, 10, PAR, 11, EOS], [12, 13, 14, 15, EOS], [SEP, PAR, EOS]]
TARGETS = [[16, 17, SEP, 18, 19, 20, PAR, 21, 22, EOS], [23, 24, 25, EOS], [SEP, 26, PAR, EOS]]


def tiny_config(**changes: Any) -> HierNMTConfig:
    """The configuration of a tiny model without dropout, whose weights are large enough to make it opinionated."""
    values: dict[str, Any] = {
        "vocab_size": NUM_TOKENS,
        "d_model": 16,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 4,
        "encoder_ffn_dim": 24,
        "decoder_ffn_dim": 20,
        "dropout": 0.0,
        "init_std": 0.3,
        "max_position_embeddings": 64,
        "max_sentence_positions": 32,
        "max_paragraph_positions": 32,
    }
    return HierNMTConfig(**{**values, **changes})


def tiny_model(seed: int = 0, **changes: Any) -> HierNMTForConditionalGeneration:
    """A tiny model in float64, in evaluation mode, with the weights that belong to the seed."""
    torch.manual_seed(seed)
    return HierNMTForConditionalGeneration(tiny_config(**changes)).double().eval()


def padded(rows: list[list[int]], length: int = 0, value: int = PAD, left: bool = False) -> torch.Tensor:
    """The rows as one tensor [B, length or more], padded with `value` on the right or the left."""
    length = max(length, *map(len, rows))
    return torch.tensor([[value] * (length - len(r)) + r if left else r + [value] * (length - len(r)) for r in rows])


def source_inputs(rows: list[list[int]] = SOURCES, length: int = 0) -> dict[str, torch.Tensor]:
    """`input_ids` and `attention_mask` [B, S] of source windows."""
    input_ids = padded(rows, length)
    return {"input_ids": input_ids, "attention_mask": (input_ids != PAD).long()}


def window_inputs(
    sources: list[list[int]] = SOURCES, targets: list[list[int]] = TARGETS, length: int = 0
) -> dict[str, torch.Tensor]:
    """A batch of source and target windows, padded on the right to at least `length` tokens, with labels."""
    return {
        **source_inputs(sources, length),
        "decoder_input_ids": padded([[BOS, *target[:-1]] for target in targets], length),
        "labels": padded(targets, length, value=-100),
    }
