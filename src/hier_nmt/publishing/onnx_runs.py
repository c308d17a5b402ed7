# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Decoder runs of exported graphs without PyTorch, which is imported only for what rarely happens: a forced term or
prefix, a repetition that has to be decoded again, options of `generate` that are not known here.

Dimensions: R rows (the beams of a document are neighbours), L target tokens so far, V vocabulary.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from ..text.windows import closed_sentences
from ..translation.decoder_runs import DecoderRuns, Output, Request, StopConditions, output_of
from ..translation.repetition import REPEATED_NGRAM_SIZE, loop_continuations
from ..translation.target_words import Replay, Replayed
from .onnx_translator import LOST_SCORE, OnnxTranslator, Search, log_softmax

# Options of `generate` that are known here, or that have no effect on a search.
_KNOWN_OPTIONS = {
    *("num_beams", "max_new_tokens", "min_new_tokens", "length_penalty", "early_stopping", "suppress_tokens"),
    *("renormalize_logits", "use_cache", "transformers_version", "_from_model_config"),
    *("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id"),
}


class OnnxRuns(DecoderRuns):
    """Runs exported graphs over requests.

    Args:
        translator: of the graphs.
        with_pytorch: gives the runs that do what this cannot; called when they are first needed.
        model, arguments: as of `DecoderRuns`; of the model only `config` and `generation_config` are read.
    """

    def __init__(
        self, translator: OnnxTranslator, with_pytorch: Callable[[], DecoderRuns], model: Any, *arguments: Any
    ) -> None:
        super().__init__(model, *arguments)
        self.translator, self._with_pytorch = translator, with_pytorch
        self._pytorch_runs: DecoderRuns | None = None

    def inference(self) -> nullcontext[None]:
        """Graphs need no context."""
        return nullcontext()

    @property
    def _pytorch(self) -> DecoderRuns:
        if self._pytorch_runs is None:
            self._pytorch_runs = self._with_pytorch()
        return self._pytorch_runs

    def replay(self, requests: list[Request], replays: Sequence[Replay], ends: StopConditions) -> list[Replayed]:
        """The log-probabilities of known translations of the requests, in order."""
        with self._pytorch.inference():
            return self._pytorch.replay(requests, replays, ends)

    def decode(
        self, batch: list[Request], ends: StopConditions, on_written: Callable[[int, int], object] | None = None
    ) -> list[Output]:
        """The outputs of one batch of requests."""
        num_beams = self._num_beams(batch)
        limits = [self.max_new_tokens or request.max_new_tokens for request in batch]
        config = self._config(ends, num_beams, max(limits))
        if not self._can_decode(batch, config):
            with self._pytorch.inference():
                return self._pytorch.decode(batch, ends, on_written)
        constraints = _Constraints(self, batch, ends, config)
        search = Search(
            num_beams,
            ends.end_ids,
            1.0 if config.length_penalty is None else config.length_penalty,
            constraints.constrain,
            _Follower(self, batch, num_beams, on_written).follow if batch[0].expected is not None else None,
        )
        rows = self.translator.generate([request.source_ids for request in batch], max(limits), search)
        return [
            output_of(row, ends.end_ids, limit, self.ends_by_length(num_beams))
            for row, limit in zip(rows, limits, strict=True)
        ]

    def _can_decode(self, batch: list[Request], config: Any) -> bool:
        """Whether all that a batch needs is known here."""
        # What is off is off here, too.
        chosen = {name for name, value in config.to_diff_dict().items() if value is not None and value is not False}
        return (
            chosen <= _KNOWN_OPTIONS
            and not self.generate_kwargs
            and config.early_stopping in (None, False)
            and self.start_id is None
            and not any(self.limits)
            and not any(request.prefix_ids or request.forcing for request in batch)
            and all(self.translator.has_room(request.source_ids) for request in batch)
        )


