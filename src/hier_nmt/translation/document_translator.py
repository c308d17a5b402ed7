# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Decoding of whole documents, which always gives one translation for each source sentence, in order.

Four strategies turn sentences into decoder runs:

* `sentence`: each sentence alone.
* `current`: each sentence with its context as one window; of the window's translation the last sentence is kept
  (Lupo et al. 2022).
* `prefix`: the same window, but the translations already made of the context are forced as the target prefix and only
  the current sentence is decoded.
* `document`: everything at once, in blocks of K sentences that do not overlap (K = 0: as many as fit).

The decoder is not trusted: a translated window with the wrong number of separators, without an end, or with an empty
sentence is discarded for that sentence, which is then decoded again alone; so is a translation in a repetition loop,
with the repetition forbidden, and one that lacks a placeholder or has it twice, with the placeholders taken out. Most
loops are prevented, see `loop_prevention`. A translation that lacks a term of the document's glossary is decoded again
with it, see `term_decoding`. What happened is counted, and reported for each sentence.

Dimensions: B batch, S source tokens, T target tokens.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..text.long_sentences import sentence_joiner, split_long_sentence
from .decoder_runs import DecoderRuns, ExpectedWindow, Output, Request, StopConditions, check_positive
from .glossary_options import term_policy
from .language_tokens import check_translates
from .source_encoding import encode_documents
from .term_decoding import TermDecoder
from .translation_documents import SourceDocument, TranslatedDocument
from .translation_report import ALTERED, EMPTY, LOOP
from .translation_state import Place, TranslationState
from .translation_vocabulary import TranslationVocabulary
from .window_jobs import Retry, WindowJob, most_target_tokens
from .window_planning import WindowPlanner

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

STRATEGIES = ("sentence", "current", "prefix", "document")


