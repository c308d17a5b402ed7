# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Placeholders, tags, addresses and signs are in the translation as often as in the source, whatever the model says."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from word_translation import WordTranslator, faithful

from hier_nmt.text.protected_spans import protected_texts
from hier_nmt.text.untranslatable import STAND_INS
from hier_nmt.translation.document_translator import STRATEGIES
from hier_nmt.translation.pipeline_document_translation import DocumentTranslationPipeline
from hier_nmt.translation.translation_report import DecodingStatistics

pytest.importorskip("sentencex")

ALTERED = "a placeholder, tag, address or sign lost or changed"
SPANS = ["%d", "{{name}}", "${x}", "__count__", "%(date)s", "$x^2$", "<%= a %>", "https://a.b/c", "<b>", "{0}"]


class Copying(WordTranslator):
    """A model that copies numbers."""

    def __init__(self, spoil=faithful, more_words=(*STAND_INS, "{}"), **config) -> None:
        options = {"window_sentences": 2, "source_language": "en", "target_language": "fr"}
        super().__init__(in_window=spoil, alone=spoil, more_words=more_words, **(options | config))


def translated(text, model: WordTranslator, **options):
    (output,) = DocumentTranslationPipeline(model, model.tokenizer, return_details=True, **options)(text)
    return output["translation_text"], output["details"]


def one_word(sentences):
    return [["X"] for _ in sentences]


def without_numbers(sentences):
    return [[word for word in sentence if not word.isdigit()] for sentence in sentences]


def with_numbers_twice(sentences):
    return [[word for word in sentence for _ in range(1 + word.isdigit())] for sentence in sentences]


def with_numbers_reversed(sentences):
    turned = []
    for sentence in sentences:
        numbers = [word for word in sentence if word.isdigit()]
        turned.append([numbers.pop() if word.isdigit() else word for word in sentence])
    return turned


@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_span_in_the_place_of_a_word_is_read_as_a_number_and_comes_back(strategy, span) -> None:
    model = Copying()
    text, details = translated(f"a {span} b! c d!", model, strategy=strategy)
    assert text == f"A {span} B ! C D !"
    assert any(window.startswith("a 417 b !") for window in model.windows)
    assert (details["counts"]["num_protected"], details["counts"]["num_altered"]) == (1, 0)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("spoil", [without_numbers, with_numbers_twice, with_numbers_reversed])
def test_numbers_that_do_not_come_back_are_taken_out_and_the_sentence_decoded_again(strategy, spoil) -> None:
    model = Copying(spoil)
    text, details = translated("a {0} b %s c! d e!", model, strategy=strategy)
    assert text == "A {0} B %s C ! D E !"
    assert "a b c ! </s>" in model.windows
    assert details["decoded_again"] == [{"sentence": 0, "reason": ALTERED}]
    assert (details["counts"]["num_protected"], details["counts"]["num_altered"]) == (2, 1)
    assert details["copied"] == []


def test_a_model_that_invents_placeholders_twice_leaves_the_source_and_says_so() -> None:
    model = Copying(lambda sentences: [[*sentence, *(["{}"] if "A" in sentence else [])] for sentence in sentences])
    text, details = translated("a %s b! c! a!", model)
    assert text == "a %s b! C ! a!"
    assert details["copied"] == [{"sentence": number, "reason": f"{ALTERED}, twice"} for number in (0, 2)]
    assert details["counts"]["num_stayed_altered"] == details["counts"]["num_copied"] == 2
    problems = DecodingStatistics(**details["counts"]).problems()
    what = "placeholders or tags were lost or invented, twice"
    assert problems == [f"2 of 3 sentences left in the source language: {what}"]


def test_without_numbers_in_its_vocabulary_a_model_never_reads_one() -> None:
    model = WordTranslator(source_language="en")
    text, details = translated("a b %d, c {x}! {y} d", model)
    assert model.windows == ["a b , c ! </s>", "d </s>"]
    assert text == "A B %d , C {x} ! {y} D"
    assert details["counts"]["num_altered"] == 0


def test_numbers_of_the_text_are_no_stand_ins() -> None:
    text, _ = translated("a 417 {x} b!", model := Copying())
    assert model.windows == ["a 417 583 b ! </s>"]
    assert text == "A 417 {x} B !"


