# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of scripts: a checkpoint and a corpus."""

import json

import pytest
import torch
from word_translation import word_tokenizer

from hier_nmt import HierNMTConfig, HierNMTForConditionalGeneration

DOCUMENTS = [
    {"id": "one", "paragraphs": [{"en": ["A b.", "C."], "fr": ["a b.", "c."]}, {"en": ["D."], "fr": ["d."]}]},
    {"id": "two", "paragraphs": [{"en": ["E."], "fr": ["e."]}]},
]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory) -> str:
    """A tiny untrained model with its tokenizer."""
    folder = tmp_path_factory.mktemp("checkpoint")
    tokenizer = word_tokenizer()
    torch.manual_seed(0)
    config = HierNMTConfig(
        vocab_size=len(tokenizer),
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        window_sentences=2,
        source_language="en",
        target_language="fr",
    )
    HierNMTForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


@pytest.fixture
def corpus(tmp_path) -> str:
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps(document) + "\n" for document in DOCUMENTS))
    return str(path)
