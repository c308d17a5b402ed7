# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Trains a tokenizer: `python training/train_tokenizer.py --output DIR --source-language en ... FILE...`."""

import argparse
import logging
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from hier_nmt.data.corpora import FORMATS, ReadReport, read_documents
from hier_nmt.data.text_files import escape_unknown_characters
from hier_nmt.data.tokenization import save_tokenizers, train_tokenizer


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="+", help="corpus files; for moses source and target files in turn")
    parser.add_argument("--output", type=Path, required=True, help="directory to write the tokenizer to")
    parser.add_argument("--format", choices=FORMATS, default="json-lines")
    parser.add_argument("--source-language", required=True, help="for example en")
    parser.add_argument("--target-language", required=True, help="for example fr")
    parser.add_argument("--columns", nargs="*", default=[], metavar="KEY=NAME", help="for --format dataset")
    parser.add_argument("--skip-bad", action="store_true", help="leave out broken documents, count and report them")
    parser.add_argument("--model", choices=["bpe", "unigram", "word"], default="bpe")
    parser.add_argument("--vocab-size", type=int, default=16000, help="with the special tokens (default: %(default)s)")
    parser.add_argument("--per-language", action="store_true", help="one tokenizer for each language, not a joint one")
    parser.add_argument("--split-digits", action="store_true", help="make each digit a token")
    parser.add_argument("--no-byte-fallback", action="store_true", help="<unk> for characters not in the vocabulary")
    parser.add_argument("--plain-typography", action="store_true", help="read all quotation marks as straight ones")
    parser.add_argument("--reserved-tokens", nargs="*", default=[], metavar="TOKEN", help="further special tokens")
    return parser.parse_args()


def sentences(arguments: argparse.Namespace, sides: str, report: ReadReport | None = None) -> Iterator[str]:
    """The sentences of the named sides ("source", "target" or "both") of the corpus."""
    documents = read_documents(
        arguments.paths,
        arguments.format,
        arguments.source_language,
        arguments.target_language,
        skip_bad=arguments.skip_bad,
        columns=dict(column.split("=", 1) for column in arguments.columns),
        report=report,
    )
    for document in documents:
        if sides != "target":
            yield from document.source_sentences
        if sides != "source":
            yield from document.target_sentences


def main() -> None:
    """Trains and saves what the command line asks for."""
    arguments = parse_arguments()
    escape_unknown_characters()
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    train = partial(
        train_tokenizer,
        vocab_size=arguments.vocab_size,
        model=arguments.model,
        byte_fallback=not arguments.no_byte_fallback,
        split_digits=arguments.split_digits,
        plain_typography=arguments.plain_typography,
        reserved_tokens=arguments.reserved_tokens,
    )
    report = ReadReport()
    try:
        if arguments.per_language:
            tokenizers = [train(sentences(arguments, "source", report)), train(sentences(arguments, "target"))]
        else:
            tokenizers = [train(sentences(arguments, "both", report))]
    except (ValueError, OSError) as error:
        raise SystemExit(f"error: {error}") from None
    save_tokenizers(arguments.output, *tokenizers)
    print(report)
    print(f"saved to {arguments.output}: {' and '.join(str(len(tokenizer)) for tokenizer in tokenizers)} tokens")


if __name__ == "__main__":
    main()
