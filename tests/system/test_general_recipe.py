# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The recipe of the general model, run for its first steps on generated corpora that lie where the real ones do."""

import gzip
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

TRAINING = Path(__file__).parents[2] / "training"
RECIPE = TRAINING / "recipes" / "en-fr" / "general-sentence.yaml"
NUM_STEPS = 200
LETTERS = "abcdefghijklmnopqrstuvwxyz"
pytestmark = pytest.mark.slow


def write_corpora(folder: Path) -> None:
    """A file of its own sentences for each that the recipe names; a translation is its source with the words turned
    around, each with an e behind it."""
    numbers = random.Random(3)
    words = ["".join(numbers.choices(LETTERS, k=numbers.randint(2, 8))) for _ in range(300)]
    for name in sorted(set(re.findall(r"\$HIER_NMT_CORPORA/([\w./-]+)", RECIPE.read_text(encoding="utf-8")))):
        documents = []
        for number in range(12):
            sources = [" ".join(numbers.choices(words, k=numbers.randint(4, 12))) for _ in range(10)]
            targets = [" ".join(f"{word}e" for word in reversed(source.split())) for source in sources]
            documents.append({"id": f"{number}", "paragraphs": [{"en": sources, "fr": targets}]})
        if name.endswith(".txt.gz"):
            pairs = [
                pair for document in documents for pair in zip(*list(document["paragraphs"][0].values()), strict=True)
            ]
            lines = ["\t".join(pair) for pair in pairs]
        else:
            lines = [json.dumps(document) for document in documents]
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(gzip.compress("\n".join(lines).encode()))


def test_the_first_steps_of_the_general_recipe_lower_the_loss_of_every_corpus(tmp_path) -> None:
    write_corpora(tmp_path / "corpora")
    overrides = [
        f"--output-dir={tmp_path / 'run'}",
        f"--data.cache_dir={tmp_path / 'cache'}",
        f"--training.max_steps={NUM_STEPS}",
        "--training.lr_scheduler_kwargs={num_decay_steps: 20, decay_type: 1-sqrt}",
        "--training.warmup_steps=50",
        "--training.eval_steps=100",
        "--training.max_tokens_per_batch=256",
        # From random weights.
        "--training.init_from=null",
        "--training.init_transfer=false",
        "--tokenizer.vocab_size=600",
    ]
    subprocess.run(
        [sys.executable, TRAINING / "train.py", RECIPE, *overrides],
        env={**os.environ, "HIER_NMT_CORPORA": str(tmp_path / "corpora")},
        check=True,
    )
    summary = json.loads((tmp_path / "run" / "training_summary.json").read_text(encoding="utf-8"))
    assert summary["steps"] == NUM_STEPS
    history = json.loads((tmp_path / "run" / "trainer_state.json").read_text(encoding="utf-8"))["log_history"]
    first, *_, last = [entry for entry in history if "eval_loss" in entry]
    for name in ("europarl", "laws", "php", "libreoffice"):
        assert last[f"eval_loss_{name}"] < first[f"eval_loss_{name}"]
