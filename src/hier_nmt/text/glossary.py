# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Terms with prescribed translations: where they stand in a source text, and whether a translation has them.

A term is a sequence of words. Between two of its words stands what stands there in the glossary; white space and
hyphens are alike, and so are straight and curly apostrophes. Plurals of the source language are found too. In a
translation, a term in another form (plural, feminine, other case) counts as inflected, see `word_forms`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final, Literal, NamedTuple

from .word_forms import is_elided_well, is_form_of, plural_forms, plural_of_term

GIVEN: Final = "given"
INFLECTED: Final = "inflected"
UNUSED: Final = "unused"
Use = Literal["given", "inflected", "unused"]
_WORD = re.compile(r"\w+")
_SEPARATORS = str.maketrans({"’": "'", "-": " ", "‐": " ", "‑": " "})


class Term(NamedTuple):
    """A term of a glossary.

    Attributes:
        source: the term.
        targets: its translations; the first is preferred, any of them counts as used.
        match_case: whether it is found only in the case in which it is written; None: if it has a capital letter.
        part_of_speech: as the glossary has it; nothing depends on it.
    """

    source: str
    targets: tuple[str, ...]
    match_case: bool | None = None
    part_of_speech: str | None = None


class TermMatch(NamedTuple):
    """A term that stands in a text at [start, stop), as given or with plurals, perhaps in a text of capitals."""

    start: int
    stop: int
    term: Term
    is_given: bool = True
    in_capitals: bool = False


class TermUse(NamedTuple):
    """A term of a sentence, with what became of it in the translation: `given`, `inflected` or `unused`."""

    sentence: int
    source: str
    target: str
    use: Use


class _Words(NamedTuple):
    """The words of a text, their positions, and what stands between each and the next, in a plain form."""

    texts: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    between: tuple[str, ...]


class _Form(NamedTuple):
    """A form of a term in the source: its words, also in lower case, and what stands between them."""

    term: Term
    words: tuple[str, ...]
    folded: tuple[str, ...]
    between: tuple[str, ...]
    is_given: bool


class Glossary:
    """Terms of a pair of languages.

    Args:
        terms: `Term`s. Several terms of the same source are one with several translations.
        source_language, target_language: ISO 639 codes; their plurals are known if `word_forms` has them.

    Raises:
        ValueError: a term or translation without a word.
    """

    def __init__(
        self, terms: Iterable[Term], source_language: str | None = None, target_language: str | None = None
    ) -> None:
        self.source_language, self.target_language = source_language, target_language
        self.terms = _merged(terms)
        # By the first word, the longest first.
        self._forms: dict[str, list[_Form]] = {}
        for term in self.terms:
            words = _words(term.source)
            for form in plural_forms(words.texts, source_language):
                one = _Form(term, form, _folded(form), words.between, form == words.texts)
                self._forms.setdefault(one.folded[0], []).append(one)
        for forms in self._forms.values():
            forms.sort(key=lambda form: -len(form.words))

    def with_languages(self, source_language: str | None, target_language: str | None) -> "Glossary":
        """The same terms in these languages, where the glossary has none of its own."""
        languages = (self.source_language or source_language, self.target_language or target_language)
        return self if languages == (self.source_language, self.target_language) else Glossary(self.terms, *languages)

    def find(self, text: str) -> list[TermMatch]:
        """The terms in a text, in order and without overlaps: at each word the longest."""
        words = _words(text)
        folded = _folded(words.texts)
        in_capitals = _is_in_capitals(text)
        found: list[TermMatch] = []
        index = 0
        while index < len(folded):
            form = self._form_at(text, words, folded, index)
            stop = index + (1 if form is None else len(form.words))
            if form is not None:
                start, end = words.spans[index][0], words.spans[stop - 1][1]
                found.append(TermMatch(start, end, form.term, form.is_given, in_capitals))
            index = stop
        return found

    def _form_at(self, text: str, words: _Words, folded: tuple[str, ...], index: int) -> _Form | None:
        """The longest form of a term from this word on."""
        for form in self._forms.get(folded[index], ()):
            stop = index + len(form.words)
            is_same = folded[index:stop] == form.folded and words.between[index : stop - 1] == form.between
            if is_same and _has_case(words.texts[index:stop], form.words, form.term, text):
                return form
        return None

    def use(self, term: Term, translation: str) -> Use:
        """Whether a translation has one of a term's translations: as given, inflected, or not at all."""
        uses = {use for use, _ in self.uses(term, translation)}
        return GIVEN if GIVEN in uses else INFLECTED if INFLECTED in uses else UNUSED

    def uses(self, term: Term, translation: str) -> Iterator[tuple[Use, tuple[int, int]]]:
        """Each place [start, stop) of a translation where one of a term's translations stands, and how."""
        words = _words(translation)
        targets = [_words(target) for target in term.targets]
        index = 0
        while index < len(words.texts):
            found = [(target, use) for target in targets if (use := self._use_at(words, index, target)) != UNUSED]
            # The longest, and among these one as given.
            found.sort(key=lambda pair: (-len(pair[0].texts), pair[1] != GIVEN))
            if found:
                num_words = len(found[0][0].texts)
                yield found[0][1], (words.spans[index][0], words.spans[index + num_words - 1][1])
                index += num_words - 1
            index += 1

    def _use_at(self, words: _Words, index: int, target: _Words) -> Use:
        num_words = len(target.texts)
        part = words.texts[index : index + num_words]
        if len(part) < num_words or words.between[index : index + num_words - 1] != target.between:
            return UNUSED
        if part == target.texts or part == _capitalized(target.texts):
            return GIVEN
        pairs = zip(part, target.texts, strict=True)
        return INFLECTED if all(is_form_of(*pair, self.target_language) for pair in pairs) else UNUSED

    def is_elided_well(self, term: Term, translation: str) -> bool:
        """Whether the words before the term suit it wherever a translation has it: not "le exploitant"."""
        starts = [start for _, (start, _) in self.uses(term, translation)]
        return all(is_elided_well(translation, start, self.target_language) for start in starts)

    def preferred_form(self, match: TermMatch) -> str:
        """The first translation of a term, in the plural and in capitals if the source has it so."""
        target = match.term.targets[0]
        words = _words(target).texts
        form = words if match.is_given else plural_of_term(words, self.target_language)
        return _written(target, form, match.in_capitals)

    def target_forms(self, match: TermMatch) -> list[str]:
        """The translations of a term as they may be written: as given, and with plurals if the source has one, in
        capitals if it is in them."""
        forms = []
        for target in match.term.targets:
            words = _words(target).texts
            for form in [words] if match.is_given else plural_forms(words, self.target_language):
                forms.append(_written(target, form, match.in_capitals))
        return list(dict.fromkeys(forms))


