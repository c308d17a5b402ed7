# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Parts of documents without endless sentences, which nothing could interrupt while they are translated."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, groupby
from typing import NamedTuple

from ..text.long_sentences import split_long_sentence
from ..text.translation_memory import MemoryMatch, Tags, TranslationMemory
from ..translation.translation_documents import SourceDocument, TranslatedDocument
from ..translation.translation_report import DecodingStatistics, SentenceConfidence

MAX_CHARACTERS = 1000
# A piece of a sentence: the indices of its part, paragraph and sentence.
_Place = tuple[int, int, int]


class _Piece(NamedTuple):
    """A piece of a sentence to translate; a whole sentence has its inline tags."""

    place: _Place
    text: str
    tags: Tags


class _Translated(NamedTuple):
    """The translation of a piece, and what is known of it."""

    text: str
    confidence: SentenceConfidence | None
    match: MemoryMatch | None


class BoundedParts:
    """Parts in which no sentence is longer than `MAX_CHARACTERS`: longer ones are cut into pieces, and parts that have
    some into parts of a few sentences.

    Args:
        parts: any parts.
        limit: sentences of a part; None: parts are not divided.
        joiner: what the target language writes between sentences, and so between pieces.
        memory: of all parts; sentences that it has are not cut.

    Attributes:
        parts: to translate instead.
    """

    def __init__(
        self,
        parts: Sequence[SourceDocument],
        limit: int | None,
        joiner: str,
        memory: TranslationMemory | None = None,
    ) -> None:
        self._joiner = joiner
        self._shapes = [[len(paragraph) for paragraph in part.paragraphs] for part in parts]
        self._places: list[list[_Place]] = []
        self.parts: list[SourceDocument] = []
        for index, part in enumerate(parts):
            pieces = list(_pieces(index, replace(part, memory=memory)))
            size = limit if limit is not None and len(pieces) > sum(self._shapes[index]) else len(pieces)
            for start in range(0, len(pieces), max(1, size)):
                self._add(replace(part, memory=memory), pieces[start : start + size])

    def join(self, translated: Sequence[TranslatedDocument]) -> list[TranslatedDocument]:
        """The translations of the parts that were given, from those of `parts`."""
        found: dict[_Place, list[_Translated]] = {}
        for places, document in zip(self._places, translated, strict=True):
            for place, one in zip(places, _sentences(document), strict=True):
                found.setdefault(place, []).append(one)
        return [self._joined(index, shape, found) for index, shape in enumerate(self._shapes)]

    def _joined(self, index: int, shape: Sequence[int], found: dict[_Place, list[_Translated]]) -> TranslatedDocument:
        """A part, from the pieces at their places."""
        paragraphs = [
            [_join(found[index, row, column], self._joiner) for column in range(num_sentences)]
            for row, num_sentences in enumerate(shape)
        ]
        sentences = [one for paragraph in paragraphs for one in paragraph]
        confidences = [
            one.confidence._replace(sentence=number)
            for number, one in enumerate(sentences)
            if one.confidence is not None
        ]
        matches = [one.match._replace(sentence=number) for number, one in enumerate(sentences) if one.match is not None]
        return TranslatedDocument(
            [[one.text for one in paragraph] for paragraph in paragraphs],
            DecodingStatistics(),
            confidences=confidences or None,
            memory=matches,
        )

    def _add(self, part: SourceDocument, pieces: Sequence[_Piece]) -> None:
        by_paragraph = groupby(pieces, key=lambda piece: piece.place[1])
        paragraphs = [[piece.text for piece in group] for _, group in by_paragraph]
        tags = {number: piece.tags for number, piece in enumerate(pieces) if piece.tags}
        self.parts.append(replace(part, paragraphs=paragraphs, tags=tags))
        self._places.append([piece.place for piece in pieces])


def _pieces(index: int, part: SourceDocument) -> Iterator[_Piece]:
    number = 0
    for row, paragraph in enumerate(part.paragraphs):
        for column, sentence in enumerate(paragraph):
            place, tags = (index, row, column), part.tags.get(number, ())
            number += 1
            if len(sentence) <= MAX_CHARACTERS or (part.memory is not None and part.memory.exact(sentence, tags)):
                yield _Piece(place, sentence, tags)
            else:
                yield from (_Piece(place, text, ()) for text in split_long_sentence(sentence, len, MAX_CHARACTERS))


def _sentences(document: TranslatedDocument) -> Iterator[_Translated]:
    texts = [text for paragraph in document.paragraphs for text in paragraph]
    matches = {match.sentence: match for match in document.memory}
    for number, text in enumerate(texts):
        confidence = None if document.confidences is None else document.confidences[number]
        yield _Translated(text, confidence, matches.get(number))


def _join(pieces: Sequence[_Translated], joiner: str) -> _Translated:
    """A sentence of its pieces: its confidence is the lowest of theirs."""
    if len(pieces) == 1:
        return pieces[0]
    text = joiner.join(piece.text for piece in pieces)
    found = [piece.confidence for piece in pieces if piece.confidence is not None]
    if not found:
        return _Translated(text, None, None)
    lowest = min((one.confidence for one in found if one.confidence is not None), default=None)
    words = tuple(chain.from_iterable(one.words for one in found))
    # Without a space between the pieces their last and first words are one.
    unknown = (None,) * len(text.split())
    return _Translated(text, SentenceConfidence(0, lowest, words if len(words) == len(unknown) else unknown), None)
