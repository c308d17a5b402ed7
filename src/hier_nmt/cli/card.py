# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Generates a model card from the training summary and the results of `hier-nmt evaluate` and `contrastive`.

hier-nmt card model_cards/hier-nmt-en-fr.yaml --model checkpoints/hier-nmt-en-fr \
    --evaluation hier-nmt-en-fr:dev:runs/dev/scores.json --output model_cards/hier-nmt-en-fr.md
hier-nmt card model_cards/europarl-sentence.yaml --output model_cards/europarl-sentence.md

Without --model the card describes the model of the recipe that the YAML file names, with the results in the YAML file;
values that are not there are shown as unknown.
"""

import argparse
from pathlib import Path

from ..publishing.card_contents import CardTexts, Evaluation
from ..publishing.hub import CARD_FILE
from ..publishing.model_card import model_card, write_model_card
from .resources import CARD_TEMPLATE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of the command."""
    parser.add_argument(
        "texts", type=Path, help="YAML file with the keys of hier_nmt.publishing.card_contents.CardTexts"
    )
    parser.add_argument("--model", type=Path, help=f"checkpoint directory; the card is written there as {CARD_FILE}")
    parser.add_argument("--evaluation", action="append", default=[], metavar="MODEL:CORPUS:PATH", help="a scores.json")
    parser.add_argument("--template", type=Path, default=CARD_TEMPLATE)
    parser.add_argument(
        "--recipes", type=Path, default=Path(), help="folder that recipe paths are relative to (default: here)"
    )
    parser.add_argument("--output", type=Path, help="write the card here")


def run(options: argparse.Namespace) -> None:
    """Writes the card."""
    if options.model is None and options.output is None:
        raise ValueError("give --model, --output or both")
    texts = CardTexts.load(options.texts)
    evaluations = [Evaluation.load(argument) for argument in options.evaluation]
    card = model_card(options.model, texts, evaluations, options.template, recipes=options.recipes)
    for path in (options.model and options.model / CARD_FILE, options.output):
        if path is not None:
            write_model_card(card, path)
            print(path)
