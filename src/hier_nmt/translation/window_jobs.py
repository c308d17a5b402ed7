# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Windows to decode, and what is kept of their translations."""

from typing import NamedTuple

from ..text.windows import Window, split_window
from .decoder_runs import ExpectedWindow, Output
from .translation_report import ENDLESS, WRONG_SEPARATORS
from .translation_state import TranslationState
from .translation_vocabulary import TranslationVocabulary


class Retry(NamedTuple):
    """A sentence that must be decoded again alone, and why."""

    document: TranslationState
    sentence: int
    reason: str


class WindowJob(NamedTuple):
    """A window to decode; of its translation the sentences from `first` on are kept."""

    document: TranslationState
    window: Window
    first: int

    @property
    def num_sentences(self) -> int:
        return self.window.stop - self.window.start

    def expected(self) -> ExpectedWindow:
        """What its translation must have; no sentence may be longer than the longest one could be alone."""
        longest = max(self.document.source_lengths[self.window.start : self.window.stop])
        return ExpectedWindow(self.num_sentences, most_target_tokens(longest))

    def accept(self, output: Output, vocabulary: TranslationVocabulary) -> list[Retry]:
        """Stores the valid sentences of a translated window; returns those that must be decoded again."""
        statistics = self.document.statistics
        statistics.num_windows += 1
        kept = range(self.first, self.window.stop)
        sentences = split_window(output.ids, vocabulary.target_separators, vocabulary.ignored)
        if not output.is_complete or len(sentences) != self.num_sentences:
            # A run with too many separators may have been ended early.
            has_wrong_separators = output.is_complete or len(sentences) > self.num_sentences
            statistics.num_endless += not has_wrong_separators
            statistics.num_wrong_separators += has_wrong_separators
            reason = WRONG_SEPARATORS if has_wrong_separators else ENDLESS
            return [Retry(self.document, index, reason) for index in kept]
        reasons = [self.document.store(index, sentences[index - self.window.start]) for index in kept]
        pairs = zip(kept, reasons, strict=True)
        return [Retry(self.document, index, reason) for index, reason in pairs if reason is not None]

    def accept_current(self, output: Output, vocabulary: TranslationVocabulary) -> list[Retry]:
        """Stores the translation of the current sentence after a forced prefix; returns it if it must be decoded
        again."""
        statistics = self.document.statistics
        statistics.num_windows += 1
        ids = [token_id for token_id in output.ids if token_id not in vocabulary.ignored]
        reason = self.document.store(self.first, ids)
        statistics.num_endless += not output.is_complete
        if not output.is_complete:
            reason = ENDLESS
        return [] if reason is None else [Retry(self.document, self.first, reason)]


def most_target_tokens(num_source_tokens: int) -> int:
    """The length limit of the translation of this many source tokens; a longer one would not end."""
    return 2 * num_source_tokens + 10
