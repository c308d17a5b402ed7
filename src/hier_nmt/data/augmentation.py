# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Data augmentation: training pairs derived from others, for what corpora rarely contain."""

from dataclasses import dataclass
from itertools import chain

from .documents import ParallelDocument, SentencePair
from .inline_terms import InlineTerms
from .pair_halves import pair_halves
from .text_hashes import text_hash


@dataclass(frozen=True)
class Augmentation:
    """How training pairs are augmented; by default not at all.

    Args:
        uppercase_share: share of the pairs that are written in capitals on both sides, from 0 to below 1.
        glossary: file of terms, see `glossary_files`; None: no inline terms.
        glossary_share: of the pairs that have a glossary term, the share whose source gets its translation inline, from
            0 to 1.
        split_share: share of the documents whose longer pairs are divided into two sentences, from 0 to 1, see
            `pair_halves`.
    """

    uppercase_share: float = 0.0
    glossary: str | None = None
    glossary_share: float = 0.1
    split_share: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.uppercase_share < 1:
            raise ValueError(f"uppercase_share={self.uppercase_share} must be at least 0 and below 1")
        for name in ("glossary_share", "split_share"):
            share = getattr(self, name)
            if not 0 <= share <= 1:
                raise ValueError(f"{name}={share} must be from 0 to 1")


class PairAugmenter:
    """Changes some of the pairs of documents, and divides some; the choice is deterministic.

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
        if _is_sampled(self.augmentation.split_share, "split", document.id):
            paragraphs = tuple(tuple(chain.from_iterable(map(pair_halves, paragraph))) for paragraph in paragraphs)
        return ParallelDocument(document.id, paragraphs, document.title)

    def _changed(self, pair: SentencePair) -> SentencePair:
        source, target = pair.source, pair.target
        if self.inline_terms is not None and _is_sampled(self.augmentation.glossary_share, "terms", source, target):
            source = self.inline_terms.marked(source, target) or source
        if _is_sampled(self.augmentation.uppercase_share, "capitals", pair.source, pair.target):
            source, target = source.upper(), target.upper()
        return SentencePair(source, target)


def _is_sampled(share: float, purpose: str, *texts: str) -> bool:
    """Whether a pair or a document is in the random share for a purpose; this depends only on its texts, or its id."""
    return text_hash(purpose, *texts) < share * 2**64
