# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import pytest

from hier_nmt.data.documents import ParallelDocument, SentencePair
from hier_nmt.data.segment_marks import MarkStatistics, leading_marks, without_marks


def statistics(*beginnings: tuple[str, str]) -> MarkStatistics:
    """Counts of one document with a paragraph for each beginning, source and target."""
    result = MarkStatistics()
    result.add(ParallelDocument("d", tuple((SentencePair(*pair),) for pair in beginnings)))
    return result


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("in writing. - (PT) Mr President", {"label": "in writing. - ", "code": "(PT) "}),
        ("Au maître-chantre. — Psaume de David.", {"label": "Au maître-chantre. — "}),
        ("- (DE) Herr", {"code": "- (DE) "}),
        ("(a) the first", {}),
        ("Mr President (PT)", {}),
        ("It costs 3.5 - 4 euros", {}),
        ("One two three four five six seven eight nine. - More", {}),
        ("well-known facts", {}),
        ("", {}),
    ],
)
def test_marks_are_at_the_start_of_the_text(text, marks):
    assert leading_marks(text) == marks


def test_only_the_kinds_that_are_named_are_taken_away():
    text = "par écrit. - (PL) Monsieur"
    assert without_marks(text, {"label", "code"}) == "Monsieur"
    assert without_marks(text, {"label"}) == "(PL) Monsieur"
    assert without_marks(text, {"code"}) == "par écrit. - Monsieur"
    assert without_marks(text, set()) == text


def test_marks_of_one_side_are_no_text():
    counted = statistics(("Mr President", "(EN) Monsieur"), ("(PL) Madam", "(PL) Madame"), ("Thanks", "Merci"))
    (count,) = counted.counts()
    assert (count.kind, count.num_both, count.num_source_only, count.num_target_only) == ("code", 1, 0, 1)
    assert count.num_paragraphs == 3
    assert count.examples == (("(PL)", 2), ("(EN)", 1))
    assert counted.removed_kinds() == {"code"}


def test_what_both_sides_have_is_text():
    assert statistics(*[("(EU) law", "(UE) droit")] * 20).removed_kinds() == frozenset()


def test_what_is_rare_is_text():
    rare = [("Yes, he said.", "Oui. - Bien.")]
    assert statistics(*rare, *[("a", "b")] * 200).removed_kinds() == frozenset()
    assert statistics(*rare * 5, *[("a", "b")] * 200).removed_kinds() == {"label"}
