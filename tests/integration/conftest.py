# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of scripts: a checkpoint and a corpus."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from word_translation import word_tokenizer

from hier_nmt import HierNMTConfig, HierNMTForConditionalGeneration

DOCUMENTS = [
    {"id": "one", "paragraphs": [{"en": ["A b.", "C."], "fr": ["a b.", "c."]}, {"en": ["D."], "fr": ["d."]}]},
    {"id": "two", "paragraphs": [{"en": ["E."], "fr": ["e."]}]},
]


@pytest.fixture(scope="module")
def write_checkpoint() -> Callable[..., str]:
    """A function that saves a tiny untrained model and its tokenizer in a folder, and returns the folder's path."""

    def write(folder: Path, **changes: Any) -> str:
        tokenizer = word_tokenizer()
        torch.manual_seed(0)
        values: dict[str, Any] = {
            "d_model": 16,
            "encoder_layers": 1,
            "decoder_layers": 1,
            "encoder_attention_heads": 2,
            "decoder_attention_heads": 2,
            "window_sentences": 2,
            "source_language": "en",
            "target_language": "fr",
            **changes,
        }
        HierNMTForConditionalGeneration(HierNMTConfig(vocab_size=len(tokenizer), **values)).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return str(folder)

    return write


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory, write_checkpoint) -> str:
    """A tiny untrained model with its tokenizer."""
    return write_checkpoint(tmp_path_factory.mktemp("checkpoint"))


@pytest.fixture
def corpus(tmp_path) -> str:
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps(document) + "\n" for document in DOCUMENTS))
    return str(path)
