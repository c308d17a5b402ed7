# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The commands that make a calibration of confidence and use it, with a tiny model."""

import json
import re
import shutil
from pathlib import Path

import pytest
from command_line import run_command

from hier_nmt.cli import evaluate
from hier_nmt.jobs.confidence_calibration import (
    FILE_NAME,
    MIN_SENTENCES,
    ConfidenceCalibration,
    read_calibration,
    write_calibration,
)

pytest.importorskip("sentencex")


@pytest.fixture
def own_checkpoint(checkpoint: str, tmp_path: Path) -> Path:
    """A copy, beside which a calibration may be stored."""
    return Path(shutil.copytree(checkpoint, tmp_path / "model"))


def test_evaluate_stores_what_confidence_means(own_checkpoint: Path, tmp_path: Path, monkeypatch, capsys) -> None:
    words = "abcdefghijklmnopqrstuvwxyz"
    sources = [f"{words[n % 26]} {words[n // 26]} !" for n in range(MIN_SENTENCES)]
    paragraph = {"en": sources, "fr": ["A !"] * len(sources)}
    (tmp_path / "dev.jsonl").write_text(json.dumps({"id": "a", "paragraphs": [paragraph]}) + "\n")
    given = []

    def calibrate(confidences, chrf, good_chrf) -> ConfidenceCalibration:
        given.append((len(confidences), len(chrf), good_chrf))
        return ConfidenceCalibration(2.0, 0.5, good_chrf, len(confidences))

    monkeypatch.setattr(evaluate, "calibrate", calibrate)
    options = ["--beams", 1, "--no-ter", "--calibrate-confidence", 40]
    assert run_command("evaluate", own_checkpoint, tmp_path / "dev.jsonl", *options) == 0
    out = capsys.readouterr().out
    assert "| confidence | sentences | mean | chrF | chrF >= 40 | calibrated |" in out
    assert given == [(MIN_SENTENCES, MIN_SENTENCES, 40.0)]
    assert read_calibration(own_checkpoint) == ConfidenceCalibration(2.0, 0.5, 40.0, MIN_SENTENCES)
    measured = json.loads((own_checkpoint / FILE_NAME).read_text())["measured"]
    assert measured == {"corpus": ["dev.jsonl"], "strategy": None, "beams": 1, "engine": "torch"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--calibrate-confidence", 100], "--calibrate-confidence 100: chrF is between 0 and 100"),
        (["--strategy", "sentence", "prefix", "--calibrate-confidence"], "needs one strategy, got sentence prefix"),
        (["--calibrate-confidence"], "--calibrate-confidence takes 100 sentences, and the corpus has"),
    ],
)
def test_what_cannot_be_calibrated_is_refused_before_anything_is_translated(
    own_checkpoint: Path, corpus: str, monkeypatch, capsys, options: list, message: str
) -> None:
    monkeypatch.setattr(evaluate, "translate_documents", None)
    assert run_command("evaluate", own_checkpoint, corpus, *options) == 1
    assert message in capsys.readouterr().err
    assert not (own_checkpoint / FILE_NAME).exists()


def test_translate_gives_calibrated_values(own_checkpoint: Path, tmp_path: Path, capsys) -> None:
    (tmp_path / "a.xlf").write_text(
        '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file original="a" source-language="en" '
        'target-language="fr" datatype="plaintext"><body><trans-unit id="1"><source>A b!</source></trans-unit>'
        "</body></file></xliff>"
    )
    values = []
    for name in ("raw", "calibrated"):
        output = tmp_path / f"{name}.xlf"
        options = ["--model", own_checkpoint, "--output", output, "--beams", 1, "--report"]
        assert run_command("translate", tmp_path / "a.xlf", *options) == 0
        values.append(float(re.findall('mtConfidence="([^"]+)"', output.read_text())[0]))
        # With the slope 2 and the intercept 0: c^2 / (1 + c^2).
        write_calibration(own_checkpoint, ConfidenceCalibration(2.0, 0.0, 50.0, 800))
    errors = capsys.readouterr().err
    assert values[1] == pytest.approx(values[0] ** 2 / (1 + values[0] ** 2), abs=1e-3)
    assert f"sentence 1 (confidence {values[0]:.2f})" in errors
    assert f"sentence 1 (confidence {values[1]:.2f})" in errors
    assert errors.count("confidence of a sentence: the share of 800 development sentences like it with chrF 50") == 1
