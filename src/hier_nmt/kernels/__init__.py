# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Faster backends for the operations in `ops`.

`torch_cpu` is PyTorch tuned for CPUs and is always available; `cpu` is C++ and, once compiled, comes first; `triton` is
only used if it is requested by name.
"""

import logging
import os
from collections.abc import Callable

import torch

from ..ops.backends import register_backend, register_triton_attention
from .cpu.compiled import is_compiled, library_path, use_compiled_attention
from .torch_cpu import BACKEND

logger = logging.getLogger(__name__)


def register_backends() -> None:
    """Registers the backends of the package; called when it is imported.

    C++ is used if it has been compiled before (`hier-nmt compile`), or if the environment variable
    HIER_NMT_COMPILED_ATTENTION is 1, which compiles it now if necessary; 0 disables it.
    """
    register_backend(BACKEND)
    register_triton_attention(load_triton_attention)
    choice = os.environ.get("HIER_NMT_COMPILED_ATTENTION")
    if choice not in (None, "", "0"):
        use_compiled_attention()
    elif choice is None and is_compiled():
        try:
            use_compiled_attention()
        except OSError as error:
            logger.warning("compiled attention cannot be loaded and is not used; remove %s: %s", library_path(), error)


def load_triton_attention() -> Callable[..., torch.Tensor]:
    """`selected_attention.attend_sentences` in Triton, for `attention_kernel="triton"`.

    Raises:
        ImportError: Triton is not installed.
    """
    try:
        from .triton.triton_attention import attend_sentences
    except ImportError as error:
        raise ImportError(f"attention_kernel='triton' needs Triton: pip install triton ({error}).") from error
    return attend_sentences
