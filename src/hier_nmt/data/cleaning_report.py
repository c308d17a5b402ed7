# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The effect of a cleaning on a corpus, measured before training."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from .documents import ParallelDocument
from .pair_cleaning import Cleaning, CorpusSurvey, PairCleaner
from .segment_marks import MarkCount
from .text_hashes import KnownTexts

# The settings of the report if the user gives none.
USUAL_CLEANING = Cleaning(
    remove_marks=True, max_length_ratio=3.0, max_copies=3, drop_copied=True, drop_wrong_language=True
)


@dataclass
class CleaningEffect:
    """The marks at the start of paragraphs, and how many pairs the cleaning would change or drop.

    Attributes:
        marks: the kinds of marks in the corpus.
        num_pairs: sentence pairs of the corpus.
        num_changed: how many of the remaining pairs have a changed text.
        dropped: number of dropped pairs for each reason.
        examples: the first dropped pair for each reason.
    """

    marks: list[MarkCount] = field(default_factory=list)
    num_pairs: int = 0
    num_changed: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    examples: dict[str, tuple[str, str]] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The report in types of JSON."""
        marks = [{**mark._asdict(), "is_removed": mark.is_removed} for mark in self.marks]
        return {**vars(self), "marks": marks, "dropped": dict(self.dropped)}

    def __str__(self) -> str:
        lines = [f"{mark}{': removed' if mark.is_removed else ''}" for mark in self.marks]
        lines.append(f"cleaning would change {self._share(self.num_changed)} and drop:")
        for reason, count in self.dropped.most_common():
            source, target = self.examples[reason]
            lines.append(f"  {reason}: {self._share(count)}, such as {source:.70} | {target:.70}")
        return "\n".join(lines if self.dropped else [*lines, "  nothing"])

    def _share(self, count: int) -> str:
        return f"{count:,} pairs ({100 * count / max(1, self.num_pairs):.2f} %)"


def cleaning_effect(
    read: Callable[[], Iterable[ParallelDocument]],
    cleaning: Cleaning = USUAL_CLEANING,
    excluded: KnownTexts | None = None,
) -> CleaningEffect:
    """What the cleaning would do to a corpus, which is read twice and not kept in memory.

    Args:
        read: returns the documents of the corpus.
        cleaning: the settings.
        excluded: texts of validation and test sets, see `PairCleaner`.
    """
    survey = CorpusSurvey()
    for document in read():
        survey.add(document)
    cleaner = PairCleaner(cleaning, excluded)
    cleaner.start_corpus(survey)
    effect = CleaningEffect(survey.marks.counts())
    for document in read():
        _count(document, cleaner, effect)
    return effect


def _count(document: ParallelDocument, cleaner: PairCleaner, effect: CleaningEffect) -> None:
    for paragraph in document.paragraphs:
        for original in paragraph:
            pair = cleaner.changed(original)
            reason = cleaner.reason_to_drop(original, pair)
            effect.num_pairs += 1
            if reason is None:
                effect.num_changed += pair != original
            else:
                effect.dropped[reason] += 1
                effect.examples.setdefault(reason, (original.source, original.target))
