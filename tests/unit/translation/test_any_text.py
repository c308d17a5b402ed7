# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Whatever the text: no error, one translation for each sentence in order, white space as it was, nothing lost."""

import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nasty_text import NASTY_TEXTS, NEWLINES, messy_texts
from text_promises import check_comes_back, check_plain_text, check_stream, translator
from tiny_models import tiny_model
from word_translation import word_tokenizer

from hier_nmt.translation.document_translator import STRATEGIES
from hier_nmt.translation.pipeline_document_translation import DocumentTranslationPipeline
from hier_nmt.translation.pipeline_inputs import TEXT_FORMATS

pytest.importorskip("sentencex")
pytest.importorskip("markdown_it")

QUICK = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
LONG = settings(max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize("name", NASTY_TEXTS)
def test_nothing_is_lost_and_everything_stays_in_its_place(name) -> None:
    check_plain_text(NASTY_TEXTS[name])


@pytest.mark.parametrize("text_format", TEXT_FORMATS)
@pytest.mark.parametrize("name", NASTY_TEXTS)
def test_a_document_that_is_not_translated_comes_back(name, text_format) -> None:
    check_comes_back(NASTY_TEXTS[name], text_format)


@pytest.mark.parametrize("text_format", TEXT_FORMATS)
@pytest.mark.parametrize("name", NASTY_TEXTS)
def test_a_stream_of_nasty_text_is_what_the_call_gives(name, text_format) -> None:
    check_stream(NASTY_TEXTS[name], text_format)


@QUICK
@given(messy_texts)
def test_any_text_is_translated_in_its_place(text) -> None:
    check_plain_text(text)


@QUICK
@given(messy_texts, st.sampled_from(TEXT_FORMATS))
def test_any_document_that_is_not_translated_comes_back(text, text_format) -> None:
    check_comes_back(text, text_format)


@QUICK
@given(messy_texts, st.sampled_from(TEXT_FORMATS))
def test_a_stream_of_any_text_is_what_the_call_gives(text, text_format) -> None:
    check_stream(text, text_format)


@pytest.mark.slow
@LONG
@given(messy_texts, st.sampled_from(TEXT_FORMATS))
def test_any_text_at_length(text, text_format) -> None:
    check_plain_text(text)
    check_comes_back(text, text_format)
    check_stream(text, text_format)


@pytest.mark.parametrize("newline", NEWLINES)
def test_every_kind_of_newline_ends_a_paragraph_and_stays(newline) -> None:
    pipe = translator()
    (output,) = pipe(f"a b{newline}c{newline}{newline}d", return_sentences=True)
    assert output["translation_text"] == f"A B{newline}C{newline}{newline}D"
    assert [one["paragraph"] for one in output["sentences"]] == [0, 1, 2]
    assert "a b <par> c <par> d </s>" in pipe.model.windows


def test_fields_of_a_line_stay_apart() -> None:
    assert translator()("a\tb c\t\td\ne    f")[0]["translation_text"] == "A\tB C\t\tD\nE    F"


def test_special_tokens_in_the_text_are_text() -> None:
    pipe = translator()
    (output,) = pipe(NASTY_TEXTS["special tokens"], return_details=True)
    # They look like tags, and are kept as these are.
    assert pipe.model.windows[0] == "a b c d e f g . </s>"
    assert output["translation_text"] == "A <sep> B <par> C <pad> D </s> E <s> F <unk> G ."
    assert output["details"]["counts"]["num_wrong_separators"] == 0


@pytest.mark.parametrize("size", [2**16, pytest.param(2**20, marks=pytest.mark.slow)])
def test_long_text_takes_time_in_proportion(size) -> None:
    line = "你好 é 😀 ... " * 4
    text = "\n".join([line] * (size // len(line)))
    start = time.process_time()
    (output,) = translator()(text, return_details=True)
    assert output["translation_text"] == text
    assert output["details"]["counts"]["num_windows"] == 0
    # A megabyte takes ten seconds, half of them in tokenizers; its square would take hours.
    assert time.process_time() - start < 60


def test_10000_words_without_a_sentence_end_are_translated_in_full() -> None:
    text = " ".join("abcdefghij"[index % 10] for index in range(10_000))
    (output,) = translator()(text, return_details=True)
    assert output["translation_text"] == text.upper()
    (split,) = output["details"]["split"]
    assert split["sentence"] == 0
    assert output["details"]["cut"] == []


# The same text gives the same translation, whatever is in its batch. In float64, where rounding hardly ever matters.

SIZES = {"encoder_layers": 1, "decoder_layers": 1, "vocab_size": len(word_tokenizer())}
MODEL = tiny_model(**SIZES, init_std=0.6, window_sentences=3)
MODEL.config.max_source_tokens = 16
SENTENCES = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=8).map(lambda words: " ".join(words) + ".")
DOCUMENTS = st.lists(st.lists(SENTENCES, min_size=1, max_size=4), min_size=2, max_size=4)


def check_batches(documents: list[list[str]], strategy: str, num_beams: int) -> None:
    pipe = DocumentTranslationPipeline(MODEL, word_tokenizer(), strategy=strategy, num_beams=num_beams)
    structured = [{"paragraphs": [sentences]} for sentences in documents]
    together = pipe(structured, batch_size=50, return_details=True)
    alone = [pipe(document, batch_size=1, return_details=True)[0] for document in structured]
    assert together == alone
    for document, output in zip(structured, together, strict=True):
        streamed = pipe.stream(document, batch_size=2)
        assert "".join(one.white_space + one.translation for one in streamed) == output["translation_text"]


@pytest.mark.parametrize(("strategy", "num_beams"), [*((strategy, 3) for strategy in STRATEGIES), ("current", 1)])
def test_the_same_text_gives_the_same_translation_in_any_batch(strategy, num_beams) -> None:
    documents = [["a b.", "c d e f g h a b."], ["a."], ["h g f.", "b."]]
    check_batches(documents, strategy, num_beams)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(DOCUMENTS, st.sampled_from(STRATEGIES), st.sampled_from([1, 3]))
def test_any_text_gives_the_same_translation_in_any_batch(documents, strategy, num_beams) -> None:
    check_batches(documents, strategy, num_beams)
