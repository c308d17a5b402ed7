# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Decoding of whole documents: one translation for each source sentence, always, in order.

Four strategies turn sentences into decoder runs:

* `sentence`: each sentence alone.
* `current`: each sentence with its context as one window; of the window's translation the last sentence is kept
  (Lupo et al. 2022).
* `prefix`: the same window, but the translations already made of the context are forced as the target prefix and only
  the current sentence is decoded.
* `document`: everything at once, in blocks of K sentences that do not overlap (K = 0: as many as fit).

The decoder is not trusted: a translated window with the wrong number of separators, without an end, or with an empty
sentence is thrown away for that sentence, which is then decoded again alone. What happened is counted.

Dimensions: B batch, S source tokens, T target tokens.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from .batched_generation import BatchedGenerator, Ends, Output, Request
from .document_windows import Window, document_blocks, fit_window, join_window, split_window

STRATEGIES = ("sentence", "current", "prefix", "document")

_UNSPACED_LANGUAGES = ("zh", "ja", "th", "lo", "km", "my", "bo")
_CLAUSE_BREAK = re.compile(r"(?<=[,;:!?…—–)\]])\s+|(?<=[.])\s+|(?<=[，；：、。！？])")
_WHITESPACE = re.compile(r"\s+")


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


class DocumentTranslator:
    """Translates documents with one model and one set of options.

    Args:
        model: an encoder-decoder with `generate`.
        tokenizer: of the source language, or of both.
        target_tokenizer: of the target language, where it is another one.
        strategy: one of `STRATEGIES`; default: `sentence` for a model of single sentences or without separators,
            `document` for K = 0, otherwise `current`.
        window_sentences: K; default: the one the model was trained with.
        batch_size: windows in a batch.
        max_batch_tokens: padded source and prefix tokens in a batch; None means no limit.
        max_source_tokens: longest source window; default: the model's.
        max_target_tokens: longest target window; default: the model's.
        generate_kwargs: options of `generate`. `max_new_tokens` replaces the limit of 2 x source length + 10.
        on_progress: called with the number of sentences that were translated.

    Raises:
        ValueError: an unknown strategy, or one that the model or tokenizer cannot follow.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        target_tokenizer: PreTrainedTokenizerBase | None = None,
        *,
        strategy: str | None = None,
        window_sentences: int | None = None,
        batch_size: int = 32,
        max_batch_tokens: int | None = None,
        max_source_tokens: int | None = None,
        max_target_tokens: int | None = None,
        generate_kwargs: dict[str, Any] | None = None,
        on_progress: Callable[[int], object] | None = None,
    ) -> None:
        config = model.config
        if window_sentences is None:
            window_sentences = getattr(config, "window_sentences", 1)
        if window_sentences < 0:
            raise ValueError(f"window_sentences must not be negative, got {window_sentences}")
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {batch_size}")
        self.model = model
        self.vocabulary = _Vocabulary(tokenizer, target_tokenizer or tokenizer)
        self.strategy = _checked_strategy(strategy, window_sentences, self.vocabulary)
        self.window_sentences = 1 if self.strategy == "sentence" else window_sentences
        self.max_source_tokens = max_source_tokens or _length_limit(config, "max_source_tokens")
        self.max_target_tokens = max_target_tokens or _length_limit(config, "max_target_tokens")
        self.generator = BatchedGenerator(
            model, self.vocabulary.pad_token_ids, batch_size, max_batch_tokens, generate_kwargs or {}
        )
        self.joiner = sentence_joiner(getattr(config, "target_language", None))
        self.on_progress = on_progress or (lambda num_sentences: None)

    def translate(self, documents: Sequence[SourceDocument]) -> list[TranslatedDocument]:
        """The translation of every document, in order; batches are filled across documents."""
        working = _encode_documents(documents, self.vocabulary, self._num_context())
        with self.generator.inference():
            self._translate_long_sentences(working)
            if self.strategy == "prefix":
                self._decode_in_order(working)
            else:
                self._decode_all(working)
        return [document.finish() for document in working]

    def _num_context(self) -> int | None:
        """The most context sentences that a window can hold; None means no limit."""
        return None if self.window_sentences == 0 else self.window_sentences - 1

    def _translate_long_sentences(self, documents: "list[_WorkingDocument]") -> None:
        """Sentences longer than the limit, cut into pieces that are decoded alone."""
        if self.max_source_tokens is None:
            return
        places = [
            (document, index)
            for document in documents
            for index in range(document.first if self.strategy != "prefix" else 0, len(document.texts))
            if document.translations[index] is None and document.source_lengths[index] > self.max_source_tokens
        ]
        # A model of windows has seen single sentences of this length at most.
        max_tokens = max(1, self.max_source_tokens // max(1, self.window_sentences) - 1)
        encode = self.vocabulary.encode
        pieces = [
            split_long_sentence(document.texts[index], lambda text: len(encode([text])[0]), max_tokens)
            for document, index in places
        ]
        # Each piece is a sentence of a document of its own, so that it is decoded with all the usual care.
        pieces_as_documents = [_WorkingDocument.of_sentences(texts, encode(texts), self.vocabulary) for texts in pieces]
        self._decode_alone([(piece, index) for piece in pieces_as_documents for index in range(len(piece.texts))])
        for (document, index), piece in zip(places, pieces_as_documents, strict=True):
            document.translations[index] = self.joiner.join(filter(None, piece.translations))
            document.target_ids[index] = [token_id for ids in piece.target_ids for token_id in ids]
            document.statistics.add(replace(piece.statistics, num_split=1, num_cut=int(piece.statistics.num_cut > 0)))
            if index >= document.first:
                self.on_progress(1)

    def _decode_all(self, documents: "list[_WorkingDocument]") -> None:
        """Strategies whose windows do not depend on each other: all windows of all documents in one pool."""
        jobs = [job for document in documents for job in self._jobs(document)]
        alone = [(job.document, job.window.start) for job in jobs if job.num_sentences == 1]
        self._decode_alone(alone, report=True)
        self._decode_windows([job for job in jobs if job.num_sentences > 1])

    def _jobs(self, document: "_WorkingDocument") -> "list[_Job]":
        if self.strategy == "document":
            blocks = document.blocks(self.window_sentences, self.max_source_tokens, self.max_target_tokens)
            return [_Job(document, block, max(block.start, document.first)) for block in blocks]
        return [
            _Job(document, self._fitted(document, index), index)
            for index in range(document.first, len(document.texts))
            if document.translations[index] is None
        ]

    def _fitted(self, document: "_WorkingDocument", index: int) -> Window:
        """The window of sentence `index`, without context that does not fit."""
        start = 0 if self.window_sentences == 0 else max(0, index + 1 - self.window_sentences)
        wanted = Window(start, index + 1)
        limits = (self.max_source_tokens, self.max_target_tokens)
        window = fit_window(wanted, document.source_lengths, document.target_lengths, *limits)
        document.statistics.num_shortened_windows += window != wanted
        return window

    def _decode_windows(self, jobs: "list[_Job]") -> None:
        """Windows of several sentences, each decoded as a whole; what is wrong with them is decoded again alone."""
        requests = [self._request(job.document.source_ids(job.window)) for job in jobs]
        failed = []
        finished = self.generator.run(requests, self.vocabulary.window_ends, lambda index: self._report(jobs[index]))
        for job, output in zip(jobs, finished, strict=True):
            failed += job.accept(output, self.vocabulary)
        self._decode_again(failed)

    def _decode_alone(self, places: "list[_Place]", report: bool = False, retry: bool = False) -> None:
        """Each sentence without any context; an empty translation is tried once more, with the end token forbidden."""
        requests = [self._request(document.alone_ids(index)) for document, index in places]
        on_output = (lambda index: self.on_progress(1)) if report else None
        finished = self.generator.run(requests, self.vocabulary.alone_ends(retry), on_output)
        empty = []
        for (document, index), output in zip(places, finished, strict=True):
            if not document.accept(index, output, self.vocabulary) and not retry:
                empty.append((document, index))
        for document, _ in empty:
            document.statistics.num_empty_retries += 1
        if empty:
            self._decode_again(empty)

    def _decode_again(self, places: "list[_Place]") -> None:
        for document, _ in places:
            document.statistics.num_fallbacks += 1
        self._decode_alone(places, retry=True)

    def _decode_in_order(self, documents: "list[_WorkingDocument]") -> None:
        """Strategy `prefix`: the next sentence of every document at the same time."""
        while places := [(document, index) for document in documents if (index := document.next_index()) is not None]:
            self._decode_next(places)

    def _decode_next(self, places: "list[_Place]") -> None:
        alone, jobs, requests = [], [], []
        for document, index in places:
            window = self._fitted(document, index)
            if window.start == index:
                alone.append((document, index))
                continue
            jobs.append(_Job(document, window, index))
            num_source = document.source_lengths[index]
            requests.append(self._request(document.source_ids(window), document.prefix_ids(window), num_source))
        self._decode_alone(alone)
        failed = []
        outputs = self.generator.run(requests, self.vocabulary.prefix_ends)
        for job, output in zip(jobs, outputs, strict=True):
            failed += job.accept_current(output, self.vocabulary)
        self._decode_again(failed)
        self.on_progress(sum(index >= document.first for document, index in places))

    def _request(self, source_ids: list[int], prefix_ids: Sequence[int] = (), num_source: int | None = None) -> Request:
        max_new_tokens = 2 * (len(source_ids) if num_source is None else num_source) + 10
        if self.max_target_tokens is not None:
            max_new_tokens = max(1, min(max_new_tokens, self.max_target_tokens - len(prefix_ids)))
        return Request(source_ids, list(prefix_ids), max_new_tokens)

    def _report(self, job: "_Job") -> None:
        self.on_progress(job.window.stop - job.first)


def split_long_sentence(text: str, count_tokens: Callable[[str], int], max_tokens: int) -> list[str]:
    """The sentence in pieces of at most `max_tokens` tokens, cut between clauses, else between words, else anywhere.

    The cut is always the possible one nearest to the middle, so that no piece is much shorter than the others.
    """
    if len(text) < 2 or count_tokens(text) <= max_tokens:
        return [text]
    middle = _cut_position(text)
    left, right = text[:middle].rstrip(), text[middle:].lstrip()
    return [piece for part in (left, right) if part for piece in split_long_sentence(part, count_tokens, max_tokens)]


def _cut_position(text: str) -> int:
    """Where to cut a text in two: never at its very start or end."""
    for pattern, margin in ((_CLAUSE_BREAK, len(text) // 4), (_WHITESPACE, 0)):
        ends = [match.end() for match in pattern.finditer(text)]
        inside = [end for end in ends if margin < end < len(text) - margin]
        if inside:
            return min(inside, key=lambda end: abs(end - len(text) / 2))
    return len(text) // 2


def sentence_joiner(language: str | None) -> str:
    """What stands between two sentences of a language (ISO 639 code): a space, or nothing where none is written."""
    return "" if language is not None and language.lower().split("-")[0] in _UNSPACED_LANGUAGES else " "


def _length_limit(config: Any, name: str) -> int | None:
    limit = getattr(config, name, None) or getattr(config, "max_position_embeddings", None)
    return limit if isinstance(limit, int) else None


def _checked_strategy(strategy: str | None, window_sentences: int, vocabulary: "_Vocabulary") -> str:
    if strategy is None:
        if window_sentences == 1 or not vocabulary.has_separators:
            return "sentence"
        return "document" if window_sentences == 0 else "current"
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy must be one of {', '.join(STRATEGIES)}; got {strategy!r}")
    if strategy != "sentence" and not vocabulary.has_separators:
        raise ValueError(
            f"strategy {strategy!r} needs a tokenizer with a sep_token and a par_token between sentences; "
            f"{type(vocabulary.source).__name__} has none, so the only strategy for this model is 'sentence'"
        )
    return strategy


class _Vocabulary:
    """The two tokenizers, seen as ids: encoding, decoding, and the special ids that decoding needs."""

    def __init__(self, source: PreTrainedTokenizerBase, target: PreTrainedTokenizerBase) -> None:
        self.source, self.target = source, target
        self.separators = [_separators(tokenizer) for tokenizer in (source, target)]
        self.has_separators = None not in self.separators
        self.target_separators = self.separators[1] or ()
        self.pad_token_ids = (source.pad_token_id, target.pad_token_id)
        specials = (target.pad_token_id, target.bos_token_id, target.unk_token_id)
        self._never = [token_id for token_id in specials if token_id not in (None, target.eos_token_id)]
        self.ignored = {*self._never, target.eos_token_id}

    @property
    def window_ends(self) -> Ends:
        return Ends([self.target.eos_token_id], self._never)

    @property
    def prefix_ends(self) -> Ends:
        return Ends([self.target.eos_token_id, *self.target_separators], self._never)

    def alone_ends(self, retry: bool) -> Ends:
        min_new_tokens = 1 if retry else None
        return Ends([self.target.eos_token_id], [*self._never, *self.target_separators], min_new_tokens)

    def encode(self, sentences: Sequence[str], target: bool = False) -> list[list[int]]:
        """Token ids of each sentence; without special tokens if windows get theirs from `join_window`."""
        if not sentences:
            return []
        tokenizer = self.target if target else self.source
        encoded = tokenizer(
            list(sentences),
            add_special_tokens=not self.has_separators,
            split_special_tokens=True,
            return_attention_mask=False,
            verbose=False,
        )
        return encoded["input_ids"]

    def join(self, sentences: Sequence[list[int]], ends_paragraph: Sequence[bool], side: int) -> list[int]:
        """A window: of the source for side 0, of the target for side 1."""
        separators = self.separators[side]
        if separators is None:
            return list(sentences[0])
        eos_token_id = (self.source, self.target)[side].eos_token_id
        return join_window(sentences, ends_paragraph, *separators, eos_token_id)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of one translated sentence, in one line."""
        text = str(self.target.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False))
        return " ".join(text.splitlines()).strip()


