# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Models on another device than the CPU; it is simulated if there is none."""

import pytest
import torch
from fresh_processes import environment, run_program
from torch.utils import backend_registration


@pytest.mark.parametrize(
    "device",
    [
        pytest.param(
            "pretended",
            marks=pytest.mark.skipif(
                not hasattr(backend_registration, "_setup_privateuseone_for_python_backend"),
                reason="this PyTorch knows no devices that are written in Python",
            ),
        ),
        pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")),
    ],
)
def test_all_attention_models_compute_the_same_on_a_device_and_wait_for_it_once_per_layer(tmp_path, device):
    run_program("other_device", device, variables=environment(tmp_path), directory=tmp_path)
