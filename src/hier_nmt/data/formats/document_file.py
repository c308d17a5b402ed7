# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""A file of documents: the text in it, and the same file with translations in it."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from ...text.protected_spans import remove_objects
from ..corpus_files import CorpusError
from ..documents import ParallelDocument, SentencePair
from ..text_files import byte_order_mark

# The translation of each unit of each document of a file.
Translations = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Unit:
    """A piece of text that a file holds as one: a segment, a line, a sentence of subtitles.

    Attributes:
        source: its text. In formats with markup, what stands in the place of a word is an `OBJECT` in it, and so it
            must be in the translation; a line break that is markup is a `LINE_BREAK`.
        target: the translation that the file has for it, if any.
        line: where it stands in the file, counted from 1.
        is_translated: a translation of it is not wanted, as `target` is one that somebody made.
    """

    source: str
    target: str | None = None
    line: int | None = None
    is_translated: bool = False


@dataclass(frozen=True)
class UnitDocument:
    """A document of a file, as paragraphs of units; none of them is empty of text."""

    id: str
    paragraphs: tuple[tuple[Unit, ...], ...]

    @property
    def units(self) -> tuple[Unit, ...]:
        """All units in order, paragraphs joined."""
        return tuple(unit for paragraph in self.paragraphs for unit in paragraph)


class DocumentFile(ABC):
    """A file of documents in memory.

    Attributes:
        path: where it was read; None for a new one.
        documents: what is in it to translate.
        original: the content that was read, of which what is written keeps the byte order mark, the ends of lines and
            the like; empty for a new one.
    """

    original = b""

    def __init__(self, path: Path | None, documents: Sequence[UnitDocument]) -> None:
        self.path = path
        self.documents = list(documents)
        if path is not None and not self.documents:
            raise CorpusError(path, None, "empty corpus", "there is no text in it")

    @classmethod
    @abstractmethod
    def read(cls, path: str | Path, source_language: str, target_language: str) -> Self:
        """The file at `path`, through gzip if its name ends in ".gz".

        Raises:
            CorpusError: what is wrong with the file, and where.
            OSError: it cannot be read.
        """

    @classmethod
    @abstractmethod
    def new(cls, documents: Sequence[ParallelDocument], source_language: str, target_language: str) -> Self:
        """A file of this kind with the sources of the documents, each sentence a unit, and no translation."""

    @abstractmethod
    def translated(self, translations: Translations) -> bytes:
        """The content of the file with a translation for each unit, everything else as it was.

        Units that have a translation in the file keep it, if it is the text that is given for them. Formats with a
        place for it say of the others that a machine translated them, if the file was read (`new` is for corpora).
        """

    def _encoded(self, text: str) -> bytes:
        """The content of a file with this text, in UTF-8."""
        return byte_order_mark(self.original) + text.encode("utf-8", "replace")

    def companions(self) -> dict[str, bytes]:
        """Ending -> content of further files that belong beside this one, under its whole name and the ending."""
        return {}


def aligned_documents(file: DocumentFile) -> Iterator[ParallelDocument | CorpusError]:
    """The documents of a file that holds both languages; a unit without a translation comes as the error that says so,
    and is left out of its document."""
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
    """The documents of two files with a language each, unit n of one translating unit n of the other."""
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
