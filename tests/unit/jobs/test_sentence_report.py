# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The report lists the sentences that a person should look at, in the order of the document."""

from hier_nmt.jobs.sentence_report import least_confident, report_lines
from hier_nmt.jobs.translate_files import SentenceNotes, TranslatedSentence
from hier_nmt.text.translation_memory import MemoryMatch


def sentences(count: int) -> list[TranslatedSentence]:
    return [TranslatedSentence(f"s{index}", f"t{index}", 0) for index in range(count)]


def test_a_tenth_of_the_sentences_is_the_least_confident() -> None:
    notes = [SentenceNotes(0.9 - index / 100, (), None) for index in range(20)]
    assert least_confident(notes) == {18, 19}
    assert least_confident(notes[:3]) == {2}
    assert len(least_confident(notes * 100)) == 50
    assert least_confident([SentenceNotes(None, (), None)]) == set()


def test_sentences_are_listed_once_with_all_reasons() -> None:
    notes = [
        SentenceNotes(0.9, (), None),
        SentenceNotes(0.8, ("cut: too long", "term not used: a = b"), None),
        SentenceNotes(0.4, ("decoded again: empty",), None),
        SentenceNotes(0.7, (), MemoryMatch(0, 90.0, "near", "presque")),
        SentenceNotes(None, (), MemoryMatch(1, 100.0, "s4", "t4")),
        SentenceNotes(None, ("copied: no letters",), None),
    ]
    assert list(report_lines(sentences(6), notes)) == [
        "to look at: 4 of 6 sentences",
        "sentence 2 (confidence 0.80): cut: too long; term not used: a = b",
        "    s1",
        "    t1",
        "sentence 3 (confidence 0.40): among the least confident; decoded again: empty",
        "    s2",
        "    t2",
        "sentence 4 (confidence 0.70): 90 % like a sentence of the memory",
        "    s3",
        "    t3",
        "    memory: near",
        "    memory: presque",
        "sentence 6: copied: no letters",
        "    s5",
        "    t5",
    ]
