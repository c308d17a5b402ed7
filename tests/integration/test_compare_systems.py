# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The script that trains and measures the systems of a comparison."""

import json
import os
import re
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from sentence_models import ENGLISH, FRENCH, write_corpus
from tiny_models import SENTENCE_SCOPE, tiny_model
from word_translation import word_tokenizer

from hier_nmt.cli.main import main as hier_nmt
from hier_nmt.data.tokenization import save_tokenizers
from hier_nmt.training.prepared_data import Tokenizers
from hier_nmt.training.recipes import Recipe
from hier_nmt.training.runs import build_model

TRAINING = Path(__file__).parents[2] / "training"
SCRIPT = TRAINING / "comparisons" / "compare.py"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names of the script, whose commands run in this process; `ran` has their arguments."""
    names = runpy.run_path(str(SCRIPT))
    names["ran"] = []

    def run(self: Any, arguments: list[str], log: Path) -> None:
        names["ran"].append(arguments)
        if code := hier_nmt(arguments):
            raise RuntimeError(f"hier-nmt {arguments[0]} ended with {code}: see {log}")

    monkeypatch.setattr(names["Commands"], "run", run)
    return names


@pytest.fixture
def comparison(tmp_path: Path) -> Path:
    """Windows of one and of two sentences, tiny, with a set of one example and a corpus to measure with."""
    corpus, examples = tmp_path / "corpus.jsonl", tmp_path / "set.jsonl"
    write_corpus(corpus)
    example = {
        "id": "1",
        "source_context": ENGLISH[:1],
        "target_context": FRENCH[:1],
        "source": ENGLISH[1],
        "targets": [FRENCH[1], FRENCH[2]],
        "correct": 0,
        "phenomenon": "word",
    }
    examples.write_text(json.dumps(example) + "\n", encoding="utf-8")
    sizes = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16}
    recipe = {
        "data": {
            "source_language": "en",
            "target_language": "fr",
            "train": [str(corpus)],
            "validation": [{"name": "same", "path": str(corpus)}],
            "cache_dir": str(tmp_path / "cache"),
        },
        "tokenizer": {"vocab_size": 300},
        "model": {**sizes, "encoder_attention_heads": 2, "decoder_attention_heads": 2, "window_sentences": 1},
        "training": {"output_dir": "any", "max_steps": 2, "logging_steps": 1, "use_cpu": True, "report_to": "none"},
    }
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(recipe), encoding="utf-8")
    content = {
        "recipe": str(tmp_path / "recipe.yaml"),
        "seeds": [3],
        "common": {"training.learning_rate": 0.01},
        "systems": {"sentence": None, "windows of two": {"model.window_sentences": 2}},
        "contrastive": {"own context": ["$SETS/set.jsonl"], "none": ["$SETS/set.jsonl", "--context", "none"]},
        "evaluate": {"the same": [str(corpus), "--limit", 1, "--beams", 1, "--no-ter"]},
    }
    path = tmp_path / "comparison.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return path


def changed(comparison: Path, **changes: Any) -> Path:
    """The comparison with other values."""
    content = yaml.safe_load(comparison.read_text(encoding="utf-8")) | changes
    comparison.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return comparison


def rows_of(table: Path) -> list[dict[str, str]]:
    """The rows of a table in Markdown."""
    header, _, *rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in table.read_text().splitlines())
    return [dict(zip(header, row, strict=True)) for row in rows]


def test_systems_are_trained_and_measured_once(
    script: dict[str, Any], comparison: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SETS", str(tmp_path))
    arguments = [str(comparison), "--output", str(tmp_path / "runs")]
    assert script["main"](arguments) == 0
    assert [line[0] for line in script["ran"]] == 2 * ["train", "contrastive", "contrastive", "evaluate"]
    first, second = rows_of(tmp_path / "runs" / "table.md")
    assert (first["system"], first["seed"], second["system"]) == ("sentence", "3", "windows of two")
    assert first.keys() == second.keys()
    assert first["own context"] in ("0.0", "100.0")
    assert re.fullmatch(r"\d+\.\d\d", second["the same, BLEU"])
    assert re.fullmatch(r"\d+\.\d{3}", second["loss, same"])
    assert first["trained"] == first["parameters"] == "0.0 M"
    assert float(first["s a step"]) > 0
    assert first["the same, seconds"].isdigit()
    details = json.loads((tmp_path / "runs" / "results.json").read_text(encoding="utf-8"))
    recipes = [system["training"]["recipe"] for system in details]
    assert [recipe["model"]["window_sentences"] for recipe in recipes] == [1, 2]
    assert {recipe["training"]["learning_rate"] for recipe in recipes} == {0.01}
    assert {recipe["training"]["seed"] for recipe in recipes} == {3}
    assert "context:none" in details[0]["results"]["contrastive none"][0]["signature"]

    script["ran"].clear()
    (tmp_path / "runs" / "sentence-3" / "contrastive-none" / "scores.json").unlink()
    assert script["main"](arguments) == 0
    assert [line[0] for line in script["ran"]] == ["contrastive"]
    (tmp_path / "runs" / "windows-of-two-3" / "contrastive-none" / "scores.json").unlink()
    assert script["main"]([*arguments, "--only", "sentence"]) == 0
    assert [line[0] for line in script["ran"]] == ["contrastive"]
    rows = rows_of(tmp_path / "runs" / "table.md")
    assert [(row["system"], bool(row["none"])) for row in rows] == [("sentence", True), ("windows of two", False)]


def test_the_others_go_on_if_a_system_fails(
    script: dict[str, Any], comparison: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text("no corpus", encoding="utf-8")
    systems = {"broken corpus": {"data.train": [str(broken)]}, "sentence": {}}
    changed(comparison, systems=systems, contrastive={}, evaluate={})
    assert script["main"]([str(comparison), "--output", str(tmp_path / "runs")]) == 1
    assert "error: broken corpus, seed 3: hier-nmt train ended with 1: see " in capsys.readouterr().err
    assert [bool(row["parameters"]) for row in rows_of(tmp_path / "runs" / "table.md")] == [False, True]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"systems": {"wide": {"model.d_modle": 4}}}, r"wide, seed 3: .*d_modle"),
        ({"system": {}}, r"may have recipe, seeds, common, systems, contrastive, evaluate alone"),
        ({"seeds": 3}, r"seeds must be a list, not 3"),
        ({"systems": {"sentence": "small"}}, r"system sentence must have values by key, not 'small'"),
        ({"evaluate": {"debates": "dev.jsonl"}}, r"debates must be a list of arguments, not 'dev.jsonl'"),
        ({"systems": {"a b": {}, "a-b": {}}}, r"two names become one folder"),
        ({"contrastive": {"own": ["missing.jsonl"]}}, r"contrastive own: no such file: missing.jsonl"),
    ],
)
def test_a_faulty_comparison_is_refused_before_anything_runs(
    script: dict[str, Any],
    comparison: Path,
    tmp_path: Path,
    changes: dict[str, Any],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("SETS", str(tmp_path))
    changed(comparison, **changes)
    assert script["main"]([str(comparison), "--output", str(tmp_path / "runs")]) == 1
    assert re.search(message, capsys.readouterr().err)
    assert not script["ran"]


def test_a_file_that_is_no_yaml_is_named(
    script: dict[str, Any], comparison: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    comparison.write_text("systems: [", encoding="utf-8")
    assert script["main"]([str(comparison), "--output", str(tmp_path / "runs")]) == 1
    assert "comparison.yaml is no YAML: while parsing" in capsys.readouterr().err


def test_a_system_that_is_not_there_is_named(
    script: dict[str, Any], comparison: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert script["main"]([str(comparison), "--output", str(tmp_path / "runs"), "--only", "windows"]) == 1
    assert "no system 'windows', only sentence, windows of two" in capsys.readouterr().err


def test_the_comparisons_of_this_repository_name_what_a_recipe_has(script: dict[str, Any], tmp_path: Path) -> None:
    paths = sorted((TRAINING / "comparisons").glob("*.yaml"))
    assert paths
    for path in paths:
        runs, measurements = script["read_comparison"](path, tmp_path)
        recipe = yaml.safe_load((TRAINING.parent / runs[0].recipe).read_text(encoding="utf-8"))
        assert len({run.overrides for run in runs}) == len(runs)
        # Systems of the sentence level have no context that a contrastive set could ask for.
        contrastive = set() if path.name == "en-fr-sentence.yaml" else {"contrastive"}
        assert {one.command for one in measurements} == contrastive | {"evaluate"}
        for run in runs:
            for override in run.overrides:
                assert override.removeprefix("--").partition(".")[0] in recipe


def test_every_system_with_context_starts_from_a_sentence_level_model(script: dict[str, Any], tmp_path: Path) -> None:
    tokenizer, start = word_tokenizer(), tmp_path / "start"
    heads = {"encoder_attention_heads": 4, "decoder_attention_heads": 4}
    model = tiny_model(vocab_size=len(tokenizer), **heads, **SENTENCE_SCOPE)
    model.save_pretrained(start)
    save_tokenizers(start, tokenizer)
    write_corpus(tmp_path / "corpus.jsonl")
    runs, _ = script["read_comparison"](TRAINING / "comparisons" / "en-fr-context.yaml", tmp_path)
    recipe = yaml.safe_load((TRAINING.parent / runs[0].recipe).read_text(encoding="utf-8"))
    recipe["data"] = {"source_language": "en", "target_language": "fr", "train": [str(tmp_path / "corpus.jsonl")]}
    recipe["training"] = {"output_dir": "run", "init_from": str(start), "init_config": True}
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(recipe), encoding="utf-8")
    for run in runs:
        changes = [override for override in run.overrides if override.startswith("--model.")]
        started = build_model(Recipe.load(tmp_path / "recipe.yaml", changes), Tokenizers(tokenizer, tokenizer))
        assert torch.equal(started.model.shared.weight, model.model.shared.weight.float()), run.name


@pytest.mark.slow
def test_an_interrupted_comparison_goes_on(comparison: Path, tmp_path: Path) -> None:
    common = {"training.max_steps": 400, "training.enable_jit_checkpoint": True, "training.logging_steps": 1}
    changed(comparison, common=common, contrastive={}, evaluate={})
    line = [sys.executable, str(SCRIPT), str(comparison), "--output", str(tmp_path / "runs"), "--at-once", "2"]
    process = subprocess.Popen(line, stderr=subprocess.PIPE, text=True, env={**os.environ, "SETS": str(tmp_path)})
    logs = [tmp_path / "runs" / name / "log.txt" for name in ("sentence-3", "windows-of-two-3")]
    deadline = time.monotonic() + 120
    while not all(log.is_file() and "/400" in log.read_text() for log in logs):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    process.send_signal(signal.SIGTERM)
    _, messages = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted; the same command continues" in messages
    assert list((tmp_path / "runs").glob("*/checkpoint-*"))
    subprocess.run(line, check=True, env={**os.environ, "SETS": str(tmp_path)})
    assert all(row["parameters"] for row in rows_of(tmp_path / "runs" / "table.md"))
