# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Optional compiled code that computes the same as `hier_nmt.models`, faster."""

from collections.abc import Callable

import torch


def load_triton_attention() -> Callable[..., torch.Tensor]:
    """`GroupedAttention.apply` in Triton, for `attention_kernel="triton"`.

    Raises:
        ImportError: Triton is not installed.
    """
    try:
        from .triton_attention import TritonAttention
    except ImportError as error:
        raise ImportError(f"attention_kernel='triton' needs Triton: pip install triton ({error}).") from error
    return TritonAttention.apply
