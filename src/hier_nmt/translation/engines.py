# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The hook through which the package adds engines other than PyTorch; code that is saved beside weights has none."""

from collections.abc import Callable

from transformers import PreTrainedModel

_runner: list[Callable[[PreTrainedModel, str], PreTrainedModel]] = []


def register_engines(runner: Callable[[PreTrainedModel, str], PreTrainedModel]) -> None:
    """Makes `run_by` return the models of `runner(model, engine)`."""
    _runner[:] = [runner]


def run_by(model: PreTrainedModel, engine: str) -> PreTrainedModel:
    """The model, run by an engine of `ENGINES`; ImportError without the package hier_nmt, which adds the engines."""
    if engine == "torch":
        return model
    if not _runner:
        raise ImportError(
            f"engine={engine!r} needs the package hier_nmt with its extra `export`, and `import hier_nmt`"
        )
    return _runner[0](model, engine)