class _Constraints:
    """What the translation of a batch must not contain, as the logits processors of `translation` have it."""

    def __init__(self, runs: OnnxRuns, batch: list[Request], ends: StopConditions, config: Any) -> None:
        self.ends, self.config, self.separator_ids = ends, config, list(runs.separator_ids)
        self.num_beams = config.num_beams or 1
        self.sources = [closed_sentences(request.source_ids, runs.source_separator_ids) for request in batch]
        self.start_ids = {runs.pad_token_ids[1], config.decoder_start_token_id}
        self.lengths = None
        if runs.ends_by_length(self.num_beams):
            self.lengths = np.repeat([request.max_new_tokens for request in batch], self.num_beams)
        self.closing_ids: list[list[int]] = []
        if runs.follows_source and batch[0].expected is not None:
            self.closing_ids = [runs.closing_ids(request, ends.end_ids[0]) for request in batch]

    def constrain(self, tokens: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """The scores [R, V] of the token after those of the rows [R, L]."""
        num_new = tokens.shape[1] - 1
        if num_new < (self.config.min_new_tokens or 0):
            scores[:, self.ends.end_ids] = -np.inf
        if self.config.suppress_tokens:
            scores[:, self.config.suppress_tokens] = -np.inf
        if self.closing_ids:
            self._follow_source(tokens, scores)
        self._forbid_loops(tokens, scores)
        if self.lengths is not None:
            others = np.ones(scores.shape[1], dtype=bool)
            others[self.ends.end_ids] = False
            scores[np.ix_(self.lengths <= num_new + 1, others)] = LOST_SCORE
        return log_softmax(scores) if self.config.renormalize_logits else scores

    def _follow_source(self, tokens: np.ndarray, scores: np.ndarray) -> None:
        """As `generation_constraints.FollowsSource`."""
        num_complete = np.isin(tokens, self.separator_ids).sum(-1).tolist()
        closing = [*self.separator_ids, *(one for one in self.ends.end_ids if one not in self.separator_ids)]
        any_end = np.logaddexp.reduce(scores[:, closing], axis=1)
        scores[:, closing] = -np.inf
        for row, count in enumerate(num_complete):
            wanted = self.closing_ids[row // self.num_beams]
            scores[row, wanted[min(count, len(wanted) - 1)]] = any_end[row]

    def _forbid_loops(self, tokens: np.ndarray, scores: np.ndarray) -> None:
        """As `loop_prevention.WithoutLoops`."""
        closing = sorted({*self.separator_ids, *self.ends.end_ids})
        for row in _rows_that_repeat(tokens, REPEATED_NGRAM_SIZE - 1):
            ids = tokens[row].tolist()
            if ids[-1] in self.start_ids or ids[-1] in closing:
                continue
            sources = self.sources[row // self.num_beams]
            forbidden, may_end = loop_continuations(ids, sources, self.separator_ids, self.start_ids)
            if not forbidden:
                continue
            lost = np.logaddexp.reduce(scores[row, forbidden])
            scores[row, forbidden] = -np.inf
            best = max(closing, key=lambda token_id: scores[row, token_id])
            if may_end and scores[row, best] > -np.inf:
                scores[row, best] = np.logaddexp(scores[row, best], lost)


class _Follower:
    """Reports the complete sentences of windows, and ends rows as `generation_constraints.WindowStoppingCriteria`."""

    def __init__(
        self, runs: OnnxRuns, batch: list[Request], num_beams: int, on_written: Callable[[int, int], object] | None
    ) -> None:
        self.separator_ids, self.on_written = list(runs.separator_ids), on_written
        self.expected = np.array([request.expected for request in batch])
        self._most = [0] * len(batch)

    def follow(self, tokens: np.ndarray) -> np.ndarray:
        """Which rows [R] cannot become a translation, after tokens [R, L]; ignored of beams."""
        closes = np.isin(tokens[:, 1:], self.separator_ids)
        num_complete = closes.sum(-1)
        num_current = np.where(closes.any(-1), closes[:, ::-1].argmax(-1), closes.shape[1])
        counts = num_complete.reshape(len(self.expected), -1).max(-1)
        for index, count in enumerate(np.minimum(counts, self.expected[:, 0] - 1).tolist()):
            if self.on_written is not None and count > self._most[index]:
                self._most[index] = count
                self.on_written(index, count)
        if len(tokens) != len(self.expected):
            return np.zeros(len(tokens), dtype=bool)
        return (num_complete >= self.expected[:, 0]) | (num_current > self.expected[:, 1])


def _rows_that_repeat(tokens: np.ndarray, size: int) -> list[int]:
    """The rows of the tokens [R, L] whose last n-gram of this size occurred in them before."""
    length = tokens.shape[1]
    if length <= size:
        return []
    stood_before = np.ones((len(tokens), length - size), dtype=bool)
    for back in range(1, size + 1):
        stood_before &= tokens[:, size - back : length - back] == tokens[:, length - back, None]
    return np.flatnonzero(stood_before.any(-1)).tolist()
