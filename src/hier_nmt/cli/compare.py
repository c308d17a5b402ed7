# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Compares translations of a corpus with a baseline: paired bootstrap or approximate randomisation.

hier-nmt compare dev.jsonl --languages en fr \
    --system sentence=runs/base/translations.sentence.jsonl --system s4to4=runs/s4to4/translations.current.jsonl

The translations are files of `hier-nmt evaluate`. With `--export FILE` nothing is compared; the file is input for
training/comet/score_comet.py.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from ..data.corpora import FORMATS, read_documents
from ..data.documents import ParallelDocument
from ..data.text_files import escape_unknown_characters, write_text
from ..evaluation.metrics import score_json
from ..evaluation.significance import compare_translations, comparison_table
from ..jobs.saved_translations import read_translations


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of the command."""
    parser.add_argument("corpus", nargs="+", help="corpus files; for moses: source and target files in turn")
    parser.add_argument("--format", choices=FORMATS, default="json-lines")
    parser.add_argument(
        "--languages", nargs=2, metavar=("SOURCE", "TARGET"), required=True, help="give it after the corpus files"
    )
    parser.add_argument("--system", action="append", required=True, metavar="NAME=FILE", help="the baseline first")
    parser.add_argument("--method", choices=["bootstrap", "randomisation"], default="bootstrap")
    parser.add_argument("--num-samples", type=int, help="default: 1,000 for bootstrap, 10,000 for randomisation")
    parser.add_argument("--seed", type=int, default=12345)
    parser.add_argument(
        "--plain-typography",
        action="store_true",
        help="compare with straight quotation marks and apostrophes everywhere, as in hier-nmt evaluate",
    )
    parser.add_argument("--output", type=Path, help="write the figures here as JSON")
    parser.add_argument("--export", type=Path, help="write source, translation and reference as JSON lines instead")


def read_systems(arguments: Sequence[str], documents: Sequence[ParallelDocument]) -> dict[str, list[list[list[str]]]]:
    """The translated documents of each system."""
    systems = {}
    for argument in arguments:
        name, equals, path = argument.partition("=")
        if not (name and equals and path) or name in systems:
            raise ValueError(f"systems are given as NAME=FILE with different names, not {argument!r}")
        systems[name] = read_translations(path, documents)
    return systems


def export(systems: dict[str, list[list[list[str]]]], documents: Sequence[ParallelDocument], path: Path) -> int:
    """Writes one line per sentence and system, and returns the number of lines."""
    lines = []
    for name, translations in systems.items():
        for document, translated in zip(documents, translations, strict=True):
            sentences = [sentence for paragraph in translated for sentence in paragraph]
            rows = zip(document.source_sentences, sentences, document.target_sentences, strict=True)
            lines += [{"system": name, "src": source, "mt": mt, "ref": reference} for source, mt, reference in rows]
    write_text(path, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    return len(lines)


def run(options: argparse.Namespace) -> None:
    """Compares the systems, or exports them."""
    escape_unknown_characters()
    documents = list(read_documents(options.corpus, options.format, *options.languages))
    systems = read_systems(options.system, documents)
    if options.export:
        print(f"{options.export}: {export(systems, documents, options.export)} segments")
        return
    references = [[[pair.target for pair in paragraph] for paragraph in item.paragraphs] for item in documents]
    found = compare_translations(
        systems,
        references,
        method=options.method,
        num_samples=options.num_samples,
        seed=options.seed,
        target_language=options.languages[1],
        plain_typography=options.plain_typography,
    )
    print(comparison_table(found))
    if options.output:
        write_text(options.output, score_json(found, systems=options.system, corpus=options.corpus))
