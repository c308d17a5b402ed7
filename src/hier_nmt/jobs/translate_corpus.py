# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Translates a corpus, in groups of documents, alone or together with other processes."""

import logging
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm.auto import tqdm

from ..data.documents import ParallelDocument
from ..text.glossary import TermUse
from ..translation.decoder_runs import check_positive
from ..translation.document_translator import DocumentTranslator
from ..translation.translation_documents import SourceDocument, TranslatedDocument
from ..translation.translation_report import DecodingStatistics
from .saved_translations import Paragraphs, TranslationFile, opened_translations
from .shared_translation import (
    GROUP_SENTENCES,
    PREFIX_GROUP_SENTENCES,
    UnfinishedWork,
    Workers,
    group_file,
    groups_of,
    when_free,
    work_through,
)

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

logger = logging.getLogger(__name__)

Document = ParallelDocument | SourceDocument | Sequence[Sequence[str]]


def translate_documents(
    model: "PreTrainedModel",
    tokenizer: "PreTrainedTokenizerBase",
    documents: Iterable[Document],
    *,
    group_sentences: int | None = None,
    output_file: str | Path | None = None,
    progress: bool = True,
    statistics: DecodingStatistics | None = None,
    terms: list[TermUse] | None = None,
    results: list[TranslatedDocument] | None = None,
    workers: Workers | None = None,
    waits: bool = True,
    **options: Any,
) -> list[Paragraphs]:
    """The translation of each document: paragraphs with one translated sentence per source sentence, in order.

    Args:
        model: an encoder-decoder model.
        tokenizer: of the source language, or of both.
        documents: parallel documents, whose source is read, or paragraphs of source sentences, or `SourceDocument`s
            with a context or terms.
        group_sentences: documents are decoded in groups of about this many sentences. Batches are filled from all
            documents of a group, which are written when the group is finished. Default: 1,024, and 16,384 for `prefix`,
            whose batches hold one sentence of each document.
        output_file: JSON lines, written as documents are finished; other processes cannot write it meanwhile. An
            existing file is continued: its documents are not translated again, and an incomplete last line is dropped.
            The decoded batches of unfinished documents are in a second file with the suffix ".decoded.jsonl", so that
            an interrupted run loses at most one batch.
        progress: shows a progress bar of sentences.
        statistics: the run's counts are added to it, including those of documents from an earlier run.
        terms: what became of the terms of glossaries is added to it, sentences counted in each document.
        results: the translated documents are added to it, with what happened to their sentences and their confidences.
        workers: this process and others that translate the same documents at the same time with the same arguments;
            `output_file` is then a folder, which exists.
        waits: wait for what the others are translating; without it, only the main worker reads what they have.
        options: of `DocumentTranslator`, such as `strategy`, `target_tokenizer` and `generate_kwargs`.

    Raises:
        TypeError: there is no such option.
        ValueError: as `DocumentTranslator`.
        ResumeError: `output_file` belongs to another model, other settings or other documents.
        BlockingIOError: another process is writing `output_file`.
        UnfinishedWork: `waits` is False, and others are still translating or, if this is not the main worker, have
            translated.
    """
    check_positive(group_sentences=group_sentences)

    def translator(bar: tqdm) -> DocumentTranslator:
        return DocumentTranslator(model, tokenizer, **options, on_progress=bar.update)

    if workers is not None and workers.count > 1:
        finished = _translate_together(translator, list(documents), output_file, workers, waits, progress)
    else:
        finished = _translate_alone(translator, documents, output_file, group_sentences, progress)
    total = DecodingStatistics()
    for document in finished:
        total.add(document.statistics)
    for problem in total.problems():
        logger.warning(problem)
    if statistics is not None:
        statistics.add(total)
    if terms is not None:
        terms.extend(use for document in finished for use in document.terms)
    if results is not None:
        results.extend(finished)
    return [document.paragraphs for document in finished]


