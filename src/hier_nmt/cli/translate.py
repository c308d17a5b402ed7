# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Translates a file of text or documents into a file of the same format; everything but the text stays unchanged.

hier-nmt translate --model checkpoints/hier-nmt-en-fr my.txt --output my.fr.txt
hier-nmt translate --model checkpoints/hier-nmt-en-fr film.en.srt
hier-nmt translate --model checkpoints/hier-nmt-en-fr books/*.epub --output translated --workers 8
cat my.txt | hier-nmt translate --model checkpoints/hier-nmt-en-fr -

Plain text, HTML, Markdown, Word, PowerPoint, OpenDocument, EPUB, gettext, messages in JSON and YAML, notebooks, SubRip,
WebVTT, TMX, XLIFF, JSON lines, Moses, .heads, an id column, IWSLT, WMT XML, OPUS XML. Plain text is printed unless
--output names a file; the translation of standard input goes to standard output. After an interruption the same command
continues a run that writes a file.
"""

import argparse
import logging
import shutil
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch

from ..configuration.configuration_choices import ENGINES
from ..data.corpus_files import STANDARD_INPUT, is_pipe
from ..data.formats.document_file import DocumentFile
from ..data.formats.registry import FILE_CLASSES, format_of, write_document_file
from ..data.formats.wrapped_text import WrappedTextFile
from ..data.glossary_files import read_glossary, read_terms
from ..data.memory_files import read_memory
from ..data.text_files import check_writable, escape_unknown_characters, locked, read_text, write_bytes
from ..jobs.sentence_report import report_lines
from ..jobs.shared_translation import UnfinishedWork, Workers, helping_processes, is_opened
from ..jobs.translate_files import (
    TranslatedSentence,
    check_device,
    device_of,
    languages_of,
    load_config,
    load_pipeline,
    notes_of,
    output_path,
    printed_lines,
    translate_file,
)
from ..jobs.translate_pages import MARKUP_FORMATS, Page, markup_format_of, read_file, translate_page
from ..text.glossary import UNUSED, Glossary, TermUse
from ..text.segmentation import segment_text, sentences_by_paragraph
from ..text.translation_memory import DEFAULT_THRESHOLD, TranslationMemory
from ..translation.document_translator import STRATEGIES
from ..translation.glossary_options import GLOSSARY_METHODS, terms_of
from ..translation.translation_report import DecodingStatistics
from ..translation.translation_state import TranslatedDocument
from .resources import SAMPLE_DOCUMENT, model_or_shipped

ALONE = Workers()


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
        "same translations and starts at once",
    )
    parser.add_argument(
        "--workers",
        type=_positive,
        default=1,
        help="processes that share the work; `accelerate launch` starts them, too",
    )
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")


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


@dataclass(frozen=True)
class _Task:
    """What to do; determined before the model is loaded."""

    document: DocumentFile | Page
    languages: tuple[str, str]
    context: list[list[str]]
    glossary: Glossary | None
    do_not_translate: tuple[str, ...]
    memory: TranslationMemory | None
    output: Path | None
    form: str | None


def _task(options: argparse.Namespace) -> _Task:
    """The task of the options; errors in them and in the named files are raised here."""
    kind = options.format or markup_format_of(options.file) or format_of(options.file)
    if options.join_lines and kind != "text":
        raise ValueError(f"--join-lines is for plain text, and {options.file} is {kind}")
    check_device(options.device)
    languages = languages_of(load_config(options.model), options.source_language, options.target_language)
    comes_through_pipe = is_pipe(options.file)
    output = options.output
    if output is None and kind != "text" and not comes_through_pipe:
        output = output_path(options.file, *languages)
    if output is not None:
        check_writable(output)
    default_form = "pairs" if kind == "text" and not comes_through_pipe else None
    if comes_through_pipe and output is None:
        default_form = "translation"
    context = "" if options.context is None else read_text(options.context)
    document: DocumentFile | Page
    if options.join_lines:
        document = WrappedTextFile.read(options.file, *languages)
    else:
        document = read_file(options.file, *languages, kind)
    return _Task(
        document,
        languages,
        sentences_by_paragraph(segment_text(context, languages[0])),
        None if options.glossary is None else read_glossary(options.glossary, *languages),
        _untranslated_terms(options.do_not_translate),
        None if options.memory is None else _memory(options.memory, *languages, options.memory_threshold),
        output,
        options.form or default_form,
    )


def _untranslated_terms(values: Sequence[str]) -> tuple[str, ...]:
    """The terms that stay as they are: those of each value that is the path of a file, and the other values."""
    return terms_of([term for value in values for term in (read_terms(value) if Path(value).is_file() else [value])])


def translate(
    options: argparse.Namespace,
    workers: Workers = ALONE,
    waits: bool = True,
    total: DecodingStatistics | None = None,
) -> list[TranslatedSentence]:
    """Translates the file, writes or prints it, and returns its sentences; raises UnfinishedWork where others have
    parts of it and this process does not wait for them. The counts are added to `total`."""
    task = _task(options)
    total = DecodingStatistics() if total is None else total
    if not workers.is_main:
        return _translated(task, options, workers, waits, total)[1]
    with nullcontext() if task.output is None else locked(task.output):
        content, sentences = _translated(task, options, workers, waits, total)
        if task.output is not None:
            if isinstance(task.document, DocumentFile):
                write_document_file(task.output, task.document, content)
            else:
                write_bytes(task.output, content)
            _partial(task.output).unlink(missing_ok=True)
            print(f"written to {task.output}", file=sys.stderr)
    _print(content, sentences, task.form)
    return sentences


def _partial(output: Path) -> Path:
    """The path of finished parts until everything is finished."""
    return output.with_name(f"{output.name}.partial.jsonl")


def _shared(output: Path) -> Path:
    """The folder of finished parts of several processes."""
    return output.with_name(f"{output.name}.partial")


def _unfinished(task: _Task, workers: Workers) -> Path | None:
    """Where the finished parts of a file are kept."""
    if task.output is None:
        return None
    return _partial(task.output) if workers.count == 1 else _shared(task.output)


def _translated(
    task: _Task, options: argparse.Namespace, workers: Workers, waits: bool, total: DecodingStatistics
) -> tuple[bytes, list[TranslatedSentence]]:
    """The content of the translated file, and its sentences; reports on standard error what was skipped or kept."""
    pipe = _pipeline(options.model, options.device, options.engine)
    statistics = DecodingStatistics()
    terms: list[TermUse] = []
    how: dict[str, Any] = {
        "statistics": statistics,
        "source_language": task.languages[0],
        "target_language": task.languages[1],
        "terms": terms,
        "context": task.context,
        "glossary": task.glossary,
        "glossary_method": options.glossary_method,
        "do_not_translate": task.do_not_translate,
        "memory": task.memory,
        "confidence": options.confidence or options.report,
        "output_file": _unfinished(task, workers),
        "target_tokenizer": pipe.target_tokenizer,
        "strategy": options.strategy,
        "batch_size": options.batch_size,
        "num_beams": options.beams,
        "progress": sys.stderr.isatty(),
        "workers": workers,
        "waits": waits,
    }
    if isinstance(task.document, Page):
        results: list[TranslatedDocument] = []
        page = translate_page(pipe.model, pipe.tokenizer, task.document, results=results, **how)
        content, sentences, skipped = page
        notes = notes_of(results)
        for name, count in skipped.items():
            print(f"skipped: the text in {count} <{name}>", file=sys.stderr)
    else:
        found = translate_file(pipe.model, pipe.tokenizer, task.document, retranslate=options.retranslate, **how)
        if found.num_kept:
            print(f"existing translations kept: {found.num_kept} (--retranslate replaces them)", file=sys.stderr)
        task.document.confidences, task.document.from_memory = found.confidences, found.from_memory
        notes = found.notes
        content, sentences = task.document.translated(found.translations), found.sentences
    lines = [*statistics.protection(), *statistics.terms(), *_unused_terms(terms), *statistics.memory()]
    for line in [*lines, *(report_lines(sentences, notes) if options.report else ())]:
        print(line, file=sys.stderr)
    total.add(statistics)
    return content, sentences


def _unused_terms(terms: Sequence[TermUse]) -> list[str]:
    """A line for each term that some translations do not have."""
    counts = Counter((one.source, one.target) for one in terms if one.use == UNUSED)
    return [f"not used in {count} sentences: {source} = {target}" for (source, target), count in counts.most_common()]


# One model, and one memory, for all files.
_pipeline = cache(load_pipeline)
_memory = cache(read_memory)


def _print(content: bytes, sentences: Sequence[TranslatedSentence], form: str | None) -> None:
    if form == "translation":
        # The bytes of a file, whatever the terminal's encoding.
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    elif form is not None:
        width = shutil.get_terminal_size((120, 24)).columns
        print("\n".join(printed_lines(sentences, form, width)), flush=True)


INTERRUPTED = "interrupted; with --output the same command continues"


def run(options: argparse.Namespace) -> None:
    """Translates the files, and reports the time."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    escape_unknown_characters()
    options.model = model_or_shipped(options.model)
    start = time.perf_counter()
    files = _options_of_files(options)
    with helping_processes(options.workers, options.arguments) as workers:
        if workers.count > 1:
            options.device = device_of(options.device, workers)
        total = DecodingStatistics()
        num_sentences = _translate_all(files, workers, total)
    if workers.is_main:
        known = f", {total.num_from_memory} of them from the translation memory," if options.memory else ""
        print(f"{num_sentences} sentences{known} in {time.perf_counter() - start:.0f} seconds", file=sys.stderr)


def _options_of_files(options: argparse.Namespace) -> list[argparse.Namespace]:
    """The options of each file: `file`, and `output` as a file of its own where a folder is given."""
    files = [STANDARD_INPUT if file == Path("-") else file for file in options.files]
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


def _translate_all(files: Sequence[argparse.Namespace], workers: Workers, total: DecodingStatistics) -> int:
    """Translates all files and returns the number of sentences; the counts are added to `total`. Errors in any of them
    come before the first is translated."""
    # A single file is read but once.
    folders = [_checked(one, workers) for one in files] if len(files) > 1 or workers.count > 1 else []
    if workers.count == 1:
        return sum(len(translate(one, total=total)) for one in files)
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
        for folder in folders:
            shutil.rmtree(folder)
    return num_sentences


def _checked(options: argparse.Namespace, workers: Workers) -> Path:
    """Reads a file and says where its finished parts are kept."""
    output = _task(options).output
    if workers.count == 1:
        return Path()
    if output is None:
        raise ValueError(f"several workers need --output for {options.file}, whose translation would be printed")
    if _partial(output).exists():
        raise ValueError(f"{_partial(output)} is of a run without workers: continue that one, or delete the file")
    return _shared(output)
