# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Translates a file of text or documents, and writes the same kind of file: everything in it but the text stays.

python training/translate.py --model checkpoints/hier-nmt-en-fr my.txt --output my.fr.txt
python training/translate.py --model checkpoints/hier-nmt-en-fr film.en.srt

Plain text, HTML, Markdown, JSON lines, Moses, .heads, an id column, IWSLT, SubRip, TMX, XLIFF, WMT XML, OPUS XML. Plain
text is printed, and only written where --output names a file. An interrupted run is continued by the same command (but
for HTML and Markdown).
"""

import argparse
import logging
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from hier_nmt.data.formats.registry import FILE_CLASSES, format_of, read_document_file, write_document_file
from hier_nmt.data.text_files import read_text, write_bytes
from hier_nmt.evaluation.translate_files import (
    MARKUP_FORMATS,
    TranslatedSentence,
    languages_of,
    load_pipeline,
    markup_format_of,
    output_path,
    printed_lines,
    translate_file,
    translate_markup,
)
from hier_nmt.models.decoding_report import DecodingStatistics
from hier_nmt.models.document_translation import STRATEGIES
from hier_nmt.models.text_segmentation import segment_text, sentences_by_paragraph

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = ROOT / "examples" / "sample_document.en.txt"


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=SAMPLE, help="default: the sample document")
    parser.add_argument("--model", default=ROOT / "checkpoints" / "hier-nmt-en-fr", help="checkpoint directory")
    parser.add_argument("--output", type=Path, help="default: printed if plain text, else named by the target language")
    parser.add_argument(
        "--format",
        choices=[*FILE_CLASSES, *MARKUP_FORMATS],
        help="default: by the name of the file and what it begins with",
    )
    parser.add_argument(
        "--print", choices=["pairs", "columns", "translation"], dest="form", help="default: pairs, of plain text"
    )
    parser.add_argument("--context", metavar="FILE", help="text before each document: read, but not translated")
    parser.add_argument("--strategy", choices=STRATEGIES, help="default: what suits the model's windows")
    parser.add_argument("--anew", action="store_true", help="translate also what has a translation in the file")
    parser.add_argument("--beams", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=32, help="windows decoded at the same time")
    parser.add_argument("--source-language", help="ISO 639 code; default: the model's")
    parser.add_argument("--target-language", help="ISO 639 code; default: the model's")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    return parser.parse_args(arguments)


def translate(options: argparse.Namespace) -> list[TranslatedSentence]:
    """Translates the file, writes or prints it, and gives its sentences."""
    kind = options.format or markup_format_of(options.file) or format_of(options.file)
    context = "" if options.context is None else read_text(options.context)
    pipe = load_pipeline(options.model, options.device)
    source, target = languages_of(pipe.model, options.source_language, options.target_language)
    output = options.output or (None if kind == "text" else output_path(options.file, source, target))
    statistics = DecodingStatistics()
    how = {
        "statistics": statistics,
        "strategy": options.strategy,
        "batch_size": options.batch_size,
        "num_beams": options.beams,
        "progress": sys.stderr.isatty(),
    }
    if kind in MARKUP_FORMATS:
        text = read_text(options.file)
        content, sentences = translate_markup(pipe, text, kind, source_language=source, context=context or None, **how)
        if output is not None:
            write_bytes(output, content)
    else:
        partial = None if output is None else output.with_name(f"{output.name}.partial.jsonl")
        file = read_document_file(options.file, source, target, kind)
        translated = translate_file(
            pipe.model,
            pipe.tokenizer,
            file,
            source_language=source,
            target_language=target,
            context=sentences_by_paragraph(segment_text(context, source)),
            anew=options.anew,
            output_file=partial,
            target_tokenizer=pipe.target_tokenizer,
            **how,
        )
        content, sentences = file.translated(translated.translations), translated.sentences
        if output is not None and partial is not None:
            write_document_file(output, file, content)
            partial.unlink()
    for line in statistics.protection():
        print(line, file=sys.stderr)
    if output is not None:
        print(f"written to {output}", file=sys.stderr)
    if options.form == "translation":
        sys.stdout.write(content.decode())
    elif options.form or kind == "text":
        width = shutil.get_terminal_size((120, 24)).columns
        print("\n".join(printed_lines(sentences, options.form or "pairs", width)))
    return sentences


def main() -> int:
    """Runs the command line; 1 if the input is at fault, 130 if it was interrupted."""
    options = parse_arguments()
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    start = time.perf_counter()
    try:
        sentences = translate(options)
    except (ImportError, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; with --output the same command goes on with what is left", file=sys.stderr)
        return 130
    print(f"{len(sentences)} sentences in {time.perf_counter() - start:.0f} seconds", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
