# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import json

from hier_nmt.data.cleaning_report import USUAL_CLEANING, cleaning_effect
from hier_nmt.data.documents import ParallelDocument, SentencePair
from hier_nmt.data.pair_cleaning import Cleaning
from hier_nmt.data.text_hashes import KnownTexts


def documents() -> list[ParallelDocument]:
    """Five paragraphs: three begin with a mark, two pairs have something wrong, one is of the test set."""
    paragraphs = [
        [("Mr President", "(EN) Monsieur le Président")],
        [("Madam President", "(FR) Madame la Présidente")],
        [("(PL) Thanks", "(PL) Merci")],
        [("This is the same", "this is the same"), ("a" * 20, "b" * 61)],
        [("Yes.", "Oui.")],
    ]
    pairs = (tuple(SentencePair(*pair) for pair in paragraph) for paragraph in paragraphs)
    return [ParallelDocument("d", tuple(pairs))]


def test_marks_and_the_pairs_that_would_be_dropped_are_counted():
    excluded = KnownTexts([ParallelDocument("t", ((SentencePair("Yes.", "Oui."),),))])
    effect = cleaning_effect(documents, USUAL_CLEANING, excluded)
    (mark,) = effect.marks
    assert (mark.kind, mark.num_both, mark.num_source_only, mark.num_target_only, mark.is_removed) == (
        "code", 1, 0, 2, True
    )  # fmt: skip
    assert (effect.num_pairs, effect.num_changed) == (6, 3)
    assert effect.dropped == {"target copies source": 1, "length ratio": 1, "in an excluded file": 1}
    assert effect.examples["in an excluded file"] == ("Yes.", "Oui.")
    shown = str(effect)
    assert "codes in front of 3 of 5 paragraphs, on one side only 0 (source) and 2 (target): '(PL)' 2" in shown
    assert "length ratio: 1 pairs (16.67 %)" in shown
    assert json.loads(json.dumps(effect.as_json()))["dropped"]["length ratio"] == 1


def test_an_empty_cleaning_changes_nothing():
    effect = cleaning_effect(documents, Cleaning())
    assert (effect.num_changed, effect.dropped) == (0, {})
    assert str(effect).endswith("nothing")