def _separators(tokenizer: PreTrainedTokenizerBase) -> tuple[int, int] | None:
    """Ids of `<sep>` and `<par>`, or nothing if the tokenizer lacks one of them."""
    sep_token_id = getattr(tokenizer, "sep_token_id", None)
    par_token_id = getattr(tokenizer, "par_token_id", None)
    if sep_token_id is None or par_token_id is None or tokenizer.eos_token_id in (sep_token_id, par_token_id):
        return None
    return sep_token_id, par_token_id


@dataclass
class _WorkingDocument:
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
    vocabulary: _Vocabulary
    places: list[tuple[int, int]] = field(default_factory=list)
    result: list[list[str]] = field(default_factory=list)
    statistics: DecodingStatistics = field(default_factory=DecodingStatistics)

    def __post_init__(self) -> None:
        self.translations: list[str | None] = [None] * len(self.texts)
        self.target_ids: list[list[int]] = [[] for _ in self.texts]
        num_closing = 1 if self.vocabulary.has_separators else 0
        self.source_lengths = [len(ids) + num_closing for ids in self.ids]

    @classmethod
    def of_sentences(cls, texts: list[str], ids: list[list[int]], vocabulary: _Vocabulary) -> "_WorkingDocument":
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

    def accept(self, index: int, output: Output, vocabulary: _Vocabulary) -> bool:
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


