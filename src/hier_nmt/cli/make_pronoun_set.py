# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Makes a contrastive English-French pronoun set from held-out documents.

hier-nmt corpus make-pronouns rest_2011.jsonl.gz --exclude train_2008_2010.jsonl.gz --balance \
    --output runs/europarl-pronouns.jsonl

Or lists such sentences of a training corpus, for `data.focus` of a recipe.

hier-nmt corpus make-pronouns train_2008_2010.jsonl.gz --focus runs/europarl-pronouns.tsv
"""

import argparse
import logging
import random
from pathlib import Path

from tqdm.auto import tqdm

from ..data.corpora import FORMATS, read_documents
from ..data.text_files import check_writable, escape_unknown_characters, write_text
from ..evaluation.contrastive_sets import ContrastiveExample, write_contrastive_set
from ..evaluation.pronoun_set import PronounReport, balanced, pronoun_examples, pronoun_pairs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of the command."""
    parser.add_argument("corpus", nargs="+", help="files of English-French documents; for a set, unused in training")
    files = parser.add_mutually_exclusive_group(required=True)
    files.add_argument("--output", type=Path, help="the set: JSON-lines file; .gz is compressed")
    files.add_argument(
        "--focus",
        type=Path,
        metavar="FILE",
        help="instead of a set, all sentence pairs whose pronoun earlier sentences decide, for data.focus of a recipe: "
        "tab-separated file; .gz is compressed",
    )
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


def write_set(options: argparse.Namespace) -> None:
    """Makes and writes the set."""
    examples = make(options)
    if not examples:
        raise ValueError("no sentence of the corpus is usable")
    write_contrastive_set(options.output, examples)
    for example in random.Random(options.seed).sample(examples, min(options.show, len(examples))):
        print("", *example.source_context, example.source, *example.targets, sep="\n")
    print(f"{options.output}: {len(examples)} examples")


def write_pairs(options: argparse.Namespace) -> None:
    """Writes the sentence pairs for `data.focus`, each once; prints why other sentences were rejected."""
    report = PronounReport()
    documents = tqdm(read_documents(options.corpus, options.format, "en", "fr"), unit=" documents")
    pairs = dict.fromkeys(pronoun_pairs(documents, report))
    print(report)
    if not pairs:
        raise ValueError("no sentence of the corpus is usable")
    # A tab inside of a sentence becomes a space; the recipe compares pairs without regard to white space.
    lines = [f"{' '.join(pair.source.split())}\t{' '.join(pair.target.split())}\n" for pair in pairs]
    write_text(options.focus, "".join(lines))
    print(f"{options.focus}: {len(lines)} sentence pairs")


def run(options: argparse.Namespace) -> None:
    """Makes and writes the set, or the list of sentence pairs."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    escape_unknown_characters()
    if options.focus is None:
        check_writable(options.output)
        write_set(options)
        return
    if options.balance or options.exclude or options.show:
        raise ValueError("--balance, --exclude and --show are for a set (--output), not for --focus")
    check_writable(options.focus)
    write_pairs(options)
