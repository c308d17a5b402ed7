# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Words in a few languages: their forms, by the endings of plurals and feminines, and short words before nouns.

The rules know no exceptions: "animal" has "animaux", and "festival", wrongly, "festivaux". What they make is compared
with words that stand in a text, or offered to a model that chooses.
"""

import re
from functools import lru_cache
from itertools import product

# The first pattern that matches the end of a word replaces it.
_Rules = tuple[tuple[str, str], ...]
_PLURALS: dict[str, _Rules] = {
    "en": ((r"(?<=[^aeiou])y$", "ies"), (r"(s|x|z|ch|sh)$", r"\1es"), (r"$", "s")),
    "fr": ((r"([sxz])$", r"\1"), (r"al$", "aux"), (r"(au|eu)$", r"\1x"), (r"$", "s")),
    "es": ((r"s$", "s"), (r"z$", "ces"), (r"ón$", "ones"), (r"([aeiouáéó])$", r"\1s"), (r"$", "es")),
    "pt": ((r"s$", "s"), (r"ão$", "ões"), (r"m$", "ns"), (r"l$", "is"), (r"([rz])$", r"\1es"), (r"$", "s")),
    "it": ((r"io$", "i"), (r"[oe]$", "i"), (r"([cg])a$", r"\1he"), (r"a$", "e"), (r"$", "")),
}
_FEMININES: dict[str, _Rules] = {
    "fr": (
        (r"teur$", "trice"),
        (r"eu[rx]$", "euse"),
        (r"er$", "ère"),
        (r"if$", "ive"),
        (r"e([ln])$", r"e\1\1e"),
        (r"(é|al|nt|ct|in)$", r"\1e"),
    ),
    "es": ((r"o$", "a"),),
    "pt": ((r"o$", "a"),),
    "it": ((r"o$", "a"),),
}
# Words that stand before a noun and suit it: determiners, prepositions with an article in them.
_DETERMINERS = {
    "en": "a an the this that these those its their his her",
    "fr": "le la les l' un une des du d' au aux son sa ses ce cet cette ces leur leurs tout toute tous toutes "
    "quel quelle aucun aucune chaque",
    "es": "el la los las un una unos unas del al su sus este esta estos estas",
    "pt": "o a os as um uma do da dos das ao à aos às no na nos nas pelo pela seu sua seus suas",
    "it": "il lo la i gli le l' un uno una un' del della dei delle al alla nel nella suo sua",
    "de": "der die das den dem des ein eine einen einem einer eines im am vom zum zur",
}
_PREPOSITIONS = {
    "en": "of to in on by for with from",
    "fr": "de à en par pour sur avec",
    "es": "de a en por para con",
    "pt": "de em por para com",
    "it": "di a in per con su",
    "de": "von mit für auf in an",
}
# Words below this length, mostly articles and prepositions, have no forms.
_MIN_LETTERS = 3
# The most words of a term that are inflected, which bounds its forms to 2 to the power of it.
_MAX_INFLECTED = 4


def determiners(language: str | None) -> list[str]:
    """Short words of a language that suit the noun behind them, also with a capital letter; none if it is not known."""
    return _with_capitals(_DETERMINERS.get(_key(language), ""))


def prepositions(language: str | None) -> list[str]:
    """Short words of a language that may stand before a determiner, also with a capital letter."""
    return _with_capitals(_PREPOSITIONS.get(_key(language), ""))


def _with_capitals(words: str) -> list[str]:
    return [*words.split(), *(word.capitalize() for word in words.split())]


def plural(word: str, language: str | None) -> str:
    """The plural of a word by the rules of the language (ISO 639 code); the word where there are none."""
    return _replaced(word, _PLURALS.get(_key(language), ()))


def is_form_of(word: str, given: str, language: str | None) -> bool:
    """Whether two words are the same, or forms of one word, whatever their case."""
    one, other = word.casefold(), given.casefold()
    return one == other or one in _forms(other, _key(language)) or other in _forms(one, _key(language))


@lru_cache(maxsize=4096)
def plural_forms(words: tuple[str, ...], language: str | None) -> list[tuple[str, ...]]:
    """The words of a term as given, then with the plurals of some or all of them."""
    num_inflected = 0
    choices = []
    for word in words:
        form = plural(word, language) if num_inflected < _MAX_INFLECTED else word
        choices.append((word,) if form == word else (word, form))
        num_inflected += form != word
    return list(product(*choices))


@lru_cache(maxsize=65536)
def _forms(word: str, language: str) -> frozenset[str]:
    plurals, feminines = _PLURALS.get(language, ()), _FEMININES.get(language, ())
    feminine = _replaced(word, feminines)
    return frozenset({_replaced(word, plurals), feminine, _replaced(feminine, plurals)})


def _replaced(word: str, rules: _Rules) -> str:
    if len(word) < _MIN_LETTERS or not word[-1].isalpha():
        return word
    for pattern, replacement in rules:
        if re.search(pattern, word):
            return re.sub(pattern, replacement, word, count=1)
    return word


def _key(language: str | None) -> str:
    return (language or "").lower().replace("_", "-").partition("-")[0]
