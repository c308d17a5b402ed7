# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Recurrent models of a few units in float64, of every variant, and sentences of uneven lengths to run them on."""

from typing import Any

import torch
from tiny_models import BOS, EOS, PAD, padded

from hier_nmt import RNNNMTConfig, RNNNMTForConditionalGeneration

NUM_TOKENS = 15
VARIANTS: dict[str, dict[str, Any]] = {
    "lstm": {"attention": "none", "bidirectional": False},
    "gru_fed": {"rnn_type": "gru", "attention": "none", "input_feeding": True},
    "lstm_additive": {"bidirectional": False, "attention_size": 3},
    "bidirectional_lstm_additive": {},
    "bidirectional_gru_additive": {"rnn_type": "gru"},
    "deep_lstm_fed": {"encoder_layers": 2, "decoder_layers": 3, "input_feeding": True},
    "deep_gru_untied": {
        "rnn_type": "gru",
        "encoder_layers": 3,
        "decoder_layers": 2,
        "tie_word_embeddings": False,
        "share_encoder_decoder_embeddings": False,
    },
}
SOURCES = [[6, 7, 8, 9, EOS], [10, 11, 12, EOS], [12, 6, 13, 14, 8, 7, EOS], [EOS]]
TARGETS = [[6, 7, EOS], [8, 9, 10, 11, 12, EOS], [EOS], [9, 9, EOS]]


def tiny_config(**changes: Any) -> RNNNMTConfig:
    """The configuration of a tiny model without dropout, whose weights are large enough to make it opinionated."""
    values: dict[str, Any] = {
        "vocab_size": NUM_TOKENS,
        "embedding_size": 5,
        "hidden_size": 6,
        "dropout": 0.0,
        "init_std": 0.6,
    }
    return RNNNMTConfig(**{**values, **changes})


def tiny_model(seed: int = 0, **changes: Any) -> RNNNMTForConditionalGeneration:
    """A tiny model in float64, in evaluation mode, with random weights and biases that belong to the seed."""
    torch.manual_seed(seed)
    model = RNNNMTForConditionalGeneration(tiny_config(**changes)).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.6 * torch.randn_like(parameter))
    return model


def source_inputs(rows: list[list[int]] = SOURCES, length: int = 0, left: bool = False) -> dict[str, torch.Tensor]:
    """`input_ids` and `attention_mask` [B, S] of source sentences."""
    input_ids = padded(rows, length, left=left)
    return {"input_ids": input_ids, "attention_mask": (input_ids != PAD).long()}


def pair_inputs(
    sources: list[list[int]] = SOURCES, targets: list[list[int]] = TARGETS, length: int = 0
) -> dict[str, torch.Tensor]:
    """A batch of sentence pairs, padded on the right to at least `length` tokens, with labels."""
    return {
        **source_inputs(sources, length),
        "decoder_input_ids": padded([[BOS, *target[:-1]] for target in targets], length),
        "labels": padded(targets, length, value=-100),
    }
