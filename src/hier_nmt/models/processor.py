# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the processor can do."""

import functools
from collections.abc import Mapping
from typing import Any

import torch


@functools.cache
def processor_capabilities() -> Mapping[str, Any]:
    """What PyTorch says of this machine's processor, by name; nothing where PyTorch is too old to say it."""
    return torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}


def multiplies_bfloat16() -> bool:
    """Whether the processor has instructions that multiply numbers in bfloat16."""
    return bool(processor_capabilities().get("avx512_bf16"))
