# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What is known of the controlled discourse corpus, shown by training on it."""

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


LONG_DOCUMENTS = ("--length", "16", "--max-distance", "8", "--train", "3000", "--dev", "10", "--test", "10")
SHORTER_TRAINING = (
    "--training.max_steps=2500",
    "--training.selection_warmup_steps=500",
    "--training.eval_strategy=no",
    "--training.use_cpu=true",
)
ANNEALING = "--training.selection_annealing_steps=1500"


def train_on_whole_documents(folder: Path, model: str, *changes: str) -> dict[str, float]:
    """Trains a recipe, with changes, on whole documents of 16 sentences; accuracy on pairs by group."""
    run(folder, "make_discourse_corpus.py", "runs/discourse", *LONG_DOCUMENTS)
    data = [
        f"--data.{part}=[runs/discourse/{file}.jsonl]" for part, file in (("train", "train"), ("validation", "dev"))
    ]
    run(folder, "train.py", TRAINING / "recipes" / "en-fr" / f"{model}.yaml", *data, *SHORTER_TRAINING, *changes)
    return accuracies(folder, model, "contrastive.jsonl")


@pytest.mark.parametrize(
    ("model", "changes"),
    [("discourse-conditional", ()), ("discourse-hierarchical", (ANNEALING,))],
    ids=["conditional", "hierarchical"],
)
def test_selected_sentences_are_enough_at_every_distance(tmp_path, model, changes) -> None:
    found = train_on_whole_documents(tmp_path, model, *changes)
    assert all(found[f"distance {distance}"] >= 95 for distance in range(1, 9)), found


def test_a_tree_finds_what_decides(tmp_path) -> None:
    # The decoder reads its own sentence and the one it translates: what others say can come through the tree alone.
    only_encoder = "--model.decoder_self_attention=sentence"
    found = train_on_whole_documents(tmp_path, "discourse-hierarchical", only_encoder, ANNEALING)
    assert all(found[phenomenon] >= 95 for phenomenon in ("register", "word-sense", "ellipsis")), found
    assert all(found[f"distance {distance}"] >= 70 for distance in range(1, 9)), found
