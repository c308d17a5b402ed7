# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import pytest

pytest.importorskip("starlette")

from hier_nmt.inspection.sentences_read import SentenceRead
from hier_nmt.server import reading_parts
from hier_nmt.server.failures import RequestError
from hier_nmt.server.reading_parts import ReadingParts
from hier_nmt.translation.translation_documents import SourceDocument

CONTEXT = [["x", "y"]]
PARTS = [SourceDocument([["a", "b"]], CONTEXT), SourceDocument([["c"]], [["y"], ["a", "b"]])]


def test_each_part_has_its_translations_and_those_of_its_context() -> None:
    found = ReadingParts(PARTS, CONTEXT, ["A", "B", "C"]).with_translations(["X", "Y"])
    assert [one.translations for one in found] == [["A", "B"], ["C"]]
    assert [one.context_translation for one in found] == [["X", "Y"], ["Y", "A", "B"]]
    assert [one.context for one in found] == [part.context for part in PARTS]


def test_indices_count_from_the_first_sentence_of_the_text() -> None:
    # The sentence of the second part read itself, and "y", three before it.
    results = [[[SentenceRead(-2, 1.0, None)], [SentenceRead(0, 1.0, None)]], [[SentenceRead(0, 0.5, 1.0)]]]
    results[1][0].append(SentenceRead(-3, 0.5, None))
    found = ReadingParts(PARTS, CONTEXT, ["A", "B", "C"]).join(results)
    assert [[one.sentence for one in row] for row in found.rows] == [[-2], [0], [2, -1]]
    assert found.context == ["x", "y"]
    assert found.context[-1] == "y"


def test_translations_that_are_not_those_of_the_sentences_are_refused(monkeypatch) -> None:
    with pytest.raises(RequestError, match="2 translations of 3 sentences"):
        ReadingParts(PARTS, CONTEXT, ["A", "B"])
    monkeypatch.setattr(reading_parts, "MAX_SENTENCES", 2)
    with pytest.raises(RequestError, match="what 3 sentences read cannot be shown, only of 2"):
        ReadingParts(PARTS, CONTEXT, ["A", "B", "C"])
