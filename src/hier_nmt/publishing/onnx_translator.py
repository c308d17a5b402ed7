# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Decoding with exported graphs and NumPy alone, greedily or with beams: without PyTorch, whose import takes seconds.

The search is that of `generate` in Transformers, so that translations are the same.

Dimensions: B documents, K beams, R = B K rows (the beams of a document are neighbours), L target tokens so far, V
vocabulary, C candidates.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .onnx_files import DECODER_FILE, ENCODER_FILE, SETTINGS_FILE, open_session

# The score of what must not be chosen while there is anything else; as low as in Transformers.
LOST_SCORE = np.float32(-1e9)


class Search(NamedTuple):
    """How outputs are searched for.

    Attributes:
        num_beams: 1: the most likely token at each step.
        end_ids: tokens that end an output; default: the end of the text.
        length_penalty: the exponent of the length by which the score of a beam is divided.
        constrain: changes the scores [R, V] of the token after those of the rows [R, L], the start token first: logits
            or, of beams, log-probabilities.
        on_written: called after each step with the tokens [R, L] of the rows; the rows [R] that it returns as True end.
            Beams do not end by it.
    """

    num_beams: int = 1
    end_ids: Sequence[int] | None = None
    length_penalty: float = 1.0
    constrain: Callable[[np.ndarray, np.ndarray], np.ndarray] = lambda tokens, scores: scores
    on_written: Callable[[np.ndarray], np.ndarray] | None = None


class OnnxTranslator:
    """Decoding with the graphs of a folder.

    Args:
        folder: output of `export_model` or `quantize_model`.
        num_threads: threads of the runtime; None: its own choice.

    Attributes:
        settings: ids and sizes that come with the graphs.
    """

    def __init__(self, folder: str | Path, num_threads: int | None = 1) -> None:
        folder = Path(folder)
        self.settings = json.loads((folder / SETTINGS_FILE).read_text(encoding="utf-8"))
        self.encoder, self.decoder = (open_session(folder / name, num_threads) for name in (ENCODER_FILE, DECODER_FILE))
        self.separator_ids = [self.settings[f"{name}_token_id"] for name in ("sep", "par")]

    def has_room(self, source: Sequence[int]) -> bool:
        """Whether the graphs have room for the sentences of a window of source ids."""
        most = self.settings["max_sentences"]
        return most is None or self._num_sentences(source) <= most

    def _num_sentences(self, source: Sequence[int]) -> int:
        return 1 + sum(token in self.separator_ids for token in source)

    def generate(
        self, sources: Sequence[Sequence[int]], max_new_tokens: int, search: Search | None = None
    ) -> list[list[int]]:
        """The new tokens for each window of source ids, the token that ended it included.

        Raises:
            ValueError: a window of more sentences than the graphs have room for.
        """
        search = search or Search()
        for source in sources:
            if not self.has_room(source):
                most = self.settings["max_sentences"]
                raise ValueError(
                    f"a window of {self._num_sentences(source)} sentences: the graphs have room for {most}"
                )
        end_ids = [self.settings["eos_token_id"]] if search.end_ids is None else list(search.end_ids)
        steps = _Steps(self, sources, search.num_beams)
        find = _greedy if search.num_beams == 1 else _beam_search
        return find(steps, search, end_ids, max_new_tokens)


class _Steps:
    """The rows of a batch, and what the graphs keep of them.

    Attributes:
        tokens: of the rows [R, L], the start token first.
    """

    def __init__(self, translator: OnnxTranslator, sources: Sequence[Sequence[int]], num_beams: int) -> None:
        settings, self._translator = translator.settings, translator
        self.pad_token_id, length = settings["pad_token_id"], max(map(len, sources))
        input_ids = np.array([[*row, *[self.pad_token_id] * (length - len(row))] for row in sources], dtype=np.int64)
        mask = np.array([[1] * len(row) + [0] * (length - len(row)) for row in sources], dtype=np.int64)
        encoded = _run(translator.encoder, [input_ids, mask])
        self._mask, *self._source = (np.repeat(one, num_beams, axis=0) for one in (mask, *encoded))
        num_rows = len(sources) * num_beams
        self._past = [np.zeros((num_rows, *sizes), np.float32) for sizes in settings["past"]]
        self.tokens = np.full((num_rows, 1), settings["decoder_start_token_id"], dtype=np.int64)
        self._ids = [np.ones((num_rows, 1), dtype=np.int64) for _ in ("sentences", "paragraphs")]

    def scores(self) -> np.ndarray:
        """The logits [R, V] of the next token."""
        inputs = [self.tokens[:, -1:], *self._ids, self._mask, *self._source, *self._past]
        logits, *self._past = _run(self._translator.decoder, inputs)
        return logits

    def take(self, chosen: np.ndarray, rows: np.ndarray | None = None) -> None:
        """Appends a token [R] to each row, or to the one of these numbers [R] that takes its place."""
        if rows is not None:
            self.tokens, self._ids = self.tokens[rows], [ids[rows] for ids in self._ids]
            self._past = [one[rows] for one in self._past]
        separators, most = self._translator.separator_ids, self._translator.settings["max_sentences"]
        last = self.tokens[:, -1]
        for index, closing in enumerate((separators, separators[1:])):
            ids = self._ids[index]
            # After a separator the next one starts; padding has 0.
            following = ids[:, -1] + np.isin(last, [one for one in closing if one is not None])
            if most is not None and index == 0:
                following = np.minimum(following, most)
            self._ids[index] = np.column_stack([ids, np.where(chosen == self.pad_token_id, 0, following)])
        self.tokens = np.column_stack([self.tokens, chosen])


