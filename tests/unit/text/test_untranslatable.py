# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Untranslatable text is removed from a sentence and restored in its translation."""

import html

import pytest
from nasty_text import NASTY_TEXTS

from hier_nmt.text.inline_markup import Mark, insert_marks
from hier_nmt.text.untranslatable import (
    UnknownCharacters,
    candidate_characters,
    classify_characters,
    normalize_for_tokenizer,
    split_sentence,
)

EMOJI = UnknownCharacters(frozenset("😀❤\ufe0f🎉→\u200d\u00ad|"), {})
NOTHING = UnknownCharacters(frozenset(), {})


@pytest.mark.parametrize(
    ("text", "before", "core", "after"),
    [
        ("- a b", "- ", "a b", ""),
        ("* [x] a b", "* [x] ", "a b", ""),
        ("12) a b.", "12) ", "a b.", ""),
        ("(a) b c", "(a) ", "b c", ""),
        ("## a b", "## ", "a b", ""),
        ("> - a", "> - ", "a", ""),
        ("😀 a b 🎉🎉", "😀 ", "a b", " 🎉🎉"),
        ("| a |", "| ", "a", " |"),
        ("https://a.b/c a b", "https://a.b/c ", "a b", ""),
        # Not initials, and no minus or hash that belongs to the next word.
        ("A. Smith left.", "", "A. Smith left.", ""),
        ("-5 a", "", "-5 a", ""),
        ("#a b", "", "#a b", ""),
    ],
)
def test_text_around_a_sentence_is_not_translated(text, before, core, after) -> None:
    parts = split_sentence(text, EMOJI)
    assert (parts.before, parts.core, parts.after) == (before, core, after)
    assert parts.restore("X") == f"{before}X{after}"


@pytest.mark.parametrize(
    ("text", "core", "translation", "expected"),
    [
        ("I ❤\ufe0f Paris", "I Paris", "Moi Paris", "Moi ❤\ufe0f Paris"),
        ("See https://a.b/c?d=e&f, please.", "See, please.", "Voir, merci.", "Voir https://a.b/c?d=e&f, merci."),
        ("Write to a.b@c.org now", "Write to now", "Écrire à maintenant", "Écrire à a.b@c.org maintenant"),
        ("a→b", "a b", "A B", "A→B"),
    ],
)
def test_addresses_and_symbols_inside_come_back_between_words(text, core, translation, expected) -> None:
    parts = split_sentence(text, EMOJI)
    assert parts.core == core
    assert parts.restore(translation) == expected


def test_words_of_another_script_are_removed_and_letters_inside_words_are_not() -> None:
    characters = classify_characters("你好ő")
    assert characters.letters == {"你", "好", "ő"}
    parts = split_sentence("The word 你好 in Erdő.", characters)
    assert parts.core == "The word in Erdő."
    assert parts.restore("Le mot dans Erdő.") == "Le mot 你好 dans Erdő."


def test_what_is_invisible_inside_of_a_word_goes_with_it() -> None:
    parts = split_sentence("trans\u00adlate", EMOJI)
    assert (parts.core, parts.marks) == ("translate", ())


@pytest.mark.parametrize("text", NASTY_TEXTS.values())
def test_every_symbol_and_address_of_any_text_is_in_its_translation(text) -> None:
    parts = split_sentence(text, classify_characters(candidate_characters([text])))
    assert all(mark.text in parts.restore("") for mark in parts.marks)
    assert parts.restore(parts.core).replace(" ", "").startswith(parts.before.replace(" ", ""))


def test_typographic_characters_that_are_unknown_are_read_in_their_plain_form() -> None:
    characters = classify_characters("“”’—…")
    assert not characters.symbols
    assert normalize_for_tokenizer("“A’s” — b…", characters.plain_forms) == '"A\'s" - b...'
    # A tokenizer that does not know the plain form either has nothing from it.
    assert classify_characters('“"').symbols == {"“", '"'}


def test_a_tokenizer_reads_composed_characters_single_spaces_and_no_surrogates() -> None:
    assert normalize_for_tokenizer(" e\u0301 \u00a0 a\ud800 ", {}) == "\u00e9 a\ufffd"


def test_marks_keep_their_spaces_and_their_order() -> None:
    marks = [Mark(2, "<b>", "open"), Mark(3, "</b>", "close"), Mark(4, "`x`", "whole", True, True)]
    assert insert_marks("a b c", marks, "aa bb cc") == "aa <b>bb</b> `x` cc"


def test_only_the_translation_is_escaped() -> None:
    assert insert_marks("a b", [Mark(2, "<b>", "open")], "x & y", html.escape) == "x &amp; <b>y"
