# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""A document while it is translated: what is known of each of its sentences."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from ..text.glossary import Glossary, TermMatch, TermUse
from ..text.number_terms import NumberTerm
from ..text.protected_spans import remove_objects
from ..text.translation_memory import MemoryMatch
from ..text.untranslatable import SentenceParts
from ..text.windows import Window, document_blocks
from .decoder_runs import Output
from .glossary_options import TermPolicy
from .repetition import is_loop, num_repeated_ngrams, repetition
from .sentence_terms import SentenceTerms
from .translation_documents import TranslatedDocument, all_places
from .translation_report import (
    ALTERED,
    COPIED,
    CUT,
    DECODED_AGAIN,
    EMPTY,
    LOOP,
    LOOP_TOO_LONG,
    MISSING_NUMBER,
    MISSING_TERM,
    NUMBER_LOST,
    SPLIT,
    STAYED_ALTERED,
    STAYED_EMPTY,
    TOO_LONG,
    DecodingStatistics,
    SentenceEvent,
)
from .translation_vocabulary import TranslationVocabulary


@dataclass
class TranslationState:
    """A document while it is decoded: its sentences with something to translate in one row, context first.

    Attributes:
        texts: the sentences, without the parts that the model does not read.
        ids: their token ids.
        ends_paragraph: for each, whether it is the last of its paragraph.
        first: index of the first sentence that is not context.
        translations: those so far; None where there is none yet.
        target_ids: token ids of the translations.
        places: (paragraph, sentence) of each sentence in the document that was given, without the context.
        numbers: for each of these its index among the sentences of the document.
        parts: for each of these what surrounds its translation.
        result: the paragraphs, complete where there is nothing to translate.
        long: sentences that are too long for the model and translated in pieces; no window holds them with others.
        events: what happened to the sentences of the row: (index, kind) -> reason.
        copied: the sentences that are not in the row, as there is nothing to translate.
        glossary: terms with prescribed translations.
        policy: how these and numbers come into translations.
        other_terms: the terms of sentences that are not in the row.
        memory: the matches of the translation memory for sentences of the document.
        known: the translations of sentences of the row that the memory gave, in their final form.
        pieces: the documents whose sentences are the pieces of a long sentence.
        log_probabilities: those of the tokens of translations, with the token that closes them, if they were scored.
    """

    texts: list[str]
    ids: list[list[int]]
    ends_paragraph: list[bool]
    first: int
    vocabulary: TranslationVocabulary
    places: list[tuple[int, int]] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    parts: list[SentenceParts] = field(default_factory=list)
    result: list[list[str]] = field(default_factory=list)
    statistics: DecodingStatistics = field(default_factory=DecodingStatistics)
    long: set[int] = field(default_factory=set)
    events: dict[tuple[int, str], str] = field(default_factory=dict)
    copied: list[SentenceEvent] = field(default_factory=list)
    glossary: Glossary | None = None
    policy: TermPolicy = field(default_factory=TermPolicy)
    other_terms: list[TermUse] = field(default_factory=list)
    memory: list[MemoryMatch] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.translations: list[str | None] = [None] * len(self.texts)
        self.target_ids: list[list[int]] = [[] for _ in self.texts]
        self.known: dict[int, str] = {}
        self.pieces: dict[int, TranslationState] = {}
        self.log_probabilities: dict[int, list[float]] = {}
        self._num_known = self._num_told = 0
        self._was_altered: set[int] = set()
        self._was_loop: set[int] = set()
        self._row_of = {number: index for index, number in enumerate(self.numbers, start=self.first)}
        self._all_places = all_places(self.result)
        self._num_closing = 1 if self.vocabulary.has_separators else 0
        self.terms = [SentenceTerms() for _ in self.texts]
        self._find_terms(range(len(self.texts)))
        self.source_lengths = [len(ids) + self._num_closing for ids in self.ids]

    @classmethod
    def of_sentences(
        cls,
        texts: list[str],
        ids: list[list[int]],
        vocabulary: TranslationVocabulary,
        glossary: Glossary | None,
        policy: TermPolicy,
    ) -> "TranslationState":
        """The state of unrelated sentences."""
        ends_paragraph = [False] * len(texts)
        return cls(texts, ids, ends_paragraph, 0, vocabulary, glossary=glossary, policy=policy)

    def _find_terms(self, indices: Iterable[int]) -> None:
        """Finds the terms and numbers of sentences; terms are written into the source if the model reads them there."""
        inline = []
        for index in indices:
            parts, language = self._parts(index), self.vocabulary.target_language
            stand_ins = () if parts is None else [stand_in for stand_in, _ in parts.replaced_spans]
            self.terms[index] = SentenceTerms.of(self.texts[index], self.glossary, self.policy, language, stand_ins)
            if self.policy.is_inline and self.terms[index].terms:
                inline.append(index)
        texts = [self.terms[index].inline_text(self.texts[index]) for index in inline]
        for index, ids in zip(inline, self.vocabulary.encode_with_terms(texts), strict=True):
            self.ids[index] = ids

    def missing_terms(self, index: int, ids: list[int] | None = None) -> list[TermMatch]:
        """The terms and numbers that a sentence is decoded again for: those that its translation lacks, or a
        translation of these token ids; none without a translation."""
        if not self.terms[index].required:
            return []
        translation = self.translations[index] if ids is None else self.vocabulary.decode(ids)
        return self.terms[index].missing(translation) if translation else []

    def is_acceptable(self, index: int, ids: list[int]) -> bool:
        """Whether a translation with these token ids would not be decoded again."""
        translation, parts = self.vocabulary.decode(ids), self._parts(index)
        if not translation or is_loop(ids, self.ids[index]):
            return False
        return parts is None or parts.keeps_protected(translation)

    def use_terms(self, index: int, ids: list[int]) -> None:
        """Sets a translation that was decoded for its terms or numbers."""
        lacked = [isinstance(match.term, NumberTerm) for match in self.missing_terms(index)]
        reasons = [*((MISSING_TERM,) if False in lacked else ()), *((MISSING_NUMBER,) if True in lacked else ())]
        self.translations[index], self.target_ids[index] = self.vocabulary.decode(ids), ids
        self.events.pop((index, CUT), None)
        before = self.events.get((index, DECODED_AGAIN))
        self.events[index, DECODED_AGAIN] = "; ".join([*(() if before is None else (before,)), *reasons])

    def add_known(self, translations: Sequence[str]) -> None:
        """Sets the given translations of the first sentences; empty ones are ignored."""
        for index, ids in enumerate(self.vocabulary.encode(translations, target=True)):
            if translations[index].strip():
                self.translations[index], self.target_ids[index] = translations[index], ids

    def use_memory(self) -> None:
        """Sets the exact matches of the memory as translations, also of sentences with nothing to translate."""
        exact = {one.sentence: one.target for one in self.memory if one.score == 100}
        self.statistics.num_from_memory += len(exact)
        self.statistics.num_fuzzy_matches += len(self.memory) - len(exact)
        for number in exact.keys() - self._row_of.keys():
            paragraph, sentence = self._all_places[number]
            self.result[paragraph][sentence] = exact[number]
        numbers = sorted(exact.keys() & self._row_of.keys())
        rows = self.vocabulary.encode([remove_objects(exact[number]) for number in numbers], target=True)
        for number, ids in zip(numbers, rows, strict=True):
            index = self._row_of[number]
            self.known[index], self.translations[index], self.target_ids[index] = exact[number], exact[number], ids

    def alone_ids(self, index: int) -> list[int]:
        return self.source_ids(Window(index, index + 1))

    def source_ids(self, window: Window) -> list[int]:
        inside = slice(*window)
        return self.vocabulary.join(self.ids[inside], self.ends_paragraph[inside], side=0)

    def prefix_ids(self, window: Window) -> list[int]:
        """Target ids of the context in the window, closed as in the source: `<sep>` or `<par>` after each sentence."""
        inside = slice(window.start, window.stop)
        sentences = [*self.target_ids[window.start : window.stop - 1], []]
        return self.vocabulary.join(sentences, self.ends_paragraph[inside], side=1)[:-1]

    def target_lengths(self, window: Window) -> list[int]:
        """Lengths of the translations, including closing tokens; generous estimates where there is none yet."""
        inside = slice(*window)
        pairs = zip(self.target_ids[inside], self.source_lengths[inside], strict=True)
        return [len(ids) + 1 if ids else 5 * num_source // 4 + 1 for ids, num_source in pairs]

    def next_index(self, start: int = 0) -> int | None:
        """The first sentence without a translation, from `start` on."""
        self._num_known = max(self._num_known, start)
        while self._num_known < len(self.texts) and self.translations[self._num_known] is not None:
            self._num_known += 1
        return self._num_known if self._num_known < len(self.texts) else None

    def mark_long(self, limit: int) -> None:
        """Marks the sentences without a translation that are longer than the limit."""
        lengths = enumerate(self.source_lengths)
        self.long = {index for index, length in lengths if length > limit and self.translations[index] is None}
        for index in self.long:
            # A piece could lose its stand-ins.
            self._use_fallback(index)

    def _use_fallback(self, index: int) -> None:
        """Encodes a sentence again without signs and stand-ins for placeholders, tags and addresses."""
        parts = self._parts(index)
        if parts is not None and parts.fallback is not None:
            self.parts[index - self.first] = parts.fallback
            self.texts[index] = parts.fallback.core
            (self.ids[index],) = self.vocabulary.encode([self.texts[index]])
            self._find_terms([index])
            self.source_lengths[index] = len(self.ids[index]) + self._num_closing

    def _parts(self, index: int) -> SentenceParts | None:
        """The parts of a sentence of the row; None for context and for pieces, around which nothing is added."""
        return self.parts[index - self.first] if 0 <= index - self.first < len(self.parts) else None

    def _keeps_protected(self, index: int) -> bool:
        """Whether the translation of a sentence keeps its placeholders, tags, addresses and signs."""
        parts, translation = self._parts(index), self.translations[index]
        return parts is None or not translation or parts.keeps_protected(translation)

    def is_apart(self, index: int) -> bool:
        """Whether a sentence is in no window with others: it is translated already, or in pieces."""
        return self.translations[index] is not None or index in self.long

    def blocks(
        self, window_sentences: int, max_source_tokens: int | None, max_target_tokens: int | None
    ) -> list[Window]:
        """Windows that do not overlap, over what is not translated yet, except those of nothing but context."""
        blocks: list[Window] = []
        start = 0
        while start < len(self.texts):
            stop = start + 1 if self.is_apart(start) else self._end_of_run(start, window_sentences)
            if not self.is_apart(start):
                inside = document_blocks(
                    self.source_lengths[start:stop],
                    max_source_tokens,
                    self.target_lengths(Window(start, stop)),
                    max_target_tokens,
                )
                blocks += [Window(start + block.start, start + block.stop) for block in inside]
            start = stop
        return [block for block in blocks if block.stop > self.first]

    def _end_of_run(self, start: int, window_sentences: int) -> int:
        stop = start + 1
        while (
            stop < len(self.texts)
            and not self.is_apart(stop)
            and (window_sentences == 0 or stop - start < window_sentences)
        ):
            stop += 1
        return stop

    def store(self, index: int, ids: list[int]) -> str | None:
        """Stores the translation of sentence `index`; returns why it should be decoded again, or None."""
        ids = self.vocabulary.without_start(ids)
        self.translations[index], self.target_ids[index] = self.vocabulary.decode(ids), ids
        if not self.translations[index]:
            return EMPTY
        if is_loop(ids, self.ids[index]):
            return LOOP
        return None if index in self._was_altered or self._keeps_protected(index) else ALTERED

    def accept(self, index: int, output: Output, vocabulary: TranslationVocabulary) -> str | None:
        """Stores the translation of a sentence that was decoded alone; returns why it should be decoded again, or
        None."""
        self.statistics.num_windows += 1
        self._note_cut(index, output)
        reason = self.store(index, vocabulary.text_ids(output.ids))
        if reason is None and not output.is_complete and num_repeated_ngrams(self.target_ids[index]) > 0:
            # It does not end, even if its source repeats itself as much.
            return LOOP
        return reason

    def accept_better(self, index: int, output: Output, vocabulary: TranslationVocabulary) -> str | None:
        """Stores the translation of a sentence that was decoded with repeated n-grams forbidden, if it is the better
        one; returns why the sentence should still be decoded again, or None."""
        self.statistics.num_windows += 1
        ids = vocabulary.text_ids(output.ids)
        if vocabulary.decode(ids) and repetition(ids) < repetition(self.target_ids[index]):
            self._note_cut(index, output)
            self.store(index, ids)
        return None if index in self._was_altered or self._keeps_protected(index) else ALTERED

    def _note_cut(self, index: int, output: Output) -> None:
        if output.is_complete:
            self.events.pop((index, CUT), None)
        else:
            self.events[index, CUT] = LOOP_TOO_LONG if index in self._was_loop else TOO_LONG

    def decode_again(self, index: int, reason: str) -> None:
        """Counts and notes that a sentence is decoded again alone."""
        self.statistics.num_fallbacks += 1
        self.statistics.num_empty_retries += reason == EMPTY
        self.statistics.num_loops += reason == LOOP
        if reason == LOOP:
            self._was_loop.add(index)
            if (index, CUT) in self.events:
                self.events[index, CUT] = LOOP_TOO_LONG
        if reason == ALTERED:
            self.statistics.num_altered += 1
            self._was_altered.add(index)
            self._use_fallback(index)
        before = self.events.get((index, DECODED_AGAIN))
        self.events[index, DECODED_AGAIN] = reason if before is None else f"{before}; {reason}"

    def join_pieces(self, index: int, pieces: "TranslationState", joiner: str) -> None:
        """Joins the translations of the pieces of a long sentence.

        Pieces without one stay as they are, and so does the sentence if none has one.
        """
        self.pieces[index] = pieces
        pairs = list(zip(pieces.translations, pieces.texts, strict=True))
        num_empty = sum(not translation for translation, _ in pairs)
        if num_empty < len(pairs):
            self.translations[index] = joiner.join(translation or text for translation, text in pairs)
        self.target_ids[index] = [token_id for ids in pieces.target_ids for token_id in ids]
        self.statistics.add(replace(pieces.statistics, num_split=1))
        copied = f", {num_empty} of them copied: {STAYED_EMPTY}" if num_empty else ""
        self.events[index, SPLIT] = f"{len(pairs)} pieces{copied}"
        for (_, kind), reason in pieces.events.items():
            self.events[index, kind] = reason
        if LOOP_TOO_LONG in pieces.events.values():
            self.events[index, CUT] = LOOP_TOO_LONG

    def is_copied(self, index: int) -> bool:
        """Whether a decoded sentence stays as it is, because its translation is empty or lacks something protected."""
        if index in self.known:
            return False
        return not self.translations[index] or not self._keeps_protected(index)

    def rows(self) -> list[tuple[int, int]]:
        """(number in the document, index in the row) of each sentence with something to translate."""
        return [(number, index) for index, number in enumerate(self.numbers, start=self.first)]

    def sentences(self) -> list[str]:
        """All sentences of the document in their final form."""
        texts = [text for paragraph in self.result for text in paragraph]
        for number, index in self.rows():
            texts[number] = self.text(index)
        return texts

    def text(self, index: int) -> str:
        """Sentence `index` of the row in its final form: the source, if it is copied."""
        if index in self.known:
            return self.known[index]
        paragraph, sentence = self.places[index - self.first]
        translation = self.translations[index]
        if not translation or self.is_copied(index):
            return self.result[paragraph][sentence]
        return self.parts[index - self.first].restore(translation)

    def ready(self, stop: int) -> Iterator[str]:
        """The document's sentences, including those without anything to translate, before that of index `stop` of the
        row."""
        end = len(self._all_places) if stop == len(self.texts) else self.numbers[stop - self.first]
        while self._num_told < end:
            paragraph, sentence = self._all_places[self._num_told]
            place = self._row_of.get(self._num_told)
            self._num_told += 1
            yield self.result[paragraph][sentence] if place is None else self.text(place)

    def finish(self) -> TranslatedDocument:
        """The finished document."""
        for index in range(self.first, len(self.texts)):
            if not self.translations[index]:
                self.events[index, COPIED] = STAYED_EMPTY
                self.statistics.num_empty += 1
                self.statistics.num_copied += 1
            elif self.is_copied(index):
                self.events[index, COPIED] = STAYED_ALTERED
                self.statistics.num_stayed_altered += 1
                self.statistics.num_copied += 1
            elif index not in self.known and (lost := self.terms[index].lost_numbers(self.text(index))):
                self.events[index, NUMBER_LOST] = ", ".join(lost)
                self.statistics.num_numbers_lost += 1
        paragraphs = [list(paragraph) for paragraph in self.result]
        for index, (paragraph, sentence) in enumerate(self.places, start=self.first):
            paragraphs[paragraph][sentence] = self.text(index)
        self.statistics.num_cut += sum(kind == CUT for _, kind in self.events)
        self.statistics.num_cut_in_loops += sum(reason == LOOP_TOO_LONG for reason in self.events.values())
        self.statistics.num_sentences += sum(map(len, paragraphs))
        events = [
            SentenceEvent(self.numbers[index - self.first], kind, reason)
            for (index, kind), reason in self.events.items()
            if index >= self.first
        ]
        uses = sorted([*self.other_terms, *self._term_uses()])
        self.statistics.count_terms(uses)
        return TranslatedDocument(paragraphs, self.statistics, sorted([*self.copied, *events]), uses, None, self.memory)

    def _term_uses(self) -> Iterator[TermUse]:
        """What became of the terms of the document's sentences, without those of the context."""
        for index in range(self.first, len(self.texts)):
            yield from self.terms[index].uses(self.numbers[index - self.first], self.text(index))


# A document, and the index of one of its sentences.
Place = tuple[TranslationState, int]
