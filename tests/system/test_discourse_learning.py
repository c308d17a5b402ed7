# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What is known of the controlled discourse corpus, shown by training on it: a quarter of an hour on two cores."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

TRAINING = Path(__file__).parents[2] / "training"
pytestmark = pytest.mark.slow


def run(folder: Path, script: str, *arguments: str | Path) -> None:
    subprocess.run([sys.executable, TRAINING / script, *arguments], cwd=folder, check=True)


def accuracies(folder: Path, model: str, examples: str) -> dict[str, float]:
    """Accuracy by group of a trained model on a file of the corpus."""
    output = folder / "scores.json"
    run(folder, "evaluate_contrastive.py", f"runs/{model}", f"runs/discourse/{examples}", "--output", output)
    report = json.loads(output.read_text(encoding="utf-8"))["reports"][0]
    return {item["group"]: item["accuracy"] for item in report["accuracies"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("discourse")
    run(folder, "make_discourse_corpus.py", "runs/discourse")
    for model in ("discourse-sentence", "discourse-s4to4"):
        run(folder, "train.py", TRAINING / "recipes" / "en-fr" / f"{model}.yaml", "--training.use_cpu=true")
    return folder


@pytest.mark.parametrize("examples", ["contrastive.jsonl", "test.contrastive.jsonl"])
def test_a_sentence_level_model_is_at_chance(folder, examples) -> None:
    assert 45 <= accuracies(folder, "discourse-sentence", examples)["all"] <= 55


@pytest.mark.parametrize("examples", ["contrastive.jsonl", "test.contrastive.jsonl"])
def test_windows_of_four_sentences_know_what_is_decided_up_to_three_sentences_back(folder, examples) -> None:
    found = accuracies(folder, "discourse-s4to4", examples)
    assert all(found[f"distance {distance}"] >= 95 for distance in (1, 2, 3)), found
    # Beyond the window the two examples of a pair look the same.
    if examples == "contrastive.jsonl":
        assert all(found[f"distance {distance}"] == 50 for distance in range(4, 13)), found
