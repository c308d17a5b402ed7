# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What happened while sentences were decoded: counts, and which sentences it happened to."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

from ..text.glossary import INFLECTED, UNUSED, Glossary, TermMatch, TermUse
from ..text.translation_memory import MemoryMatch


@dataclass
class DecodingStatistics:
    """Counts of what happened while sentences were decoded; `add` sums them up.

    Attributes:
        num_sentences: all sentences, including empty ones.
        num_windows: windows decoded, including repeated ones.
        num_fallbacks: sentences decoded again alone, for any of the next five reasons.
        num_wrong_separators: translated windows with another number of sentences than the source.
        num_endless: translated windows that reached the length limit before the end token.
        num_empty_retries: sentences whose translation was empty at first.
        num_loops: sentences whose translation was a repetition loop at first.
        num_altered: sentences whose translation did not have each placeholder, tag, address and sign as often as the
            source, or in another order, at first.
        num_empty: sentences whose translation stayed empty; they are copied.
        num_stayed_altered: sentences whose translation also lacked one when decoded again; they are copied.
        num_messages: sentences with a plural or select message; they are copied.
        num_copied: sentences that are returned unchanged: these, and those with nothing to translate.
        num_protected: placeholders, tags, addresses and signs (`rare_signs`) in sentences that are translated; each is
            in the translation.
        num_cut: translations that are incomplete, because they reached the length limit even alone.
        num_cut_in_loops: those of them whose decoding was caught in a repetition loop.
        num_split: sentences longer than the model's limit, translated in pieces.
        num_shortened_windows: windows that lost context because they were longer than the model's limit.
        num_untranslated_terms: terms that are not translated, in sentences that are; each is in the translation.
        num_terms: terms of the glossary in the sentences, each counted once in a sentence.
        num_terms_inflected: those of them that the translation has in another form.
        num_terms_unused: those of them that the translation does not have.
        num_term_retries: sentences that were decoded again because their translation lacked a term or a number.
        num_numbers_lost: sentences whose translation still lacks a number of the source.
        num_from_memory: sentences whose translation is an exact match of the translation memory.
        num_fuzzy_matches: others that are similar to one of the memory, which is reported and not used.
    """

    num_sentences: int = 0
    num_windows: int = 0
    num_fallbacks: int = 0
    num_wrong_separators: int = 0
    num_endless: int = 0
    num_empty_retries: int = 0
    num_loops: int = 0
    num_altered: int = 0
    num_empty: int = 0
    num_stayed_altered: int = 0
    num_messages: int = 0
    num_copied: int = 0
    num_protected: int = 0
    num_cut: int = 0
    num_cut_in_loops: int = 0
    num_split: int = 0
    num_shortened_windows: int = 0
    num_untranslated_terms: int = 0
    num_terms: int = 0
    num_terms_inflected: int = 0
    num_terms_unused: int = 0
    num_term_retries: int = 0
    num_numbers_lost: int = 0
    num_from_memory: int = 0
    num_fuzzy_matches: int = 0

    def count_terms(self, uses: Sequence[TermUse]) -> None:
        """Counts what became of terms."""
        self.num_terms += len(uses)
        self.num_terms_inflected += sum(one.use == INFLECTED for one in uses)
        self.num_terms_unused += sum(one.use == UNUSED for one in uses)

    def terms(self) -> list[str]:
        """What became of the terms of the glossary, in a line if there were any."""
        if not self.num_terms:
            return []
        num_given = self.num_terms - self.num_terms_inflected - self.num_terms_unused
        return [
            f"{self.num_terms} terms of the glossary: {num_given} used as given, {self.num_terms_inflected} in another "
            f"form, {self.num_terms_unused} not used"
        ]

    def memory(self) -> list[str]:
        """What the translation memory had, in a line if it had anything."""
        if not self.num_from_memory and not self.num_fuzzy_matches:
            return []
        return [
            f"translation memory: {self.num_from_memory} sentences taken from it, {self.num_fuzzy_matches} others "
            f"similar to some in it"
        ]

    def add(self, other: "DecodingStatistics") -> None:
        """Adds the counts of `other` to these."""
        for count in fields(self):
            setattr(self, count.name, getattr(self, count.name) + getattr(other, count.name))

    def protection(self) -> list[str]:
        """How many protected spans and untranslated terms were kept, in a line each if there were any."""
        again = f"; {self.num_altered} sentences decoded again for them" if self.num_altered else ""
        kept = {
            "placeholders, tags, addresses and signs": self.num_protected,
            "terms that are not translated": self.num_untranslated_terms,
        }
        return [f"{count} {what}, each kept{again}" for what, count in kept.items() if count]

    def problems(self) -> list[str]:
        """What a reader of the translation must know: one line for each kind of problem that happened."""
        in_loops = f", {self.num_cut_in_loops} of them in a repetition loop" if self.num_cut_in_loops else ""
        told = {
            "translated in pieces, because longer than the model's limit (max_source_tokens)": self.num_split,
            f"with a translation that was cut at the length limit{in_loops}": self.num_cut,
            "whose translation lacks a number of the source, or has it in words": self.num_numbers_lost,
            "left in the source language: the model gave nothing, twice": self.num_empty,
            "left in the source language: placeholders or tags were lost or invented, twice": self.num_stayed_altered,
            "left in the source language: plural or select messages, whose cases differ by language": self.num_messages,
        }
        problems = [f"{count} of {self.num_sentences} sentences {what}" for what, count in told.items() if count]
        if self.num_terms_unused:
            problems.append(f"{self.num_terms_unused} of {self.num_terms} terms of the glossary not in the translation")
        return problems


