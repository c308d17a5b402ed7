# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs that several processes share, each killed and resumed, end like the run of one process with the same batches.

Sharding (FSDP2, DeepSpeed ZeRO-2) needs no GPU for that, and two machines no second machine: their processes meet on
the loopback interface.

All train in float32 and add up the same gradients in another order, which changes their last bits: losses may differ
by 1e-5 of their size. Adam divides by the size of a gradient, so that rounding moves weights whose gradients are nearly
zero by a noticeable part of a step: they may differ by 1e-4, a hundredth of the learning rate.
"""

import importlib.util
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
import yaml
from reversed_corpus import write_corpus
from safetensors.torch import load_file

pytestmark = pytest.mark.slow

MAX_STEPS, SAVE_STEPS = 12, 4
HAS_DEEPSPEED = importlib.util.find_spec("deepspeed") is not None
WAYS = [
    "fsdp2",
    pytest.param("deepspeed", marks=pytest.mark.skipif(not HAS_DEEPSPEED, reason="deepspeed is not installed")),
    "two machines",
]


@pytest.fixture(scope="module")
def recipe(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("recipe")
    write_corpus(folder / "train.jsonl", 30)
    write_corpus(folder / "dev.jsonl", 4)
    sizes = dict.fromkeys(("d_model", "encoder_ffn_dim", "decoder_ffn_dim"), 16)
    numbers = dict.fromkeys(
        ("encoder_layers", "decoder_layers", "encoder_attention_heads", "decoder_attention_heads"), 2
    )
    files = {name: [str(folder / f"{file}.jsonl")] for name, file in (("train", "train"), ("validation", "dev"))}
    sections: dict[str, Any] = {
        "data": {**files, "source_language": "en", "target_language": "fr"},
        "tokenizer": {"vocab_size": 300},
        # Each process would drop out other elements than a single one does.
        "model": {**sizes, **numbers, "dropout": 0.0, "window_sentences": 2},
        "training": {
            "output_dir": str(folder / "alone"),
            "context_discount": 0.5,
            "per_device_train_batch_size": 8,
            "per_device_eval_batch_size": 2,
            "learning_rate": 0.01,
            "max_steps": MAX_STEPS,
            "logging_steps": 1,
            "save_strategy": "steps",
            "save_steps": SAVE_STEPS,
            "eval_strategy": "steps",
            "eval_steps": SAVE_STEPS,
            "predict_with_generate": True,
            "generation_max_length": 20,
            "average_checkpoints": 2,
            "use_cpu": True,
            "report_to": "none",
            "disable_tqdm": True,
        },
    }
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(sections), encoding="utf-8")
    return path


def free_port() -> int:
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        return some.getsockname()[1]


def launches(repository: Path, way: str) -> tuple[list[list[str]], dict[str, str]]:
    """The commands, one a machine, that start `train.py` of two processes in a way, and the environment for that."""
    accelerate, train = repository / "training" / "accelerate", str(repository / "training" / "train.py")
    launch = [sys.executable, "-m", "accelerate.commands.launch", "--main_process_port", str(free_port())]
    if way == "fsdp2":
        script = [str(repository / "tests" / "sharded_on_processors.py"), train]
        return [[*launch, "--config_file", str(accelerate / "fsdp2.yaml"), *script]], {"ACCELERATE_USE_CPU": "true"}
    if way == "deepspeed":
        # DeepSpeed has its own way to a processor; for accelerate, a CPU excludes it.
        without_gpu = ["--training.use_cpu=false", "--training.ddp_backend=gloo"]
        command = [*launch, "--config_file", str(accelerate / "deepspeed_zero2.yaml"), train, *without_gpu]
        return [command], {"DS_ACCELERATOR": "cpu"}
    machines = [*launch, "--config_file", str(accelerate / "ddp.yaml"), "--num_machines", "2", "--num_processes", "2"]
    address = ["--main_process_ip", "127.0.0.1"]
    commands = [[*machines, *address, "--machine_rank", rank, train] for rank in ("0", "1")]
    return commands, {"ACCELERATE_USE_CPU": "true"}


def start(repository: Path, commands: list[list[str]], variables: dict[str, str], *options: str) -> list:
    paths = [str(repository / "src"), str(repository / "tests"), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        **variables,
    }
    return [
        subprocess.Popen(
            [*command, *options],
            env=environment,
            cwd=repository,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for command in commands
    ]


def assert_success(processes: list) -> str:
    """Waits for the processes; what the first of them wrote to stderr."""
    errors = [process.communicate(timeout=300)[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes), "\n".join(errors)
    return errors[0]


def kill_when_written(processes: list, path: Path) -> None:
    deadline = time.monotonic() + 300
    while not path.is_file():
        assert all(process.poll() is None for process in processes), [process.communicate()[1] for process in processes]
        assert time.monotonic() < deadline
        time.sleep(0.005)
    for process in processes:
        kill_with_children(process)


def kill_with_children(process: subprocess.Popen) -> None:
    """Kills a launcher and the processes that it started, which have sessions of their own."""
    for one in [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]:
        one.kill()
    process.communicate()


def logged(output_dir: Path) -> list[tuple[int, float, float]]:
    """Step, loss and, where the model was evaluated, chrF, else 0."""
    log = json.loads((output_dir / "trainer_state.json").read_text(encoding="utf-8"))["log_history"]
    return [
        (entry["step"], entry.get("loss", entry.get("eval_loss")), entry.get("eval_chrf", 0.0))
        for entry in log
        if {"loss", "eval_loss"} & set(entry)
    ]


@pytest.fixture(scope="module")
def alone(repository, recipe) -> Path:
    train = [sys.executable, str(repository / "training" / "train.py"), str(recipe)]
    assert_success(start(repository, [train], {}))
    return recipe.parent / "alone"


@pytest.fixture(scope="module", params=WAYS)
def shared(request, repository, recipe) -> Path:
    """A run of two processes with half of the batch each, killed after its first checkpoint and resumed."""
    output_dir = recipe.parent / request.param
    options = [str(recipe), f"--output-dir={output_dir}", "--training.per_device_train_batch_size=4"]
    state = output_dir / f"checkpoint-{SAVE_STEPS}" / "trainer_state.json"
    commands, variables = launches(repository, request.param)
    kill_when_written(start(repository, commands, variables, *options), state)
    assert not (output_dir / "training_summary.json").exists()
    commands, variables = launches(repository, request.param)
    assert "continuing from " in assert_success(start(repository, commands, variables, *options))
    return output_dir


def test_losses_and_scores_are_those_of_one_process(alone, shared):
    expected = logged(alone)
    assert len(expected) == MAX_STEPS + MAX_STEPS // SAVE_STEPS + 1  # the scores of the average
    for found, wanted in zip(logged(shared), expected, strict=True):
        assert found[0] == wanted[0]
        assert found[1:] == pytest.approx(wanted[1:], rel=1e-5)


def test_checkpoints_hold_the_weights_of_one_process_each_once(alone, shared):
    names = [".", *(f"checkpoint-{step}" for step in range(SAVE_STEPS, MAX_STEPS + 1, SAVE_STEPS))]
    for name in names:
        weights, expected = (load_file(folder / name / "model.safetensors") for folder in (shared, alone))
        assert weights.keys() == expected.keys()
        for key, weight in expected.items():
            torch.testing.assert_close(
                weights[key], weight, rtol=0, atol=1e-4, msg=lambda text, key=key: f"{key}: {text}"
            )


def test_checkpoints_have_the_configuration_tokenizer_and_code_of_one_process(alone, shared):
    for name in (".", f"checkpoint-{MAX_STEPS}"):
        folder, expected = shared / name, alone / name
        assert json.loads((folder / "config.json").read_text()) == json.loads((expected / "config.json").read_text())
        assert {path.name for path in expected.glob("*.py")} <= {path.name for path in folder.glob("*.py")}
        assert (folder / "tokenizer.json").read_bytes() == (expected / "tokenizer.json").read_bytes()


def test_a_run_that_was_killed_before_its_summary_is_finished(repository, recipe, alone, shared):
    (shared / "training_summary.json").unlink()
    weights = load_file(shared / "model.safetensors")
    commands, variables = launches(repository, shared.name)
    options = [str(recipe), f"--output-dir={shared}", "--training.per_device_train_batch_size=4"]
    assert "training was finished with " in assert_success(start(repository, commands, variables, *options))
    summary = json.loads((shared / "training_summary.json").read_text(encoding="utf-8"))
    assert summary["metrics"]["final"]["eval_loss"] == pytest.approx(logged(alone)[-1][1], rel=1e-5)
    assert all(torch.equal(weight, load_file(shared / "model.safetensors")[name]) for name, weight in weights.items())


def test_machines_that_share_no_folder_are_told_so(repository, recipe, tmp_path):
    commands, variables = launches(repository, "two machines")
    machines = [start(repository, [c], variables, str(recipe), f"--output-dir={tmp_path / c[-2]}")[0] for c in commands]
    errors = machines[1].communicate(timeout=300)[1]
    kill_with_children(machines[0])
    assert machines[1].returncode != 0
    assert "must be a folder that all machines share" in errors
