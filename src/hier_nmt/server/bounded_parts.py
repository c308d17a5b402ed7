# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Parts of documents without endless sentences, which nothing could interrupt while they are translated."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from ..jobs.saved_translations import Paragraphs
from ..text.long_sentences import split_long_sentence
from ..translation.translation_documents import SourceDocument

MAX_CHARACTERS = 1000
# A piece of a sentence: the indices of its part, paragraph and sentence.
_Place = tuple[int, int, int]


class BoundedParts:
    """Parts in which no sentence is longer than `MAX_CHARACTERS`: longer ones are cut into pieces, and parts that have
    some into parts of a few sentences.

    Args:
        parts: any parts.
        limit: sentences of a part; None: parts are not divided.
        joiner: what the target language writes between sentences, and so between pieces.

    Attributes:
        parts: to translate instead.
    """

    def __init__(self, parts: Sequence[SourceDocument], limit: int | None, joiner: str) -> None:
        self._joiner = joiner
        self._shapes = [[len(paragraph) for paragraph in part.paragraphs] for part in parts]
        self._places: list[list[_Place]] = []
        self.parts: list[SourceDocument] = []
        for index, part in enumerate(parts):
            pieces = list(_pieces(index, part))
            size = limit if limit is not None and len(pieces) > sum(self._shapes[index]) else len(pieces)
            for start in range(0, len(pieces), max(1, size)):
                self._add(part, pieces[start : start + size])

    def join(self, translated: Sequence[Paragraphs]) -> list[Paragraphs]:
        """The translations of the parts that were given, from those of `parts`."""
        found: dict[_Place, list[str]] = {}
        for places, paragraphs in zip(self._places, translated, strict=True):
            texts = [text for paragraph in paragraphs for text in paragraph]
            for place, text in zip(places, texts, strict=True):
                found.setdefault(place, []).append(text)
        return [
            [
                [self._joiner.join(found[index, row, column]) for column in range(num_sentences)]
                for row, num_sentences in enumerate(shape)
            ]
            for index, shape in enumerate(self._shapes)
        ]

    def _add(self, part: SourceDocument, pieces: Sequence[tuple[_Place, str]]) -> None:
        by_paragraph = groupby(pieces, key=lambda piece: piece[0][1])
        self.parts.append(replace(part, paragraphs=[[text for _, text in group] for _, group in by_paragraph]))
        self._places.append([place for place, _ in pieces])


def _pieces(index: int, part: SourceDocument) -> Iterator[tuple[_Place, str]]:
    for row, paragraph in enumerate(part.paragraphs):
        for column, sentence in enumerate(paragraph):
            for piece in split_long_sentence(sentence, len, MAX_CHARACTERS):
                yield (index, row, column), piece