def test_more_placeholders_than_numbers_are_all_kept() -> None:
    spans = [f"{{{index}}}" for index in range(30)]
    text, _ = translated(" a ".join(spans), Copying())
    assert protected_texts(text) == spans


@pytest.mark.parametrize("kind", ["plural", "select", "selectordinal"])
def test_a_message_with_cases_stays_and_is_told(kind) -> None:
    message = f"a {{n, {kind}, one {{b}} other {{c}}}} d!"
    text, details = translated(f"{message} e!", Copying())
    assert text == f"{message} E !"
    assert details["copied"] == [{"sentence": 0, "reason": "a plural or select message"}]
    assert details["counts"]["num_messages"] == 1
    assert "plural or select messages" in DecodingStatistics(**details["counts"]).problems()[0]


def test_a_sentence_of_placeholders_alone_is_copied() -> None:
    text, details = translated("{0}: %d\n%s", Copying())
    assert text == "{0}: %d\n%s"
    assert [one["reason"] for one in details["copied"]] == ["no letters", "no letters"]


def test_escaped_line_breaks_part_sentences_and_stay() -> None:
    text, _ = translated("a b\\n- c d!\\n\\ne\\r\\nf \\t g", model := Copying())
    assert text == "A B\\n- C D !\\n\\nE\\r\\nF \\t G"
    assert model.windows[1:] == ["a b <sep> c d ! </s>", "c d ! <sep> e </s>", "e <sep> f </s>", "f <sep> g </s>"]


def test_a_long_sentence_keeps_its_placeholders_in_pieces() -> None:
    words = "abcdefghijklmnop"
    source = " ".join(f"{word} {{{word}}}" for word in words)
    text, details = translated(source, Copying(max_source_tokens=6, window_sentences=1))
    assert protected_texts(text) == [f"{{{word}}}" for word in words]
    assert details["counts"]["num_split"] == 1
    assert details["copied"] == []


def without_signs(sentences):
    return [["X" if word in "£½≤" else word for word in sentence] for sentence in sentences]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("sign", ["£", "½", "≤"])
def test_a_sign_that_the_model_writes_wrongly_is_taken_out_and_put_back(strategy, sign) -> None:
    model = Copying(without_signs, more_words=[*STAND_INS, "{}", sign])
    text, details = translated(f"a {sign} b! c d!", model, strategy=strategy)
    assert text == f"A {sign} B ! C D !"
    assert "a b ! </s>" in model.windows
    assert details["decoded_again"] == [{"sentence": 0, "reason": ALTERED}]
    assert (details["counts"]["num_protected"], details["counts"]["num_altered"]) == (1, 1)


def test_a_sign_that_the_model_writes_stays_where_it_puts_it() -> None:
    turned = Copying(lambda sentences: [sentence[::-1] for sentence in sentences], more_words=[*STAND_INS, "£"])
    text, details = translated("a £ b c", turned)
    assert text == "C B £ A"
    assert (details["counts"]["num_protected"], details["counts"]["num_altered"]) == (1, 0)


def test_html_that_is_text_is_kept_in_pairs() -> None:
    text, _ = translated("<p>a <b>b c</b> d<br/>e</p>", Copying())
    assert text == "<p>A <b>B C</b> D<br/>E</p>"


def test_a_stream_keeps_what_the_call_keeps() -> None:
    source = "a {0} b! c %s d!\n{n, plural, one {e}} f! g!"
    for spoil in (faithful, without_numbers, with_numbers_twice):
        text, _ = translated(source, Copying(spoil))
        model = Copying(spoil)
        streamed = DocumentTranslationPipeline(model, model.tokenizer).stream(source, batch_size=2)
        assert "".join(one.white_space + one.translation for one in streamed) == text


_TEXTS = st.lists(
    st.sampled_from([*SPANS, "a", "b", "C", ".", "! ", ", ", " ", " ", " ", "\\n", "\n", "<i>", "</i>", "417", "%"]),
    max_size=25,
).map("".join)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(_TEXTS, st.sampled_from([faithful, without_numbers, with_numbers_twice, with_numbers_reversed, one_word]))
def test_whatever_the_text_and_the_model_every_span_is_there_in_order(text, spoil) -> None:
    model = Copying(spoil)
    (output,) = DocumentTranslationPipeline(model, model.tokenizer, return_sentences=True)(text)
    for one in output["sentences"]:
        spans = protected_texts(one["source"])
        assert not spans or protected_texts(one["translation"]) == spans
