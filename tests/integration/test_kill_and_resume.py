# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""A training run that is killed continues with the same command and ends like an uninterrupted one."""

import json
import logging
import os
import re
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
import yaml
from reversed_corpus import write_corpus
from safetensors.torch import load_file

from hier_nmt.training.checkpoints import last_complete_checkpoint

MAX_STEPS, SAVE_STEPS = 30, 3


@pytest.fixture(scope="module")
def recipe(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("recipe")
    write_corpus(folder / "train.jsonl", 30)
    write_corpus(folder / "dev.jsonl", 4)
    sizes = dict.fromkeys(("d_model", "encoder_ffn_dim", "decoder_ffn_dim"), 16)
    layers = dict.fromkeys(("encoder_layers", "decoder_layers"), 1)
    heads = dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 2)
    sections = {
        "data": {
            "train": [str(folder / "train.jsonl")],
            "validation": [str(folder / "dev.jsonl")],
            "source_language": "en",
            "target_language": "fr",
        },
        "tokenizer": {"vocab_size": 300},
        "model": {**sizes, **layers, **heads, "dropout": 0.2, "window_sentences": 2},
        "training": {
            "output_dir": str(folder / "whole"),
            "context_discount": 0.5,
            "max_tokens_per_batch": 200,
            "learning_rate": 0.01,
            "max_steps": MAX_STEPS,
            "logging_steps": 1,
            "save_strategy": "steps",
            "save_steps": SAVE_STEPS,
            "save_total_limit": 2,
            "eval_strategy": "steps",
            "eval_steps": 15,
            "use_cpu": True,
            "report_to": "none",
            "disable_tqdm": True,
        },
    }
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(sections), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def script(repository) -> Path:
    return repository / "training" / "train.py"


class Messages(logging.Handler):
    """Collects log messages."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


def train_here(script: Path, recipe: Path, output_dir: Path, *overrides: str, status: int = 0) -> list[str]:
    """Runs the training script in this process, which ends with this status; returns the package's log messages."""
    messages = Messages()
    logger = logging.getLogger("hier_nmt")
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(messages)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [str(script), str(recipe), f"--output-dir={output_dir}", *overrides])
        with pytest.raises(SystemExit) as stop:
            runpy.run_path(str(script), run_name="__main__")
    assert stop.value.code == status
    logger.removeHandler(messages)
    logger.setLevel(level)
    return messages.texts


