# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import pytest

from hier_nmt.server import bounded_parts
from hier_nmt.server.bounded_parts import BoundedParts
from hier_nmt.text.translation_memory import TranslationMemory
from hier_nmt.translation.translation_documents import SourceDocument, TranslatedDocument
from hier_nmt.translation.translation_report import DecodingStatistics, SentenceConfidence


@pytest.fixture(autouse=True)
def at_most_four_characters(monkeypatch):
    monkeypatch.setattr(bounded_parts, "MAX_CHARACTERS", 4)


def upper(parts, **known) -> list[TranslatedDocument]:
    return [
        TranslatedDocument(
            [[text.upper() for text in paragraph] for paragraph in part.paragraphs], DecodingStatistics(), **known
        )
        for part in parts
    ]


def paragraphs(documents) -> list:
    return [document.paragraphs for document in documents]


def test_parts_without_long_sentences_are_as_they_were() -> None:
    parts = [SourceDocument([["a", "b", "c"], ["d"]], [["before"]]), SourceDocument([[], ["e"]])]
    bounded = BoundedParts(parts, 2, " ")
    assert bounded.parts[0] == parts[0]
    assert paragraphs(bounded.join(upper(bounded.parts))) == [[["A", "B", "C"], ["D"]], [[], ["E"]]]


def test_long_sentences_are_cut_at_spaces_and_joined_again() -> None:
    parts = [SourceDocument([["a", "bb cc dd ee"], ["f"]], [["x"]]), SourceDocument([["g"]])]
    bounded = BoundedParts(parts, 2, " ")
    texts = [text for part in bounded.parts for paragraph in part.paragraphs for text in paragraph]
    assert texts == ["a", "bb", "cc", "dd", "ee", "f", "g"]
    assert max(sum(map(len, part.paragraphs)) for part in bounded.parts) == 2
    assert [part.context for part in bounded.parts[:-1]] == [[["x"]]] * 3
    assert paragraphs(bounded.join(upper(bounded.parts))) == [[["A", "BB CC DD EE"], ["F"]], [["G"]]]


def test_documents_that_are_not_divided_stay_whole() -> None:
    bounded = BoundedParts([SourceDocument([["aa bb cc dd"], ["e"]])], None, " ")
    assert bounded.parts == [SourceDocument([["aa", "bb", "cc", "dd"], ["e"]])]


def test_a_sentence_in_pieces_is_as_sure_as_the_least_sure_of_them() -> None:
    bounded = BoundedParts([SourceDocument([["a", "bb cc"]])], None, " ")
    told = [SentenceConfidence(0, 0.9, (0.9,)), SentenceConfidence(1, 0.4, (0.4,)), SentenceConfidence(2, 0.6, (0.6,))]
    (document,) = bounded.join(upper(bounded.parts, confidences=told))
    assert document.confidences == [SentenceConfidence(0, 0.9, (0.9,)), SentenceConfidence(1, 0.4, (0.4, 0.6))]


def test_pieces_without_a_space_between_them_have_no_words_of_their_own() -> None:
    bounded = BoundedParts([SourceDocument([["bb cc"]])], None, "")
    told = [SentenceConfidence(0, 0.4, (0.4,)), SentenceConfidence(1, None, (None,))]
    (document,) = bounded.join(upper(bounded.parts, confidences=told))
    assert document.paragraphs == [["BBCC"]]
    assert document.confidences == [SentenceConfidence(0, 0.4, (None,))]


def test_a_long_sentence_that_the_memory_has_is_not_cut() -> None:
    memory = TranslationMemory([("aa bb cc", "X")], threshold=100)
    part = SourceDocument([["aa bb cc", "dd ee", "f"]], tags={2: ((0, "<b>"),)})
    bounded = BoundedParts([part], None, " ", memory)
    assert bounded.parts == [SourceDocument([["aa bb cc", "dd", "ee", "f"]], memory=memory, tags={3: ((0, "<b>"),)})]


def test_what_the_memory_has_is_told_at_the_place_of_the_sentence() -> None:
    memory = TranslationMemory([("f", "X")], threshold=100)
    bounded = BoundedParts([SourceDocument([["aa bb", "f"]])], None, " ", memory)
    (document,) = bounded.join(upper(bounded.parts, memory=[memory.match(2, "f")]))
    assert [(one.sentence, one.target) for one in document.memory] == [(1, "X")]