class DocumentTranslator:
    """Translates documents with one model and one set of options.

    Args:
        model: an encoder-decoder with `generate`.
        tokenizer: of the source language, or of both.
        target_tokenizer: of the target language, where it is another one.
        source_language, target_language: for a multilingual model, the languages to translate from and to; for a model
            of one pair, they must be those of the pair.
        strategy: one of `STRATEGIES`; default: `sentence` for a model of single sentences or without separators,
            `document` for K = 0, otherwise `current`.
        window_sentences: K; default: the one the model was trained with.
        batch_size: windows in a batch.
        max_batch_tokens: padded source and prefix tokens in a batch; None means no limit.
        max_source_tokens: longest source window; default: the model's.
        max_target_tokens: longest target window; default: the model's.
        glossary_method: how the terms of glossaries come into translations: `auto`, `inline` or `constrained`, see
            `glossary_options.term_policy`.
        keep_numbers: whether sentences whose translation lacks a number of the source (see `number_terms`) are decoded
            again with it, and reported if they still lack it.
        confidence: whether each sentence and word gets a confidence, see `confidence`; it costs a pass over the
            finished translations.
        generate_kwargs: options of `generate`. `max_new_tokens` replaces the limit of 2 x source length + 10.
        on_progress: called with the number of newly translated sentences; those of a long window are reported during
            its decoding. A negative number takes back those of a discarded window, which are counted again once they
            have been translated alone.

    Raises:
        ValueError: an unknown strategy, one that the model or tokenizer cannot follow, an invalid number, a language
            that the model does not have, or a model that is not an encoder-decoder.
    """

    def __init__(
        self,
        model: "PreTrainedModel",
        tokenizer: "PreTrainedTokenizerBase",
        target_tokenizer: "PreTrainedTokenizerBase | None" = None,
        *,
        source_language: str | None = None,
        target_language: str | None = None,
        strategy: str | None = None,
        window_sentences: int | None = None,
        batch_size: int = 32,
        max_batch_tokens: int | None = None,
        max_source_tokens: int | None = None,
        max_target_tokens: int | None = None,
        glossary_method: str = "auto",
        keep_numbers: bool = True,
        confidence: bool = False,
        generate_kwargs: dict[str, Any] | None = None,
        on_progress: Callable[[int], object] | None = None,
    ) -> None:
        config = model.config
        check_translates(model)
        if window_sentences is None:
            window_sentences = getattr(config, "window_sentences", 1)
        if window_sentences < 0:
            raise ValueError(f"window_sentences must not be negative, got {window_sentences}")
        check_positive(max_source_tokens=max_source_tokens, max_target_tokens=max_target_tokens)
        self.model = model
        self.vocabulary = TranslationVocabulary.of_model(
            model, tokenizer, target_tokenizer, source_language, target_language
        )
        language_options = self.vocabulary.languages.options(model, self.vocabulary.target_language)
        self.strategy = _checked_strategy(strategy, window_sentences, self.vocabulary)
        self.window_sentences = 1 if self.strategy == "sentence" else window_sentences
        self.max_source_tokens = max_source_tokens or _length_limit(config, "max_source_tokens")
        self.max_target_tokens = max_target_tokens or _length_limit(config, "max_target_tokens")
        self.generator = _decoder_runs(
            model,
            self.vocabulary.pad_token_ids,
            self.vocabulary.separators,
            batch_size,
            max_batch_tokens,
            {**language_options, **(generate_kwargs or {})},
            self.vocabulary.target_start_id,
            lambda: self.vocabulary.target_words,
        )
        self.glossary_method = glossary_method
        self.policy = term_policy(glossary_method, keep_numbers, model, self.vocabulary)
        self.term_decoder = TermDecoder(self.generator, self.vocabulary, self._request_for_terms)
        self.scorer = None
        if confidence:
            from .confidence import ConfidenceScorer

            self.scorer = ConfidenceScorer(model, self.vocabulary, batch_size, self.max_target_tokens)
        self.limits = self.generator.limits
        self.planner = WindowPlanner(
            self.strategy,
            self.window_sentences,
            self.max_source_tokens,
            self.max_target_tokens,
            self.limits,
            self.vocabulary.has_separators,
        )
        self.joiner = sentence_joiner(getattr(config, "target_language", None))
        self.on_progress = on_progress or (lambda num_sentences: None)

    def translate(self, documents: Sequence[SourceDocument]) -> list[TranslatedDocument]:
        """The translation of every document, in order; batches are filled across documents.

        Raises:
            ValueError: a window has more sentences or paragraphs than the model has positions for.
        """
        working = self._prepared(documents)
        jobs = [job for document in working for job in self.planner.jobs(document)]
        with self.generator.inference():
            self._translate_long_sentences([(document, index) for document in working for index in document.long])
            if self.strategy == "prefix":
                self._decode_in_order(working)
            else:
                self._decode_jobs(jobs)
            return self._finished(working, jobs)

    def _finished(self, working: Sequence[TranslationState], jobs: Sequence[WindowJob]) -> list[TranslatedDocument]:
        """The finished documents, with confidences if requested."""
        scorer = self.scorer
        if scorer is None:
            return [document.finish() for document in working]
        scorer.score(self.planner.windows_to_score(working, jobs))
        return [replace(document.finish(), confidences=scorer.confidences(document)) for document in working]

    def stream(self, document: SourceDocument) -> Generator[str, None, TranslatedDocument]:
        """The translation of every sentence of a document, in order, each as soon as it is known.

        A batch is decoded whenever the next sentence is requested and not yet known. The translations are those of
        `translate`, except for rounding differences between batch sizes. The generator returns the
        `TranslatedDocument`.

        Raises:
            ValueError: a window has more sentences or paragraphs than the model has positions for.
        """
        (working,) = self._prepared([document])
        jobs = {job.first: job for job in self.planner.jobs(working)}
        first = 0 if self.strategy == "prefix" else working.first
        while (index := working.next_index(first)) is not None:
            if index >= working.first:
                yield from working.ready(index)
            with self.generator.inference():
                self._decode_from(working, index, jobs)
        yield from working.ready(len(working.texts))
        with self.generator.inference():
            (finished,) = self._finished([working], list(jobs.values()))
        return finished

    def _decode_from(self, document: TranslationState, start: int, jobs: dict[int, WindowJob]) -> None:
        """Decodes the first sentence that is not known, and with it some of those that follow."""
        if self.strategy == "prefix":
            if start in document.long:
                self._translate_long_sentences([(document, start)])
            else:
                self._decode_next([(document, start)])
            return
        group: list[WindowJob] = []
        index, stop = start, start + self.generator.batch_size
        while index < min(stop, len(document.texts)):
            if index in jobs:
                group.append(jobs[index])
            index = jobs[index].window.stop if index in jobs else index + 1
        self._translate_long_sentences([(document, at) for at in sorted(document.long) if start <= at < index])
        self._decode_jobs(group)

    def _prepared(self, documents: Sequence[SourceDocument]) -> list[TranslationState]:
        """The documents, encoded and checked, with their long sentences marked."""
        working = encode_documents(documents, self.vocabulary, self.planner.num_context(), self.policy)
        limits = self.planner.sentence_limits()
        for document in working:
            if limits is not None:
                document.mark_long(limits[0])
            self.planner.check_positions(document)
        return working

    def _translate_long_sentences(self, places: list[Place]) -> None:
        """Translates sentences longer than the limit in pieces, which are decoded alone."""
        # Only `prefix` reads the translation of context.
        first = [0 if self.strategy == "prefix" else document.first for document, _ in places]
        wanted = [place for place, least in zip(places, first, strict=True) if place[1] >= least]
        limits = self.planner.sentence_limits()
        if limits is None or not wanted:
            return
        encode = self.vocabulary.encode
        pieces = [
            split_long_sentence(document.texts[index], lambda text: len(encode([text])[0]), limits[1])
            for document, index in wanted
        ]
        # Each piece is a sentence of a document of its own, so that all checks and retries apply to it.
        pieces_as_documents = [
            TranslationState.of_sentences(texts, encode(texts), self.vocabulary, document.glossary, self.policy)
            for texts, (document, _) in zip(pieces, wanted, strict=True)
        ]
        all_pieces = [(piece, index) for piece in pieces_as_documents for index in range(len(piece.texts))]
        self._decode_alone(all_pieces)
        self._use_terms(all_pieces)
        for (document, index), piece in zip(wanted, pieces_as_documents, strict=True):
            document.join_pieces(index, piece, self.joiner)
            if index >= document.first:
                self.on_progress(1)

    def _decode_jobs(self, jobs: list[WindowJob]) -> None:
        """Decodes windows that do not depend on each other, batched together."""
        alone = [(job.document, job.window.start) for job in jobs if job.num_sentences == 1]
        self._decode_alone(alone, report=True)
        self._decode_windows([job for job in jobs if job.num_sentences > 1])
        self._use_terms([(job.document, index) for job in jobs for index in range(job.first, job.window.stop)])

    def _use_terms(self, places: list[Place]) -> None:
        """Decodes sentences again whose translations lack terms of the glossary or numbers."""
        self.term_decoder.use_terms(places)

    def _request_for_terms(self, document: TranslationState, index: int) -> tuple[Request, StopConditions]:
        """The request for a sentence after the translations of its context, or alone if it has none, and its stop
        conditions."""
        window = self.planner.translated_window(document, index)
        if window.start == index:
            return self._request(document.alone_ids(index)), self.vocabulary.alone_ends()
        prefix_ids, num_source = document.prefix_ids(window), document.source_lengths[index]
        return self._request(document.source_ids(window), prefix_ids, num_source), self.vocabulary.prefix_ends

    def _decode_windows(self, jobs: list[WindowJob]) -> None:
        """Decodes windows of several sentences; those of their sentences that are wrong are decoded again alone."""
        requests = [self._request(job.document.source_ids(job.window), expected=job.expected()) for job in jobs]
        num_reported = [0] * len(jobs)

        def report(index: int, num_complete: int) -> None:
            # Context comes first and does not count.
            num_wanted = max(0, num_complete - (jobs[index].first - jobs[index].window.start))
            if num_wanted > num_reported[index]:
                self.on_progress(num_wanted - num_reported[index])
                num_reported[index] = num_wanted

        ends = self.vocabulary.window_ends
        finished = self.generator.run(requests, ends, lambda index: report(index, jobs[index].num_sentences), report)
        failed = []
        for job, output in zip(jobs, finished, strict=True):
            failed += job.accept(output, self.vocabulary)
        if failed:
            self.on_progress(-len(failed))
        self._decode_again(failed, report=True)

    def _decode_alone(self, places: list[Place], report: bool = False, retry: bool = False) -> None:
        """Decodes each sentence without context. An empty translation is decoded once more with the end token
        forbidden, and a repetition loop with repeated n-grams forbidden."""
        outputs = self._run_alone(places, self.vocabulary.alone_ends(retry), report)
        failed = []
        for (document, index), output in zip(places, outputs, strict=True):
            reason = document.accept(index, output, self.vocabulary)
            if reason is not None and not (retry and reason == EMPTY):
                failed.append(Retry(document, index, reason))
        self._decode_again(failed)

    def _decode_again(self, failed: list[Retry], report: bool = False) -> None:
        for document, index, reason in failed:
            document.decode_again(index, reason)
        others = [(document, index) for document, index, reason in failed if reason != LOOP]
        if others:
            self._decode_alone(others, report, retry=True)
        loops = [(document, index) for document, index, reason in failed if reason == LOOP]
        outputs = self._run_alone(loops, self.vocabulary.alone_ends(retry=True, no_loops=True), report)
        altered = []
        for (document, index), output in zip(loops, outputs, strict=True):
            if document.accept_better(index, output, self.vocabulary) is not None:
                altered.append(Retry(document, index, ALTERED))
        if altered:
            self._decode_again(altered)

    def _run_alone(self, places: list[Place], ends: StopConditions, report: bool) -> list[Output]:
        requests = [self._request(document.alone_ids(index)) for document, index in places]
        return self.generator.run(requests, ends, (lambda index: self.on_progress(1)) if report else None)

    def _decode_in_order(self, documents: list[TranslationState]) -> None:
        """Strategy `prefix`: the next sentence of every document at the same time."""
        while places := [(document, index) for document in documents if (index := document.next_index()) is not None]:
            self._decode_next(places)

    def _decode_next(self, places: list[Place]) -> None:
        alone, jobs, requests = [], [], []
        for document, index in places:
            window = self.planner.fitted_window(document, index)
            if window.start == index:
                alone.append((document, index))
                continue
            jobs.append(WindowJob(document, window, index))
            num_source = document.source_lengths[index]
            requests.append(self._request(document.source_ids(window), document.prefix_ids(window), num_source))
        self._decode_alone(alone)
        failed = []
        outputs = self.generator.run(requests, self.vocabulary.prefix_ends)
        for job, output in zip(jobs, outputs, strict=True):
            failed += job.accept_current(output, self.vocabulary)
        self._decode_again(failed)
        self._use_terms(places)
        self.on_progress(sum(index >= document.first for document, index in places))

    def _request(
        self,
        source_ids: list[int],
        prefix_ids: Sequence[int] = (),
        num_source: int | None = None,
        expected: ExpectedWindow | None = None,
    ) -> Request:
        max_new_tokens = most_target_tokens(len(source_ids) if num_source is None else num_source)
        if self.max_target_tokens is not None:
            max_new_tokens = max(1, min(max_new_tokens, self.max_target_tokens - len(prefix_ids)))
        if expected is None and self.limits.sentence_tokens is not None:
            max_new_tokens = max(1, min(max_new_tokens, self.limits.sentence_tokens - 2))
        return Request(source_ids, list(prefix_ids), max_new_tokens, expected)


def _decoder_runs(model: Any, *arguments: Any) -> DecoderRuns:
    """What runs the decoder of a model: its own `decoder_runs`, or `generate`, which PyTorch is imported for."""
    if hasattr(model, "decoder_runs"):
        return model.decoder_runs(*arguments)
    from .batched_generation import BatchedGenerator

    return BatchedGenerator(model, *arguments)


def _length_limit(config: Any, name: str) -> int | None:
    limit = getattr(config, name, None) or getattr(config, "max_position_embeddings", None)
    return limit if isinstance(limit, int) else None


def _checked_strategy(strategy: str | None, window_sentences: int, vocabulary: TranslationVocabulary) -> str:
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
