# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""A translated text in the parts in which it was translated, to find out which sentences each sentence read."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..jobs.attention_of_documents import TranslatedPart
from ..translation.translation_documents import SourceDocument
from .failures import RequestError

# The model of a whole document reads them all in one piece, which nothing can interrupt.
MAX_SENTENCES = 500


class Reading(NamedTuple):
    """What the sentences of a text read.

    Attributes:
        context: the sentences before the text.
        rows: for each sentence of the text the ones that it read (`SentenceRead`); their indices count from the first
            sentence of the text, and those of the context are negative: -1 is its last.
    """

    context: list[str]
    rows: list[list[Any]]


class ReadingParts:
    """The parts of a text with translations.

    Args:
        parts: of the text, in order, each with the sentences before it as context.
        context: paragraphs of sentences before the text.
        translations: of each sentence of the text.

    Raises:
        RequestError: there are too many sentences, or not as many translations.
    """

    def __init__(
        self, parts: Sequence[SourceDocument], context: Sequence[Sequence[str]], translations: Sequence[str]
    ) -> None:
        self.context, self._parts, self._translations = context, parts, translations
        self._sizes = [sum(map(len, part.paragraphs)) for part in parts]
        num_sentences = sum(self._sizes)
        if num_sentences > MAX_SENTENCES:
            raise RequestError(413, f"what {num_sentences} sentences read cannot be shown, only of {MAX_SENTENCES}")
        if num_sentences != len(translations):
            raise RequestError(400, f"{len(translations)} translations of {num_sentences} sentences")

    def with_translations(self, of_context: Sequence[str]) -> list[TranslatedPart]:
        """The parts, given the translations of the sentences before the text."""
        row = [*of_context, *self._translations]
        start = len(of_context)
        found = []
        for part, size in zip(self._parts, self._sizes, strict=True):
            before = row[start - sum(map(len, part.context)) : start]
            found.append(TranslatedPart(part.paragraphs, part.context, before, translations=row[start : start + size]))
            start += size
        return found

    def join(self, results: Sequence[Sequence[Sequence[Any]]]) -> Reading:
        """What the sentences of the text read, from what those of each part did."""
        rows: list[list[Any]] = []
        for result in results:
            start = len(rows)
            rows += [[one._replace(sentence=one.sentence + start) for one in row] for row in result]
        return Reading([sentence for paragraph in self.context for sentence in paragraph], rows)
