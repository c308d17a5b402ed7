# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Describes a corpus: sizes, lengths, duplicates, unusual length ratios, overlap with another corpus, marks at the
start of paragraphs, and what a cleaning would drop.

hier-nmt corpus describe train.jsonl --source-language en --target-language fr --other test.jsonl --plot a.pdf
"""

import argparse
import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path

from tqdm.auto import tqdm

from ..data.cleaning_report import USUAL_CLEANING, CleaningEffect, cleaning_effect
from ..data.corpora import FORMATS, ReadReport, read_documents
from ..data.corpus_report import OUTLIER_FACTOR, CorpusReport, describe_corpus
from ..data.documents import ParallelDocument
from ..data.text_files import escape_unknown_characters, write_text
from ..data.text_hashes import KnownTexts
from ..inspection.corpus_plots import plot_corpus
from ..training.recipes import Recipe


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of the command."""
    parser.add_argument("paths", nargs="+", help="corpus files, in the order that the format requires")
    parser.add_argument("--format", choices=FORMATS, default="json-lines")
    parser.add_argument("--source-language", required=True, help="for example en")
    parser.add_argument("--target-language", required=True, help="for example fr")
    parser.add_argument("--skip-bad", action="store_true", help="skip malformed documents, and count and report them")
    parser.add_argument(
        "--other", nargs="+", metavar="PATH", help="another corpus, to report how much of the first is in it"
    )
    parser.add_argument("--other-format", choices=FORMATS, help="default: that of the first")
    parser.add_argument(
        "--recipe", type=Path, help="report what its data.cleaning would do (default: every filter with usual settings)"
    )
    parser.add_argument("--examples", type=int, default=5, help="number of outliers to show (default: %(default)s)")
    parser.add_argument("--plot", type=Path, help="a page of plots, .pdf or .png")
    parser.add_argument("--json", type=Path, help="the report as JSON")


def documents(options: argparse.Namespace, paths: list[str], kind: str, read: ReadReport) -> Iterator[ParallelDocument]:
    """The documents of a corpus, with a progress bar of sentences."""
    languages = (options.source_language, options.target_language)
    with tqdm(unit=" sentences", desc=Path(paths[0]).name, disable=not sys.stderr.isatty()) as bar:
        for document in read_documents(paths, kind, *languages, skip_bad=options.skip_bad, report=read):
            yield document
            bar.update(document.num_sentences)


def describe(options: argparse.Namespace) -> tuple[ReadReport, CorpusReport, CleaningEffect]:
    """What was read, its report, and the effect of a cleaning."""
    cleaning = USUAL_CLEANING if options.recipe is None else Recipe.load(options.recipe).data.cleaning
    read = ReadReport()
    other = None
    if options.other:
        other = KnownTexts(documents(options, options.other, options.other_format or options.format, ReadReport()))
    report = describe_corpus(documents(options, options.paths, options.format, read), other, options.examples)
    effect = cleaning_effect(lambda: documents(options, options.paths, options.format, ReadReport()), cleaning, other)
    return read, report, effect


def run(options: argparse.Namespace) -> None:
    """Prints the report, and writes and plots it if requested."""
    escape_unknown_characters()
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    read, report, effect = describe(options)
    print(f"{report}\n\n{effect}")
    if read.skipped:
        print(f"\n{read}")
    if options.json:
        values = {**report.as_json(), "cleaning": effect.as_json()}
        write_text(options.json, json.dumps(values, ensure_ascii=False, indent=2) + "\n")
    if options.plot:
        plot_corpus(
            options.plot,
            f"{', '.join(Path(path).name for path in options.paths)}: {report.num_documents:,} documents, "
            f"{report.num_pairs:,} sentence pairs",
            report.sentences_of_documents,
            (report.source_words, report.target_words),
            (report.source_characters, report.target_characters),
            report.usual_ratio,
            OUTLIER_FACTOR,
        )
        print(f"\nplots: {options.plot}")
