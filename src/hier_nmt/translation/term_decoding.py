# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Decodes sentences again whose translation lacks a term or a number, with it written where it belongs.

The model shows where it belongs. The translation is replayed for the source, and for the source without the term: the
words that become less probable are those that translate the term (the prediction difference of Li et al. 2019, section
4.2). At such positions, and where the first token of the term is most probable, the sentence is decoded again: what
precedes is forced, except for articles and prepositions, which beam search chooses to agree with the term; the term is
forced, in one of its forms; the rest is free. Of the translations with the most terms the most probable is taken.

Terms are written from left to right, each after the previous one. A sentence that has its terms, or has none, is not
changed.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

from ..text.glossary import Term, TermMatch
from .decoder_runs import DecoderRuns, Output, Request, StopConditions
from .sentence_terms import SentenceTerms
from .target_words import Forcing, Replay, Replayed
from .translation_state import Place, TranslationState
from .translation_vocabulary import TranslationVocabulary

# Positions that are tried for each term: those of words that translate it, and those where it is most probable.
NUM_TRANSLATED, NUM_PROBABLE = 1, 1
# The maximum number of times that a sentence is decoded again, and of words before a term that are written again.
MAX_ROUNDS, MAX_GAP = 8, 2


class _WritableTerm(NamedTuple):
    """A term of a sentence, and the token ids of its forms: after white space, directly after an apostrophe, and with
    a capital letter at the start of a sentence; and pairs of a determiner or preposition and a form that cannot follow
    it."""

    match: TermMatch
    forms: tuple[tuple[int, ...], ...]
    joined_forms: tuple[tuple[int, ...], ...]
    first_forms: tuple[tuple[int, ...], ...]
    unsuited: frozenset[tuple[tuple[int, ...], tuple[int, ...]]]

    def forcing(self, prefix_ids: Sequence[int], is_first: bool, max_gap: int) -> Forcing:
        """The constraint that writes the term after a prefix, which has no words of the sentence if the term
        `is_first`."""
        forms = tuple(dict.fromkeys((*self.first_forms, *self.forms))) if is_first else self.forms
        return Forcing(tuple(prefix_ids), forms, self.joined_forms, max_gap, self.unsuited)

    @property
    def first_ids(self) -> tuple[int, ...]:
        return tuple(sorted({form[0] for form in (*self.forms, *self.joined_forms)}))


class _Trial(NamedTuple):
    """A term at a position of a sentence."""

    term: _WritableTerm
    forcing: Forcing
    place: int

    def stop(self, ids: Sequence[int]) -> int:
        """The end of the term in the translation that was decoded for it."""
        forms = sorted({*self.forcing.forms, *self.forcing.joined_forms}, key=len, reverse=True)
        ends = (
            start + len(form)
            for start in range(self.place, len(ids))
            for form in forms
            if tuple(ids[start : start + len(form)]) == form
        )
        return next(ends, self.place)


@dataclass
class _Sentence:
    """A sentence while terms are written into it.

    Attributes:
        place: its document and index.
        request: its request without a term.
        ends: how its runs may end.
        ids: the tokens of its translation so far.
        start: the place in it where the next term may stand.
        given_up: the terms that could not be written.
        best_ids: the translation with the most terms.
    """

    place: Place
    request: Request
    ends: StopConditions
    ids: list[int]
    start: int = 0
    given_up: set[Term] = field(default_factory=set)
    best_ids: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.best_ids = self.ids

    def lacks(self, ids: list[int]) -> list[TermMatch]:
        """The terms that a translation lacks."""
        document, index = self.place
        return document.missing_terms(index, ids)

    def missing(self) -> list[TermMatch]:
        """The terms that the translation so far lacks and that may still be written."""
        return [match for match in self.lacks(self.ids) if match.term not in self.given_up]

    def take(self, trial: _Trial, ids: list[int]) -> None:
        """Continues with this translation."""
        self.ids, self.start = ids, trial.stop(ids)
        if len(self.lacks(ids)) < len(self.lacks(self.best_ids)):
            self.best_ids = ids


