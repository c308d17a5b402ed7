# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""How confident a model is of finished translations, from the probabilities that it gives their tokens.

The confidence of a sentence is the geometric mean of the probabilities of its tokens and of the token that closes it;
that of a word is the geometric mean over the word's tokens. Where the source decides which token closes a sentence,
it is the probability of any of them. Both are between 0 and 1. They come from one forced pass over the finished
translations, in the windows that were decoded, so that they mean the same for every strategy, for beams, for sentences
that were decoded again, and for every engine.

Fomicheva et al. 2020, "Unsupervised Quality Estimation for Neural Machine Translation", section 4 (sequence-level
translation probability).
"""

import difflib
import math
from collections.abc import Iterator, Sequence

from transformers import PreTrainedModel

from .forced_decoding import ForcedRow, batches_of_rows, forced_log_probabilities
from .translation_report import SentenceConfidence
from .translation_state import TranslationState
from .translation_vocabulary import TranslationVocabulary
from .window_jobs import WindowJob

# Padded target tokens of a batch, whose logits over the whole vocabulary are in memory at the same time.
_MAX_TARGET_TOKENS = 2048

# A word, and its confidence if the model wrote it.
Words = list[tuple[str, float | None]]


class ConfidenceScorer:
    """Reads the confidence of finished translations.

    Args:
        model: the model that decoded them; of one that is run by another engine, its PyTorch model (`pytorch_model`) is
            used.
        vocabulary: of the model.
        batch_size: windows in a batch.
        max_target_tokens: longest target window, or None.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        vocabulary: TranslationVocabulary,
        batch_size: int = 32,
        max_target_tokens: int | None = None,
    ) -> None:
        self.model: PreTrainedModel = getattr(model, "pytorch_model", model)
        self.vocabulary, self.batch_size, self.max_target_tokens = vocabulary, batch_size, max_target_tokens
        # Where the source decides which token closes a sentence, as in decoding (`FollowsSource`).
        follows_source = getattr(self.model.config, "restart_target_sentences", False)
        closing_ids = {*vocabulary.target_separators, vocabulary.target.eos_token_id}
        self.closing_ids = sorted(closing_ids) if follows_source else []

    def score(self, jobs: Sequence[WindowJob]) -> None:
        """Stores the log-probabilities of the tokens of sentences, from `first` of each window on, in their documents.

        Every sentence of the windows has a translation.
        """
        rows = [self._row(job) for job in jobs]
        for indices in batches_of_rows(rows, self.batch_size, _MAX_TARGET_TOKENS):
            batch = [rows[index] for index in indices]
            found = forced_log_probabilities(self.model, batch, self.vocabulary.pad_token_ids, self.closing_ids)
            for index, log_probabilities in zip(indices, found, strict=True):
                self._keep(jobs[index], log_probabilities.tolist())

    def _row(self, job: WindowJob) -> ForcedRow:
        document, window = job.document, job.window
        inside = slice(*window)
        target_ids = self.vocabulary.join(document.target_ids[inside], document.ends_paragraph[inside], side=1)
        if not self.vocabulary.has_separators:
            target_ids = [*target_ids, self.vocabulary.target.eos_token_id]
        # A translation that was cut has no end token within the limit.
        return ForcedRow(document.source_ids(window), target_ids[: self.max_target_tokens])

    def _keep(self, job: WindowJob, log_probabilities: Sequence[float]) -> None:
        """Divides the log-probabilities of a window among its sentences, without those of given tokens."""
        position = 0
        for index in range(*job.window):
            ids = job.document.target_ids[index]
            if self.vocabulary.has_separators:
                position += len(self.vocabulary.sentence_start(has_prefix=False))
            stop = position + len(ids) + 1
            if index >= job.first:
                chosen = log_probabilities[position + self._num_given(ids) : stop]
                job.document.log_probabilities[index] = list(chosen)
            position = stop

    def _num_given(self, ids: Sequence[int]) -> int:
        """The number of tokens at the start of a translation that the model was given: its language, in models without
        windows."""
        return 0 if self.vocabulary.has_separators else self.vocabulary.num_leading_specials(ids)

    def confidences(self, document: TranslationState) -> list[SentenceConfidence]:
        """The confidence of every sentence of a document whose windows have been scored; None for what the model did
        not translate, such as what comes from a translation memory."""
        found = []
        rows = dict(document.rows())
        for number, text in enumerate(document.sentences()):
            words = text.split()
            index = rows.get(number)
            tokens = [] if index is None or document.is_copied(index) else list(_scored_tokens(document, index))
            if index is None or not tokens:
                found.append(SentenceConfidence(number, None, (None,) * len(words)))
                continue
            aligned = align_words(self._words(document, index), words)
            found.append(SentenceConfidence(number, geometric_mean(tokens), tuple(aligned)))
        return found

    def _words(self, document: TranslationState, index: int) -> Words:
        """The words that the model generated for a sentence."""
        if (pieces := document.pieces.get(index)) is not None:
            return [word for piece in range(len(pieces.texts)) for word in self._words(pieces, piece)]
        if not document.translations[index] or index not in document.log_probabilities:
            return [(word, None) for word in (document.translations[index] or document.texts[index]).split()]
        ids = document.target_ids[index]
        return word_confidences(self.vocabulary, ids[self._num_given(ids) :], document.log_probabilities[index])


def _scored_tokens(document: TranslationState, index: int) -> Iterator[float]:
    """The log-probabilities of a sentence's tokens, or of those of its pieces."""
    pieces = document.pieces.get(index)
    if pieces is None:
        yield from document.log_probabilities.get(index, ())
    else:
        for piece in range(len(pieces.texts)):
            yield from pieces.log_probabilities.get(piece, ())


def geometric_mean(log_probabilities: Sequence[float]) -> float:
    """The geometric mean of probabilities, given their logarithms."""
    return math.exp(sum(log_probabilities) / len(log_probabilities))


def word_confidences(
    vocabulary: TranslationVocabulary, ids: Sequence[int], log_probabilities: Sequence[float]
) -> Words:
    """The words that tokens decode to, each with the geometric mean of the probabilities of its tokens.

    A token belongs to the word that it makes longer; one that adds nothing (a space of its own) to the next.
    """
    tokens_of: list[list[float]] = []
    waiting: list[float] = []
    words: list[str] = []
    for stop in range(1, len(ids) + 1):
        before, words = words, vocabulary.decode(ids[:stop]).split()
        waiting.append(log_probabilities[stop - 1])
        if words != before and words:
            tokens_of += [[] for _ in range(len(words) - len(tokens_of))]
            tokens_of[len(words) - 1] += waiting
            waiting = []
    if waiting and words:
        tokens_of[len(words) - 1] += waiting
    pairs = zip(words, tokens_of, strict=False)
    return [(word, geometric_mean(tokens) if tokens else None) for word, tokens in pairs]


def align_words(written: Words, words: Sequence[str]) -> list[float | None]:
    """A confidence for each word of a text that was made from generated words: for a word that is in both, its own; for
    one that replaced others (a placeholder, a tag at a word), the lowest of theirs."""
    matcher = difflib.SequenceMatcher(None, [word for word, _ in written], words, autojunk=False)
    aligned: list[float | None] = []
    for tag, start, stop, first, last in matcher.get_opcodes():
        values = [value for _, value in written[start:stop]]
        known = [value for value in values if value is not None]
        aligned += values if tag == "equal" else [min(known, default=None)] * (last - first)
    return aligned
