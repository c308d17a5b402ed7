# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import pytest
import torch

from hier_nmt.kernels.torch_cpu.processor import copy_to_device


class Planned:
    """Tells how it would be copied."""

    def to(self, device: torch.device, non_blocking: bool) -> tuple[str, bool]:
        return device.type, non_blocking


@pytest.mark.parametrize(
    ("device", "is_early"),
    [("cuda", True), ("mps", False), ("xpu", False), ("hpu", False), ("mtia", False), ("privateuseone", False)],
)
def test_only_copies_to_cuda_return_before_the_device_is_ready(device, is_early):
    assert copy_to_device(Planned(), torch.device(device)) == (device, is_early)