_Place = tuple[_WorkingDocument, int]


class _Job(NamedTuple):
    """A window to decode; of its translation the sentences from `first` on are kept."""

    document: _WorkingDocument
    window: Window
    first: int

    @property
    def num_sentences(self) -> int:
        return self.window.stop - self.window.start

    def accept(self, output: Output, vocabulary: _Vocabulary) -> list[_Place]:
        """Keeps what is right in a translated window; returns the sentences that must be decoded again."""
        statistics = self.document.statistics
        statistics.num_windows += 1
        kept = range(self.first, self.window.stop)
        sentences = split_window(output.ids, vocabulary.target_separators, vocabulary.ignored)
        if not output.is_complete or len(sentences) != self.num_sentences:
            statistics.num_endless += not output.is_complete
            statistics.num_wrong_separators += output.is_complete
            return [(self.document, index) for index in kept]
        empty = [index for index in kept if not self.document.store(index, sentences[index - self.window.start])]
        statistics.num_empty_retries += len(empty)
        return [(self.document, index) for index in empty]

    def accept_current(self, output: Output, vocabulary: _Vocabulary) -> list[_Place]:
        """Keeps the translation of the current sentence behind a forced prefix, if there is one."""
        statistics = self.document.statistics
        statistics.num_windows += 1
        ids = [token_id for token_id in output.ids if token_id not in vocabulary.ignored]
        has_text = self.document.store(self.first, ids)
        statistics.num_endless += not output.is_complete
        statistics.num_empty_retries += not has_text and output.is_complete
        return [] if has_text and output.is_complete else [(self.document, self.first)]


def _encode_documents(
    documents: Sequence[SourceDocument], vocabulary: _Vocabulary, num_context: int | None
) -> list[_WorkingDocument]:
    parts = [part for document in documents for part in (document.context, document.paragraphs)]
    ids = iter(vocabulary.encode([text for part in parts for paragraph in part for text in paragraph]))
    return [_encode_document(document, vocabulary, ids, num_context) for document in documents]


def _encode_document(
    document: SourceDocument, vocabulary: _Vocabulary, ids: Iterator[list[int]], num_context: int | None
) -> _WorkingDocument:
    """The document as one row of sentences, without those that have no tokens: these stay as they are."""
    context = _sentences(document.context, ids)
    context = context[len(context) - min(num_context, len(context)) :] if num_context is not None else context
    sentences = _sentences(document.paragraphs, ids)
    row = [*context, *sentences]
    working = _WorkingDocument(
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
