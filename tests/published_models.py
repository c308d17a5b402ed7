# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of every family and preset, so small that they are uploaded in no time, and what they are to answer."""

import copy
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, pre_tokenizers
from tokenizers.models import WordLevel
from transformers import (
    AutoModelForSeq2SeqLM,
    MarianConfig,
    MarianMTModel,
    PreTrainedConfig,
    TokenizersBackend,
    pipeline,
)
from word_translation import EOS, PAR, SEP, SPECIAL_TOKENS, word_tokenizer

from hier_nmt import HANConfig, HierNMTConfig, RNNNMTConfig
from hier_nmt.configuration.configuration_hier_nmt import PRESETS

TEXT = "A b! C d!\n\nE f!\n"
OPTIONS = {"max_new_tokens": 6, "num_beams": 2}
SOURCE = [7, 8, SEP, 9, 10, PAR, 11, EOS]
TARGET = [12, SEP, 13, 14, PAR, EOS]
NUM_WORDS = len(word_tokenizer())

_LANGUAGES = {"source_language": "en", "target_language": "fr"}
_LAYERS: dict[str, Any] = {
    "vocab_size": NUM_WORDS,
    "d_model": 16,
    **{f"{side}_{name}": 4 for side in ("encoder", "decoder") for name in ("attention_heads", "ffn_dim")},
    **{f"{side}_layers": 1 for side in ("encoder", "decoder")},
    "max_position_embeddings": 64,
    "max_source_tokens": 64,
    "max_target_tokens": 64,
    **_LANGUAGES,
}
_HIER_NMT = {**_LAYERS, **{f"max_{level}_positions": 32 for level in ("sentence", "paragraph")}}
_HAN_NMT = {**_LAYERS, "summary_kernel_size": 3}
_RNN_NMT: dict[str, Any] = {"vocab_size": NUM_WORDS, "embedding_size": 8, "hidden_size": 8, **_LANGUAGES}
# What makes a model's answers depend on all of it; no dropout, so that two trainings are the same.
_COMMON = {"dropout": 0.0, "init_std": 0.5}

# The configurations of each family; the first one stands for it in the quick tests.
FAMILIES: dict[str, dict[str, PreTrainedConfig]] = {
    "hier_nmt": {
        name: HierNMTConfig.preset(name, **_HIER_NMT, **_COMMON)
        for name in ("conditional", *(name for name in PRESETS if name != "conditional"))
    },
    "han_nmt": {
        "big_bird": HANConfig(encoder_self_attention="big_bird", big_bird_block_size=2, **_HAN_NMT, **_COMMON),
        "word_vectors": HANConfig(word_vector_size=4, share_encoder_decoder_embeddings=False, **_HAN_NMT, **_COMMON),
    },
    "rnn_nmt": {
        "additive": RNNNMTConfig(**_RNN_NMT, **_COMMON),
        "gru": RNNNMTConfig(rnn_type="gru", attention="none", input_feeding=True, **_RNN_NMT, **_COMMON),
    },
}


def first_of(family: str) -> PreTrainedConfig:
    """The configuration that stands for a family."""
    return next(iter(FAMILIES[family].values()))


def two_vocabularies() -> PreTrainedConfig:
    """The configuration of a model with a tokenizer for each language."""
    changes = {"share_encoder_decoder_embeddings": False, "decoder_vocab_size": NUM_WORDS + 1}
    return HierNMTConfig.preset("transformer", **_HIER_NMT, **_COMMON, **changes)


def write_checkpoint(folder: Path, config: PreTrainedConfig, seed: int = 0) -> Path:
    """A checkpoint with random weights, its tokenizer and, in `expected.pt`, what it answers."""
    torch.manual_seed(seed)
    model = AutoModelForSeq2SeqLM.from_config(copy.deepcopy(config)).eval()
    model.save_pretrained(folder)
    tokenizer = word_tokenizer()
    tokenizer.save_pretrained(folder)
    if config.decoder_vocab_size == config.vocab_size:
        write_expectation(folder, model, tokenizer)
    return folder


def write_expectation(folder: Path, model: Any, tokenizer: Any) -> None:
    """Writes `expected.pt`: inputs, the logits that the model answers with, and a text and its translation."""
    inputs = {"input_ids": torch.tensor([SOURCE]), "decoder_input_ids": torch.tensor([TARGET])}
    with torch.no_grad():
        logits = model.eval()(**inputs).logits
    pipe = pipeline("translation", model=model, tokenizer=tokenizer, device="cpu")
    answer = {"text": TEXT, "options": OPTIONS, "translation": pipe(TEXT, **OPTIONS)[0]["translation_text"]}
    torch.save({"inputs": inputs, "logits": logits, **answer}, folder / "expected.pt")


def write_marian(folder: Path) -> Path:
    """A checkpoint of somebody else's family, with a tokenizer that knows no separators, for 12 tokens at most."""
    torch.manual_seed(0)
    words = [word for word in SPECIAL_TOKENS[:4]] + list("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ!.")
    sides = {f"{side}_{name}": 2 for side in ("encoder", "decoder") for name in ("layers", "attention_heads")}
    ids = {"pad_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 0, "forced_eos_token_id": None}
    sizes = {"d_model": 16, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16, "max_position_embeddings": 12}
    model = MarianMTModel(MarianConfig(vocab_size=len(words), init_std=0.5, **sides, **sizes, **ids))
    model.save_pretrained(folder)
    backend = Tokenizer(WordLevel({word: index for index, word in enumerate(words)}, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    special = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    TokenizersBackend(tokenizer_object=backend, **special, model_max_length=12).save_pretrained(folder)
    return folder
