# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Sentences that a translation memory has are not translated again; similar ones are told and not used."""

from typing import Any

import pytest
from word_translation import WordTranslator

from hier_nmt.text import translation_memory
from hier_nmt.text.translation_memory import MemoryEntry, TranslationMemory
from hier_nmt.translation.document_translator import STRATEGIES
from hier_nmt.translation.pipeline_document_translation import DocumentTranslationPipeline

pytest.importorskip("sentencex")


def output_of(document: Any, model: WordTranslator | None = None, **options: Any) -> dict[str, Any]:
    model = model or WordTranslator()
    pipe = DocumentTranslationPipeline(model, model.tokenizer)
    (output,) = pipe(document, return_details=True, source_language="en", target_language="fr", **options)
    return output


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_exact_matches_are_taken_and_not_decoded(strategy) -> None:
    model = WordTranslator(window_sentences=2)
    memory = {"b c": "par un humain"}
    document = {"paragraphs": [["a", "b  c", "d e"]]}
    output = output_of(document, model, memory=memory, memory_threshold=100, strategy=strategy)
    assert output["translation_text"] == "A par un humain D E"
    assert not any(window.endswith("b c </s>") for window in model.windows)
    assert output["details"]["memory"] == [{"sentence": 1, "score": 100.0, "source": "b c", "target": "par un humain"}]
    counts = output["details"]["counts"]
    assert (counts["num_from_memory"], counts["num_fuzzy_matches"], counts["num_sentences"]) == (1, 0, 3)


def test_a_match_is_the_translated_context_of_what_follows() -> None:
    model = WordTranslator(window_sentences=2)
    document = {"paragraphs": [["b c", "d"]]}
    output_of(document, model, memory={"b c": "x y"}, memory_threshold=100, strategy="prefix")
    assert model.windows == ["b c <sep> d </s>"]
    assert model.prefixes == ["x y <sep>"]


def test_a_match_stands_as_the_memory_has_it() -> None:
    memory = {"1. a %s b": "1) pour %s", "1984": "n° 1984", "%s {n, plural, one {a} other {b}}": "x"}
    output = output_of({"paragraphs": [list(memory)]}, memory=memory, memory_threshold=100)
    # A number alone is the same in every language.
    assert output["translation_text"] == "1) pour %s 1984 x"
    assert [one["sentence"] for one in output["details"]["copied"]] == [1]


def test_streams_use_the_memory() -> None:
    model = WordTranslator()
    pipe = DocumentTranslationPipeline(model, model.tokenizer)
    stream = pipe.stream("A b! C d!", memory={"A b!": "oui"}, memory_threshold=100, source_language="en")
    assert [one.translation for one in stream] == ["oui", "C D !"]


def test_tags_are_part_of_a_match() -> None:
    page = "<p>a <b>b</b> c!</p><p>a b c!</p>"
    plain = output_of(page, text_format="html", memory={"a b c!": "oui"}, memory_threshold=100)
    assert plain["translation_text"] == "<p>A <b>B</b> C !</p><p>oui</p>"
    entry = MemoryEntry("a b c!", "oui et non", ((2, "<b>"), (3, "</b>")))
    tagged = output_of(page, text_format="html", memory=TranslationMemory([entry], 100))
    assert tagged["translation_text"] == "<p>oui <b>et</b> non</p><p>A B C !</p>"


def test_similar_sentences_are_told_and_not_used() -> None:
    pytest.importorskip("rapidfuzz")
    memory = {"a b c d e x": "presque", "k l m n o p q r": "non"}
    output = output_of({"paragraphs": [["a b c d e", "f"]]}, memory=memory)
    assert output["translation_text"] == "A B C D E F"
    (found,) = output["details"]["memory"]
    # 9 characters and 11, of which 2 have to go: 1 - 2 / 20.
    assert found == {"sentence": 0, "score": 90.0, "source": "a b c d e x", "target": "presque"}
    assert output["details"]["counts"]["num_fuzzy_matches"] == 1
    higher = output_of({"paragraphs": [["a b c d e"]]}, memory=memory, memory_threshold=91)
    assert higher["details"]["memory"] == []


def test_a_text_that_differs_in_its_tags_is_no_exact_match() -> None:
    pytest.importorskip("rapidfuzz")
    found = TranslationMemory([("a b", "x")]).match(0, "a b", ((0, "<b>"), (1, "</b>")))
    assert found is not None
    assert found.score == 99.0


def test_of_several_translations_the_last_one_counts() -> None:
    memory = TranslationMemory([("a", "x"), (" a ", "y"), ("a", " ")], 100)
    assert memory.exact("a") == MemoryEntry(" a ", "y")
    assert len(memory) == 1


def test_only_fuzzy_matches_need_rapidfuzz(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translation_memory, "rapidfuzz", None)
    assert TranslationMemory([("a", "x")], 100).exact("a") is not None
    with pytest.raises(ImportError, match=r"hier_nmt\[memory\]"):
        TranslationMemory([("a", "x")])


def test_what_is_no_memory_is_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        output_of("A!", memory={}, memory_threshold=100)
    with pytest.raises(ValueError, match="got 0"):
        output_of("A!", memory={"a": "b"}, memory_threshold=0)
    with pytest.raises(TypeError, match="got 3"):
        output_of("A!", memory=[3], memory_threshold=100)
    with pytest.raises(TypeError, match="got int"):
        output_of("A!", memory=3, memory_threshold=100)


def test_what_a_memory_gives_has_no_confidence() -> None:
    model = WordTranslator()
    output = output_of("A!", model, memory={"A!": "oui"}, memory_threshold=100, confidence=True)
    assert output["details"]["confidences"] == [{"sentence": 0, "confidence": None, "word_confidences": [None]}]
