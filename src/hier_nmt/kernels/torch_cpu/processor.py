# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The capabilities of the CPU, and copies from it to a device."""

import functools
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

# Devices on which a copy from unpinned memory has read that memory when it returns.
DEVICES_THAT_READ_FIRST = ("cuda",)


@functools.cache
def processor_capabilities() -> Mapping[str, Any]:
    """The capabilities of this machine's CPU by name; empty if PyTorch is too old to report them."""
    return torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}


def runs_eagerly_on_processor(*tensors: torch.Tensor) -> bool:
    """Whether these are plain CPU tensors, in code that is neither compiled nor traced."""
    if torch.compiler.is_compiling() or torch.jit.is_tracing():  # type: ignore[attr-defined]
        return False
    return all(some.device.type == "cpu" and type(some) in (torch.Tensor, nn.Parameter) for some in tensors)


def copy_to_device(planned: torch.Tensor, device: torch.device) -> torch.Tensor:
    """A copy of a CPU tensor on the device; on CUDA without waiting for work in progress.

    CUDA has read unpinned memory when such a copy returns ("API synchronization behavior" in the manual of its
    runtime), so that the memory may be freed. Other devices do not promise that, so the copy waits for them.
    """
    return planned.to(device, non_blocking=device.type in DEVICES_THAT_READ_FIRST)


def multiplies_bfloat16() -> bool:
    """Whether the CPU has instructions for products in bfloat16."""
    return bool(processor_capabilities().get("avx512_bf16"))
