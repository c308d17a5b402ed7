# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Loops, told from texts that repeat themselves."""

import pytest
from word_translation import WordTranslator

from hier_nmt.translation.document_translator import STRATEGIES, DocumentTranslator
from hier_nmt.translation.repetition import is_loop, num_repeated_ngrams, repetition
from hier_nmt.translation.translation_documents import SourceDocument


def test_repetition_is_the_share_of_ngrams_that_stood_there_before() -> None:
    # 4-grams of 1 2 3 1 2 3 1 2: 1231 2312 3123 1231 2312, two of five again.
    ids = [1, 2, 3, 1, 2, 3, 1, 2]
    assert num_repeated_ngrams(ids) == 2
    assert repetition(ids) == 2 / 5
    assert repetition([1, 2, 3]) == repetition([]) == 0


def test_repetition_equals_the_slow_count() -> None:
    for length in range(12):
        ids = [index * index % 5 for index in range(length)]
        ngrams = [ids[start : start + 4] for start in range(length - 3)]
        repeated = sum(ngram in ngrams[:start] for start, ngram in enumerate(ngrams))
        assert num_repeated_ngrams(ids) == repeated


def test_a_source_that_repeats_itself_may_be_translated_so() -> None:
    loop, plain = [1, 2] * 10, list(range(20))
    assert is_loop(loop, plain)
    assert not is_loop(loop, loop)
    assert not is_loop(plain, plain)
    # Three n-grams of four come back; that is little text, not a loop.
    assert not is_loop([1] * 7, plain)


def looping(sentences):
    """The last sentence comes to no end of "Q R", as long as it may."""
    return [*sentences[:-1], ["Q", "R"] * 9]


def test_cut_translations_in_loops_are_told_from_others() -> None:
    def spoiled(sentences):
        # Without a loop, but too long: 22 words of which none comes twice.
        return [list("ABCDEFGHIJKLMNOPQRSTUVWX") if "B" in sentence else ["Z"] for sentence in sentences]

    model = WordTranslator(alone=spoiled)
    translator = DocumentTranslator(model, model.tokenizer)
    (translated,) = translator.translate([SourceDocument([["b c d e.", "f g h i.", "j."]])])
    statistics = translated.statistics
    assert (statistics.num_cut, statistics.num_cut_in_loops) == (3, 2)
    assert statistics.problems() == [
        "3 of 3 sentences with a translation that was cut at the length limit, 2 of them in a repetition loop"
    ]
    cut = [(one.sentence, one.reason) for one in translated.events if one.kind == "cut"]
    too_long = "longer than the length limit"
    assert cut == [(0, too_long), (1, f"{too_long}, in a repetition loop"), (2, f"{too_long}, in a repetition loop")]


def test_a_long_sentence_of_which_one_piece_is_cut_in_a_loop_is_told_so() -> None:
    def spoiled(sentences):
        return [["Z"] if "A" in sentence else list("ABCDEFGHIJKLMNOPQRSTUVWX") for sentence in sentences]

    model = WordTranslator(alone=spoiled, max_source_tokens=5, max_target_tokens=20)
    translator = DocumentTranslator(model, model.tokenizer)
    (translated,) = translator.translate([SourceDocument([["a b, c d, e f, g h"]])])
    assert (translated.statistics.num_cut, translated.statistics.num_cut_in_loops) == (1, 1)
    assert [one.reason for one in translated.events if one.kind == "cut"] == [
        "longer than the length limit, in a repetition loop"
    ]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_loop_is_decoded_again_without_repetition_and_told(strategy) -> None:
    model = WordTranslator(in_window=looping, alone=looping, window_sentences=2)
    translator = DocumentTranslator(model, model.tokenizer, strategy=strategy)
    (translated,) = translator.translate([SourceDocument([["a b c d e f g h."]])])
    # The fifth word would complete "Q R Q R" or "R Q R Q" for the second time one word later.
    assert translated.paragraphs == [["Q R Q R Q"]]
    assert translated.statistics.num_loops == translated.statistics.num_fallbacks == 1
    assert translated.events == [(0, "decoded_again", "a repetition loop")]


def test_a_loop_in_a_window_is_decoded_again_alone() -> None:
    model = WordTranslator(in_window=looping, window_sentences=2)
    translator = DocumentTranslator(model, model.tokenizer, strategy="current")
    (translated,) = translator.translate([SourceDocument([["a b c d e.", "f g h i j."]])])
    assert translated.paragraphs == [["A B C D E .", "F G H I J ."]]
    assert [one.sentence for one in translated.events] == [1]


def test_a_repetitive_source_is_not_decoded_again() -> None:
    model = WordTranslator()
    (translated,) = DocumentTranslator(model, model.tokenizer).translate([SourceDocument([["a b " * 8 + "a b"]])])
    assert translated.paragraphs == [[" ".join(["A B"] * 9)]]
    assert translated.statistics.num_windows == 1
