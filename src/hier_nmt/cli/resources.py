# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Files that the commands use: recipes, the template of model cards, sample texts, and the shipped model."""

import argparse
from pathlib import Path
from typing import Any

RESOURCES = Path(__file__).resolve().parents[1] / "resources"
RECIPES = RESOURCES / "recipes"
CARD_TEMPLATE = RESOURCES / "card_template.md"
SAMPLE_DOCUMENT = RESOURCES / "sample_document.en.txt"
DEMO_DOCUMENT = RESOURCES / "demo.en.txt"
# Only in a clone of the repository; an installed package has no weights.
SHIPPED_MODEL = Path(__file__).resolve().parents[3] / "checkpoints" / "hier-nmt-en-fr"


def model_or_shipped(model: str | None) -> str:
    """The named model, or the one shipped in a clone; ValueError if there is neither."""
    if model is not None:
        return model
    if not SHIPPED_MODEL.is_dir():
        raise ValueError("give --model: a checkpoint directory or the name of a model on the Hub")
    return str(SHIPPED_MODEL)


def find_recipe(name: str) -> Path:
    """The recipe file at that path, or else the recipe of that name in the package."""
    path = Path(name)
    if path.exists():
        return path
    known = {str(file.relative_to(RECIPES).with_suffix("")): file for file in sorted(RECIPES.rglob("*.yaml"))}
    if name in known:
        return known[name]
    raise FileNotFoundError(f"{name} is neither a file nor one of the recipes {', '.join(known)}")


def settings_of(options: argparse.Namespace) -> dict[str, Any]:
    """The options of a command as JSON."""
    options_alone = {name: value for name, value in vars(options).items() if name not in ("command", "arguments")}
    return {name: str(value) if isinstance(value, Path) else value for name, value in options_alone.items()}
