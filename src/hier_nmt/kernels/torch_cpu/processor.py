# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the processor can do, and copies of what was planned on it."""

import functools
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

# The devices whose copies from memory that is not pinned have read it before they return.
DEVICES_THAT_READ_FIRST = ("cuda",)


@functools.cache
def processor_capabilities() -> Mapping[str, Any]:
    """What PyTorch says of this machine's processor, by name; nothing where PyTorch is too old to say it."""
    return torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}


def runs_eagerly_on_processor(*tensors: torch.Tensor) -> bool:
    """Whether these are plain tensors of the processor, in code that nothing compiles or records."""
    if torch.compiler.is_compiling() or torch.jit.is_tracing():  # type: ignore[attr-defined]
        return False
    return all(some.device.type == "cpu" and type(some) in (torch.Tensor, nn.Parameter) for some in tensors)


def copy_to_device(planned: torch.Tensor, device: torch.device) -> torch.Tensor:
    """What was planned on the processor, on the device: on CUDA without a wait for what the device has still to do.

    CUDA reads memory that is not pinned before such a copy returns ("API synchronization behavior" of its runtime's
    manual), so that the memory may be freed. No other device promises that, so they are waited for.
    """
    return planned.to(device, non_blocking=device.type in DEVICES_THAT_READ_FIRST)


def multiplies_bfloat16() -> bool:
    """Whether the processor has instructions that multiply numbers in bfloat16."""
    return bool(processor_capabilities().get("avx512_bf16"))
