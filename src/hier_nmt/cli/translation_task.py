# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""One file to translate from the command line: what its options say, and the translation written or printed."""

import argparse
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..data.corpus_files import is_pipe
from ..data.formats.document_file import DocumentFile
from ..data.formats.registry import format_of, write_document_file
from ..data.formats.wrapped_text import WrappedTextFile
from ..data.glossary_files import read_glossary, read_terms
from ..data.memory_files import read_memory
from ..data.text_files import check_writable, locked, read_text, write_bytes
from ..jobs.confidence_calibration import ConfidenceCalibration, calibrated, read_calibration
from ..jobs.load_checkpoints import check_device, load_pipeline, saved_languages
from ..jobs.onnx_start import note_export, start_without_pytorch
from ..jobs.sentence_report import calibrated_notes, report_lines
from ..jobs.shared_translation import Workers
from ..jobs.translate_files import TranslatedSentence, notes_of, output_path, printed_lines, translate_file
from ..jobs.translate_pages import Page, markup_format_of, read_file, translate_page
from ..text.glossary import UNUSED, Glossary, TermUse
from ..text.segmentation import segment_text, sentences_by_paragraph
from ..text.translation_memory import TranslationMemory
from ..translation.glossary_options import terms_of
from ..translation.translation_documents import TranslatedDocument
from ..translation.translation_report import DecodingStatistics

ALONE = Workers()


@dataclass(frozen=True)
class _Task:
    """What to do; determined before the model is loaded."""

    document: DocumentFile | Page
    languages: tuple[str, str]
    context: list[list[str]]
    glossary: Glossary | None
    do_not_translate: tuple[str, ...]
    memory: TranslationMemory | None
    calibration: ConfidenceCalibration | None
    output: Path | None
    form: str | None


def _task(options: argparse.Namespace) -> _Task:
    """The task of the options; errors in them and in the named files are raised here."""
    kind = options.format or markup_format_of(options.file) or format_of(options.file)
    if options.join_lines and kind != "text":
        raise ValueError(f"--join-lines is for plain text, and {options.file} is {kind}")
    check_device(options.device)
    languages = saved_languages(options.model, options.source_language, options.target_language)
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
        read_calibration(options.model) if options.confidence or options.report else None,
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


def check_task(options: argparse.Namespace, workers: Workers) -> Path:
    """Where the finished parts of a file are kept, which is read with all that its options name.

    Raises:
        ValueError: several workers cannot share the work on it.
    """
    output = _task(options).output
    if workers.count == 1:
        return Path()
    if output is None:
        raise ValueError(f"several workers need --output for {options.file}, whose translation would be printed")
    if _partial(output).exists():
        raise ValueError(f"{_partial(output)} is of a run without workers: continue that one, or delete the file")
    return _shared(output)


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
    # Several processes divide the processors by PyTorch.
    is_alone = workers.count == 1 and options.device == "cpu"
    start = _start(options.model, options.device, options.engine, options.strategy, is_alone)
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
        "keep_numbers": options.keep_numbers,
        "do_not_translate": task.do_not_translate,
        "memory": task.memory,
        "confidence": options.confidence or options.report,
        "output_file": _unfinished(task, workers),
        "target_tokenizer": start.target_tokenizer,
        "strategy": options.strategy,
        "batch_size": options.batch_size,
        "generate_kwargs": {"num_beams": options.beams},
        "progress": sys.stderr.isatty(),
        "workers": workers,
        "waits": waits,
    }
    if isinstance(task.document, Page):
        results: list[TranslatedDocument] = []
        page = translate_page(start.model, start.tokenizer, task.document, results=results, **how)
        content, sentences, skipped = page
        notes = calibrated_notes(notes_of(results), task.calibration)
        for name, count in skipped.items():
            print(f"skipped: the text in {count} <{name}>", file=sys.stderr)
    else:
        found = translate_file(start.model, start.tokenizer, task.document, retranslate=options.retranslate, **how)
        if found.num_kept:
            print(f"existing translations kept: {found.num_kept} (--retranslate replaces them)", file=sys.stderr)
        task.document.from_memory = found.from_memory
        task.document.confidences = _calibrated(found.confidences, task.calibration)
        notes = calibrated_notes(found.notes, task.calibration)
        content, sentences = task.document.translated(found.translations), found.sentences
    told = [] if task.calibration is None else [f"confidence of a sentence: {task.calibration}"]
    lines = [*told, *statistics.protection(), *statistics.terms(), *_unused_terms(terms), *statistics.memory()]
    for line in [*lines, *(report_lines(sentences, notes) if options.report else ())]:
        print(line, file=sys.stderr)
    total.add(statistics)
    return content, sentences


def _calibrated(
    confidences: list[list[float | None]] | None, calibration: ConfidenceCalibration | None
) -> list[list[float | None]] | None:
    """The confidences of units. The curve rises, so the lowest of some sentences stays the lowest."""
    if confidences is None:
        return None
    return [[calibrated(one, calibration) for one in units] for units in confidences]


def _unused_terms(terms: Sequence[TermUse]) -> list[str]:
    """A line for each term that some translations do not have."""
    counts = Counter((one.source, one.target) for one in terms if one.use == UNUSED)
    return [f"not used in {count} sentences: {source} = {target}" for (source, target), count in counts.most_common()]


# One model, and one memory, for all files.
@cache
def _pipeline(model: str, device: str, engine: str, strategy: str | None) -> Any:
    from ..registration import register_all

    register_all()
    return load_pipeline(model, device, engine, strategy)


@cache
def _start(model: str, device: str, engine: str, strategy: str | None, is_alone: bool) -> Any:
    """The model and the tokenizers to translate with. A process that translates alone on the processor uses what was
    exported before without loading the model."""

    def load() -> Any:
        return _pipeline(model, device, engine, strategy)

    if not is_alone:
        return load()
    start = start_without_pytorch(model, engine, strategy, lambda: load().model)
    if start is None:
        note_export(model, engine, strategy, load())
    return start or load()


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
