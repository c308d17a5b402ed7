# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which windows documents are decoded in, and in which their finished translations are scored."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..configuration.position_limits import PositionLimits
from ..text.windows import Window, fit_window
from .translation_state import TranslationState
from .window_jobs import WindowJob


@dataclass(frozen=True)
class WindowPlanner:
    """Plans the windows of documents.

    Attributes:
        strategy: how sentences become windows, see `document_translator`.
        window_sentences: K, the sentences of a window; 0: as many as fit.
        max_source_tokens, max_target_tokens: longest window; None means no limit.
        limits: how many positions the model has learned.
        has_separators: whether the model can read several sentences as one window.
    """

    strategy: str
    window_sentences: int
    max_source_tokens: int | None
    max_target_tokens: int | None
    limits: PositionLimits
    has_separators: bool

    def num_context(self) -> int | None:
        """The most context sentences that a window can hold; None means no limit."""
        return None if self.window_sentences == 0 else self.window_sentences - 1

    def check_positions(self, document: TranslationState) -> None:
        """Raises ValueError for a window beyond a learned position table, before anything is decoded."""
        for window in self._windows_to_decode(document):
            num_paragraphs = sum(document.ends_paragraph[window.start : window.stop - 1]) + 1
            for level, count in (("sentence", window.stop - window.start), ("paragraph", num_paragraphs)):
                limit = getattr(self.limits, f"{level}s")
                if limit is not None and count > limit:
                    raise ValueError(
                        f"a window of {count} {level}s is beyond the end of the model's learned {level} positions, "
                        f"which are {limit}. Give a number of window_sentences, or set sentence_position_clamp in the "
                        f"model's configuration, with which all {level}s beyond share the last position."
                    )

    def _windows_to_decode(self, document: TranslationState) -> list[Window]:
        """The windows of a document, as far as they are known in advance; if they only grow, the last."""
        limits = (self.max_source_tokens, self.max_target_tokens)
        if self.strategy == "document":
            return document.blocks(self.window_sentences, *limits)
        stops = range(document.first + 1, len(document.texts) + 1)
        if self.window_sentences == 0:
            wanted = [Window(0, stop) for stop in stops[-1:]]
        else:
            wanted = [Window(max(0, stop - self.window_sentences), stop) for stop in stops]
        return [self._fit(document, window) for window in wanted]

    def sentence_limits(self) -> tuple[int, int] | None:
        """The most source tokens of a sentence, and those of its pieces if it is longer; None if there is no limit."""
        limits, sizes = [], []
        if self.max_source_tokens is not None:
            limits.append(self.max_source_tokens)
            # In training on windows, the model has seen single sentences of at most this length.
            sizes.append(self.max_source_tokens // max(1, self.window_sentences) - 1)
        if self.limits.sentence_tokens is not None:
            limits.append(self.limits.sentence_tokens)
            sizes.append(self.limits.sentence_tokens - 1)
        return (min(limits), max(1, min(sizes))) if limits else None

    def translated_window(self, document: TranslationState, index: int) -> Window:
        """A sentence and those directly before it, within its window, that have a translation."""
        start = index
        if self.window_sentences != 1 and self.has_separators:
            wanted = Window(0 if self.window_sentences == 0 else max(0, index + 1 - self.window_sentences), index + 1)
            start = self._fit(document, wanted).start
            untranslated = [at for at in range(start, index) if not document.target_ids[at] or at in document.long]
            start = untranslated[-1] + 1 if untranslated else start
        return Window(start, index + 1)

    def jobs(self, document: TranslationState) -> list[WindowJob]:
        """The windows of a document, for strategies that know them in advance."""
        if self.strategy == "prefix":
            return []
        if self.strategy == "document":
            blocks = document.blocks(self.window_sentences, self.max_source_tokens, self.max_target_tokens)
            return [WindowJob(document, block, max(block.start, document.first)) for block in blocks]
        return [
            WindowJob(document, self.fitted_window(document, index), index)
            for index in range(document.first, len(document.texts))
            if not document.is_apart(index)
        ]

    def fitted_window(self, document: TranslationState, index: int) -> Window:
        """The window of sentence `index`, without context that does not fit."""
        start = 0 if self.window_sentences == 0 else max(0, index + 1 - self.window_sentences)
        wanted = Window(start, index + 1)
        window = self._fit(document, wanted)
        document.statistics.num_shortened_windows += window != wanted
        return window

    def _fit(self, document: TranslationState, wanted: Window) -> Window:
        """The window without context that is too long, or that precedes a sentence which is."""
        inside = Window(0, wanted.stop - wanted.start)
        source_lengths = document.source_lengths[wanted.start : wanted.stop]
        limits = (self.max_source_tokens, self.max_target_tokens)
        fitting = fit_window(inside, source_lengths, document.target_lengths(wanted), *limits)
        window = wanted._replace(start=wanted.start + fitting.start)
        most = self.limits.sentence_tokens
        if most is None:
            return window
        # A forced translation may have a start token before it, and has a separator after it.
        too_long = [
            index
            for index in range(window.start, window.stop - 1)
            if max(document.source_lengths[index], len(document.target_ids[index]) + 2) > most
        ]
        return window._replace(start=too_long[-1] + 1) if too_long else window

    def windows_to_score(self, documents: Sequence[TranslationState], jobs: Sequence[WindowJob]) -> list[WindowJob]:
        """The windows of finished translations, as they were decoded; pieces of long sentences are windows alone."""
        windows: list[WindowJob] = []
        for document in documents:
            for pieces in document.pieces.values():
                decoded = [index for index in range(len(pieces.texts)) if pieces.target_ids[index]]
                windows += [WindowJob(pieces, Window(index, index + 1), index) for index in decoded]
        if self.strategy == "document":
            return [*windows, *(window for job in jobs for window in self._blocks_to_score(job))]
        for document in documents:
            windows += [
                WindowJob(document, self.translated_window(document, index), index)
                for index in range(document.first, len(document.texts))
                if document.target_ids[index] and index not in document.pieces and index not in document.known
            ]
        return windows

    def _blocks_to_score(self, job: WindowJob) -> list[WindowJob]:
        """The translated sentences of a block, together if they are not longer than the model's limit, else each after
        as much of the block as fits."""
        document, first = job.document, job.first
        runs: list[WindowJob] = []
        for index in range(first, job.window.stop):
            if document.target_ids[index]:
                joins = bool(runs) and runs[-1].window.stop == index
                start = runs.pop().window.start if joins else index
                runs.append(WindowJob(document, Window(start, index + 1), start))
        return [window for run in runs for window in self._within_limits(run)]

    def _within_limits(self, run: WindowJob) -> list[WindowJob]:
        document, window = run.document, run.window
        if self._fit(document, window) == window:
            return [run]
        places = range(*window)
        return [WindowJob(document, self._fit(document, Window(window.start, at + 1)), at) for at in places]
