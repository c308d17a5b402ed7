# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import re

import pytest
from transformers import AutoConfig, AutoModel, AutoModelForSeq2SeqLM

from hier_nmt import RNNNMTConfig, RNNNMTForConditionalGeneration, RNNNMTModel


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rnn_type": "rnn"}, "rnn_type='rnn' is unknown; choose one of lstm, gru."),
        ({"attention": "dot"}, "attention='dot' is unknown; choose one of none, additive."),
        ({"dropout": 1.0}, "dropout=1.0 must be at least 0 and below 1."),
        ({"hidden_size": 7}, "hidden_size=7 must be even"),
        ({"hidden_size": 0}, "hidden_size=0 must be at least 1."),
        ({"embedding_size": -1}, "embedding_size=-1 must be at least 1."),
        ({"attention_size": 0}, "attention_size=0 must be at least 1."),
        ({"decoder_layers": 0}, "decoder_layers=0 must be at least 1."),
        (
            {"window_sentences": 4},
            "window_sentences=4 is impossible: a recurrent model translates each sentence alone.",
        ),
        ({"decoder_vocab_size": 9}, "decoder_vocab_size=9 differs from vocab_size=16000: separate vocabularies need"),
    ],
)
def test_an_impossible_value_is_named(changes, message) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        RNNNMTConfig(**changes)


def test_an_odd_width_is_possible_in_one_direction() -> None:
    assert RNNNMTConfig(hidden_size=7, bidirectional=False).attention_size == 7


def test_save_and_load_gives_the_same_configuration(tmp_path) -> None:
    config = RNNNMTConfig(
        rnn_type="gru", attention_size=3, source_language="en", share_encoder_decoder_embeddings=False, vocab_size=9,
        decoder_vocab_size=8,
    )  # fmt: skip
    config.save_pretrained(tmp_path)
    loaded = AutoConfig.from_pretrained(tmp_path)
    assert type(loaded) is RNNNMTConfig
    changed = {name for name, value in loaded.to_dict().items() if value != config.to_dict().get(name)}
    assert changed <= {"_name_or_path", "transformers_version"}


def test_auto_classes_know_the_family() -> None:
    config = RNNNMTConfig(vocab_size=9, embedding_size=2, hidden_size=2)
    assert type(AutoModel.from_config(config)) is RNNNMTModel
    assert type(AutoModelForSeq2SeqLM.from_config(config)) is RNNNMTForConditionalGeneration
