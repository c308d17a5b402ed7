# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Signs that a model may not have learned though its tokenizer knows them: currencies, operators, fractions, pictures.

The translation of a sentence must have each of them as often as the sentence; some may also be written as a word.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

from .protected_spans import OBJECT, protected_spans

_CATEGORIES = ("Sc", "Sm", "So", "No")
# What languages write in place of a sign, after a number ("euros 5" is wrong).
_NAMES = {
    sign: re.compile(rf"\b(?:{names})\b(?! ?\d)", re.IGNORECASE)
    for sign, names in {
        "€": "euros?",
        "£": "pounds?|livres?|pfund|libras?|sterline?|pond(?:en)?",
        "¥": "yens?",
        "°": "degrees?|degrés?|grad|grados?|gradi|graus?|graden",
    }.items()
}


def rare_signs(text: str) -> tuple[str, ...]:
    """The signs of a text outside of ASCII and of protected spans, in order."""
    if text.isascii():
        return ()
    inside = {at for span in protected_spans(text) for at in range(span.start, span.stop)}
    return tuple(one for at, one in enumerate(text) if at not in inside and _is_sign(one))


def has_signs(translation: str, signs: Iterable[str], source: str) -> bool:
    """Whether a translation has all of these signs of its source, each as often, or names in their place."""
    lacking = Counter(signs) - Counter(translation)
    return all(num_lacking <= _num_names(sign, translation, source) for sign, num_lacking in lacking.items())


def _is_sign(character: str) -> bool:
    return character > "\x7f" and character != OBJECT and unicodedata.category(character) in _CATEGORIES


def _num_names(sign: str, translation: str, source: str) -> int:
    """How many names of a sign the translation has, beyond those that the source has."""
    if sign not in _NAMES:
        return 0
    return len(_NAMES[sign].findall(translation)) - len(_NAMES[sign].findall(source))
