# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Documents before, during and after their translation, and the counts of what happened to them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import NamedTuple

from .batched_generation import Output
from .document_windows import Window, document_blocks, split_window
from .translation_vocabulary import TranslationVocabulary
from .written_windows import ExpectedWindow


@dataclass
class DecodingStatistics:
    """Counts of what happened while sentences were decoded; `add` sums them up.

    Attributes:
        num_sentences: sentences that were given, empty ones too.
        num_windows: windows decoded, the repeated ones too.
        num_fallbacks: sentences decoded again alone, for any of the next three reasons.
        num_wrong_separators: translated windows with another number of sentences than the source.
        num_endless: translated windows that reached the length limit before the end token.
        num_empty_retries: sentences whose translation was empty at first.
        num_empty: sentences without a translation in the end.
        num_cut: translations that are incomplete, because they reached the length limit also alone.
        num_split: sentences longer than the model's limit, translated in pieces.
        num_shortened_windows: windows that lost context because they were longer than the model's limit.
    """

    num_sentences: int = 0
    num_windows: int = 0
    num_fallbacks: int = 0
    num_wrong_separators: int = 0
    num_endless: int = 0
    num_empty_retries: int = 0
    num_empty: int = 0
    num_cut: int = 0
    num_split: int = 0
    num_shortened_windows: int = 0

    def add(self, other: "DecodingStatistics") -> None:
        """Adds the counts of `other` to these."""
        for count in fields(self):
            setattr(self, count.name, getattr(self, count.name) + getattr(other, count.name))

    def problems(self) -> list[str]:
        """What a reader of the translation must know: one line for each kind of problem that happened."""
        told = {
            "translated in pieces, because longer than the model's limit (max_source_tokens)": self.num_split,
            "with a translation that was cut at the length limit": self.num_cut,
            "without a translation: the model gave nothing, twice": self.num_empty,
        }
        return [f"{count} of {self.num_sentences} sentences {what}" for what, count in told.items() if count]


@dataclass(frozen=True)
class SourceDocument:
    """A document to translate.

    Attributes:
        paragraphs: the sentences of each paragraph.
        context: paragraphs before these, read but not translated.
        context_translation: the translation of each context sentence, if there is one; only `prefix` reads it.
    """

    paragraphs: Sequence[Sequence[str]]
    context: Sequence[Sequence[str]] = ()
    context_translation: Sequence[str] | None = None

    def __post_init__(self) -> None:
        num_context = sum(len(paragraph) for paragraph in self.context)
        if self.context_translation is not None and len(self.context_translation) != num_context:
            raise ValueError(
                f"{num_context} context sentences but {len(self.context_translation)} in context_translation; "
                f"give both as sentences, one translation for each"
            )


@dataclass
class TranslatedDocument:
    """The translations, in the paragraphs of the source, and the counts of how they were made."""

    paragraphs: list[list[str]]
    statistics: DecodingStatistics


