# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""A file of documents: its text, and the same file with that text translated."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from ...text.protected_spans import remove_objects
from ...text.translation_memory import Tags
from ..corpus_files import CorpusError
from ..documents import ParallelDocument, SentencePair
from ..text_files import byte_order_mark

# The translation of each unit of each document of a file.
Translations = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of text in a file: a segment, a line, a sentence of subtitles.

    Attributes:
        source: its text. In formats with markup, markup that acts as a word is an `OBJECT` in it, which the translation
            must contain, too; a line break that is markup is a `LINE_BREAK`.
        target: the translation that the file has for it, if any.
        line: its line in the file, counted from 1.
        is_translated: whether `target` is a finished translation, which must be kept.
        tags: the position of each inline tag in the source, and the tag as the file has it; formats without such tags,
            and subtitles, have none.
    """

    source: str
    target: str | None = None
    line: int | None = None
    is_translated: bool = False
    tags: Tags = ()


@dataclass(frozen=True)
class UnitDocument:
    """A document of a file, as paragraphs of units; every paragraph has text."""

    id: str
    paragraphs: tuple[tuple[Unit, ...], ...]

    @property
    def units(self) -> tuple[Unit, ...]:
        """All units in order, over all paragraphs."""
        return tuple(unit for paragraph in self.paragraphs for unit in paragraph)


class DocumentFile(ABC):
    """A file of documents in memory.

    Attributes:
        path: where it was read; None for a new file.
        documents: the documents to translate.
        original: the content that was read. Its byte order mark, line ends and similar properties are kept when
            writing; empty for a new file.
        confidences: of the translation of each unit of each document, from 0 to 1, None where there is none; formats
            with a place for them write them with `translated`.
        from_memory: whether the translation of each unit of each document is an exact match of a translation memory;
            formats that tell the two apart mark such a unit as a match, and not as machine-translated.
    """

    original = b""
    confidences: Sequence[Sequence[float | None]] | None = None
    from_memory: Sequence[Sequence[bool]] | None = None

    def __init__(self, path: Path | None, documents: Sequence[UnitDocument]) -> None:
        self.path = path
        self.documents = list(documents)
        if path is not None and not self.documents:
            raise CorpusError(path, None, "empty corpus", "it has no text")

    @classmethod
    @abstractmethod
    def read(cls, path: str | Path, source_language: str, target_language: str) -> Self:
        """The file at `path`, through gzip if its name ends in ".gz".

        Raises:
            CorpusError: the file is malformed; the message says how and where.
            OSError: it cannot be read.
        """

    @abstractmethod
    def translated(self, translations: Translations) -> bytes:
        """The content of the file with a translation for each unit, and everything else unchanged.

        Units keep the translation of the file if `translations` has the same text for them. If the file was read and
        not made by `CorpusFile.new`, other units are marked as machine-translated, in formats that have such a mark.
        """

    def _confidence(self, document: int, unit: int) -> float | None:
        """The confidence of a unit's translation, if it has one."""
        return None if self.confidences is None else self.confidences[document][unit]

    def _is_from_memory(self, document: int, unit: int) -> bool:
        return self.from_memory is not None and self.from_memory[document][unit]

    def _encoded(self, text: str) -> bytes:
        """The content of a file with this text, in UTF-8."""
        return byte_order_mark(self.original) + text.encode("utf-8", "replace")

    def companions(self) -> dict[str, bytes]:
        """Suffix -> content of further files that belong to this one; their names are its whole name with the
        suffix."""
        return {}


class CorpusFile(DocumentFile):
    """A file of a format that corpora are written in, too."""

    @classmethod
    @abstractmethod
    def new(cls, documents: Sequence[ParallelDocument], source_language: str, target_language: str) -> Self:
        """A file of this format with the sources of the documents, each sentence a unit, without translations."""


def aligned_documents(file: DocumentFile) -> Iterator[ParallelDocument | CorpusError]:
    """The documents of a file in both languages. A unit without a translation is dropped from its document, and an
    error that reports it is yielded."""
    for document in file.documents:
        paragraphs = []
        for paragraph in document.paragraphs:
            pairs = []
            for unit in paragraph:
                if unit.target is None or not unit.target.strip():
                    yield CorpusError(file.path or "", unit.line, "no translation", f"of {unit.source:.60}")
                else:
                    pairs.append(SentencePair(remove_objects(unit.source), remove_objects(unit.target)))
            if pairs:
                paragraphs.append(tuple(pairs))
        if paragraphs:
            yield ParallelDocument(document.id, tuple(paragraphs))


def paired_documents(source: DocumentFile, target: DocumentFile) -> Iterator[ParallelDocument | CorpusError]:
    """The documents of two files with one language each; unit n of one translates unit n of the other."""
    path = target.path or ""
    if len(source.documents) != len(target.documents):
        detail = f"{len(source.documents)} in {source.path}, {len(target.documents)} in {path}"
        yield CorpusError(path, None, "different number of documents", detail)
        return
    for one, other in zip(source.documents, target.documents, strict=True):
        if len(one.units) != len(other.units):
            detail = f"document {one.id}: {len(one.units)} in {source.path}, {len(other.units)} in {path}"
            line = other.units[min(len(one.units), len(other.units)) - 1].line
            yield CorpusError(path, line, "different number of sentences", detail)
            continue
        targets = iter(other.units)
        yield ParallelDocument(
            one.id,
            tuple(
                tuple(SentencePair(unit.source, next(targets).source) for unit in paragraph)
                for paragraph in one.paragraphs
            ),
        )
