# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the processor can do."""

import functools
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn


@functools.cache
def processor_capabilities() -> Mapping[str, Any]:
    """What PyTorch says of this machine's processor, by name; nothing where PyTorch is too old to say it."""
    return torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}


def runs_eagerly_on_processor(*tensors: torch.Tensor) -> bool:
    """Whether these are plain tensors of the processor, in code that nothing compiles or records."""
    if torch.compiler.is_compiling() or torch.jit.is_tracing():  # type: ignore[attr-defined]
        return False
    return all(some.device.type == "cpu" and type(some) in (torch.Tensor, nn.Parameter) for some in tensors)


def multiplies_bfloat16() -> bool:
    """Whether the processor has instructions that multiply numbers in bfloat16."""
    return bool(processor_capabilities().get("avx512_bf16"))
