# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""In which type scores are computed, and how much is computed at a time."""

import functools
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

import torch

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


# Most elements, such as logits, of a chunk on a device.
MOST_OF_DEVICE = 2**24


def chunk_size(on_processor: int, device: torch.device) -> int:
    """Elements of a chunk that is computed at a time, where it is so many on a processor, whose cache is to hold them.

    A device takes more, because each operation costs a launch there, however little it does.
    """
    return on_processor if device.type == "cpu" else min(64 * on_processor, MOST_OF_DEVICE)


def full_precision(states: torch.Tensor) -> torch.Tensor:
    """The states in float32 if they have less."""
    return states.float() if states.dtype in (torch.float16, torch.bfloat16) else states


def outside_autocast(
    operation: Callable[Concatenate[torch.Tensor, Arguments], Result],
) -> Callable[Concatenate[torch.Tensor, Arguments], Result]:
    """The operation on tensors with autocast off: it chooses the types of its products itself."""

    @functools.wraps(operation)
    def run(first: torch.Tensor, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        device = first.device.type
        if not torch.amp.is_autocast_available(device) or not torch.is_autocast_enabled(device):
            return operation(first, *args, **kwargs)
        with torch.autocast(device, enabled=False):
            return operation(first, *args, **kwargs)

    return run
