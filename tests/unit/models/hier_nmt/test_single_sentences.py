# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Models of documents, read sentence by sentence: a plain Transformer has the same translations."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_models import CONDITIONAL, HIERARCHICAL, SENTENCE_SCOPE, SOURCES, TARGETS, tiny_model, window_inputs

from hier_nmt import HierNMTForConditionalGeneration
from hier_nmt.cli.main import main
from hier_nmt.jobs.load_checkpoints import load_pipeline, single_sentence_config
from hier_nmt.publishing.ctranslate2_model import Ctranslate2Model

ROOT = Path(__file__).parents[4]
CHECKPOINT = ROOT / "checkpoints" / "hier-nmt-en-fr"
FROM_THE_SENTENCE = {"token_position_origin": "sentence", "restart_target_sentences": True, "output_bias": True}
NETWORKS: dict[str, dict[str, Any]] = {
    "sentence": SENTENCE_SCOPE,
    "conditional": {**CONDITIONAL, **FROM_THE_SENTENCE, "relevance_bias": -6, "always_keep_own_sentence": True},
    "hierarchical": {**HIERARCHICAL, "window_sentences": 4},
    "shifted": {"position_encoding": "segment_shifted", "segment_shift": 7, "window_sentences": 4},
}


@pytest.mark.parametrize("changes", NETWORKS.values(), ids=NETWORKS)
def test_single_sentences_have_the_logits_of_the_transformer_with_these_weights(
    changes: dict[str, Any], tmp_path: Path
) -> None:
    model = tiny_model(**changes)
    model.save_pretrained(tmp_path)
    alone = HierNMTForConditionalGeneration.from_pretrained(tmp_path, config=single_sentence_config(tmp_path))
    assert alone.config.decoder_self_attention == "document"
    assert alone.config.window_sentences == 1
    inputs = window_inputs(SOURCES[1:2], TARGETS[1:2])
    with torch.no_grad():
        torch.testing.assert_close(alone.double().eval()(**inputs).logits, model(**inputs).logits)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"context_block": "block"}, "context_block='block' changes single sentences"),
        ({"segment_embedding": "sinusoidal"}, "segment_embedding='sinusoidal'"),
        ({"position_encoding": "multi_level"}, "position_encoding='multi_level'"),
        ({"encoder_self_attention": "big_bird"}, "big_bird"),
    ],
)
def test_a_network_that_adds_to_single_sentences_has_none(changes: dict[str, Any], reason: str, tmp_path: Path) -> None:
    model = tiny_model(**changes)
    with pytest.raises(ValueError, match=reason):
        model.config.single_sentence_fields()
    model.config.save_pretrained(tmp_path)
    assert single_sentence_config(tmp_path) is None


def test_the_strategy_sentence_is_open_to_every_engine() -> None:
    pytest.importorskip("ctranslate2")
    text = "The committee met on Monday. It will report in May."
    expected, output = (
        load_pipeline(CHECKPOINT, "cpu", engine, strategy="sentence") for engine in ("torch", "ctranslate2")
    )
    assert isinstance(output.model, Ctranslate2Model)
    options: dict[str, Any] = {"strategy": "sentence", "num_beams": 1}
    assert output(text, **options) == expected(text, **options)


def test_evaluation_of_single_sentences_is_open_to_every_engine(tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    corpus = str(ROOT / "examples" / "news.en-fr.jsonl")
    found = []
    for engine in ("torch", "ctranslate2"):
        folder = tmp_path / engine
        options = ["--limit", "1", "--beams", "1", "--strategy", "sentence", "--engine", engine, "--device", "cpu"]
        assert main(["evaluate", str(CHECKPOINT), corpus, *options, "--output-dir", str(folder)]) == 0
        lines = (folder / "translations.sentence.jsonl").read_text(encoding="utf-8").splitlines()
        found.append([json.loads(line)["paragraphs"] for line in lines if "paragraphs" in json.loads(line)])
    assert found[0]
    assert found[0] == found[1]
