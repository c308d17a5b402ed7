# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Translates a file of text or documents into a file of the same format; everything but the text stays unchanged.

hier-nmt translate --model checkpoints/hier-nmt-en-fr my.txt --output my.fr.txt
hier-nmt translate --model checkpoints/hier-nmt-en-fr film.en.srt
hier-nmt translate --model checkpoints/hier-nmt-en-fr books/*.epub --output translated --workers 8
cat my.txt | hier-nmt translate --model checkpoints/hier-nmt-en-fr -

Plain text, HTML, Markdown, Word, PowerPoint, Excel, OpenDocument, EPUB, gettext, messages in JSON and YAML and of
programs for Java, Apple's systems and Android, notebooks, SubRip, WebVTT, SubStation, TMX, XLIFF, JSON lines, Moses,
.heads, an id column, IWSLT, WMT XML, OPUS XML. Plain text is printed unless
--output names a file; the translation of standard input goes to standard output. After an interruption the same command
continues a run that writes a file.
"""

import argparse
import logging
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..configuration.configuration_choices import ENGINES
from ..data.corpus_files import STANDARD_INPUT
from ..data.formats.registry import FILE_CLASSES
from ..data.text_files import escape_unknown_characters
from ..jobs.load_checkpoints import default_device, device_of, load_pipeline
from ..jobs.shared_translation import UnfinishedWork, Workers, helping_processes, is_opened
from ..jobs.translate_pages import MARKUP_FORMATS
from ..text.translation_memory import DEFAULT_THRESHOLD
from ..translation.document_translator import STRATEGIES
from ..translation.glossary_options import GLOSSARY_METHODS
from ..translation.translation_report import DecodingStatistics
from .resources import SAMPLE_DOCUMENT, model_or_shipped
from .translation_task import check_task, translate


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of the command."""
    parser.add_argument(
        "files",
        nargs="*",
        type=Path,
        default=[SAMPLE_DOCUMENT],
        metavar="file",
        help="- for standard input; default: the sample document",
    )
    parser.add_argument("--model", help="checkpoint directory or name on the Hub; default in a clone: the shipped one")
    parser.add_argument(
        "--output",
        type=Path,
        help="of several files: a folder; default: printed if plain text, else named by the target language",
    )
    parser.add_argument(
        "--format",
        choices=[*FILE_CLASSES, *MARKUP_FORMATS],
        help="default: by the file's name and first bytes",
    )
    parser.add_argument(
        "--join-lines", action="store_true", help="for plain text with hard line breaks: join lines up to a blank one"
    )
    parser.add_argument(
        "--print",
        choices=["pairs", "columns", "translation"],
        dest="form",
        help="default: pairs for a file of plain text, the translation alone for standard input",
    )
    parser.add_argument("--context", metavar="FILE", help="text before each document: read, but not translated")
    parser.add_argument(
        "--glossary", type=Path, metavar="FILE", help="terms and their translations: CSV, tab-separated or TBX"
    )
    parser.add_argument(
        "--glossary-method",
        choices=GLOSSARY_METHODS,
        default="auto",
        help="inline: written into the source, for models trained with it; constrained: sentences that lack a term are "
        "decoded again with it; auto (default): both, the first where it can be",
    )
    parser.add_argument(
        "--do-not-translate",
        action="append",
        default=[],
        metavar="TERM_OR_FILE",
        help="a term that stays as it is, or a file of them, one in a line; may be given several times",
    )
    parser.add_argument(
        "--keep-numbers",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="decode sentences again whose translation lacks a number of theirs (default)",
    )
    parser.add_argument(
        "--memory",
        type=Path,
        metavar="FILE",
        help="translation memory (TMX): sentences that it has are not translated again; similar ones are reported",
    )
    parser.add_argument(
        "--memory-threshold",
        type=_percentage,
        default=DEFAULT_THRESHOLD,
        metavar="PERCENT",
        help="similarity from which a sentence of the memory is reported; 100: only equal ones are looked for; "
        "default: %(default)g",
    )
    parser.add_argument(
        "--confidence",
        action="store_true",
        help="how confident the model is of each sentence; XLIFF and TMX have it in the output",
    )
    parser.add_argument(
        "--report",
        action="store_true",
        help="print at the end the sentences that a person should look at: the least confident ones, those that were "
        "copied, cut, split or decoded again, and matches of the memory (with --confidence)",
    )
    parser.add_argument("--strategy", choices=STRATEGIES, help="default: what suits the model's windows")
    parser.add_argument(
        "--retranslate", action="store_true", help="also translate units again that have a translation in the file"
    )
    parser.add_argument("--beams", type=_positive, default=4)
    parser.add_argument("--batch-size", type=_positive, default=32, help="windows decoded at the same time")
    parser.add_argument("--source-language", help="ISO 639 code; default: the model's")
    parser.add_argument("--target-language", help="ISO 639 code; default: the model's")
    parser.add_argument(
        "--engine",
        choices=ENGINES,
        default="auto",
        help="what runs the model on a processor: torch, ctranslate2 or ctranslate2-int8 (the extra `ctranslate2`), "
        "onnx or onnx-int8 (the extra `export`; made once and kept), or auto (default): the fastest that gives the "
        "same translations and starts at once or, of more than a megabyte, is done first",
    )
    parser.add_argument(
        "--workers",
        type=_positive,
        default=1,
        help="processes that share the work; `accelerate launch` starts them, too",
    )
    parser.add_argument("--device", help="default: cuda if there is one and the engine can use it, else cpu")


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def _percentage(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 100:
        raise argparse.ArgumentTypeError(f"{text!r} is not a percentage above 0 and up to 100")
    return value


# Some 8,000 sentences. An export takes up to two minutes, which onnxruntime saves in 3,000 of them (docs/speed.md).
_EXPORT_FROM_BYTES = 1_000_000
# The command does it itself, if it loads one.
REGISTERS_MODELS = True
INTERRUPTED = "interrupted; with --output the same command continues"


def run(options: argparse.Namespace) -> None:
    """Translates the files, and reports the time."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    escape_unknown_characters()
    options.model = model_or_shipped(options.model)
    options.device = options.device or default_device(options.engine)
    start = time.perf_counter()
    files = _options_of_files(options)
    if (options.engine, options.device, Workers.of_environment().count) == ("auto", "cpu", 1):
        _export_if_worth_it(options, files)
    with helping_processes(options.workers, options.arguments) as workers:
        if workers.count > 1:
            options.device = device_of(options.device, workers)
        total = DecodingStatistics()
        num_sentences, folders = _translate_all(files, workers, total)
    if workers.is_main:
        # Now that the processes that used them have ended; those that another program started may be about to.
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
        known = f", {total.num_from_memory} of them from the translation memory," if options.memory else ""
        print(f"{num_sentences} sentences{known} in {time.perf_counter() - start:.0f} seconds", file=sys.stderr)


def _export_if_worth_it(options: argparse.Namespace, files: Sequence[argparse.Namespace]) -> None:
    """Exports the model for the fastest engine that is installed, if there is so much text that it is done sooner.

    It is done here, before other processes start, so that all have the same engine; a process that another program
    started takes what has been exported before.
    """
    if sum(one.file.stat().st_size for one in files if one.file.is_file()) < _EXPORT_FROM_BYTES:
        return
    from ..publishing.model_engines import export_for_auto
    from ..registration import register_all

    register_all()
    pipe = load_pipeline(options.model, options.device, "auto", options.strategy)
    export_for_auto(pipe.model, lambda line: print(line, file=sys.stderr))


def _options_of_files(options: argparse.Namespace) -> list[argparse.Namespace]:
    """The options of each file: `file`, and `output` as a file of its own where a folder is given."""
    files = [STANDARD_INPUT if file == Path("-") else file for file in options.files]
    for file in files:
        if file.is_dir():
            raise ValueError(f"{file} is a folder: name the files in it; the folder of a model is for --model")
    if len(files) > 1 and STANDARD_INPUT in files:
        raise ValueError("- (standard input) cannot be one of several files")
    if len(files) == 1:
        return [_with(options, file=files[0])]
    folder = options.output
    if folder is None:
        return [_with(options, file=file) for file in files]
    if folder.is_file():
        raise ValueError(f"--output {folder}: several files need a folder, and this is a file")
    folder.mkdir(parents=True, exist_ok=True)
    outputs = [folder / file.name for file in files]
    doubles = sorted({path.name for path in outputs if outputs.count(path) > 1})
    if doubles:
        raise ValueError(f"several files have the same name, and the translations one folder: {', '.join(doubles)}")
    return [_with(options, file=file, output=output) for file, output in zip(files, outputs, strict=True)]


def _with(options: argparse.Namespace, **changed: Any) -> argparse.Namespace:
    return argparse.Namespace(**{**vars(options), **changed})


def _translate_all(
    files: Sequence[argparse.Namespace], workers: Workers, total: DecodingStatistics
) -> tuple[int, list[Path]]:
    """Translates all files and returns the number of sentences, and the folders of what several processes share; the
    counts are added to `total`. Errors in any of the files come before the first is translated."""
    # A single file is read but once.
    folders = [check_task(one, workers) for one in files] if len(files) > 1 or workers.count > 1 else []
    if workers.count == 1:
        return sum(len(translate(one, total=total)) for one in files), []
    if workers.is_main:
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)
    waiting, num_sentences = [], 0
    for one, folder in zip(files, folders, strict=True):
        if workers.is_main or is_opened(folder):
            try:
                num_sentences += len(translate(one, workers, waits=False, total=total))
            except UnfinishedWork:
                waiting.append(one)
    if workers.is_main:
        num_sentences += sum(len(translate(one, workers, total=total)) for one in waiting)
    return num_sentences, folders
