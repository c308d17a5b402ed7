# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Finds expressions of both languages that stand in the same sentence pairs: a glossary to train with inline terms.

hier-nmt corpus extract-terms train.jsonl.gz --source-language en --target-language fr --output terms.tsv

Each line has an expression, its translation, Dice's coefficient and the number of pairs that have both. A recipe reads
the file as data.augmentation.glossary. Requires pip install 'hier_nmt[eval]'.
"""

import argparse
import itertools
import sys
from pathlib import Path

from ..data.corpora import FORMATS, read_documents
from ..data.documents import SentencePair
from ..data.term_extraction import extract_terms
from ..data.text_files import check_writable, write_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of the command."""
    parser.add_argument("corpora", nargs="+", type=Path, metavar="CORPUS")
    parser.add_argument("--format", choices=FORMATS, default="json-lines", help="default: json-lines")
    parser.add_argument("--source-language", required=True, help="ISO 639 code")
    parser.add_argument("--target-language", required=True, help="ISO 639 code")
    parser.add_argument("--limit", type=int, help="sentence pairs of each corpus; default: all")
    parser.add_argument("--min-count", type=int, default=6, help="pairs that have both expressions; default: 6")
    parser.add_argument("--min-dice", type=float, default=0.35, help="Dice's coefficient; default: 0.35")
    parser.add_argument("--output", type=Path, required=True, help="tab-separated file to write")


def run(options: argparse.Namespace) -> None:
    """Reads the corpora and writes the terms."""
    check_writable(options.output)
    pairs: list[SentencePair] = []
    for path in options.corpora:
        documents = read_documents([path], options.format, options.source_language, options.target_language)
        found = (pair for item in documents for paragraph in item.paragraphs for pair in paragraph)
        pairs += itertools.islice(found, options.limit)
    terms = list(extract_terms(pairs, min_count=options.min_count, min_dice=options.min_dice))
    if not terms:
        raise ValueError(f"no terms in {len(pairs)} sentence pairs; give more, or lower --min-count")
    write_text(
        options.output, "".join(f"{one.source}\t{one.target}\t{one.dice:.2f}\t{one.num_pairs}\n" for one in terms)
    )
    print(f"{len(terms)} terms of {len(pairs)} pairs written to {options.output}", file=sys.stderr)
