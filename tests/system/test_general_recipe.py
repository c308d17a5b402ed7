# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The recipes of the general models, run for their first steps on generated corpora that lie where the real ones do."""

import gzip
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoModelForSeq2SeqLM

from hier_nmt.cli.main import main

TRAINING = Path(__file__).parents[2] / "training"
RECIPES = TRAINING / "recipes" / "en-fr"
RECIPE = RECIPES / "general-sentence.yaml"
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


def train(
    recipe: Path, folder: Path, output: Path, *overrides: str, num_steps: int = NUM_STEPS
) -> list[dict[str, Any]]:
    """Runs the first steps of a recipe and returns its evaluations."""
    options = [
        f"--output-dir={output}",
        f"--data.cache_dir={folder / 'cache'}",
        f"--training.max_steps={num_steps}",
        "--training.lr_scheduler_kwargs={num_decay_steps: 20, decay_type: 1-sqrt}",
        "--training.warmup_steps=50",
        "--training.eval_steps=100",
        "--training.max_tokens_per_batch=256",
        *overrides,
    ]
    environment = {**os.environ, "HIER_NMT_CORPORA": str(folder / "corpora")}
    subprocess.run([sys.executable, TRAINING / "train.py", recipe, *options], env=environment, check=True)
    summary = json.loads((output / "training_summary.json").read_text(encoding="utf-8"))
    assert summary["steps"] == num_steps
    history = json.loads((output / "trainer_state.json").read_text(encoding="utf-8"))["log_history"]
    return [entry for entry in history if "eval_loss" in entry]


@pytest.fixture(scope="module")
def sentence_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """The folder of the corpora and of the sentence-level model in `run`, and its evaluations."""
    folder = tmp_path_factory.mktemp("general")
    write_corpora(folder / "corpora")
    # From random weights.
    overrides = ["--training.init_from=null", "--training.init_transfer=false", "--tokenizer.vocab_size=600"]
    return folder, train(RECIPE, folder, folder / "run", *overrides)


def test_the_first_steps_of_the_general_recipe_lower_the_loss_of_every_corpus(sentence_run) -> None:
    first, *_, last = sentence_run[1]
    for name in ("europarl", "laws", "php", "libreoffice"):
        assert last[f"eval_loss_{name}"] < first[f"eval_loss_{name}"]


@pytest.mark.parametrize("attention", ["document", "conditional", "hierarchical"])
@pytest.mark.parametrize("gate", [0.0, 0.5])
def test_the_first_steps_of_the_gated_recipe_open_the_gates_and_lower_the_loss(
    sentence_run, attention: str, gate: float
) -> None:
    folder, before = sentence_run
    start, output = folder / f"start-{attention}-{gate}", folder / f"run-{attention}-{gate}"
    assert main(["adapt", str(folder / "run"), str(start), "--attention", attention, "--context-gate", str(gate)]) == 0
    options = [*context_overrides(folder), f"--training.init_from={start}"]
    evaluations = train(RECIPES / "general-gated.yaml", folder, output, *options)
    assert evaluations[-1]["eval_loss"] < before[-1]["eval_loss"]
    model = AutoModelForSeq2SeqLM.from_pretrained(output)
    gates = [weight for name, weight in model.named_parameters() if name.endswith(".gate")]
    assert gates
    assert all(gate.abs().max() > 0 for gate in gates)


def context_overrides(folder: Path) -> list[str]:
    """A start for attention to other sentences, and sentences that need them."""
    start, focus = folder / "start-sentence", folder / "focus.tsv"
    if not start.exists():
        assert main(["adapt", str(folder / "run"), str(start), "--attention", "sentence"]) == 0
    pairs = zip(*first_paragraph(folder).values(), strict=True)
    focus.write_text("".join(f"{english}\t{french}\n" for english, french in pairs))
    return [
        f"--training.init_from={start}",
        f"--data.focus={{path: {focus}, weight: 3}}",
        # Its tokenizer knows no French.
        "--training.contrast_words=null",
        "--training.contrast_weight=1",
        "--training.contrast_margin=0",
    ]


@pytest.fixture(scope="module")
def loss_of_start(sentence_run: tuple[Path, list[dict[str, Any]]]) -> float:
    """The loss of the sentence-level model on the blocks of the context recipe, before their training."""
    folder, _ = sentence_run
    slots = ("encoder_self_attention", "decoder_self_attention", "cross_attention")
    options = [
        *context_overrides(folder),
        "--training.eval_on_start=true",
        *(f"--model.{slot}=sentence" for slot in slots),
    ]
    loss: float = train(RECIPES / "general-context.yaml", folder, folder / "run-slots-sentence", *options)[0][
        "eval_loss"
    ]
    return loss


def first_paragraph(folder: Path) -> dict[str, list[str]]:
    """The sentences of both languages."""
    with gzip.open(folder / "corpora" / "europarl-en-fr" / "train_2008_2010.jsonl.gz", "rt") as file:
        paragraph: dict[str, list[str]] = json.loads(next(file))["paragraphs"][0]
    return paragraph


@pytest.mark.parametrize(
    ("encoder", "decoder", "cross"),
    [
        ("document", "document", "document"),
        ("conditional", "conditional", "conditional"),
        ("hierarchical", "conditional", "hierarchical"),
        ("sentence", "conditional", "sentence"),
    ],
)
def test_the_first_steps_of_the_context_recipe_lower_the_loss(
    sentence_run, loss_of_start: float, encoder: str, decoder: str, cross: str
) -> None:
    folder, before = sentence_run
    output = folder / f"run-slots-{encoder}-{decoder}"
    evaluations = train(
        RECIPES / "general-context.yaml",
        folder,
        output,
        *context_overrides(folder),
        "--training.eval_on_start=true",
        f"--model.encoder_self_attention={encoder}",
        f"--model.decoder_self_attention={decoder}",
        f"--model.cross_attention={cross}",
        # Dense attention has nothing else to tell sentences apart.
        f"--model.segment_embedding={'sinusoidal' if encoder == 'document' else 'none'}",
        # It also forgets much of what the sentence-level model knew (docs/results.md), and has to learn it again.
        num_steps=2 * NUM_STEPS if encoder == "document" else NUM_STEPS,
    )
    losses = [evaluation["eval_loss"] for evaluation in evaluations]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < loss_of_start
    if encoder != "document":
        # Lower, too, than on single sentences, which have no separators.
        assert losses[-1] < before[-1]["eval_loss"]


@pytest.mark.parametrize("name", ["general-terms", "general-large", "general-documents"])
def test_the_first_steps_of_the_recipes_with_terms_lower_the_loss(sentence_run, name: str) -> None:
    folder, before = sentence_run
    terms = folder / "terms.tsv"
    words = (sentence.split()[0] for sentence in first_paragraph(folder)["en"])
    terms.write_text("".join(f"{word}\t{word}e\n" for word in words))
    augmentation = f"--data.augmentation={{uppercase_share: 0.02, glossary: {terms}, glossary_share: 0.15}}"
    if name == "general-documents":
        start = context_overrides(folder)
    else:
        start = [f"--training.init_from={folder / 'run'}"]
    if name == "general-large":
        start.append(f"--tokenizer.path={folder / 'run'}")
    evaluations = train(RECIPES / f"{name}.yaml", folder, folder / f"run-{name}", augmentation, *start)
    assert evaluations[-1]["eval_loss"] < before[-1]["eval_loss"]