def start_training(script: Path, recipe: Path, output_dir: Path, *overrides: str) -> subprocess.Popen:
    """Starts the training script in a process of its own, which can be killed."""
    path = os.pathsep.join(filter(None, [str(script.parents[1] / "src"), os.environ.get("PYTHONPATH")]))
    return subprocess.Popen(
        [sys.executable, str(script), str(recipe), f"--output-dir={output_dir}", *overrides],
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def signal_when(process: subprocess.Popen, is_reached, sent: signal.Signals = signal.SIGKILL) -> str:
    """Sends a signal to the process as soon as the condition holds; what it printed until its end."""
    deadline = time.monotonic() + 300
    while not is_reached():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(sent)
    return process.communicate()[0]


def training_losses(output_dir: Path) -> list[tuple[int, float]]:
    log = json.loads((output_dir / "trainer_state.json").read_text(encoding="utf-8"))["log_history"]
    return [
        (entry["step"], entry.get("loss", entry.get("eval_loss")))
        for entry in log
        if {"loss", "eval_loss"} & set(entry)
    ]


@pytest.fixture(scope="module")
def whole(script, recipe) -> Path:
    output_dir = recipe.parent / "whole"
    train_here(script, recipe, output_dir)
    return output_dir


@pytest.fixture(scope="module")
def killed(script, recipe) -> tuple[Path, list[str]]:
    """A run killed in the middle, with a later checkpoint truncated, and resumed; and the log of the second command."""
    output_dir = recipe.parent / "killed"
    signal_when(start_training(script, recipe, output_dir), (output_dir / f"checkpoint-{3 * SAVE_STEPS}").is_dir)
    assert not (output_dir / "training_summary.json").exists()
    half_written = output_dir / f"checkpoint-{MAX_STEPS - 1}"
    half_written.mkdir()
    (half_written / "model.safetensors").write_bytes(b"\x10\x00")
    return output_dir, train_here(script, recipe, output_dir)


def test_a_killed_run_continues_from_the_last_complete_checkpoint(killed):
    output_dir, messages = killed
    assert any(f"checkpoint-{MAX_STEPS - 1} is not used: trainer_state.json" in message for message in messages)
    assert any(message.startswith("continuing from ") for message in messages)
    assert json.loads((output_dir / "training_summary.json").read_text(encoding="utf-8"))["steps"] == MAX_STEPS


def test_a_killed_and_resumed_run_has_the_losses_of_an_uninterrupted_one(whole, killed):
    losses = training_losses(whole)
    assert len(losses) == MAX_STEPS + MAX_STEPS // 15
    assert training_losses(killed[0]) == losses


def test_a_killed_and_resumed_run_ends_with_the_weights_of_an_uninterrupted_one(whole, killed):
    weights, resumed_weights = (load_file(folder / "model.safetensors") for folder in (whole, killed[0]))
    assert weights.keys() == resumed_weights.keys()
    assert all(torch.equal(weights[name], resumed_weights[name]) for name in weights)


def test_a_run_that_is_stopped_saves_and_continues_from_there(script, recipe, tmp_path):
    endless = "--training.max_steps=1000000"
    process = start_training(script, recipe, tmp_path, endless, "--training.enable_jit_checkpoint=true")
    printed = signal_when(process, (tmp_path / f"checkpoint-{SAVE_STEPS}").is_dir, signal.SIGTERM)
    assert process.returncode == 0
    step = int(re.search(r"stopped; the same command continues from .*/checkpoint-(\d+)\n", printed)[1])
    assert last_complete_checkpoint(tmp_path) == tmp_path / f"checkpoint-{step}"
    assert not (tmp_path / "training_summary.json").exists()
    messages = train_here(script, recipe, tmp_path, f"--training.max_steps={step + 2}")
    assert f"continuing from {tmp_path}/checkpoint-{step}" in messages
    assert json.loads((tmp_path / "training_summary.json").read_text(encoding="utf-8"))["steps"] == step + 2


def test_a_finished_run_says_so_and_changes_nothing(whole, script, recipe, capsys):
    before = (whole / "model.safetensors").stat().st_mtime_ns
    train_here(script, recipe, whole)
    assert f"this run is finished after {MAX_STEPS} steps" in capsys.readouterr().out
    assert (whole / "model.safetensors").stat().st_mtime_ns == before


def test_a_run_that_was_killed_before_its_summary_is_finished_without_a_further_step(whole, script, recipe):
    weights = load_file(whole / "model.safetensors")
    (whole / "training_summary.json").unlink()
    messages = train_here(script, recipe, whole)
    assert any(message.startswith("training was finished with ") for message in messages)
    summary = json.loads((whole / "training_summary.json").read_text(encoding="utf-8"))
    assert summary["steps"] == MAX_STEPS
    assert all(torch.equal(weight, load_file(whole / "model.safetensors")[name]) for name, weight in weights.items())


def test_another_recipe_in_the_same_directory_is_refused(whole, script, recipe, tmp_path, capsys):
    other = tmp_path / "other.yaml"
    other.write_text(recipe.read_text(encoding="utf-8").replace("d_model: 16", "d_model: 32"), encoding="utf-8")
    train_here(script, other, whole, status=1)
    assert "has a run with model.d_model=16, not 32" in capsys.readouterr().err


def test_what_another_recipe_left_before_its_first_checkpoint_is_replaced(script, recipe, tmp_path, capsys):
    output_dir = tmp_path / "run"
    sections = yaml.safe_load(recipe.read_text(encoding="utf-8"))
    sections["training"] |= {"max_steps": 1, "output_dir": str(output_dir), "eval_strategy": "no"}
    path = tmp_path / "recipe.yaml"
    path.write_text(yaml.safe_dump({**sections, "model": {**sections["model"], "max_source_tokens": 3}}))
    train_here(script, path, output_dir, status=1)
    assert "sentences are longer than the limit" in capsys.readouterr().err
    path.write_text(yaml.safe_dump({**sections, "tokenizer": {"vocab_size": 290}}))
    train_here(script, path, output_dir)
    assert json.loads((output_dir / "config.json").read_text(encoding="utf-8"))["vocab_size"] == 290


def test_a_directory_with_another_model_is_not_overwritten(script, recipe, tmp_path, capsys):
    (tmp_path / "config.json").write_text("{}")
    train_here(script, recipe, tmp_path, status=1)
    assert "has a model or tokenizer but no recipe.yaml" in capsys.readouterr().err
