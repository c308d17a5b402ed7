# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The dtype of scores, and the size of chunks."""

import functools
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

import torch

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

# Maximum number of elements, such as logits, in a chunk on a device.
MOST_OF_DEVICE = 2**24


def chunk_size(on_processor: int, device: torch.device) -> int:
    """Number of elements of a chunk: `on_processor` on a CPU, whose cache should hold them, and more on a device.

    Every operation on a device costs a launch, however little it does.
    """
    return on_processor if device.type == "cpu" else min(64 * on_processor, MOST_OF_DEVICE)


def full_precision(states: torch.Tensor) -> torch.Tensor:
    """The states, converted to float32 if they have lower precision."""
    return states.float() if states.dtype in (torch.float16, torch.bfloat16) else states


def outside_autocast(
    operation: Callable[Concatenate[torch.Tensor, Arguments], Result],
) -> Callable[Concatenate[torch.Tensor, Arguments], Result]:
    """The operation with autocast disabled, because it chooses the dtypes of its products itself."""

    @functools.wraps(operation)
    def run(first: torch.Tensor, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        device = first.device.type
        if not torch.amp.is_autocast_available(device) or not torch.is_autocast_enabled(device):
            return operation(first, *args, **kwargs)
        with torch.autocast(device, enabled=False):
            return operation(first, *args, **kwargs)

    return run
