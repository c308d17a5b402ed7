# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Makes a contrastive English-French pronoun set out of held-out documents.

python training/make_pronoun_set.py rest_2011.jsonl.gz --exclude train_2008_2010.jsonl.gz --balance \
    --output runs/europarl-pronouns.jsonl
"""

import argparse
import logging
import random
import sys
from pathlib import Path

from tqdm.auto import tqdm

from hier_nmt.data.corpora import FORMATS, read_documents
from hier_nmt.data.text_files import escape_unknown_characters
from hier_nmt.evaluation.contrastive_sets import ContrastiveExample, write_contrastive_set
from hier_nmt.evaluation.pronoun_set import PronounReport, balanced, pronoun_examples


def parse_arguments() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="+", help="files of English-French documents held out of all training")
    parser.add_argument("--output", type=Path, required=True, help="JSON lines; .gz is packed")
    parser.add_argument("--format", choices=FORMATS, default="json-lines")
    parser.add_argument("--exclude", action="append", default=[], metavar="FILE", help="corpus of the same format")
    parser.add_argument("--num-context", type=int, default=3, help="sentences before each (default: %(default)s)")
    parser.add_argument("--balance", action="store_true", help="as many of each gender, for `it` and for `they`")
    parser.add_argument("--seed", type=int, default=1, help="of --balance and --show")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print N examples, for reading")
    return parser.parse_args()


def make(options: argparse.Namespace) -> list[ContrastiveExample]:
    """The examples; prints how many sentences were left out for which reason."""
    excluded: frozenset[str] = frozenset()
    if options.exclude:
        others = read_documents(options.exclude, options.format, "en", "fr")
        excluded = frozenset(sentence for document in others for sentence in document.source_sentences)
    report = PronounReport()
    documents = tqdm(read_documents(options.corpus, options.format, "en", "fr"), unit=" documents")
    examples = list(pronoun_examples(documents, num_context=options.num_context, excluded=excluded, report=report))
    print(report)
    return balanced(examples, options.seed) if options.balance else examples


def main() -> int:
    """Runs the command line; 1 if the input is at fault."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    options = parse_arguments()
    escape_unknown_characters()
    try:
        examples = make(options)
        if not examples:
            raise ValueError("no sentence of the corpus can be used")
        write_contrastive_set(options.output, examples)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for example in random.Random(options.seed).sample(examples, min(options.show, len(examples))):
        print("", *example.source_context, example.source, *example.targets, sep="\n")
    print(f"{options.output}: {len(examples)} examples")
    return 0


if __name__ == "__main__":
    sys.exit(main())
