# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Signs that a tokenizer knows and a model may not: found in a text, and looked for in its translation."""

import pytest

from hier_nmt.text.rare_signs import has_signs, rare_signs
from hier_nmt.text.untranslatable import UnknownCharacters, split_sentence

NOTHING = UnknownCharacters(frozenset(), {})


@pytest.mark.parametrize(
    ("text", "signs"),
    [
        ("It costs £5 or €6.", "£€"),
        ("x ≤ 5, ½ of 25 m², 90°, 😀", "≤½²°😀"),
        # ASCII, letters and punctuation.
        ("$5 + 6 % = é « œuvre » – № § …", "№"),
        # Protected spans are counted as such.
        ("a → b © https://a.b/€ `½`", ""),
    ],
)
def test_signs_are_symbols_outside_of_ascii_and_protected_spans(text, signs) -> None:
    assert rare_signs(text) == tuple(signs)


@pytest.mark.parametrize(
    ("source", "translation", "is_kept"),
    [
        ("£5", "5 £", True),
        ("£5", "□5", False),
        ("£5 and £6", "5 £ et 6", False),
        ("£5", "5 livres", True),
        ("£5 and £6", "5 livres et 6", False),
        ("€5", "5 Euro", True),
        ("€5", "euros 5", False),
        ("the pound (£)", "la livre (type)", False),
        ("the pound (£)", "das Pfund (£)", True),
        ("turn by 90°", "um 90 Grad drehen", True),
        ("25 m²", "25 m", False),
    ],
)
def test_each_sign_is_there_as_often_or_a_name_of_it(source, translation, is_kept) -> None:
    assert has_signs(translation, rare_signs(source), source) is is_kept


def test_the_fallback_of_a_sentence_has_no_signs_and_puts_them_back() -> None:
    parts = split_sentence("Pay £5 for ½ of it.", NOTHING)
    assert parts.core == "Pay £5 for ½ of it."
    assert parts.num_protected == 2
    assert parts.keeps_protected("Payez 5 £ pour ½.")
    assert not parts.keeps_protected("Payez □5 pour i.")
    assert parts.fallback is not None
    assert parts.fallback.core == "Pay 5 for of it."
    assert parts.fallback.restore("Payez 5 pour cela.").startswith("Payez £5 pour ½")


def test_signs_that_the_tokenizer_does_not_know_need_no_fallback() -> None:
    parts = split_sentence("Pay ₹5 now.", UnknownCharacters(frozenset("₹"), {}))
    assert (parts.core, parts.fallback, parts.num_protected) == ("Pay 5 now.", None, 1)
    assert parts.keeps_protected("Payez 5 maintenant.")
