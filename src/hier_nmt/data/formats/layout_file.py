# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""A file whose text is translated in place: each sentence of its layouts is a unit."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from ...text.document_layout import DocumentLayout
from ...text.protected_spans import OBJECT
from .document_file import DocumentFile, Translations, Unit, UnitDocument
from .tagged_text import with_objects_of


class LayoutDocument(NamedTuple):
    """A document of a file: its name and the layouts of its text, in order."""

    id: str
    layouts: Sequence[DocumentLayout]


class LayoutFile(DocumentFile):
    """A file with the layouts of its text.

    Args:
        path: where it was read.
        documents: the documents of the file; those without a sentence are dropped.
    """

    def __init__(self, path: Path, documents: Sequence[LayoutDocument]) -> None:
        self._layouts = [one for one in documents if any(layout.slots for layout in one.layouts)]
        super().__init__(path, [UnitDocument(one.id, tuple(_paragraphs(one.layouts))) for one in self._layouts])

    def _translated_layouts(self, translations: Translations) -> Iterator[tuple[DocumentLayout, str]]:
        """Each layout that has sentences, with its translated text."""
        for document, texts in zip(self._layouts, translations, strict=True):
            start = 0
            for layout in document.layouts:
                stop = start + len(layout.slots)
                if stop > start:
                    yield layout, _translated_text(layout, texts[start:stop])
                start = stop


def _paragraphs(layouts: Sequence[DocumentLayout]) -> Iterator[tuple[Unit, ...]]:
    for layout in layouts:
        for _, slots in groupby(layout.slots, key=lambda slot: slot.paragraph):
            yield tuple(Unit(slot.text, tags=slot.tags()) for slot in slots)


def _translated_text(layout: DocumentLayout, texts: Sequence[str]) -> str:
    """The text of the layout with these translations. Markup that acts as a word is inserted where one lacks it."""
    complete = [
        text if text.count(OBJECT) == slot.text.count(OBJECT) else with_objects_of(slot.text, text)
        for slot, text in zip(layout.slots, texts, strict=True)
    ]
    return layout.text(complete)
