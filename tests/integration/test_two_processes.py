# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""One batch of 8 windows, cut up in different ways between accumulation steps and processes, is the same batch."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_training import one_step_and_scores

Result = tuple[dict[str, torch.Tensor], dict[str, float]]

# With this seed the only window of one process has a single sentence, that of the other several.
UNLIKE_BATCHES = {
    "seed": 4,
    "model": {"encoder_self_attention": "hierarchical", "cross_attention": "hierarchical"},
}


def run_two_processes(repository: Path, folder: Path, *settings: dict[str, Any]) -> list[Result]:
    """What `one_step_and_scores` gives under each of the settings when two processes share the work."""
    result_file = folder / "result.pt"
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    worker = [str(repository / "tests" / "tiny_training.py"), str(result_file), str(folder / "run")]
    paths = [str(repository / "src"), str(repository / "tests"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    done = subprocess.run(
        [*launch, *worker, *map(json.dumps, settings)], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return torch.load(result_file)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Result:
    return one_step_and_scores(tmp_path_factory.mktemp("whole"), per_device_train_batch_size=8)


@pytest.fixture(scope="module")
def shared_by_two(tmp_path_factory, repository) -> list[Result]:
    # 18 tokens hold at most three of the windows, and four steps hold all batches of an epoch.
    token_batches = {"max_tokens_per_batch": 18, "gradient_accumulation_steps": 4}
    sharded = {"per_device_train_batch_size": 4, "sharded": True}
    folder = tmp_path_factory.mktemp("two")
    unlike = {"per_device_train_batch_size": 1, "sharded": True, **UNLIKE_BATCHES}
    return run_two_processes(repository, folder, {"per_device_train_batch_size": 4}, token_batches, sharded, unlike)


def assert_same(result: Result, expected: Result) -> None:
    gradients, scores = result
    expected_gradients, expected_scores = expected
    assert gradients.keys() == expected_gradients.keys()
    for name, gradient in gradients.items():
        torch.testing.assert_close(gradient, expected_gradients[name], msg=lambda text, name=name: f"{name}: {text}")
    assert scores == pytest.approx(expected_scores, rel=1e-6)


def test_gradients_are_not_zero(whole):
    assert all(gradient.abs().max() > 0 for name, gradient in whole[0].items() if "k_proj.bias" not in name)


def test_two_accumulated_batches_of_four_equal_one_of_eight(whole, tmp_path):
    result = one_step_and_scores(tmp_path, per_device_train_batch_size=4, gradient_accumulation_steps=2)
    assert_same(result, whole)


def test_accumulated_batches_of_unequal_size_equal_one_of_eight(whole, tmp_path):
    result = one_step_and_scores(tmp_path, per_device_train_batch_size=3, gradient_accumulation_steps=3)
    assert_same(result, whole)


def test_two_processes_with_four_each_equal_one_batch_of_eight(whole, shared_by_two):
    """Also counts each of the 9 windows of the evaluation once, which two processes cannot share evenly."""
    assert_same(shared_by_two[0], whole)


def test_two_processes_with_accumulated_token_batches_equal_one_batch_of_eight(whole, shared_by_two):
    assert_same(shared_by_two[1], whole)


def test_a_model_sharded_over_two_processes_equals_one_batch_of_eight(whole, shared_by_two):
    """FSDP2: the tied embeddings are one weight, and processes that translate more and less wait for each other."""
    assert_same(shared_by_two[2], whole)


def test_a_sharded_tree_over_one_sentence_has_the_gradients_of_one_over_several(shared_by_two, tmp_path):
    """Each process reduces the gradients of the same parameters, also of those that merge sentences."""
    assert_same(shared_by_two[3], one_step_and_scores(tmp_path, per_device_train_batch_size=2, **UNLIKE_BATCHES))
