# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Generates the card of a checkpoint from its training summary and what evaluate.py and evaluate_contrastive.py wrote.

python training/make_model_card.py checkpoints/hier-nmt-en-fr model_cards/hier-nmt-en-fr.yaml \
    --evaluation hier-nmt-en-fr:dev:runs/dev/scores.json --output model_cards/hier-nmt-en-fr.md
"""

import argparse
import sys
from pathlib import Path

import yaml

from hier_nmt.hub import CARD_FILE
from hier_nmt.model_card import CardTexts, Evaluation, model_card, write_model_card

TEMPLATE = Path(__file__).parent.parent / "model_cards" / "template.md"


def main() -> int:
    """Runs the command line; 1 if the input is at fault."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="checkpoint directory")
    parser.add_argument(
        "texts", type=Path, help="YAML file with the texts of the card, see hier_nmt.model_card.CardTexts"
    )
    parser.add_argument("--evaluation", action="append", default=[], metavar="MODEL:CORPUS:PATH", help="a scores.json")
    parser.add_argument("--template", type=Path, default=TEMPLATE)
    parser.add_argument("--output", type=Path, help=f"also write the card here, besides MODEL/{CARD_FILE}")
    options = parser.parse_args()
    try:
        values = yaml.safe_load(options.texts.read_text(encoding="utf-8"))
        texts = CardTexts(**{**values, "datasets": tuple(values.get("datasets", ()))})
        evaluations = [Evaluation.load(argument) for argument in options.evaluation]
        card = model_card(options.model, texts, evaluations, options.template)
    except (OSError, TypeError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for path in filter(None, (options.model / CARD_FILE, options.output)):
        write_model_card(card, path)
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