def _greedy(steps: _Steps, search: Search, end_ids: list[int], max_new_tokens: int) -> list[list[int]]:
    is_done = np.zeros(len(steps.tokens), dtype=bool)
    num_written = np.zeros(len(steps.tokens), dtype=int)
    for _ in range(max_new_tokens):
        chosen = search.constrain(steps.tokens, steps.scores()).argmax(-1)
        num_written += ~is_done
        steps.take(np.where(is_done, steps.pad_token_id, chosen))
        is_done |= np.isin(steps.tokens[:, -1], end_ids)
        if search.on_written is not None:
            is_done |= search.on_written(steps.tokens)
        if is_done.all():
            break
    return [row[:length].tolist() for row, length in zip(steps.tokens[:, 1:], num_written, strict=True)]


def _beam_search(steps: _Steps, search: Search, end_ids: list[int], max_new_tokens: int) -> list[list[int]]:
    num_beams = search.num_beams
    num_documents = len(steps.tokens) // num_beams
    num_candidates = max(2, 1 + len(end_ids)) * num_beams
    is_first = np.arange(num_candidates) < num_beams
    # Beams are alike at first, so all but one are lost.
    running = np.full((num_documents, num_beams), LOST_SCORE)
    running[:, 0] = 0
    finished: list[list[list[int]]] = [[[]] * num_beams for _ in range(num_documents)]
    finished_scores = np.full((num_documents, num_beams), LOST_SCORE)
    is_finished = np.zeros((num_documents, num_beams), dtype=bool)
    may_improve = np.ones(num_documents, dtype=bool)
    for length in range(1, max_new_tokens + 1):
        scores = search.constrain(steps.tokens, log_softmax(steps.scores()))
        scores = scores.reshape(num_documents, num_beams, -1) + running[:, :, None]
        best, places = _largest(scores.reshape(num_documents, -1), num_candidates)  # [B, C]
        beams, chosen = np.divmod(places, scores.shape[2])
        rows = beams + np.arange(num_documents)[:, None] * num_beams
        ends = np.isin(chosen, end_ids) | (length == max_new_tokens)
        # The best outputs that have ended.
        ended = np.where(ends & is_first, best / np.float32(length**search.length_penalty), LOST_SCORE)
        ended[~may_improve] = LOST_SCORE
        merged = np.concatenate([finished_scores, ended], axis=1)
        finished_scores, kept = _largest(merged, num_beams)
        is_finished = np.take_along_axis(np.concatenate([is_finished, ends & is_first], axis=1), kept, axis=1)
        for document, places_kept in enumerate(kept.tolist()):
            before = finished[document]
            finished[document] = [
                before[place] if place < num_beams else _row(steps, rows, chosen, document, place - num_beams)
                for place in places_kept
            ]
        # The best beams that have not.
        running, following = _largest(best + ends * LOST_SCORE, num_beams)
        rows, chosen = (np.take_along_axis(one, following, axis=1).ravel() for one in (rows, chosen))
        steps.take(chosen, rows)
        if search.on_written is not None:
            search.on_written(steps.tokens)
        worst = np.where(is_finished, finished_scores.min(axis=1, keepdims=True), LOST_SCORE)
        may_improve &= (running[:, :1] / np.float32(length**search.length_penalty) > worst).any(axis=1)
        if not may_improve.any() or ends.all():
            break
    return [outputs[0] for outputs in finished]


def _row(steps: _Steps, rows: np.ndarray, chosen: np.ndarray, document: int, candidate: int) -> list[int]:
    """The new tokens of a candidate."""
    return [*steps.tokens[rows[document, candidate], 1:].tolist(), int(chosen[document, candidate])]


def _largest(scores: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The largest scores of each row of [B, N], in order, and their places [B, count]."""
    places = np.argpartition(-scores, min(count, scores.shape[1]) - 1, axis=1)[:, :count]
    order = np.argsort(-np.take_along_axis(scores, places, axis=1), axis=1, kind="stable")
    places = np.take_along_axis(places, order, axis=1)
    return np.take_along_axis(scores, places, axis=1), places


def log_softmax(scores: np.ndarray) -> np.ndarray:
    """Log-probabilities over the last dimension."""
    shifted = scores - scores.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def _run(session: Any, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    names = [one.name for one in session.get_inputs()]
    return session.run(None, dict(zip(names, arrays, strict=True)))