class SentenceEvent(NamedTuple):
    """Something that happened to a sentence, counted through its document from 0."""

    sentence: int
    kind: str
    reason: str


class SentenceConfidence(NamedTuple):
    """How confident the model is of a sentence's translation, from 0 to 1, and of each of its words (between white
    space); None for what the model did not generate."""

    sentence: int
    confidence: float | None
    words: tuple[float | None, ...]


# Kinds of events, in the order in which they are reported.
COPIED, CUT, SPLIT, NUMBER_LOST, DECODED_AGAIN = "copied", "cut", "split", "number_lost", "decoded_again"
INCIDENT_KINDS = (COPIED, CUT, SPLIT, NUMBER_LOST, DECODED_AGAIN)
# Why a sentence is decoded again, alone.
WRONG_SEPARATORS, ENDLESS, EMPTY, LOOP, ALTERED = (
    "a window with another number of sentences",
    "a window without end",
    "empty",
    "a repetition loop",
    "a placeholder, tag, address or sign lost or changed",
)
MISSING_TERM = "a term of the glossary not used"
MISSING_NUMBER = "a number of the source missing"
STAYED_EMPTY = "the model gave nothing, twice"
STAYED_ALTERED = f"{ALTERED}, twice"
# Why a translation is cut.
TOO_LONG = "longer than the length limit"
LOOP_TOO_LONG = f"{TOO_LONG}, in a repetition loop"


def term_uses(
    glossary: Glossary | None, matches: Sequence[TermMatch], sentence: int, translation: str
) -> Iterator[TermUse]:
    """What became of each different term of a sentence."""
    for term in dict.fromkeys(match.term for match in matches):
        assert glossary is not None
        yield TermUse(sentence, term.source, term.targets[0], glossary.use(term, translation))


def details(
    statistics: DecodingStatistics,
    events: Iterable[SentenceEvent],
    terms: Iterable[TermUse] = (),
    confidences: Iterable[SentenceConfidence] | None = None,
    memory: Iterable[MemoryMatch] = (),
) -> dict[str, Any]:
    """A document's counts, for each kind of event the sentences with the reasons, and what became of terms.

    `{"counts": {...}, "copied": [{"sentence": 3, "reason": "no letters"}], "cut": [...], "split": [...], "number_lost":
    [{"sentence": 5, "reason": "2,500"}], "decoded_again": [...], "terms": [{"sentence": 0, "source": "board", "target":
    "conseil", "use": "given"}]}`; sentences are counted from 0, as in the list of sentences; a term is `given`,
    `inflected` or `unused`.
    `"memory": [{"sentence": 0, "score": 100.0, "source": ..., "target": ...}]` has what a translation memory has for
    sentences: with a score of 100 the target is the translation, with a lower one it was not used. With confidences
    also `"confidences": [{"sentence": 0, "confidence": 0.8, "word_confidences": [0.9, 0.7]}, ...]`.
    """
    lists: dict[str, list[dict[str, Any]]] = {kind: [] for kind in INCIDENT_KINDS}
    for one in sorted(events):
        lists[one.kind].append({"sentence": one.sentence, "reason": one.reason})
    told: dict[str, Any] = {"counts": asdict(statistics), **lists, "terms": [one._asdict() for one in terms]}
    told["memory"] = [one._asdict() for one in memory]
    if confidences is not None:
        told["confidences"] = [
            {"sentence": one.sentence, "confidence": one.confidence, "word_confidences": list(one.words)}
            for one in confidences
        ]
    return told
