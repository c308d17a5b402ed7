# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Where the package says how other engines than PyTorch run a model; code beside a model's weights knows of none."""

from collections.abc import Callable

from transformers import PreTrainedModel

_runner: list[Callable[[PreTrainedModel, str], PreTrainedModel]] = []


def register_engines(runner: Callable[[PreTrainedModel, str], PreTrainedModel]) -> None:
    """Has `runner(model, engine)` give the models that `run_by` gives."""
    _runner[:] = [runner]


def run_by(model: PreTrainedModel, engine: str) -> PreTrainedModel:
    """The model, run by an engine of `ENGINES`; ImportError without the package hier_nmt, which knows how."""
    if engine == "torch":
        return model
    if not _runner:
        raise ImportError(
            f"engine={engine!r} needs the package hier_nmt with its extra `export`, and `import hier_nmt`"
        )
    return _runner[0](model, engine)