def _translate_alone(
    make_translator: Callable[[tqdm], DocumentTranslator],
    documents: Iterable[Document],
    output_file: str | Path | None,
    group_sentences: int | None,
    progress: bool,
) -> list[TranslatedDocument]:
    """The documents, translated by this process."""
    num_total = sum(map(_num_sentences, documents)) if isinstance(documents, Sequence) else None
    with tqdm(total=num_total, unit=" sentences", disable=not progress) as bar:
        translator = make_translator(bar)
        with opened_translations(output_file, translator) as file:
            group_sentences = group_sentences or (16384 if translator.strategy == "prefix" else 1024)
            return _translate_in_groups(translator, documents, group_sentences, file, bar)


def _translate_together(
    make_translator: Callable[[tqdm], DocumentTranslator],
    documents: Sequence[Document],
    folder: str | Path | None,
    workers: Workers,
    waits: bool,
    progress: bool,
) -> list[TranslatedDocument]:
    """The documents, translated by several processes; the files of their groups are in the folder."""
    if folder is None:
        raise ValueError("several workers need output_file, the folder in which they share their work")
    prefixes = make_translator(tqdm(disable=True)).strategy == "prefix"
    sizes = list(map(_num_sentences, documents))
    groups = groups_of(sizes, PREFIX_GROUP_SENTENCES if prefixes else GROUP_SENTENCES)
    found: dict[int, list[TranslatedDocument]] = {}

    def translate(index: int, path: Path) -> None:
        group = [documents[place] for place in groups[index]]
        found[index] = _translate_alone(make_translator, group, path, None, progress=False)

    work_through(
        [sum(sizes[place] for place in group) for group in groups], Path(folder), translate, workers, waits, progress
    )
    others = set(range(len(groups))) - set(found)
    if others and not (waits or workers.is_main):
        raise UnfinishedWork
    for index in others:
        when_free(partial(translate, index, group_file(Path(folder), index)))
    return [document for index in range(len(groups)) for document in found[index]]


def _translate_in_groups(
    translator: DocumentTranslator,
    documents: Iterable[Document],
    group_sentences: int,
    file: TranslationFile,
    bar: tqdm,
) -> list[TranslatedDocument]:
    """All documents; those that are in the file already are taken from it."""
    finished: list[TranslatedDocument] = []
    group: list[tuple[str | None, SourceDocument]] = []
    num_waiting = 0
    for index, document in enumerate(documents):
        name, source = _name_and_source(document)
        known = file.known(index, name, source)
        if known is not None:
            finished.append(known)
            bar.update(_num_sentences(document))
            continue
        group.append((name, source))
        num_waiting += _num_sentences(document)
        if num_waiting >= group_sentences:
            finished += _translate_group(translator, group, file)
            group, num_waiting = [], 0
    return finished + _translate_group(translator, group, file)


def _translate_group(
    translator: DocumentTranslator, group: list[tuple[str | None, SourceDocument]], file: TranslationFile
) -> list[TranslatedDocument]:
    translated = translator.translate([source for _, source in group])
    for (name, source), document in zip(group, translated, strict=True):
        file.append(name, source, document)
    if file.outputs is not None:
        file.outputs.clear()
    return translated


def _name_and_source(document: Document) -> tuple[str | None, SourceDocument]:
    if isinstance(document, ParallelDocument):
        return document.id, SourceDocument(document.source_paragraphs)
    if isinstance(document, SourceDocument):
        return None, document
    if isinstance(document, str) or any(isinstance(paragraph, str) for paragraph in document):
        raise TypeError(f"a document is a list of paragraphs, each a list of sentences; got {document!r:.80}")
    return None, SourceDocument([list(paragraph) for paragraph in document])


def _num_sentences(document: Document) -> int:
    if isinstance(document, ParallelDocument):
        return document.num_sentences
    paragraphs = document.paragraphs if isinstance(document, SourceDocument) else document
    return sum(len(paragraph) for paragraph in paragraphs)
