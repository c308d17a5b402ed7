# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Generates the card of a model from its training summary and what evaluate.py and evaluate_contrastive.py wrote.

python training/make_model_card.py model_cards/hier-nmt-en-fr.yaml --model checkpoints/hier-nmt-en-fr \
    --evaluation hier-nmt-en-fr:dev:runs/dev/scores.json --output model_cards/hier-nmt-en-fr.md
python training/make_model_card.py model_cards/europarl-sentence.yaml --output model_cards/europarl-sentence.md

Without --model the network is that of the recipe which the YAML file names, and results and figures of the training are
those in the file: what is not there is unknown.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from hier_nmt.publishing.hub import CARD_FILE
from hier_nmt.publishing.model_card import CardTexts, Evaluation, model_card, write_model_card

ROOT = Path(__file__).resolve().parent.parent
TEMPLATE = ROOT / "model_cards" / "template.md"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; 1 if the input is at fault."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", type=Path, help="YAML file with the keys of hier_nmt.publishing.model_card.CardTexts")
    parser.add_argument("--model", type=Path, help=f"checkpoint directory, which gets a {CARD_FILE}")
    parser.add_argument("--evaluation", action="append", default=[], metavar="MODEL:CORPUS:PATH", help="a scores.json")
    parser.add_argument("--template", type=Path, default=TEMPLATE)
    parser.add_argument("--output", type=Path, help="write the card here")
    options = parser.parse_args(arguments)
    if options.model is None and options.output is None:
        parser.error("give --model, --output or both")
    try:
        texts = CardTexts.load(options.texts)
        evaluations = [Evaluation.load(argument) for argument in options.evaluation]
        card = model_card(options.model, texts, evaluations, options.template, recipes=ROOT)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for path in (options.model and options.model / CARD_FILE, options.output):
        if path is not None:
            write_model_card(card, path)
            print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
