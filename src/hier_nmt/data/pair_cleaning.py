# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Cleaning of a training corpus: changes of text, and sentence pairs that are dropped for a reason; all are counted."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from .documents import ParallelDocument, SentencePair
from .segment_marks import MarkStatistics, without_marks
from .side_languages import SideLanguages
from .text_hashes import KnownTexts, normal_text, text_hash

# The length ratio of shorter sentences, in characters, means little.
MIN_RATIO_CHARACTERS = 20
# Names and numbers may be the same in both languages; longer sentences may not.
MAX_COPIED_WORDS = 2


@dataclass(frozen=True)
class Replacement:
    """A replacement of text at every match of a regular expression of Python's `re`.

    Args:
        pattern: the regular expression.
        text: the replacement; `\\1` is the first group.
        side: `source`, `target` or `both`.
    """

    pattern: str
    text: str = ""
    side: Literal["source", "target", "both"] = "both"

    def __post_init__(self) -> None:
        try:
            self.compiled.sub(self.text, "")
        except (re.error, IndexError) as error:
            raise ValueError(f"pattern {self.pattern!r} with text {self.text!r}: {error}") from None

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The compiled pattern."""
        return re.compile(self.pattern)

    def __call__(self, pair: SentencePair) -> SentencePair:
        """The pair with the text replaced on the side, or on both."""
        source, target = pair.source, pair.target
        if self.side != "target":
            source = self.compiled.sub(self.text, source)
        if self.side != "source":
            target = self.compiled.sub(self.text, target)
        return SentencePair(source, target)


@dataclass(frozen=True)
class Cleaning:
    """How sentence pairs are changed, and which of them are dropped; by default nothing.

    Args:
        remove_marks: remove labels ("in writing. - ") and codes ("(PL)") at the start of paragraphs if the corpus has
            many of them, often on one side only, see `segment_marks`.
        replace: replacements, made in this order.
        max_length_ratio: drop pairs whose longer side has more than this many times the characters of the other (both
            of at least `MIN_RATIO_CHARACTERS`, or one of them of this many times that).
        max_copies: keep at most this many copies of a pair; compared without case and white space, over all corpora.
        drop_copied: drop pairs of more than two words whose sides are the same.
        drop_wrong_language: drop pairs with a side in the language of the other, see `side_languages`.
    """

    remove_marks: bool = False
    replace: list[Replacement] = field(default_factory=list)
    max_length_ratio: float | None = None
    max_copies: int | None = None
    drop_copied: bool = False
    drop_wrong_language: bool = False

    def __post_init__(self) -> None:
        if self.max_length_ratio is not None and self.max_length_ratio < 1:
            raise ValueError(f"max_length_ratio={self.max_length_ratio} must be at least 1")
        if self.max_copies is not None and self.max_copies < 1:
            raise ValueError(f"max_copies={self.max_copies} must be at least 1")

    @property
    def without_dropping(self) -> "Cleaning":
        """The same changes of text, without dropping pairs."""
        return Cleaning(remove_marks=self.remove_marks, replace=self.replace)

    @property
    def needs_survey(self) -> bool:
        """Whether the corpus has to be read once before it can be cleaned."""
        return self.remove_marks or self.drop_wrong_language


class CorpusSurvey:
    """Counts of a corpus that its cleaning needs."""

    def __init__(self) -> None:
        self.marks = MarkStatistics()
        self.languages = SideLanguages()

    def add(self, document: ParallelDocument) -> None:
        """Counts a document."""
        self.marks.add(document)
        for paragraph in document.paragraphs:
            for pair in paragraph:
                self.languages.add(pair.source, pair.target)


class PairCleaner:
    """Cleans the documents of one corpus after another, and remembers the pairs it has seen.

    Args:
        cleaning: the settings.
        excluded: texts of validation and test sets, whose pairs are dropped.
    """

    def __init__(self, cleaning: Cleaning, excluded: KnownTexts | None = None) -> None:
        self.cleaning = cleaning
        self.excluded = excluded or KnownTexts()
        self.mark_kinds: frozenset[str] = frozenset()
        self.languages: SideLanguages | None = None
        self._num_seen: Counter[int] = Counter()

    def start_corpus(self, survey: CorpusSurvey) -> None:
        """Sets the survey of the next corpus."""
        self.mark_kinds = survey.marks.removed_kinds() if self.cleaning.remove_marks else frozenset()
        self.languages = survey.languages if self.cleaning.drop_wrong_language else None

    def clean(self, document: ParallelDocument) -> tuple[ParallelDocument | None, Counter[str]]:
        """The cleaned document (None if nothing is left of it), and how many pairs were dropped for each reason."""
        dropped: Counter[str] = Counter()
        paragraphs = (tuple(self._kept(paragraph, dropped)) for paragraph in document.paragraphs)
        kept = tuple(paragraph for paragraph in paragraphs if paragraph)
        return ParallelDocument(document.id, kept, document.title) if kept else None, dropped

    def changed(self, pair: SentencePair) -> SentencePair:
        """The pair without marks and with the text replaced."""
        if self.mark_kinds:
            pair = SentencePair(*(without_marks(text, self.mark_kinds) for text in (pair.source, pair.target)))
        for replacement in self.cleaning.replace:
            pair = replacement(pair)
        return SentencePair(pair.source.strip(), pair.target.strip())

    def reason_to_drop(self, original: SentencePair, pair: SentencePair) -> str | None:
        """Why a pair is dropped, or None; `original` is the pair before changes."""
        cleaning = self.cleaning
        source, target = pair.source, pair.target
        if not source or not target:
            return "nothing but marks"
        versions = (pair,) if original == pair else (original, pair)
        if any(self.excluded.shares_pair(version.source, version.target) for version in versions):
            return "in an excluded file"
        if cleaning.max_length_ratio is not None and _ratio(source, target) > cleaning.max_length_ratio:
            return "length ratio"
        if cleaning.drop_copied and _is_copied(source, target):
            return "target copies source"
        if self.languages is not None and self.languages.is_on_wrong_side(source, target):
            return "wrong language"
        return "too many copies" if self._is_seen_too_often(source, target) else None

    def _kept(self, paragraph: Iterable[SentencePair], dropped: Counter[str]) -> Iterable[SentencePair]:
        for original in paragraph:
            pair = self.changed(original)
            reason = self.reason_to_drop(original, pair)
            if reason is None:
                yield pair
            else:
                dropped[reason] += 1

    def _is_seen_too_often(self, source: str, target: str) -> bool:
        if self.cleaning.max_copies is None:
            return False
        key = text_hash(source, target)
        self._num_seen[key] += 1
        return self._num_seen[key] > self.cleaning.max_copies


def _ratio(source: str, target: str) -> float:
    """How many times as long as the other the longer side is; 1 if both are short."""
    shorter, longer = sorted((len(source), len(target)))
    return max(1.0, longer / max(shorter, MIN_RATIO_CHARACTERS))


def _is_copied(source: str, target: str) -> bool:
    return len(source.split()) > MAX_COPIED_WORDS and normal_text(source) == normal_text(target)