class TermDecoder:
    """Decodes sentences again whose translation lacks a term.

    Args:
        generator: runs the model.
        vocabulary: of the model.
        request_of: gives the request for a sentence, with the translations of its context as prefix, and how it ends.
    """

    def __init__(
        self,
        generator: DecoderRuns,
        vocabulary: TranslationVocabulary,
        request_of: Callable[[TranslationState, int], tuple[Request, StopConditions]],
    ) -> None:
        self.generator, self.vocabulary, self.request_of = generator, vocabulary, request_of

    def use_terms(self, places: Sequence[Place]) -> None:
        """Writes missing terms into the translations of these sentences, where that is possible."""
        sentences = [self._sentence(document, index) for document, index in places if document.missing_terms(index)]
        remaining = sentences
        for _ in range(MAX_ROUNDS):
            remaining = [sentence for sentence in remaining if sentence.missing()]
            if not remaining:
                break
            self._write_next_terms(remaining)
        for sentence in sentences:
            document, index = sentence.place
            document.statistics.num_term_retries += 1
            if sentence.best_ids is not document.target_ids[index]:
                document.use_terms(index, sentence.best_ids)

    def _sentence(self, document: TranslationState, index: int) -> _Sentence:
        ids = document.target_ids[index]
        request, ends = self.request_of(document, index)
        return _Sentence((document, index), request, ends, ids, self.vocabulary.num_leading_specials(ids))

    def _write_next_terms(self, sentences: Sequence[_Sentence]) -> None:
        """Writes one term into each sentence, at the best of its positions."""
        trials = self._trials(sentences)
        tried = [(one, trial) for one, some in zip(sentences, trials, strict=True) for trial in some]
        outputs = self._run([(one, trial.forcing) for one, trial in tried])
        written = [
            (one, trial, ids)
            for (one, trial), output in zip(tried, outputs, strict=True)
            if (ids := self._written(one, trial, output)) is not None
        ]
        scores = self._scores([(one, ids) for one, _, ids in written])
        for sentence, some in zip(sentences, trials, strict=True):
            of_sentence = [entry for entry in zip(scores, written, strict=True) if entry[1][0] is sentence]
            if of_sentence:
                _, (_, trial, ids) = max(of_sentence, key=lambda entry: entry[0])
                sentence.take(trial, ids)
            else:
                terms = [trial.term.match.term for trial in some] or [match.term for match in sentence.missing()]
                sentence.given_up.update(terms)

    def _written(self, sentence: _Sentence, trial: _Trial, output: Output) -> list[int] | None:
        """The tokens of an output, or None if it lacks the term or is not acceptable."""
        document, index = sentence.place
        ids = self.vocabulary.without_start(self.vocabulary.text_ids(output.ids))
        if not output.is_complete or not document.is_acceptable(index, ids):
            return None
        return None if trial.term.match.term in {match.term for match in sentence.lacks(ids)} else ids

    def _trials(self, sentences: Sequence[_Sentence]) -> list[list[_Trial]]:
        """For each sentence what is tried: positions for the term that comes first in its translation."""
        terms = [(index, term) for index, one in enumerate(sentences) for term in self._writable_terms(one)]
        replays = [self._replay(sentence, sentence.ids) for sentence in sentences]
        without = self._replayed(
            [self._without_term(sentences[index], term.match) for index, term in terms],
            [replays[index] for index, _ in terms],
        )
        for index, term in terms:
            replays[index] = replays[index]._replace(wanted_ids=(*replays[index].wanted_ids, term.first_ids))
        replayed = self._replayed(sentences, replays)
        found: list[list[tuple[int, list[_Trial]]]] = [[] for _ in sentences]
        for (index, term), other in zip(terms, without, strict=True):
            known = replayed[index]
            margins = _differences(known.wanted[len(found[index])], known.target)
            drops = _differences(known.target, other.target)
            found[index].append(self._places(sentences[index], term, drops, margins))
        return [min(places, key=lambda entry: entry[0])[1] if places else [] for places in found]

    def _writable_terms(self, sentence: _Sentence) -> list[_WritableTerm]:
        """The terms that a sentence lacks and the tokenizer can write."""
        encode, encode_joined = self.vocabulary.encode_forms, self.vocabulary.encode_joined_forms
        terms = []
        for match in sentence.missing():
            texts = _terms(sentence).target_forms(match)
            forms, joined = encode(texts), encode_joined(texts)
            first = encode([form[:1].upper() + form[1:] for form in texts])
            terms.append(_WritableTerm(match, forms, joined, first, self.vocabulary.unsuited_words(forms, joined)))
        return [term for term in terms if term.forms]

    def _without_term(self, sentence: _Sentence, match: TermMatch) -> _Sentence:
        """The sentence with another source, which lacks the term."""
        document, index = sentence.place
        own, source_ids = len(document.ids[index]), sentence.request.source_ids
        num_closing = document.source_lengths[index] - own
        before = source_ids[: len(source_ids) - own - num_closing]
        after = source_ids[len(source_ids) - num_closing :]
        changed = [*before, *_ids_without_term(document, index, match), *after]
        return replace(sentence, request=sentence.request._replace(source_ids=changed))

    def _places(
        self, sentence: _Sentence, term: _WritableTerm, drops: Sequence[float], margins: Sequence[float]
    ) -> tuple[int, list[_Trial]]:
        """The best position for a term in a translation, and the positions to try.

        Args:
            sentence: the sentence.
            term: the term.
            drops: how much less probable each token of the translation is without the term in the source.
            margins: how much more probable at each position the term's first token is than the token there.
        """
        begin = self.vocabulary.sentence_start(bool(sentence.request.prefix_ids))
        words = self.vocabulary.target_words
        last = len(margins) - len(begin)
        places = [place for place in words.places(sentence.ids) if sentence.start <= place < last]
        word_drops = {place: sum(drops[len(begin) + place : len(begin) + stop]) for place, stop in pairwise(places)}
        translated = sorted(word_drops, key=lambda place: -word_drops[place])[:NUM_TRANSLATED]
        probable = sorted(places, key=lambda place: -margins[len(begin) + place])[:NUM_PROBABLE]
        gaps: dict[int, int] = {}
        for place in [*translated, *probable]:
            before, num_words = words.before_short_words(sentence.ids, place)
            if before < sentence.start:
                before, num_words = place, 0
            gaps[before] = max(min(num_words + 1, MAX_GAP), gaps.get(before, 0))
        first = self.vocabulary.num_leading_specials(sentence.ids)
        trials = [
            _Trial(term, term.forcing((*begin, *sentence.ids[:before]), before == first, num_words), before)
            for before, num_words in gaps.items()
        ]
        return translated[0] if translated else len(sentence.ids), trials

    def _run(self, tried: Sequence[tuple[_Sentence, Forcing]]) -> list[Output]:
        """The output of each, in order; runs that end in the same way are batched together."""
        outputs: dict[int, Output] = {}
        for ends, indices in _grouped([sentence.ends for sentence, _ in tried]):
            requests = [tried[index][0].request._replace(forcing=tried[index][1]) for index in indices]
            outputs.update(zip(indices, self.generator.run(requests, ends), strict=True))
        return [outputs[index] for index in range(len(tried))]

    def _scores(self, translations: Sequence[tuple[_Sentence, list[int]]]) -> list[float]:
        """The log-probability of each translation, or 0 for the only one of its sentence."""
        counts = Counter(id(sentence) for sentence, _ in translations)
        if set(counts.values()) <= {1}:
            return [0.0] * len(translations)
        replays = [self._replay(sentence, ids) for sentence, ids in translations]
        replayed = self._replayed([sentence for sentence, _ in translations], replays)
        return [sum(one.target) for one in replayed]

    def _replayed(self, sentences: Sequence[_Sentence], replays: Sequence[Replay]) -> list[Replayed]:
        replayed: dict[int, Replayed] = {}
        for ends, indices in _grouped([sentence.ends for sentence in sentences]):
            requests = [sentences[index].request for index in indices]
            found = self.generator.replay(requests, [replays[index] for index in indices], ends)
            replayed.update(zip(indices, found, strict=True))
        return [replayed[index] for index in range(len(sentences))]

    def _replay(self, sentence: _Sentence, ids: Sequence[int]) -> Replay:
        begin = self.vocabulary.sentence_start(bool(sentence.request.prefix_ids))
        # A translation that was cut has no end token within the limit.
        return Replay((*begin, *ids, sentence.ends.end_ids[0])[: sentence.request.max_new_tokens])


def _terms(sentence: _Sentence) -> SentenceTerms:
    document, index = sentence.place
    return document.terms[index]


def _ids_without_term(document: TranslationState, index: int, match: TermMatch) -> list[int]:
    """The token ids of a sentence without all occurrences of a term."""
    text, position = "", 0
    for one in document.terms[index].required:
        if one.term == match.term:
            text += document.texts[index][position : one.start]
            position = one.stop
    (ids,) = document.vocabulary.encode([text + document.texts[index][position:]])
    return ids


def _differences(ones: Sequence[float], others: Sequence[float]) -> list[float]:
    return [one - other for one, other in zip(ones, others, strict=True)]


def _grouped(ends: Sequence[StopConditions]) -> list[tuple[StopConditions, list[int]]]:
    """Indices of those with the same conditions."""
    groups: list[tuple[StopConditions, list[int]]] = []
    for index, one in enumerate(ends):
        group = next((indices for known, indices in groups if known == one), None)
        if group is None:
            groups.append((one, [index]))
        else:
            group.append(index)
    return groups
