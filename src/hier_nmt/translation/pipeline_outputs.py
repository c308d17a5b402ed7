# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the steps of the translation pipeline make of a document, and the outputs of the pipeline."""

from dataclasses import dataclass
from typing import Any

from ..text.document_layout import DocumentLayout
from .confidence import align_words
from .translation_documents import SourceDocument, TranslatedDocument
from .translation_report import SentenceConfidence


@dataclass(frozen=True)
class PreparedDocument:
    """A document to translate, and the positions of its sentences in its text."""

    source: SourceDocument
    layout: DocumentLayout


@dataclass(frozen=True)
class DocumentTranslation:
    """A document and its translation."""

    prepared: PreparedDocument
    translated: TranslatedDocument

    def text(self) -> str:
        """The translated text, with the white space of the source."""
        return self.prepared.layout.text(text for paragraph in self.translated.paragraphs for text in paragraph)

    def confidences(self) -> list[SentenceConfidence] | None:
        """The confidence of each sentence; a piece of markup that acts as a word may be several words."""
        found = self.translated.confidences
        if found is None:
            return None
        texts = [text for paragraph in self.translated.paragraphs for text in paragraph]
        told = []
        for one, text, slot in zip(found, texts, self.prepared.layout.slots, strict=True):
            words = align_words(list(zip(text.split(), one.words, strict=True)), slot.with_objects(text).split())
            told.append(one._replace(words=tuple(words)))
        return told

    def sentences(self) -> list[dict[str, Any]]:
        """Each sentence with its translation and the index of its paragraph."""
        slots = iter(self.prepared.layout.slots)
        pairs = zip(self.prepared.source.paragraphs, self.translated.paragraphs, strict=True)
        return [
            {"source": slot.with_objects(source), "translation": slot.with_objects(translation), "paragraph": index}
            for index, paragraph in enumerate(pairs)
            for source, translation, slot in zip(*paragraph, slots, strict=False)
        ]
