# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Document-level machine translation in the Hugging Face ecosystem.

Importing the package registers the models with the Auto classes and the pipelines with `transformers.pipeline`. Only
the command `hier-nmt` does this later, and only if it has to, since importing PyTorch and Transformers takes seconds.
"""

import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any


def _is_command() -> bool:
    """Whether Python runs `hier-nmt` or `python -m hier_nmt`."""
    program = Path(sys.argv[0]).name if sys.argv else ""
    # While Python looks for the module that it runs, this stands in the place of its path.
    runs_module = program == "-m" and "hier_nmt" in sys.orig_argv
    return runs_module or program in ("hier-nmt", "hier-nmt.exe")


if TYPE_CHECKING or not _is_command():
    from .registration import (
        DocumentTranslationPipeline,
        HANConfig,
        HANForConditionalGeneration,
        HANModel,
        HierNMTConfig,
        HierNMTForConditionalGeneration,
        HierNMTModel,
        RNNNMTConfig,
        RNNNMTForConditionalGeneration,
        RNNNMTModel,
        register_all,
    )

    register_all()


def __getattr__(name: str) -> Any:
    """The models of the package, where they are not imported yet."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import registration

    registration.register_all()
    return getattr(registration, name)


try:
    __version__ = version("hier_nmt")
except PackageNotFoundError:
    __version__ = "0.0.0"

__all__ = [
    "DocumentTranslationPipeline",
    "HANConfig",
    "HANForConditionalGeneration",
    "HANModel",
    "HierNMTConfig",
    "HierNMTForConditionalGeneration",
    "HierNMTModel",
    "RNNNMTConfig",
    "RNNNMTForConditionalGeneration",
    "RNNNMTModel",
    "__version__",
]
