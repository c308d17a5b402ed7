# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Numbers that a translation must have, as terms: of three digits or more, or with a decimal separator.

Shorter ones are often written as words, and so are 100 and 1000. In reference translations of debates, laws and manuals
(English to French, development sets) 66 of 2,592 such numbers are left out or written as words.
"""

import re
import unicodedata
from collections.abc import Collection

from .glossary import Term, TermMatch

# Groups of three digits with spaces between them, or digits with points or commas, that touch no letter.
_NUMBER = re.compile(
    r"(?<![\w.,])(?:\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)*)(?!\w|[.,]\d|[ \u00a0\u202f]\d{3}\b)"
)
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
        return re.search(_pattern(self.source), _with_plain_digits(translation)) is not None


def number_terms(text: str, target_language: str | None = None, other: Collection[str] = ()) -> list[TermMatch]:
    """The numbers of a sentence that its translation must have, in order.

    Args:
        text: the sentence.
        target_language: ISO 639 code; numbers of five digits or more are none in a language that counts in ten
            thousands.
        other: numbers that do not count, such as stand-ins, nor do numbers with these as a group of digits.
    """
    return [
        TermMatch(*match.span(), NumberTerm(match[0], _forms(match[0])))
        for match in _NUMBER.finditer(text)
        if not {*other}.intersection(re.split(r"\D", match[0])) and _is_kept(match[0], target_language)
    ]


def _is_kept(number: str, target_language: str | None) -> bool:
    digits = re.sub(r"\D", "", number)
    if (target_language or "").partition("-")[0] in _LANGUAGES_OF_MYRIADS and len(digits) > 4:
        return False
    return digits not in _WRITTEN_AS_WORDS and len(number) > 2 and len(digits) <= _MAX_DIGITS


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
    first, *groups = re.split(r"\D", number)
    separators = re.findall(r"\D", number)
    is_decimal = len(separators) == 1 or len(set(separators)) > 1
    if any(len(group) != 3 for group in groups[: -1 if is_decimal else None]):
        return (number,)
    thousands, decimals = (groups[:-1], groups[-1:]) if is_decimal else (groups, [])
    readings = [(thousands, decimals)]
    if len(groups) == 1 and len(groups[0]) == 3:
        readings = [(groups, []), ([], groups)]
    forms = [
        point.join([group.join([first, *whole]), *rest])
        for whole, rest in readings
        for group, point in ((" ", ","), ("", ","), (".", ","), (" ", "."), ("", "."), (",", "."))
    ]
    return tuple(dict.fromkeys([number, *forms]))


def _with_plain_digits(text: str) -> str:
    return "".join(str(unicodedata.decimal(one)) if one.isdecimal() else one for one in text)
