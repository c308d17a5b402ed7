# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""A zip archive whose text is in paragraphs of XML members, as in the files of office programs."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol, Self

from ...text.document_layout import DocumentLayout
from ...text.long_sentences import sentence_joiner
from .document_file import Translations
from .layout_file import LayoutDocument, LayoutFile
from .xml_files import Element, local_name, xml_bytes
from .zip_package import ZipPackage


class Paragraph(Protocol):
    """An element with text, which it can replace by a translated text of its layout."""

    def layout(self, language: str, joiner: str) -> DocumentLayout:
        """The layout of its text."""

    def write(self, text: str) -> None:
        """Replaces its content."""


class PackageFile(LayoutFile):
    """A file of an office program. Members without text stay byte for byte.

    Args:
        path: the file.
        source_language, target_language: ISO 639 codes.
    """

    def __init__(self, path: Path, source_language: str, target_language: str) -> None:
        self._package = ZipPackage(path)
        self._languages = (source_language, target_language)
        self._check()
        self._trees: dict[str, Any] = {}
        # The paragraphs with the text of each layout; more than one where a program repeats it for older programs.
        self._places: list[tuple[DocumentLayout, list[Paragraph]]] = []
        documents: dict[str, list[DocumentLayout]] = {}
        for member, document in self._members():
            self._trees[member] = self._package.parse(member)
            found = self._read_layouts(self._paragraphs(self._trees[member].getroot()))
            documents.setdefault(document, []).extend(found)
        super().__init__(path, [LayoutDocument(*item) for item in documents.items()])
        self.original = self._package.original

    @classmethod
    def read(cls, path: str | Path, source_language: str, target_language: str) -> Self:
        return cls(Path(path), source_language, target_language)

    def translated(self, translations: Translations) -> bytes:
        texts = {id(layout): text for layout, text in self._translated_layouts(translations)}
        for layout, paragraphs in self._places:
            text = texts.get(id(layout), layout.source)
            if text != layout.source:
                for paragraph in paragraphs:
                    paragraph.write(text)
        for tree in self._trees.values():
            self._set_language(tree.getroot())
        return self._package.replaced(
            {member: xml_bytes(tree, self._package.read(member)) for member, tree in self._trees.items()}
        )

    @abstractmethod
    def _check(self) -> None:
        """Raises CorpusError if the package is not of this format."""

    @abstractmethod
    def _members(self) -> Iterator[tuple[str, str]]:
        """The names of the members with text or with a declaration of its language, in order, each with the name of
        its document."""

    @abstractmethod
    def _paragraphs(self, root: Element) -> Iterator[tuple[Element, Paragraph]]:
        """The paragraphs of a member, in order, with their elements."""

    @abstractmethod
    def _set_language(self, root: Element) -> None:
        """Sets the language of text to the target language where it is the source language."""

    def _read_layouts(self, paragraphs: Iterable[tuple[Element, Paragraph]]) -> Iterator[DocumentLayout]:
        source, target = self._languages
        seen: dict[str, list[Paragraph]] = {}
        for element, paragraph in paragraphs:
            layout = paragraph.layout(source, sentence_joiner(target))
            if not layout.slots:
                continue
            if layout.source in seen and _is_fallback(element):
                seen[layout.source].append(paragraph)
                continue
            seen[layout.source] = [paragraph]
            self._places.append((layout, seen[layout.source]))
            yield layout


def _is_fallback(element: Element) -> bool:
    """Whether an element is the form of something else for older programs (Office Open XML)."""
    return any(local_name(one) == "Fallback" for one in element.iterancestors())
