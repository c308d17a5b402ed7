# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The attention of a model while it translates a text, or a document of a file."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from ..data.corpus_readers import read_json_lines
from ..data.documents import ParallelDocument
from ..data.formats.document_file import UnitDocument
from ..data.formats.registry import format_of, read_document_file
from ..data.text_files import read_text
from ..inspection.attention_collection import record_attention
from ..inspection.attention_records import AttentionRecord
from ..inspection.sentences_read import SentenceRead, sentences_read
from ..text.segmentation import segment_text, sentences_by_paragraph
from ..translation.translation_documents import SourceDocument
from ..translation.translation_vocabulary import TranslationVocabulary
from .translate_corpus import translate_documents


class DocumentText(NamedTuple):
    """The sentences of a document by paragraph, and a translation of each sentence if there is one."""

    paragraphs: Sequence[Sequence[str]]
    translations: Sequence[str] | None = None

    @property
    def sentences(self) -> list[str]:
        """All sentences in order, over all paragraphs."""
        return list(chain.from_iterable(self.paragraphs))

    @property
    def ends_paragraph(self) -> list[bool]:
        """For each sentence, whether it is the last of its paragraph."""
        return [index == len(paragraph) - 1 for paragraph in self.paragraphs for index in range(len(paragraph))]


def document_of_text(text: str, language: str) -> DocumentText:
    """A text split into sentences by the rules of its language."""
    return DocumentText(sentences_by_paragraph(segment_text(text, language)))


def document_of_file(path: str | Path, number: int, source_language: str, target_language: str) -> DocumentText:
    """A document of a file. Plain text is split into sentences; in other formats each unit counts as one sentence.

    Args:
        path: the file, in one of the formats that can be translated.
        number: which document, from 1.
        source_language, target_language: ISO 639 codes.

    Raises:
        ValueError: the file is malformed (`CorpusError`), or has no such document.
        OSError: it cannot be read.
    """
    languages = source_language, target_language
    kind = format_of(path)
    if kind == "text":
        documents = [document_of_text(read_text(path), source_language)]
    elif kind == "json-lines":
        documents = _documents_of_json_lines(path, *languages)
    else:
        documents = [_document(one) for one in read_document_file(path, *languages, kind).documents]
    if not 1 <= number <= len(documents):
        raise ValueError(f"there is no document {number} in {path}, which has {len(documents)}")
    return documents[number - 1]


def _documents_of_json_lines(path: str | Path, source_language: str, target_language: str) -> list[DocumentText]:
    """The documents of a JSON-lines file, with their translations where they have one."""
    languages = source_language, target_language
    alone = [_document(one) for one in read_document_file(path, *languages, "json-lines").documents]
    documents = []
    for document, parallel in zip(alone, read_json_lines(path, *languages), strict=True):
        if isinstance(parallel, ParallelDocument):
            document = DocumentText(parallel.source_paragraphs, parallel.target_sentences)
        elif parallel.kind != "missing key":
            raise parallel
        documents.append(document)
    return documents


def _document(document: UnitDocument) -> DocumentText:
    """The text of a document, with its translation if every unit has one."""
    paragraphs = [[unit.source for unit in paragraph] for paragraph in document.paragraphs]
    targets = [unit.target for unit in document.units if unit.target]
    return DocumentText(paragraphs, targets if len(targets) == len(document.units) else None)


def record_document(
    pipe: Any,
    document: DocumentText,
    *,
    title: str = "",
    window_sentences: int | None = None,
    tree_sentences: Collection[int] | None = None,
) -> AttentionRecord:
    """Attention of a model on a document and its translation; without one the model translates the document first.

    Args:
        pipe: a pipeline from `load_pipeline`.
        document: the document to translate.
        title, window_sentences, tree_sentences: as in `record_attention`.

    Raises:
        ValueError: as `record_attention`, or the document has no sentence.
    """
    if not document.sentences:
        raise ValueError("the text has no sentence")
    target_tokenizer = pipe.target_tokenizer or pipe.tokenizer
    translations = document.translations
    if translations is None:
        options = {"target_tokenizer": target_tokenizer, "window_sentences": window_sentences}
        (translated,) = translate_documents(pipe.model, pipe.tokenizer, [document.paragraphs], **options)
        translations = list(chain.from_iterable(translated))
    return record_attention(
        pipe.model,
        TranslationVocabulary.of_model(pipe.model, pipe.tokenizer, target_tokenizer),
        document.sentences,
        translations,
        document.ends_paragraph,
        title=title,
        window_sentences=window_sentences,
        tree_sentences=tree_sentences,
    )


@dataclass(frozen=True)
class TranslatedPart(SourceDocument):
    """A part of a document with the translation of each of its sentences."""

    translations: Sequence[str] = ()


def sentences_read_in_part(pipe: Any, part: TranslatedPart) -> list[list[SentenceRead]]:
    """For each sentence of a part, the sentences that it read, itself included.

    Indices count from the first sentence of the part; those of its context are negative: -1 is the last one.

    Args:
        pipe: a pipeline from `load_pipeline`.
        part: the part; its context has translations.

    Raises:
        ValueError: as `record_attention`.
    """
    window = getattr(pipe.model.config, "window_sentences", 1)
    sentences = [sentence for paragraph in part.context for sentence in paragraph]
    # A window of K sentences reaches K - 1 back.
    num_context = len(sentences) if window == 0 else min(window - 1, len(sentences))
    context = _last(part.context, num_context)
    translations = [*(part.context_translation or ())[len(sentences) - num_context :], *part.translations]
    record = record_document(pipe, DocumentText([*context, *part.paragraphs], translations))
    rows = sentences_read(record)[num_context:]
    return [[one._replace(sentence=one.sentence - num_context) for one in row] for row in rows]


def _last(paragraphs: Sequence[Sequence[str]], num_sentences: int) -> list[Sequence[str]]:
    """The last sentences of paragraphs, in their paragraphs."""
    kept: list[Sequence[str]] = []
    for paragraph in reversed(paragraphs):
        if num_sentences > 0:
            kept.insert(0, paragraph[-num_sentences:])
            num_sentences -= len(paragraph)
    return kept
