# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Marks at the start of paragraphs that belong to the record and not to the text, often on one side only.

In parliamentary proceedings a speech may begin with "par écrit. - (PL)" and its translation with nothing, and a model
learns to produce such marks at random. Two kinds are known: a label ("in writing. - ") and a code in brackets ("(PL)").
Whether a corpus has them is counted: marks that its two sides have at different paragraphs are not translatable text.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from .documents import ParallelDocument, SentencePair

MARKS = {
    # Up to eight words, a full stop or colon, a dash.
    "label": re.compile(r"(?:[^\s.:!?()«»\"“”]+ ){0,7}[^\s.:!?()«»\"“”]+[.:] ?[-–—] "),
    # Two or three capitals in brackets, perhaps after a dash.
    "code": re.compile(r"(?:[-–—] ?)?\([A-Z]{2,3}\) ?"),
}
# A kind of mark is removed if at least this share of the paragraphs begins with it, on either side, ...
MIN_SHARE = 0.02
# ... and at least this share of these has it on one side only.
MIN_ONE_SIDED_SHARE = 0.1


class MarkCount(NamedTuple):
    """How often paragraphs begin with a kind of mark, on both sides and on one, and its most frequent forms."""

    kind: str
    num_both: int
    num_source_only: int
    num_target_only: int
    num_paragraphs: int
    examples: tuple[tuple[str, int], ...]

    @property
    def is_removed(self) -> bool:
        """Whether the mark is frequent, and on one side only often enough, to be removed."""
        one_sided = self.num_source_only + self.num_target_only
        total = self.num_both + one_sided
        return total >= max(2, MIN_SHARE * self.num_paragraphs) and one_sided >= MIN_ONE_SIDED_SHARE * total

    def __str__(self) -> str:
        examples = ", ".join(f"{text!r} {count:,}" for text, count in self.examples)
        return (
            f"{self.kind}s in front of {self.num_both + self.num_source_only + self.num_target_only:,} of "
            f"{self.num_paragraphs:,} paragraphs, on one side only {self.num_source_only:,} (source) and "
            f"{self.num_target_only:,} (target): {examples}"
        )


@dataclass
class MarkStatistics:
    """Counts of the marks at the start of paragraphs."""

    num_paragraphs: int = 0
    _sides: dict[str, Counter[tuple[bool, bool]]] = field(default_factory=lambda: {kind: Counter() for kind in MARKS})
    _texts: dict[str, Counter[str]] = field(default_factory=lambda: {kind: Counter() for kind in MARKS})

    def add(self, document: ParallelDocument) -> None:
        """Counts the marks of a document."""
        for paragraph in document.paragraphs:
            self.num_paragraphs += 1
            source, target = leading_marks(paragraph[0].source), leading_marks(paragraph[0].target)
            for kind in source.keys() | target.keys():
                self._sides[kind][kind in source, kind in target] += 1
                self._texts[kind].update(marks[kind].strip() for marks in (source, target) if kind in marks)

    def counts(self, num_examples: int = 5) -> list[MarkCount]:
        """The kinds of marks in the corpus."""
        return [
            MarkCount(
                kind,
                sides[True, True],
                sides[True, False],
                sides[False, True],
                self.num_paragraphs,
                tuple(self._texts[kind].most_common(num_examples)),
            )
            for kind, sides in self._sides.items()
            if sides
        ]

    def removed_kinds(self) -> frozenset[str]:
        """The kinds of marks that are removed from this corpus."""
        return frozenset(count.kind for count in self.counts() if count.is_removed)


def leading_marks(text: str) -> dict[str, str]:
    """The marks at the start of a text by kind, unchanged; a code may follow a label."""
    found: dict[str, str] = {}
    position = 0
    for kind, pattern in MARKS.items():
        match = pattern.match(text, position)
        if match:
            found[kind] = match[0]
            position = match.end()
    return found


def without_marks(text: str, kinds: Iterable[str]) -> str:
    """The text without the marks of these kinds at its start."""
    marks = leading_marks(text)
    kept = "".join(mark for kind, mark in marks.items() if kind not in kinds)
    return kept + text[sum(map(len, marks.values())) :]


def pair_without_marks(pair: SentencePair, kinds: Iterable[str]) -> SentencePair:
    """The pair without marks of these kinds at the start of either side."""
    return SentencePair(without_marks(pair.source, kinds), without_marks(pair.target, kinds))
