# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Data augmentation: training pairs derived from others, for what corpora rarely contain."""

from dataclasses import dataclass

from .documents import ParallelDocument, SentencePair
from .inline_terms import InlineTerms
from .text_hashes import text_hash


@dataclass(frozen=True)
class Augmentation:
    """How training pairs are augmented; by default not at all.

    Args:
        uppercase_share: share of the pairs that are written in capitals on both sides, from 0 to below 1.
        glossary: file of terms, see `glossary_files`; None: no inline terms.
        glossary_share: of the pairs that have a glossary term, the share whose source gets its translation inline, from
            0 to 1.
    """

    uppercase_share: float = 0.0
    glossary: str | None = None
    glossary_share: float = 0.1

    def __post_init__(self) -> None:
        if not 0 <= self.uppercase_share < 1:
            raise ValueError(f"uppercase_share={self.uppercase_share} must be at least 0 and below 1")
        if not 0 <= self.glossary_share <= 1:
            raise ValueError(f"glossary_share={self.glossary_share} must be from 0 to 1")


class PairAugmenter:
    """Changes some of the pairs of documents; the choice is deterministic.

    Args:
        augmentation: the settings; the glossary is read from its file.
        source_language, target_language: ISO 639 codes, for a glossary of several languages.
    """

    def __init__(
        self, augmentation: Augmentation, source_language: str | None = None, target_language: str | None = None
    ) -> None:
        self.augmentation = augmentation
        path = augmentation.glossary
        self.inline_terms = None if path is None else InlineTerms(path, source_language, target_language)

    def augmented(self, document: ParallelDocument) -> ParallelDocument:
        """The document with some of its pairs changed."""
        if self.augmentation == Augmentation():
            return document
        paragraphs = tuple(tuple(map(self._changed, paragraph)) for paragraph in document.paragraphs)
        return ParallelDocument(document.id, paragraphs, document.title)

    def _changed(self, pair: SentencePair) -> SentencePair:
        source, target = pair.source, pair.target
        if self.inline_terms is not None and _is_sampled(self.augmentation.glossary_share, "terms", pair):
            source = self.inline_terms.marked(source, target) or source
        if _is_sampled(self.augmentation.uppercase_share, "capitals", pair):
            source, target = source.upper(), target.upper()
        return SentencePair(source, target)


def _is_sampled(share: float, purpose: str, pair: SentencePair) -> bool:
    """Whether the pair is in the random share for a purpose; this depends only on its text."""
    return text_hash(purpose, pair.source, pair.target) < share * 2**64