def glossary_of_pairs(pairs: Mapping[str, str] | Iterable[Sequence[str]]) -> Glossary:
    """A glossary of pairs (source term, target term), or of a mapping of the former to the latter.

    Raises:
        ValueError: an entry that is no such pair.
    """
    entries = list(pairs.items()) if isinstance(pairs, Mapping) else list(pairs)
    for entry in entries:
        is_pair = isinstance(entry, (tuple, list)) and len(entry) == 2 and all(isinstance(one, str) for one in entry)
        if not is_pair and not isinstance(entry, Term):
            raise ValueError(f"a glossary has pairs (source term, target term); got {entry!r:.80}")
    return Glossary(entry if isinstance(entry, Term) else Term(entry[0], (entry[1],)) for entry in entries)


def has_words(text: str) -> bool:
    """Whether a text has a word, which a term must have."""
    return _WORD.search(text) is not None


def _merged(terms: Iterable[Term]) -> list[Term]:
    merged: dict[tuple[str, bool | None], Term] = {}
    for term in terms:
        for text in (term.source, *term.targets):
            if not has_words(text):
                raise ValueError(f"a term and its translation need a word each; got {term.source!r}: {term.targets}")
        known = merged.setdefault((term.source, term.match_case), term)
        merged[term.source, term.match_case] = known._replace(
            targets=tuple(dict.fromkeys(known.targets + term.targets))
        )
    return list(merged.values())


@lru_cache(maxsize=1024)
def _words(text: str) -> _Words:
    spans = tuple(match.span() for match in _WORD.finditer(text))
    between = tuple(_plain_separator(text[before[1] : after[0]]) for before, after in pairwise(spans))
    return _Words(tuple(text[start:stop] for start, stop in spans), spans, between)


def _written(target: str, form: Sequence[str], in_capitals: bool) -> str:
    """A translation with other forms of its words."""
    written, position = "", 0
    for (start, stop), word in zip(_words(target).spans, form, strict=True):
        written += target[position:start] + word
        position = stop
    written += target[position:]
    return written.upper() if in_capitals else written


def _is_in_capitals(text: str) -> bool:
    return text == text.upper()


def _plain_separator(text: str) -> str:
    return " ".join(text.translate(_SEPARATORS).split()) or (" " if text else "")


def _folded(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(word.casefold() for word in words)


def _capitalized(words: Sequence[str]) -> tuple[str, ...]:
    """The words at the start of a sentence."""
    return (words[0][:1].upper() + words[0][1:], *words[1:])


def _has_case(part: Sequence[str], form: Sequence[str], term: Term, text: str) -> bool:
    """Whether words have the case that a term wants; a term of capitals may stand in a text of capitals."""
    match_case = term.match_case
    if match_case is None:
        match_case = term.source != term.source.lower() and not _is_in_capitals(text)
    return not match_case or tuple(part) in (tuple(form), _capitalized(form))
