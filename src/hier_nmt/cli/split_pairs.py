# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Splits a tab-separated file of sentence pairs into train.tsv, dev.tsv and test.tsv without common source sentences.

hier-nmt corpus split fra.txt runs/tatoeba --first 50000

fra.txt is the file of English-French pairs of Tatoeba from https://www.manythings.org/anki/, shortest sentences first.
The same arguments give the same files.
"""

import argparse
import itertools
from collections.abc import Iterable
from pathlib import Path

from ..data.corpora import read_documents
from ..data.documents import SentencePair
from ..data.pair_split import split_pairs
from ..data.text_files import write_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of the command."""
    parser.add_argument("file", type=Path, help="source, tab and target on each line, then anything; may end in .gz")
    parser.add_argument("output_dir", type=Path)
    parser.add_argument("--first", type=int, metavar="N", help="only the first N pairs of the file; default: all")
    parser.add_argument("--dev", type=int, default=2500, metavar="N", help="pairs (default: %(default)s)")
    parser.add_argument("--test", type=int, default=2500, metavar="N", help="pairs (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)


def read_pairs(file: Path, first: int | None) -> list[SentencePair]:
    """The pairs of the file, each of whose lines is a document of one sentence."""
    documents = read_documents([file], "tab-separated", "source", "target")
    return [pair for document in itertools.islice(documents, first) for (pair,) in document.paragraphs]


def as_lines(pairs: Iterable[SentencePair]) -> str:
    """The pairs as a tab-separated file."""
    return "".join(f"{pair.source}\t{pair.target}\n" for pair in pairs)


def run(options: argparse.Namespace) -> None:
    """Splits the pairs and writes the parts."""
    parts = split_pairs(read_pairs(options.file, options.first), options.dev, options.test, options.seed)
    for name, pairs in parts._asdict().items():
        write_text(options.output_dir / f"{name}.tsv", as_lines(pairs))
        print(f"{options.output_dir / name}.tsv: {len(pairs)} pairs")
