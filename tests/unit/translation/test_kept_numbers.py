# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""A number that a translation lacks is written into it, or told."""

from typing import Any

import pytest
import torch
from scored_translation import ScoredTranslator, details, translator

from hier_nmt.translation.document_translator import STRATEGIES

pytest.importorskip("sentencex")

NUMBERS = {"2019": "201", "350": "35", "14": "41"}


class ForgetfulTranslator(ScoredTranslator):
    """Writes other numbers in the place of these, which come second."""

    def __init__(self, **config: Any) -> None:
        more_words = [*NUMBERS, *NUMBERS.values(), "000"]
        super().__init__(more_words=more_words, source_language="en", target_language="fr", **config)

    def _scores(self, source: list[int], written: list[int]) -> torch.Tensor:
        scores = super()._scores(source, written)
        word = self.tokenizer.convert_ids_to_tokens(int(scores.argmax()))
        if word in NUMBERS:
            scores[self.tokenizer.convert_tokens_to_ids(NUMBERS[word])] = 1.0
        return scores


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("method", ["auto", "constrained"])
def test_a_number_of_three_digits_is_kept_in_every_strategy(strategy: str, method: str) -> None:
    model = ForgetfulTranslator(window_sentences=2)
    text, told = details("A b 2019! D 350 e! F!", model, strategy=strategy, glossary_method=method)
    assert text == "A B 2019 ! D 350 E ! F !"
    assert (told["counts"]["num_term_retries"], told["counts"]["num_numbers_lost"]) == (2, 0)
    reason = "a number of the source missing"
    assert told["decoded_again"] == [{"sentence": 0, "reason": reason}, {"sentence": 1, "reason": reason}]
    assert told["number_lost"] == told["terms"] == []


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_stream_keeps_numbers_too(strategy: str) -> None:
    model = ForgetfulTranslator(window_sentences=2)
    assert [one.translation for one in translator(model).stream("A 2019! B!", strategy=strategy)] == ["A 2019 !", "B !"]


def test_a_number_and_a_term_are_both_written() -> None:
    model = ForgetfulTranslator(window_sentences=1)
    text, told = details("A b 2019 c!", model, glossary={"b": "x"})
    assert text == "A x 2019 C !"
    assert [one["use"] for one in told["terms"]] == ["given"]
    (again,) = told["decoded_again"]
    assert again["reason"] == "a term of the glossary not used; a number of the source missing"


def test_small_numbers_may_change() -> None:
    text, told = details("A 14!", ForgetfulTranslator(window_sentences=1))
    assert text == "A 41 !"
    assert told["counts"]["num_term_retries"] == 0


def test_a_number_that_cannot_be_written_is_told() -> None:
    model = ForgetfulTranslator(window_sentences=1)
    # The tokenizer knows no such number.
    text, told = details("A! B 8765 c!", model)
    assert "8765" not in text
    assert told["number_lost"] == [{"sentence": 1, "reason": "8765"}]
    assert told["counts"]["num_numbers_lost"] == 1


def test_without_keep_numbers_they_are_as_the_model_writes_them() -> None:
    text, told = details("A 2019!", ForgetfulTranslator(window_sentences=1), keep_numbers=False)
    assert text == "A 201 !"
    assert (told["counts"]["num_term_retries"], told["number_lost"]) == (0, [])


def test_numbers_of_a_long_sentence_are_kept_in_its_pieces() -> None:
    model = ForgetfulTranslator(window_sentences=1, max_source_tokens=6)
    text, told = details("a c d, f g 2019, i 350 j", model)
    assert {"2019", "350"} <= set(text.split())
    assert told["counts"]["num_split"] == 1
    assert told["number_lost"] == []


def test_a_translation_of_the_memory_may_lack_a_number() -> None:
    text, told = details("A 2019!", ForgetfulTranslator(window_sentences=1), memory={"A 2019!": "X!"})
    assert text == "X!"
    assert told["number_lost"] == []
