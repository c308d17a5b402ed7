# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Shows what a model reads while it translates: a page to point at words in, or a figure.

python training/plot_attention.py my.txt --output attention.html
python training/plot_attention.py --text "A tree. It is old." --kind tokens --layer 2 --output tree.png
python training/plot_attention.py --model runs/model my.txt --slot encoder --kind tree --sentences 3 --word it

  page       one .html file for the browser: point at a word and see what it reads (needs no network)
  tokens     which token reads which; of long documents, which sentence reads which
  sentences  which sentence reads which
  selected   which sentences each word selects (models with conditional or hierarchical attention)
  tree       how one --word finds its sentences in the tree (hierarchical attention)
  pooling    how much each word counts in the encoding of its sentence (models that encode sentences)

Layers, heads and sentences count from 1. The translation is the model's own unless --translation gives one.
"""

import argparse
import sys
from itertools import chain
from pathlib import Path

from hier_nmt.data.text_files import read_text
from hier_nmt.evaluation.attention_collection import record_attention
from hier_nmt.evaluation.translate import translate_documents
from hier_nmt.evaluation.translate_files import languages_of, load_pipeline
from hier_nmt.models.text_segmentation import segment_text, sentences_by_paragraph
from hier_nmt.models.translation_vocabulary import TranslationVocabulary
from hier_nmt.visualization.attention_page import write_attention_page
from hier_nmt.visualization.attention_plots import MAPS, plot_pooling
from hier_nmt.visualization.attention_records import SLOT_TITLES, AttentionRecord, load_record, save_record
from hier_nmt.visualization.labels import add_font
from hier_nmt.visualization.tree_plots import find_token, plot_tree_walk

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = ROOT / "examples" / "demo.en.txt"


def sentence_numbers(text: str) -> list[int]:
    """The sentences from 0 that "3" or "3-5" names, from 1."""
    first, _, last = text.partition("-")
    return list(range(int(first) - 1, int(last or first)))


def parse_arguments() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=SAMPLE, help="plain text, or a record (.npz)")
    parser.add_argument("--text", help="text instead of a file")
    parser.add_argument("--translation", type=Path, metavar="FILE", help="a translation, one line for each sentence")
    parser.add_argument("--model", default=ROOT / "checkpoints" / "hier-nmt-en-fr", help="checkpoint directory")
    parser.add_argument("--kind", choices=["page", *MAPS, "tree", "pooling"], default="page", help="what is shown")
    parser.add_argument("--output", type=Path, help="default: attention.html, or attention.png (.svg, .pdf) of figures")
    parser.add_argument("--slot", choices=SLOT_TITLES, default="cross", help="whose attention (default: %(default)s)")
    parser.add_argument("--layer", type=int, metavar="N", help="default: the mean of all; of a tree the last")
    parser.add_argument("--head", type=int, metavar="N", help="default: the mean of all; of a tree the first")
    parser.add_argument("--sentences", type=sentence_numbers, metavar="N[-M]", help="only what these sentences read")
    parser.add_argument("--word", help="of a tree: the first such word or part of a word")
    parser.add_argument("--window-sentences", type=int, metavar="K", help="default: as the model was trained; 0: all")
    parser.add_argument("--record", type=Path, metavar="FILE", help="also keep what was read, .npz, to plot it again")
    parser.add_argument("--font", type=Path, metavar="FILE", help="a font that is not installed, for other scripts")
    return parser.parse_args()


def make_record(options: argparse.Namespace) -> AttentionRecord:
    """What the model reads, by running it, or from a file of a record."""
    if options.text is None and options.file.suffix == ".npz":
        return load_record(options.file)
    pipe = load_pipeline(options.model, "cpu")
    tokenizers = (pipe.tokenizer, pipe.target_tokenizer or pipe.tokenizer)
    text = read_text(options.file) if options.text is None else options.text
    paragraphs = sentences_by_paragraph(segment_text(text, languages_of(pipe.model)[0]))
    if options.translation:
        target = [line for line in read_text(options.translation).splitlines() if line.strip()]
    else:
        translated = translate_documents(pipe.model, tokenizers[0], [paragraphs], target_tokenizer=tokenizers[1])
        target = list(chain.from_iterable(translated[0]))
    return record_attention(
        pipe.model,
        TranslationVocabulary(*tokenizers),
        list(chain.from_iterable(paragraphs)),
        target,
        [index == len(paragraph) - 1 for paragraph in paragraphs for index in range(len(paragraph))],
        title=f"{Path(options.model).name}, {options.file.name if options.text is None else 'text'}",
        window_sentences=options.window_sentences,
        tree_sentences=options.sentences if options.kind == "tree" else None,
    )


def main() -> int:
    """Runs the command line; 1 if the input is at fault."""
    options = parse_arguments()
    layer, head = (None if number is None else number - 1 for number in (options.layer, options.head))
    output = options.output or Path(f"attention.{'html' if options.kind == 'page' else 'png'}")
    try:
        if options.font:
            add_font(options.font)
        record = make_record(options)
        if options.record:
            save_record(options.record, record)
        if options.kind == "page":
            write_attention_page(output, record)
        elif options.kind == "tree":
            token = find_token(record, options.slot, options.word, options.sentences)
            plot_tree_walk(output, record, options.slot, token, layer, head)
        elif options.kind == "pooling":
            plot_pooling(output, record, options.slot, layer, options.sentences)
        else:
            MAPS[options.kind](output, record, options.slot, layer, head, options.sentences)
    except (ImportError, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"written to {output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