@dataclass
class WorkingDocument:
    """A document while it is decoded: its non-empty sentences in one row, context first.

    Attributes:
        texts: the sentences.
        ids: their token ids.
        ends_paragraph: for each, whether it is the last of its paragraph.
        first: index of the first sentence that is not context.
        translations: what is known so far; None where there is nothing yet.
        target_ids: token ids of the translations.
        places: (paragraph, sentence) of each sentence in the document that was given.
        result: the paragraphs, filled already where there is nothing to translate.
    """

    texts: list[str]
    ids: list[list[int]]
    ends_paragraph: list[bool]
    first: int
    vocabulary: TranslationVocabulary
    places: list[tuple[int, int]] = field(default_factory=list)
    result: list[list[str]] = field(default_factory=list)
    statistics: DecodingStatistics = field(default_factory=DecodingStatistics)

    def __post_init__(self) -> None:
        self.translations: list[str | None] = [None] * len(self.texts)
        self.target_ids: list[list[int]] = [[] for _ in self.texts]
        num_closing = 1 if self.vocabulary.has_separators else 0
        self.source_lengths = [len(ids) + num_closing for ids in self.ids]

    @classmethod
    def of_sentences(
        cls, texts: list[str], ids: list[list[int]], vocabulary: TranslationVocabulary
    ) -> "WorkingDocument":
        """Sentences that have nothing to do with each other."""
        return cls(texts, ids, [False] * len(texts), 0, vocabulary)

    def know(self, translations: Sequence[str]) -> None:
        """Takes the given translations for the first sentences; empty ones are ignored."""
        for index, ids in enumerate(self.vocabulary.encode(translations, target=True)):
            if translations[index].strip():
                self.translations[index], self.target_ids[index] = translations[index], ids

    def alone_ids(self, index: int) -> list[int]:
        return self.source_ids(Window(index, index + 1))

    def source_ids(self, window: Window) -> list[int]:
        inside = slice(*window)
        return self.vocabulary.join(self.ids[inside], self.ends_paragraph[inside], side=0)

    def prefix_ids(self, window: Window) -> list[int]:
        """Target ids of the context in the window, closed as in the source: `<sep>` or `<par>` behind each sentence."""
        inside = slice(window.start, window.stop)
        sentences = [*self.target_ids[window.start : window.stop - 1], []]
        return self.vocabulary.join(sentences, self.ends_paragraph[inside], side=1)[:-1]

    @property
    def target_lengths(self) -> list[int]:
        """Lengths of the translations, closing tokens counted; guessed generously where there is none yet."""
        pairs = zip(self.target_ids, self.source_lengths, strict=True)
        return [len(ids) + 1 if ids else 5 * num_source // 4 + 1 for ids, num_source in pairs]

    def next_index(self) -> int | None:
        """The first sentence without a translation."""
        return next((index for index, known in enumerate(self.translations) if known is None), None)

    def blocks(
        self, window_sentences: int, max_source_tokens: int | None, max_target_tokens: int | None
    ) -> list[Window]:
        """Windows that do not overlap, over what is not translated yet; those of nothing but context are left out."""
        blocks: list[Window] = []
        target_lengths = self.target_lengths
        start = 0
        while start < len(self.texts):
            stop = start + 1 if self.translations[start] is not None else self._end_of_run(start, window_sentences)
            if self.translations[start] is None:
                inside = document_blocks(
                    self.source_lengths[start:stop], max_source_tokens, target_lengths[start:stop], max_target_tokens
                )
                blocks += [Window(start + block.start, start + block.stop) for block in inside]
            start = stop
        return [block for block in blocks if block.stop > self.first]

    def _end_of_run(self, start: int, window_sentences: int) -> int:
        stop = start + 1
        while (
            stop < len(self.texts)
            and self.translations[stop] is None
            and (window_sentences == 0 or stop - start < window_sentences)
        ):
            stop += 1
        return stop

    def store(self, index: int, ids: list[int]) -> bool:
        """Keeps the translation of sentence `index`; False if it has no text, which is never kept over a text."""
        text = self.vocabulary.decode(ids)
        self.translations[index], self.target_ids[index] = text, ids
        return bool(text)

    def accept(self, index: int, output: Output, vocabulary: TranslationVocabulary) -> bool:
        """Keeps the translation of a sentence that was decoded alone; False if it is empty."""
        self.statistics.num_windows += 1
        ignored = {*vocabulary.ignored, *vocabulary.target_separators}
        has_text = self.store(index, [token_id for token_id in output.ids if token_id not in ignored])
        self.statistics.num_cut += not output.is_complete
        return has_text

    def finish(self) -> TranslatedDocument:
        """The document as its reader wants it."""
        for (paragraph, sentence), text in zip(self.places, self.translations[self.first :], strict=True):
            self.result[paragraph][sentence] = text or ""
            self.statistics.num_empty += not text
        self.statistics.num_sentences += sum(len(paragraph) for paragraph in self.result)
        return TranslatedDocument(self.result, self.statistics)


def most_target_tokens(num_source_tokens: int) -> int:
    """The most tokens that so many source tokens are translated to; whatever is longer goes on for ever."""
    return 2 * num_source_tokens + 10


Place = tuple[WorkingDocument, int]


class Job(NamedTuple):
    """A window to decode; of its translation the sentences from `first` on are kept."""

    document: WorkingDocument
    window: Window
    first: int

    @property
    def num_sentences(self) -> int:
        return self.window.stop - self.window.start

    def expected(self) -> ExpectedWindow:
        """What its translation must have; no sentence may be longer than the longest could be alone."""
        longest = max(self.document.source_lengths[self.window.start : self.window.stop])
        return ExpectedWindow(self.num_sentences, most_target_tokens(longest))

    def accept(self, output: Output, vocabulary: TranslationVocabulary) -> list[Place]:
        """Keeps what is right in a translated window; returns the sentences that must be decoded again."""
        statistics = self.document.statistics
        statistics.num_windows += 1
        kept = range(self.first, self.window.stop)
        sentences = split_window(output.ids, vocabulary.target_separators, vocabulary.ignored)
        if not output.is_complete or len(sentences) != self.num_sentences:
            # With too many separators its run need not have been left to come to its end.
            has_wrong_separators = output.is_complete or len(sentences) > self.num_sentences
            statistics.num_endless += not has_wrong_separators
            statistics.num_wrong_separators += has_wrong_separators
            return [(self.document, index) for index in kept]
        empty = [index for index in kept if not self.document.store(index, sentences[index - self.window.start])]
        statistics.num_empty_retries += len(empty)
        return [(self.document, index) for index in empty]

    def accept_current(self, output: Output, vocabulary: TranslationVocabulary) -> list[Place]:
        """Keeps the translation of the current sentence behind a forced prefix, if there is one."""
        statistics = self.document.statistics
        statistics.num_windows += 1
        ids = [token_id for token_id in output.ids if token_id not in vocabulary.ignored]
        has_text = self.document.store(self.first, ids)
        statistics.num_endless += not output.is_complete
        statistics.num_empty_retries += not has_text and output.is_complete
        return [] if has_text and output.is_complete else [(self.document, self.first)]


def encode_documents(
    documents: Sequence[SourceDocument], vocabulary: TranslationVocabulary, num_context: int | None
) -> list[WorkingDocument]:
    """The documents, encoded, with at most `num_context` sentences of the context before each (None: all of it)."""
    parts = [part for document in documents for part in (document.context, document.paragraphs)]
    ids = iter(vocabulary.encode([text for part in parts for paragraph in part for text in paragraph]))
    return [_encode_document(document, vocabulary, ids, num_context) for document in documents]


def _encode_document(
    document: SourceDocument, vocabulary: TranslationVocabulary, ids: Iterator[list[int]], num_context: int | None
) -> WorkingDocument:
    """The document as one row of sentences, without those that have no tokens: these stay as they are."""
    context = _sentences(document.context, ids)
    context = context[len(context) - min(num_context, len(context)) :] if num_context is not None else context
    sentences = _sentences(document.paragraphs, ids)
    row = [*context, *sentences]
    working = WorkingDocument(
        texts=[sentence.text for sentence in row],
        ids=[sentence.ids for sentence in row],
        ends_paragraph=_paragraph_ends(context) + _paragraph_ends(sentences),
        first=len(context),
        vocabulary=vocabulary,
        places=[sentence.place for sentence in sentences],
        result=[list(paragraph) for paragraph in document.paragraphs],
    )
    if document.context_translation is not None:
        working.know([document.context_translation[sentence.number] for sentence in context])
    return working


class _Sentence(NamedTuple):
    """A sentence with at least one token; its place is (paragraph, sentence), its number counts through them."""

    text: str
    ids: list[int]
    place: tuple[int, int]
    number: int


def _sentences(paragraphs: Sequence[Sequence[str]], ids: Iterator[list[int]]) -> list[_Sentence]:
    places = [(row, column) for row, paragraph in enumerate(paragraphs) for column in range(len(paragraph))]
    everything = [
        _Sentence(paragraphs[row][column], list(next(ids)), (row, column), number)
        for number, (row, column) in enumerate(places)
    ]
    return [sentence for sentence in everything if sentence.ids and sentence.text.strip()]


def _paragraph_ends(sentences: Sequence[_Sentence]) -> list[bool]:
    """For each sentence, whether the next one is in another paragraph or there is none."""
    rows = [sentence.place[0] for sentence in sentences]
    return [row != following for row, following in zip(rows, [*rows[1:], -1], strict=False)]
