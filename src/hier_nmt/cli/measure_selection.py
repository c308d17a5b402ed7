# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Measures how often a model with conditional or hierarchical attention selects the sentence that decides an ambiguity.

hier-nmt selection runs/model runs/discourse/test.jsonl --plot selection.png

The documents are those of the controlled corpus (`hier-nmt corpus make-discourse`). Recall is the share of ambiguous
sentences with a token for which a head of the last layer selects the deciding sentence; the control is the same for the
other sentences before it. `word` is recall for the one token that produces the first word in which the correct
translation differs from the wrong one. Preference is how many times as often the deciding sentence is selected as one
of the others, over all heads and tokens. The decoder reads the given translations.
"""

import argparse
import json
from pathlib import Path

from tqdm.auto import tqdm
from transformers import AutoModelForSeq2SeqLM

from ..data.text_files import check_writable, write_text
from ..data.tokenization import load_tokenizers
from ..inspection.figures import check_figure_name
from ..inspection.selection import measure_selection, read_annotated_documents
from ..inspection.selection_plots import plot_selection
from ..jobs.load_checkpoints import named_in_errors
from ..translation.translation_vocabulary import TranslationVocabulary


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of the command."""
    parser.add_argument("model", help="checkpoint directory")
    parser.add_argument("documents", type=Path, help="annotated documents, JSON lines")
    parser.add_argument("--output", type=Path, help="write the results here as JSON")
    parser.add_argument("--plot", type=Path, help="plot which sentences are selected, .png or .svg")


def run(options: argparse.Namespace) -> None:
    """Measures, prints, writes and plots the selections."""
    for path in filter(None, (options.output, options.plot)):
        check_writable(path)
    if options.plot:
        check_figure_name(options.plot)
    with named_in_errors(options.model):
        model = AutoModelForSeq2SeqLM.from_pretrained(options.model).eval()
    vocabulary = TranslationVocabulary.of_model(model, *load_tokenizers(options.model))
    documents = list(read_annotated_documents(options.documents))
    if not any(document.ambiguities for document in documents):
        raise ValueError(f"{options.documents}: no ambiguous sentence")
    reports = measure_selection(model, vocabulary, tqdm(documents, unit=" documents"))
    header = "| slot | distance | recall | control | word: recall | control | preference | n |"
    print(f"{header}\n{'|---' * header.count(' | ')}|---|")
    for slot, report in reports.items():
        for row in report.rows():
            shares = [row[name] for name in ("recall", "control", "recall_by_word", "control_by_word")]
            cells = ["-" if share is None else f"{share:.1f}" for share in shares]
            cells.append("-" if row["preference"] is None else f"{row['preference']:.2f}")
            print(f"| {slot} | {row['distance']} | {' | '.join(cells)} | {row['count']} |")
    if options.output:
        values = {slot: {"rows": report.rows(), "offsets": report.offsets} for slot, report in reports.items()}
        write_text(options.output, json.dumps({"model": options.model, **values}, indent=2) + "\n")
    if options.plot:
        offsets = {slot: report.offsets for slot, report in reports.items()}
        plot_selection(options.plot, Path(options.model).name, offsets)
