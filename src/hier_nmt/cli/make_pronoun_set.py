# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Makes a contrastive English-French pronoun set from held-out documents.

hier-nmt corpus make-pronouns rest_2011.jsonl.gz --exclude train_2008_2010.jsonl.gz --balance \
    --output runs/europarl-pronouns.jsonl
"""

import argparse
import logging
import random
from pathlib import Path

from tqdm.auto import tqdm

from ..data.corpora import FORMATS, read_documents
from ..data.text_files import escape_unknown_characters
from ..evaluation.contrastive_sets import ContrastiveExample, write_contrastive_set
from ..evaluation.pronoun_set import PronounReport, balanced, pronoun_examples


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of the command."""
    parser.add_argument("corpus", nargs="+", help="files of English-French documents that no training uses")
    parser.add_argument("--output", type=Path, required=True, help="JSON-lines file; .gz is compressed")
    parser.add_argument("--format", choices=FORMATS, default="json-lines")
    parser.add_argument(
        "--exclude",
        action="append",
        default=[],
        metavar="FILE",
        help="corpus of the same format whose sentences are excluded",
    )
    parser.add_argument(
        "--num-context", type=int, default=3, help="context sentences of each example (default: %(default)s)"
    )
    parser.add_argument(
        "--balance", action="store_true", help="equally many examples of each gender, for `it` and for `they`"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of --balance and --show")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print N examples")


def make(options: argparse.Namespace) -> list[ContrastiveExample]:
    """The examples; prints how many sentences were rejected for each reason."""
    excluded: frozenset[str] = frozenset()
    if options.exclude:
        others = read_documents(options.exclude, options.format, "en", "fr")
        excluded = frozenset(sentence for document in others for sentence in document.source_sentences)
    report = PronounReport()
    documents = tqdm(read_documents(options.corpus, options.format, "en", "fr"), unit=" documents")
    examples = list(pronoun_examples(documents, num_context=options.num_context, excluded=excluded, report=report))
    print(report)
    return balanced(examples, options.seed) if options.balance else examples


def run(options: argparse.Namespace) -> None:
    """Makes and writes the set."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    escape_unknown_characters()
    examples = make(options)
    if not examples:
        raise ValueError("no sentence of the corpus is usable")
    write_contrastive_set(options.output, examples)
    for example in random.Random(options.seed).sample(examples, min(options.show, len(examples))):
        print("", *example.source_context, example.source, *example.targets, sep="\n")
    print(f"{options.output}: {len(examples)} examples")
