# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Documents before and after their translation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..text.glossary import Glossary, TermUse
from ..text.translation_memory import MemoryMatch, Tags, TranslationMemory
from .translation_report import DecodingStatistics, SentenceConfidence, SentenceEvent


@dataclass(frozen=True)
class SourceDocument:
    """A document to translate.

    Attributes:
        paragraphs: the sentences of each paragraph.
        context: paragraphs before these, read but not translated.
        context_translation: the translation of each context sentence, if there is one; only `prefix` reads it.
        glossary: terms with prescribed translations.
        do_not_translate: terms that are not translated.
        memory: sentences with translations, which equal sentences get.
        tags: the inline tags of sentences, by index of the sentence in the document; an exact match has the same.
    """

    paragraphs: Sequence[Sequence[str]]
    context: Sequence[Sequence[str]] = ()
    context_translation: Sequence[str] | None = None
    glossary: Glossary | None = None
    do_not_translate: tuple[str, ...] = ()
    memory: TranslationMemory | None = None
    tags: Mapping[int, Tags] = field(default_factory=dict)

    def __post_init__(self) -> None:
        num_context = sum(len(paragraph) for paragraph in self.context)
        if self.context_translation is not None and len(self.context_translation) != num_context:
            raise ValueError(
                f"{num_context} context sentences but {len(self.context_translation)} in context_translation; "
                f"give both as sentences, one translation for each"
            )


@dataclass
class TranslatedDocument:
    """A document with its translations.

    Attributes:
        paragraphs: the translations, in the paragraphs of the source.
        statistics: counts of what happened while they were decoded.
        events: what happened to sentences.
        terms: what became of the terms of a glossary.
        confidences: the confidence of each sentence, if requested.
        memory: the matches of a translation memory.
    """

    paragraphs: list[list[str]]
    statistics: DecodingStatistics
    events: list[SentenceEvent] = field(default_factory=list)
    terms: list[TermUse] = field(default_factory=list)
    confidences: list[SentenceConfidence] | None = None
    memory: list[MemoryMatch] = field(default_factory=list)


def all_places(paragraphs: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
    """(paragraph, sentence) of every sentence."""
    return [(row, column) for row, paragraph in enumerate(paragraphs) for column in range(len(paragraph))]
