# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The terms and numbers of a sentence, and which of them its translation lacks."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from ..text.glossary import UNUSED, Glossary, Term, TermMatch, TermUse
from ..text.inline_terms import with_terms
from ..text.number_terms import NumberTerm, number_terms
from .glossary_options import TermPolicy
from .translation_report import term_uses


class SentenceTerms(NamedTuple):
    """What the translation of a sentence must have.

    Attributes:
        glossary: the glossary that the terms are from, or None.
        terms: the terms of the glossary.
        numbers: the numbers, as terms.
        required: the terms and numbers that the sentence is decoded again for, in the order of the source.
    """

    glossary: Glossary | None = None
    terms: tuple[TermMatch, ...] = ()
    numbers: tuple[TermMatch, ...] = ()
    required: tuple[TermMatch, ...] = ()

    @classmethod
    def of(
        cls,
        text: str,
        glossary: Glossary | None,
        policy: TermPolicy,
        target_language: str | None,
        stand_ins: Collection[str],
    ) -> "SentenceTerms":
        """The terms and numbers of a text; numbers that stand for something else are none."""
        terms = () if glossary is None else tuple(glossary.find(text))
        numbers = tuple(number_terms(text, target_language, stand_ins)) if policy.keep_numbers else ()
        required = sorted([*(terms if policy.is_constrained else ()), *numbers], key=lambda match: match.start)
        return cls(glossary, terms, numbers, tuple(required))

    def inline_text(self, text: str) -> str:
        """The sentence with the translations of its terms in it, each after the first occurrence of its term."""
        assert self.glossary is not None
        first = {match.term: match for match in reversed(self.terms)}
        return with_terms(text, sorted((match.stop, self.glossary.preferred_form(match)) for match in first.values()))

    def missing(self, translation: str) -> list[TermMatch]:
        """The required terms and numbers that a translation lacks, or has behind an article that does not suit them,
        each once."""
        distinct = {match.term: match for match in reversed(self.required)}
        return [match for term, match in distinct.items() if not self._has(term, translation)]

    def lost_numbers(self, translation: str) -> list[str]:
        """The numbers that a translation lacks, as the source has them, each once."""
        return [
            term.source for term in dict.fromkeys(one.term for one in self.numbers) if not self._has(term, translation)
        ]

    def _has(self, term: Term, translation: str) -> bool:
        if isinstance(term, NumberTerm):
            return term.is_in(translation)
        assert self.glossary is not None
        return self.glossary.use(term, translation) != UNUSED and self.glossary.is_elided_well(term, translation)

    def target_forms(self, match: TermMatch) -> list[str]:
        """How the translation of a term or number may be written."""
        if isinstance(match.term, NumberTerm):
            return list(match.term.targets)
        assert self.glossary is not None
        return self.glossary.target_forms(match)

    def uses(self, sentence: int, translation: str) -> Iterator[TermUse]:
        """What became of the terms of the glossary in the translation of the sentence with this number."""
        return term_uses(self.glossary, self.terms, sentence, translation)
