# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Words in a few languages: their forms, by the endings of plurals and feminines, and short words before nouns.

Few exceptions are known. What the rules make is compared with words that stand in a text, or offered to a model.
"""

import re
from collections.abc import Sequence
from functools import cache, lru_cache
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
_IRREGULAR_PLURALS = {
    "en": "man men woman women child children foot feet tooth teeth mouse mice goose geese life lives wife wives "
    "knife knives half halves leaf leaves shelf shelves loaf loaves thief thieves wolf wolves analysis analyses "
    "axis axes basis bases crisis crises hypothesis hypotheses thesis theses criterion criteria phenomenon phenomena",
    "fr": "bal bals banal banals carnaval carnavals chacal chacals fatal fatals festival festivals final finals "
    "natal natals naval navals récital récitals régal régals bleu bleus pneu pneus bijou bijoux caillou cailloux "
    "chou choux genou genoux hibou hiboux bail baux corail coraux émail émaux travail travaux vitrail vitraux "
    "œil yeux ciel cieux",
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
# A French word whose vowel an apostrophe replaces before another vowel, or changes with it ("au", "du"); and an
# apostrophe before a consonant. Before "onze", "oui" and "un" there is none.
_NOT_ELIDED = re.compile(r"(?:le|la|de|du|au|ce|je|me|te|se|ne|que)\s+(?!onz|oui|un\b)[aeiouâàéèêëîïôûùœæ]", re.I)
_ELIDED = re.compile(r"(?:l|d|qu)['’][bcdfgjklmnpqrstvwxz]", re.I)
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
    key = _key(language)
    irregular = _irregular_plurals(key).get(word.lower())
    return _replaced(word, _PLURALS.get(key, ())) if irregular is None else word[:1] + irregular[1:]


def plural_of_term(words: Sequence[str], language: str | None) -> tuple[str, ...]:
    """The words of a noun and what belongs to it, in the plural: in English the last word before a preposition
    ("orders in council"), in Romance languages all words before one ("navires marchands de la flotte")."""
    short = {word.rstrip("'") for word in (*determiners(language), *prepositions(language))}
    stop = next((index for index, word in enumerate(words) if index and word in short), len(words))
    start = stop - 1 if _key(language) == "en" else 0
    return (*words[:start], *(plural(word, language) for word in words[start:stop]), *words[stop:])


def has_elision(language: str | None) -> bool:
    """Whether words of a language change before vowels, and `is_elided_well` knows how."""
    return _key(language) == "fr"


def is_elided_well(text: str, start: int, language: str | None) -> bool:
    """Whether a French article or preposition before the word at `start` suits its first letter: "l'exploitant" and "le
    navire"; True in other languages, and before capital letters."""
    if not has_elision(language) or text[start : start + 1].isupper():
        return True
    before = re.search(r"\w+(?:\s+|['’])$", text[:start])
    joined = "" if before is None else before[0] + text[start : start + 6]
    return not (_NOT_ELIDED.match(joined) or _ELIDED.match(joined))


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
    feminine = _replaced(word, _FEMININES.get(language, ()))
    return frozenset({plural(word, language), feminine, plural(feminine, language)})


@cache
def _irregular_plurals(language: str) -> dict[str, str]:
    words = _IRREGULAR_PLURALS.get(language, "").split()
    return dict(zip(words[::2], words[1::2], strict=True))


def _replaced(word: str, rules: _Rules) -> str:
    if len(word) < _MIN_LETTERS or not word[-1].isalpha():
        return word
    for pattern, replacement in rules:
        if re.search(pattern, word):
            return re.sub(pattern, replacement, word, count=1)
    return word


def _key(language: str | None) -> str:
    return (language or "").lower().replace("_", "-").partition("-")[0]
