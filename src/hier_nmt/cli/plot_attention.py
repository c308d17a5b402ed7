# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Shows what a model attends to while it translates, as an interactive page or a figure.

hier-nmt plot my.txt --output attention.html
hier-nmt plot --text "A tree. It is old." --kind tokens --layer 2 --output tree.png
hier-nmt plot --model runs/model my.jsonl --document 3 --kind tree --sentences 8 --word fan

  page       one .html file for the browser: point at a token to see what it attends to (works offline)
  tokens     attention between tokens; for long documents, between sentences
  sentences  attention between sentences
  selected   which sentences each token selects (models with conditional or hierarchical attention)
  tree       how one --word finds its sentences in the tree (hierarchical attention)
  pooling    weight of each token in the encoding of its sentence (models that encode sentences)

Files can have any format that `hier-nmt translate` reads. Layers, heads, sentences and documents count from 1. The
translation is that of the file if it has one, else the model's own.
"""

import argparse
from dataclasses import replace
from pathlib import Path

from ..data.text_files import read_text
from ..inspection.attention_figures import KINDS, View, default_slot, draw
from ..inspection.attention_records import SLOT_TITLES, AttentionRecord, load_record, save_record
from ..inspection.labels import add_font
from ..jobs.attention_of_documents import document_of_file, document_of_text, record_document
from ..jobs.load_checkpoints import languages_of, load_pipeline
from .resources import DEMO_DOCUMENT, model_or_shipped


def sentence_range(text: str) -> list[int]:
    """The sentences, from 0, of a range "3" or "3-5" that counts from 1."""
    first, _, last = text.partition("-")
    sentences = list(range(int(first) - 1, int(last or first)))
    if not sentences:
        raise argparse.ArgumentTypeError(f"{text!r} ends before it starts")
    return sentences


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of the command."""
    parser.add_argument("file", nargs="?", type=Path, default=DEMO_DOCUMENT, help="text, documents, or a record (.npz)")
    parser.add_argument("--text", help="text instead of a file")
    parser.add_argument("--document", type=int, default=1, metavar="N", help="which document of the file (default: 1)")
    parser.add_argument("--translation", type=Path, metavar="FILE", help="a translation, one line per sentence")
    parser.add_argument("--retranslate", action="store_true", help="ignore the translation that the file has")
    parser.add_argument("--model", help="checkpoint directory or name on the Hub; default in a clone: the shipped one")
    parser.add_argument("--kind", choices=KINDS, default="page", help="what to show (default: %(default)s)")
    parser.add_argument(
        "--output", type=Path, help="default: attention.html; for figures attention.png (also .svg, .pdf)"
    )
    parser.add_argument("--slot", choices=SLOT_TITLES, help="whose attention (default: cross, or the first that fits)")
    parser.add_argument("--layer", type=int, metavar="N", help="default: the mean of all; for a tree the last")
    parser.add_argument("--head", type=int, metavar="N", help="default: the mean of all; for a tree the first")
    parser.add_argument("--sentences", type=sentence_range, metavar="N[-M]", help="only attention of these sentences")
    parser.add_argument("--word", help="for a tree: the first such word or part of a word")
    parser.add_argument("--window-sentences", type=int, metavar="K", help="default: as the model was trained; 0: all")
    parser.add_argument("--record", type=Path, metavar="FILE", help="also save the record, .npz, to plot it again")
    parser.add_argument("--title", help="default: the names of model and file")
    parser.add_argument("--font", type=Path, metavar="FILE", help="a font file, for scripts without an installed font")


def make_record(options: argparse.Namespace) -> AttentionRecord:
    """The attention record, from the model or from a saved record."""
    if options.text is None and options.file.suffix == ".npz":
        record = load_record(options.file)
        return record if options.title is None else replace(record, title=options.title)
    options.model = model_or_shipped(options.model)
    pipe = load_pipeline(options.model, "cpu")
    languages = languages_of(pipe.model.config)
    if options.text is None:
        document = document_of_file(options.file, options.document, *languages)
    else:
        document = document_of_text(options.text, languages[0])
    if options.retranslate:
        document = document._replace(translations=None)
    if options.translation:
        lines = [line for line in read_text(options.translation).splitlines() if line.strip()]
        document = document._replace(translations=lines)
    name = options.file.name if options.text is None else "text"
    return record_document(
        pipe,
        document,
        title=f"{Path(options.model).name}, {name}" if options.title is None else options.title,
        window_sentences=options.window_sentences,
        tree_sentences=options.sentences if options.kind == "tree" else None,
    )


def run(options: argparse.Namespace) -> None:
    """Records the attention, and writes the page or figure."""
    layer, head = (None if number is None else number - 1 for number in (options.layer, options.head))
    output = options.output or Path(f"attention.{'html' if options.kind == 'page' else 'png'}")
    if options.font:
        add_font(options.font)
    record = make_record(options)
    if options.record:
        save_record(options.record, record)
    slot = options.slot or default_slot(record, options.kind)
    draw(output, record, options.kind, View(slot, layer, head, options.sentences, options.word))
    print(f"written to {output}")
