# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Models on another device than the CPU: a simulated one, and a GPU where there is one."""

import sys

import pytest
import torch
from fresh_processes import environment, run, run_program
from torch.utils import backend_registration

# What hides GPUs from the other tests.
HIDING = ("CUDA_VISIBLE_DEVICES", "TRITON_INTERPRET")


def test_all_attention_models_compute_the_same_on_a_device_and_wait_for_it_once_per_layer(tmp_path):
    if not hasattr(backend_registration, "_setup_privateuseone_for_python_backend"):
        pytest.skip("this PyTorch knows no devices that are written in Python")
    run_program("other_device", "pretended", variables=environment(tmp_path), directory=tmp_path)


@pytest.mark.skipif(torch.version.cuda is None, reason="this PyTorch has no CUDA")
def test_all_attention_models_compute_the_same_on_a_gpu(tmp_path):
    variables = {name: value for name, value in environment(tmp_path).items() if name not in HIDING}
    command = [sys.executable, "-c", "import torch; raise SystemExit(not torch.cuda.is_available())"]
    if run(command, variables, tmp_path).returncode:
        pytest.skip("there is no GPU")
    run_program("other_device", "cuda", variables=variables, directory=tmp_path)
