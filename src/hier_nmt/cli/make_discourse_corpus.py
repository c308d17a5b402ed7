# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Writes the controlled discourse corpus: train, dev and test documents, and contrastive sets.

hier-nmt corpus make-discourse runs/discourse --train 6000

The documents have the format json-lines with an additional key "annotations" for the ambiguous sentences. `hier-nmt
contrastive` reads contrastive.jsonl, pairs that differ only in their context, and test.contrastive.jsonl, the ambiguous
sentences of the test documents. The same arguments give the same files.
"""

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..data.text_files import write_text
from ..evaluation.contrastive_sets import write_contrastive_set
from ..synthetic.discourse_corpus import (
    DEFAULT_LENGTH,
    MAX_DISTANCE,
    DiscourseDocument,
    document_examples,
    make_contrastive_set,
    make_documents,
)
from ..synthetic.discourse_scenes import PHENOMENA


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of the command."""
    parser.add_argument("output_dir", type=Path)
    parser.add_argument("--train", type=int, default=6000, metavar="N", help="documents (default: %(default)s)")
    parser.add_argument("--dev", type=int, default=50, metavar="N", help="documents (default: %(default)s)")
    parser.add_argument("--test", type=int, default=200, metavar="N", help="documents (default: %(default)s)")
    parser.add_argument("--length", type=int, default=DEFAULT_LENGTH, help="sentences of a document")
    parser.add_argument(
        "--pairs", type=int, default=20, help="contrastive pairs for each phenomenon and distance (default: 20)"
    )
    parser.add_argument(
        "--max-distance", type=int, default=MAX_DISTANCE, help="largest distance in the contrastive set"
    )
    parser.add_argument(
        "--test-context",
        type=int,
        default=MAX_DISTANCE,
        metavar="N",
        help="context sentences of each example of test.contrastive.jsonl (default: %(default)s, the largest distance"
        " of the nearest deciding sentence; for models of whole documents their length)",
    )
    parser.add_argument("--phenomena", nargs="+", choices=PHENOMENA, default=PHENOMENA, help="default: all")
    parser.add_argument("--seed", type=int, default=1)


def as_json(item: DiscourseDocument) -> dict[str, Any]:
    """The document as a line of a JSON-lines corpus."""
    paragraphs = [
        {"en": [pair.source for pair in paragraph], "fr": [pair.target for pair in paragraph]}
        for paragraph in item.document.paragraphs
    ]
    annotations = [
        {
            "phenomenon": ambiguity.phenomenon,
            "sentence": ambiguity.sentence,
            "decided_by": ambiguity.decided_by,
            "distance": ambiguity.distance,
            "expected_words": list(ambiguity.expected_words),
            "wrong_words": list(ambiguity.wrong_words),
            "wrong_translation": ambiguity.wrong_translation,
        }
        for ambiguity in item.ambiguities
    ]
    return {"id": item.document.id, "paragraphs": paragraphs, "annotations": annotations}


def write_documents(path: Path, documents: Iterable[DiscourseDocument]) -> None:
    """Writes one document per line."""
    lines = [json.dumps(as_json(item), ensure_ascii=False) for item in documents]
    write_text(path, "".join(f"{line}\n" for line in lines))
    print(f"{path}: {len(lines)} documents")


def run(options: argparse.Namespace) -> None:
    """Makes the documents and the contrastive sets."""
    shape = {"seed": options.seed, "length": options.length, "phenomena": options.phenomena}
    least = {"train": 0, "dev": 0, "test": 0, "pairs": 0, "max_distance": 1, "test_context": 0}
    for name, value in least.items():
        if getattr(options, name) < value:
            raise ValueError(f"--{name.replace('_', '-')} {getattr(options, name)} must be at least {value}")
    for split in ("train", "dev", "test"):
        documents = make_documents(split, getattr(options, split), **shape)
        write_documents(options.output_dir / f"{split}.jsonl", documents)
    test = make_documents("test", options.test, **shape)
    pairs = make_contrastive_set(
        options.pairs, options.seed, max_distance=options.max_distance, phenomena=options.phenomena
    )
    in_documents = document_examples(test, options.test_context)
    for name, examples in (("test.contrastive", in_documents), ("contrastive", pairs)):
        write_contrastive_set(options.output_dir / f"{name}.jsonl", examples)
