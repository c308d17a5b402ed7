# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Makes a sentence-level model of the Hub (OPUS-MT, M2M100, NLLB, mBART-50) a document-level one.

hier-nmt adapt Helsinki-NLP/opus-mt-en-de ./my-model --attention conditional
hier-nmt adapt Helsinki-NLP/opus-mt-en-de ./start --context-gate 0.5
hier-nmt adapt facebook/nllb-200-distilled-600M ./my-model --source-language en --target-language fr

At first it translates each sentence of a document as the base does alone; `hier-nmt train` with
training/recipes/adapt.yaml and --training.init_from=./my-model teaches it to use the others. With --context-gate 0.5 it
learns that much sooner, but must be trained before it translates as well as the base.
"""

import argparse
from pathlib import Path
from typing import Any

from ..jobs.adapt_model import ATTENTIONS, adapt_model


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of the command."""
    parser.add_argument("model", help="folder of the sentence-level model, or its name on the Hub")
    parser.add_argument("output", type=Path, help="folder to write")
    parser.add_argument("--attention", choices=ATTENTIONS, default="conditional", help="how other sentences are read")
    parser.add_argument("--num-selected-sentences", type=int, metavar="T", help="sentences that a token selects")
    parser.add_argument(
        "--context-gate",
        type=float,
        default=0.0,
        metavar="GATE",
        help="initial value of the gates of the context blocks, 0 (default: translations are those of the base) to 1",
    )
    parser.add_argument("--source-language", help="of a model of many languages: ISO 639 code")
    parser.add_argument("--target-language", help="likewise")
    parser.add_argument("--revision", help="branch, tag or commit on the Hub")


def run(options: argparse.Namespace) -> None:
    """Writes the model and says what it is."""
    fields: dict[str, Any] = {}
    t = options.num_selected_sentences
    if t is not None and options.attention not in ("conditional", "hierarchical"):
        raise ValueError(f"num_selected_sentences={t}: attention={options.attention!r} selects no sentences.")
    if t is not None:
        fields["num_selected_sentences"] = t
    done = adapt_model(
        options.model,
        options.output,
        options.attention,
        source_language=options.source_language,
        target_language=options.target_language,
        context_gate=options.context_gate,
        load_options={} if options.revision is None else {"revision": options.revision},
        **fields,
    )
    print(f"{options.output}: {done.num_parameters:,} parameters, {done.num_new_parameters:,} of them new")
    if not done.has_fast_tokenizer:
        print("the slow tokenizers were kept, as fast ones would not read every text alike")
