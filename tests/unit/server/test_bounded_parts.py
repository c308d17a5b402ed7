# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import pytest

from hier_nmt.server import bounded_parts
from hier_nmt.server.bounded_parts import BoundedParts
from hier_nmt.translation.translation_documents import SourceDocument


@pytest.fixture(autouse=True)
def at_most_four_characters(monkeypatch):
    monkeypatch.setattr(bounded_parts, "MAX_CHARACTERS", 4)


def upper(parts) -> list:
    return [[[text.upper() for text in paragraph] for paragraph in part.paragraphs] for part in parts]


def test_parts_without_long_sentences_are_as_they_were() -> None:
    parts = [SourceDocument([["a", "b", "c"], ["d"]], [["before"]]), SourceDocument([[], ["e"]])]
    bounded = BoundedParts(parts, 2, " ")
    assert bounded.parts[0] == parts[0]
    assert bounded.join(upper(bounded.parts)) == [[["A", "B", "C"], ["D"]], [[], ["E"]]]


def test_long_sentences_are_cut_at_spaces_and_joined_again() -> None:
    parts = [SourceDocument([["a", "bb cc dd ee"], ["f"]], [["x"]]), SourceDocument([["g"]])]
    bounded = BoundedParts(parts, 2, " ")
    texts = [text for part in bounded.parts for paragraph in part.paragraphs for text in paragraph]
    assert texts == ["a", "bb", "cc", "dd", "ee", "f", "g"]
    assert max(sum(map(len, part.paragraphs)) for part in bounded.parts) == 2
    assert [part.context for part in bounded.parts[:-1]] == [[["x"]]] * 3
    assert bounded.join(upper(bounded.parts)) == [[["A", "BB CC DD EE"], ["F"]], [["G"]]]


def test_documents_that_are_not_divided_stay_whole() -> None:
    bounded = BoundedParts([SourceDocument([["aa bb cc dd"], ["e"]])], None, " ")
    assert bounded.parts == [SourceDocument([["aa", "bb", "cc", "dd"], ["e"]])]
