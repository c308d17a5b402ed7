# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Trains a tokenizer on a parallel corpus.

hier-nmt tokenizer train.jsonl --source-language en --target-language fr --vocab-size 8000 --output runs/tokenizer
"""

import argparse
import logging
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from ..data.corpora import FORMATS, ReadReport, read_documents
from ..data.text_files import escape_unknown_characters
from ..data.tokenization import save_tokenizers, train_tokenizer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of the command."""
    parser.add_argument("paths", nargs="+", help="corpus files; for moses: source and target files in turn")
    parser.add_argument("--output", type=Path, required=True, help="directory to write the tokenizer to")
    parser.add_argument("--format", choices=FORMATS, default="json-lines")
    parser.add_argument("--source-language", required=True, help="for example en")
    parser.add_argument("--target-language", required=True, help="for example fr")
    parser.add_argument("--columns", nargs="*", default=[], metavar="KEY=NAME", help="for --format dataset")
    parser.add_argument("--skip-bad", action="store_true", help="skip malformed documents, and count and report them")
    parser.add_argument("--model", choices=["bpe", "unigram", "word"], default="bpe")
    parser.add_argument("--vocab-size", type=int, default=16000, help="including special tokens (default: %(default)s)")
    parser.add_argument("--per-language", action="store_true", help="one tokenizer for each language, not a joint one")
    parser.add_argument("--split-digits", action="store_true", help="make each digit a token")
    parser.add_argument("--no-byte-fallback", action="store_true", help="<unk> for characters not in the vocabulary")
    parser.add_argument("--plain-typography", action="store_true", help="read all quotation marks as straight ones")
    parser.add_argument("--reserved-tokens", nargs="*", default=[], metavar="TOKEN", help="further special tokens")


def sentences(options: argparse.Namespace, sides: str, report: ReadReport | None = None) -> Iterator[str]:
    """The sentences of the named sides ("source", "target" or "both") of the corpus."""
    documents = read_documents(
        options.paths,
        options.format,
        options.source_language,
        options.target_language,
        skip_bad=options.skip_bad,
        columns=dict(column.split("=", 1) for column in options.columns),
        report=report,
    )
    for document in documents:
        if sides != "target":
            yield from document.source_sentences
        if sides != "source":
            yield from document.target_sentences


def run(options: argparse.Namespace) -> None:
    """Trains and saves the tokenizers."""
    escape_unknown_characters()
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    train = partial(
        train_tokenizer,
        vocab_size=options.vocab_size,
        model=options.model,
        byte_fallback=not options.no_byte_fallback,
        split_digits=options.split_digits,
        plain_typography=options.plain_typography,
        reserved_tokens=options.reserved_tokens,
    )
    report = ReadReport()
    if options.per_language:
        tokenizers = [train(sentences(options, "source", report)), train(sentences(options, "target"))]
    else:
        tokenizers = [train(sentences(options, "both", report))]
    save_tokenizers(options.output, *tokenizers)
    print(report)
    print(f"saved to {options.output}: {' and '.join(str(len(tokenizer)) for tokenizer in tokenizers)} tokens")
