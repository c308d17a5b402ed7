# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Averages the weights of models that were trained from the same one; often better than any of them.

hier-nmt average runs/average 0.5:runs/general-documents 0.35:runs/general-context 0.15:runs/start-sentence

Configuration, tokenizers and generation settings are those of the first. Choose the weights on a development set.
"""

import argparse
from pathlib import Path

from ..training.model_averages import WeightedModel, average_models


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of the command."""
    parser.add_argument("output", type=Path, help="folder to write")
    parser.add_argument(
        "models", nargs="+", type=_weighted, metavar="[WEIGHT:]MODEL", help="folders of models; default weight: 1"
    )


def _weighted(text: str) -> WeightedModel:
    """A folder, perhaps behind its weight and a colon."""
    weight, colon, folder = text.partition(":")
    if not colon or Path(text).is_dir():
        return WeightedModel(Path(text), 1.0)
    try:
        return WeightedModel(Path(folder), float(weight))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{weight!r} before the colon is not a number") from None


def run(options: argparse.Namespace) -> None:
    """Writes the average and says what is in it."""
    partial = average_models(options.models, options.output)
    total = sum(weight for _, weight in options.models)
    for folder, weight in options.models:
        print(f"{weight / total:.3f} of {folder}")
    if partial:
        print(f"{len(partial)} tensors that not all of them have are averages of those that have them")
    print(f"written to {options.output}")
