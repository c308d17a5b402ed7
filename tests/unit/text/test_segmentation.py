# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Raw text to segments and back."""

import random

import pytest

from hier_nmt.text import segmentation
from hier_nmt.text.segmentation import Segment, segment_text

pytest.importorskip("sentencex")


def joined(text: str, language: str = "en") -> str:
    return "".join(segment.text for segment in segment_text(text, language))


def sentences(text: str, language: str = "en") -> list[tuple[str, int]]:
    return [(segment.text, segment.paragraph) for segment in segment_text(text, language) if segment.is_sentence]


def test_sentences_and_the_white_space_between_them():
    assert segment_text("  One. Two.\n\nThree.\n", "en") == [
        Segment("  ", False, 0),
        Segment("One.", True, 0),
        Segment(" ", False, 0),
        Segment("Two.", True, 0),
        Segment("\n\n", False, 0),
        Segment("Three.", True, 1),
        Segment("\n", False, 1),
    ]


def test_abbreviations_of_the_language_do_not_end_a_sentence():
    assert sentences("Mr. Smith left. He ran.") == [("Mr. Smith left.", 0), ("He ran.", 0)]


def test_a_newline_ends_the_paragraph_and_the_sentence():
    assert sentences("A title\nOne\r\nTwo\rThree") == [("A title", 0), ("One", 1), ("Two", 2), ("Three", 3)]


def test_bars_between_spaces_separate_sentences():
    text = "Home | About us || Contact\nA |name| and P(a|b)."
    assert sentences(text) == [("Home", 0), ("About us", 0), ("Contact", 0), ("A |name| and P(a|b).", 1)]
    assert joined(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("There is one apple|There are many.", ["There is one apple", "There are many."]),
        ("{0} none now|[1,19] some|[20,*] Many", ["{0} none now", "[1,19] some", "[20,*] Many"]),
        ("yes|No, a|b", ["yes|No, a|b"]),
        ("See [[the page|The page]] (or A|B)", ["See [[the page|The page]] (or A|B)"]),
    ],
)
def test_bars_separate_the_cases_of_a_message(text, expected):
    assert [sentence for sentence, _ in sentences(text)] == expected
    assert joined(text) == text


@pytest.mark.parametrize("text", ["", " ", "\n", " \r\n\t\n "])
def test_text_without_sentences_has_none_and_comes_back(text):
    assert sentences(text) == []
    assert joined(text) == text


def test_initial_before_a_no_break_space_is_no_trouble():
    # sentencex alone panics on this.
    text = "A\u00a0. B\u2028. Fin."
    assert joined(text, "fr") == text


def test_five_thousand_words_without_a_full_stop_are_one_sentence():
    text = " ".join(["word"] * 5000)
    assert sentences(text) == [(text, 0)]


def test_any_text_comes_back():
    generator = random.Random(0)
    alphabet = "aB .!?\"'()«»\n\r\t1,;:…。é😀\u2028\u2029\u00a0\u202f\u3000\x0b\x0c\x1c\x85\u200b-"
    for _ in range(2000):
        text = "".join(generator.choices(alphabet, k=generator.randint(0, 40)))
        segments = segment_text(text, generator.choice(["en", "fr", "de", "ja", "xx"]))
        assert "".join(segment.text for segment in segments) == text
        for segment in segments:
            assert segment.is_sentence != segment.text.isspace()
            assert not segment.is_sentence or segment.text == segment.text.strip()


def test_what_sentencex_leaves_out_is_recovered(monkeypatch):
    class Lossy:
        @staticmethod
        def segment(language, text):
            return ["One.", "changed", "Three."]

    monkeypatch.setattr(segmentation, "sentencex", Lossy)
    assert [segment.text for segment in segment_text("One. Two. Three. Four.", "en")] == [
        "One.", " ", "Two. Three.", " ", "Four."
    ]  # fmt: skip


@pytest.mark.parametrize("language", ["english", "", "e", "../en"])
def test_an_invalid_language_code_is_named(language):
    with pytest.raises(ValueError, match=f"unknown language {language!r}"):
        segment_text("One.", language)


def test_missing_sentencex_says_what_to_install(monkeypatch):
    monkeypatch.setattr(segmentation, "sentencex", None)
    with pytest.raises(ImportError, match="pip install sentencex"):
        segment_text("One.", "en")
