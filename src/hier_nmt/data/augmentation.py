# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Training pairs that are made of others, so that a model learns what its corpora hardly show."""

from dataclasses import dataclass

from .documents import ParallelDocument, SentencePair
from .text_hashes import text_hash


@dataclass(frozen=True)
class Augmentation:
    """What is made of training pairs. By default nothing.

    Args:
        uppercase_share: share of the pairs, from 0 to below 1, that are written in capitals on both sides.
    """

    uppercase_share: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.uppercase_share < 1:
            raise ValueError(f"uppercase_share={self.uppercase_share} must be at least 0 and below 1")

    def augmented(self, document: ParallelDocument) -> ParallelDocument:
        """The document with some of its pairs changed; the same ones each time."""
        if not self.uppercase_share:
            return document
        paragraphs = tuple(tuple(map(self._in_capitals, paragraph)) for paragraph in document.paragraphs)
        return ParallelDocument(document.id, paragraphs, document.title)

    def _in_capitals(self, pair: SentencePair) -> SentencePair:
        if is_drawn(self.uppercase_share, "capitals", pair):
            return SentencePair(pair.source.upper(), pair.target.upper())
        return pair


def is_drawn(share: float, purpose: str, pair: SentencePair) -> bool:
    """Whether the pair is one of the share that is drawn for a purpose, which follows from its text alone."""
    return text_hash(purpose, pair.source, pair.target) < share * 2**64
