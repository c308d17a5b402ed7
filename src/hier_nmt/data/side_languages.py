# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Sentences on the wrong side of a corpus: targets left in the source language, sources in the target language.

The two languages are learned from the corpus itself: most of its sentences are on the right side.
"""

import math
from collections import Counter
from functools import cached_property

# A sentence with fewer words that discriminate between the languages is never judged.
MIN_WORDS = 4
# Threshold of the mean log likelihood ratio per word.
MIN_EVIDENCE = 1.0
_MIN_COUNT = 5


class SideLanguages:
    """How often each word occurs on either side of a corpus."""

    def __init__(self) -> None:
        self._counts: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
        self._ratios: dict[str, float | None] = {}

    def add(self, source: str, target: str) -> None:
        """Counts the words of a sentence pair."""
        for counts, text in zip(self._counts, (source, target), strict=True):
            counts.update(text.casefold().split())

    def is_on_wrong_side(self, source: str, target: str) -> bool:
        """Whether the target looks like the source language, or the source like the target language."""
        return self._evidence(target) > MIN_EVIDENCE or self._evidence(source) < -MIN_EVIDENCE

    def _evidence(self, text: str) -> float:
        """Mean log likelihood ratio of its words for the source side; 0 if there are too few."""
        ratios = [ratio for word in text.casefold().split() if (ratio := self._ratio(word)) is not None]
        return sum(ratios) / len(ratios) if len(ratios) >= MIN_WORDS else 0.0

    def _ratio(self, word: str) -> float | None:
        """Log likelihood ratio of a word for the source side; None if it is unknown or does not discriminate."""
        if word not in self._ratios:
            source, target = (counts[word] for counts in self._counts)
            is_telling = word.isalpha() and source + target >= _MIN_COUNT
            self._ratios[word] = math.log((source + 0.5) / (target + 0.5)) - self._prior if is_telling else None
        return self._ratios[word]

    @cached_property
    def _prior(self) -> float:
        source_total, target_total = (counts.total() for counts in self._counts)
        return math.log(source_total / target_total)
