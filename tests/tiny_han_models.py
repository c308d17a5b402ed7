# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""HAN models of two layers of width 16 in float64, of every variant; they run on the windows of `tiny_models`."""

from typing import Any

import torch
from tiny_models import NUM_TOKENS

from hier_nmt import HANConfig, HANForConditionalGeneration

BIG_BIRD = {
    "encoder_self_attention": "big_bird",
    "decoder_self_attention": "big_bird",
    "big_bird_block_size": 2,
    "big_bird_global_tokens": 1,
    "big_bird_random_blocks": 1,
}
VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "learned_positions_norm_before": {"position_embedding_type": "learned", "normalize_before": True},
    "odd_kernel_untied": {
        "summary_kernel_size": 3,
        "tie_word_embeddings": False,
        "share_encoder_decoder_embeddings": False,
        "decoder_vocab_size": 28,
    },
    "big_bird_masked": {**BIG_BIRD, "attention_kernel": "reference", "big_bird_random_blocks": 2},
    "big_bird_in_blocks": {**BIG_BIRD, "attention_kernel": "grouped"},
    "big_bird_without_window": {
        **BIG_BIRD,
        "attention_kernel": "grouped",
        "big_bird_block_size": 3,
        "big_bird_window_blocks": 0,
        "big_bird_global_tokens": 2,
    },
    "word_vectors": {"word_vector_size": 5, "share_encoder_decoder_embeddings": False, "decoder_vocab_size": 28},
    "kernel_of_one": {"summary_kernel_size": 1},
    "kernel_beyond_the_documents": {"summary_kernel_size": 20},
}


def tiny_config(**changes: Any) -> HANConfig:
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
        "summary_kernel_size": 4,
        "dropout": 0.0,
        "init_std": 0.3,
        "max_position_embeddings": 64,
    }
    return HANConfig(**{**values, **changes})


def tiny_model(seed: int = 0, **changes: Any) -> HANForConditionalGeneration:
    """A tiny model in float64, in evaluation mode, with random weights, biases and norms that belong to the seed."""
    torch.manual_seed(seed)
    model = HANForConditionalGeneration(tiny_config(**changes)).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model
