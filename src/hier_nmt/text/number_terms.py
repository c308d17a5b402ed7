# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Numbers that a translation must have, as terms: of three digits or more, or with a decimal separator.

Shorter ones are often written as words, and so are 100 and 1000. In reference translations of debates, laws and manuals
(English to French, development sets) 66 of 2,592 such numbers are left out or written as words. Of an amount of money
such as $12m the letters count, too: without them, or a word in their place, it is another amount.
"""

import re
import unicodedata
from collections.abc import Collection

from .glossary import Term, TermMatch

# Groups of three digits with spaces between them, or digits with points or commas, that touch no letter.
_NUMBER = re.compile(
    r"(?<![\w.,])(?:\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)*)(?!\w|[.,]\d|[ \u00a0\u202f]\d{3}\b)"
)
# Thousands, millions, billions, trillions of a currency.
_AMOUNT = re.compile(r"(?<=[$€£¥])\d+(?:[.,]\d+)*(?:k|mn?|bn?|tn)(?!\w)", re.IGNORECASE)
# What follows in a translation: "m", "M€", "bn", "millions", "Mrd.", "juta", or letters of another script.
_MAGNITUDE = r"[ \u00a0\u202f]?(?:[jmbt]|(?![a-zà-ÿ])[^\W\d_])"
_WRITTEN_AS_WORDS = ("100", "1000")
# What has more digits is data, and too long for a regular expression.
_MAX_DIGITS = 30
# Between the parts of a number in a translation; 11.30 may become 11 h 30.
_SEPARATOR = r"(?:\s?[.,:'’·٫٬h]\s?|\s)"
# These languages count in ten thousands, so only numbers below are the same in them.
_LANGUAGES_OF_MYRIADS = ("zh", "ja", "ko")


class NumberTerm(Term):
    """A number as a term: in the source as it is written there, and in the translation in any of its forms."""

    __slots__ = ()

    def is_in(self, translation: str) -> bool:
        """Whether a translation has this number, with whatever separators and in the digits of any script."""
        number, letters = _parts(self.source)
        pattern = _pattern(number) + (_MAGNITUDE if letters else "")
        if letters in ("k", "K"):
            pattern += rf"|{_pattern(number)}\s?k|{_pattern(number + '000')}"
        return re.search(pattern, _with_plain_digits(translation), re.IGNORECASE) is not None


def number_terms(text: str, target_language: str | None = None, other: Collection[str] = ()) -> list[TermMatch]:
    """The numbers of a sentence that its translation must have, in order.

    Args:
        text: the sentence.
        target_language: ISO 639 code; numbers of five digits or more are none in a language that counts in ten
            thousands.
        other: numbers that do not count, such as stand-ins, nor do numbers with these as a group of digits.
    """
    matches = sorted([*_NUMBER.finditer(text), *_AMOUNT.finditer(text)], key=re.Match.start)
    return [
        TermMatch(*match.span(), NumberTerm(match[0], _forms(match[0])))
        for match in matches
        if not {*other}.intersection(re.split(r"\D", match[0])) and _is_kept(match[0], target_language)
    ]


def _is_kept(number: str, target_language: str | None) -> bool:
    digits = re.sub(r"\D", "", number)
    is_amount = number[-1].isalpha()
    if (target_language or "").partition("-")[0] in _LANGUAGES_OF_MYRIADS and (is_amount or len(digits) > 4):
        return False
    is_word = not is_amount and (digits in _WRITTEN_AS_WORDS or len(number) < 3)
    return not is_word and len(digits) <= _MAX_DIGITS


def _parts(number: str) -> tuple[str, str]:
    """The number itself, and the letters of an amount."""
    digits = number.rstrip("kmbtnKMBTN")
    return digits, number[len(digits) :]


def _pattern(number: str) -> str:
    """A regular expression for the number in a translation: a separator may stand before three digits, and must stand
    elsewhere if the source has one."""
    first, *others = re.split(r"\D", _with_plain_digits(number))
    pattern = _with_groups(first)
    for digits in others:
        pattern += f"{_SEPARATOR}{'?' if len(digits) == 3 else ''}{digits}"
    return rf"(?<!\d){pattern}(?!\d)"


def _with_groups(digits: str) -> str:
    """The digits, with a separator allowed before each three from the right."""
    starts = [*range(len(digits) % 3, len(digits), 3)]
    groups = [digits[: starts[0]], *(digits[start : start + 3] for start in starts)] if starts else [digits]
    return f"{_SEPARATOR}?".join(group for group in groups if group)


def _forms(number: str) -> tuple[str, ...]:
    """How a number may be written in the translation: as in the source, with points and commas exchanged, and with
    spaces or nothing between thousands; others with several separators, such as versions, as in the source."""
    number, letters = _parts(number)
    first, *groups = re.split(r"\D", number)
    separators = re.findall(r"\D", number)
    is_decimal = len(separators) == 1 or len(set(separators)) > 1
    if any(len(group) != 3 for group in groups[: -1 if is_decimal else None]):
        return (number + letters,)
    thousands, decimals = (groups[:-1], groups[-1:]) if is_decimal else (groups, [])
    readings = [(thousands, decimals)]
    if len(groups) == 1 and len(groups[0]) == 3:
        readings = [(groups, []), ([], groups)]
    forms = [
        point.join([group.join([first, *whole]), *rest])
        for whole, rest in readings
        for group, point in ((" ", ","), ("", ","), (".", ","), (" ", "."), ("", "."), (",", "."))
    ]
    return tuple(form + letters for form in dict.fromkeys([number, *forms]))


def _with_plain_digits(text: str) -> str:
    return "".join(str(unicodedata.decimal(one)) if one.isdecimal() else one for one in text)
