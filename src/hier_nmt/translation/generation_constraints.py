# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Constraints of decoder runs: rows that cannot become a translation end, and no row exceeds the learned positions.

Dimensions: B rows, T target tokens, V vocabulary.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any

import torch
from transformers import LogitsProcessor, StoppingCriteria

from ..configuration.position_limits import PositionLimits
from ..ops.document_structure import separator_positions
from .decoder_runs import ExpectedWindow

NO_LIMITS = PositionLimits()
# The score of the only token that is left to a row which beam search should drop; as low as in Transformers.
LOST_SCORE = -1e9


class WindowStoppingCriteria(StoppingCriteria):
    """Reports how many sentences are complete after each step, and ends rows that cannot become a translation.

    Such a row has more separators than its window, or a sentence longer than any could be alone. In beam search, where
    other beams may be right, only rows that would run out of learned positions are ended.

    Args:
        separator_ids: the target's `<sep>` and `<par>`.
        windows: one for each document of the batch; its beams are neighbouring rows.
        ends_rows: end all rows that cannot become a translation.
        limits: of the model's positions.
        on_written: called with the index of a window and its number of complete sentences (those of its furthest beam),
            whenever there are more than before.
    """

    def __init__(
        self,
        separator_ids: Collection[int],
        windows: Sequence[ExpectedWindow],
        ends_rows: bool,
        limits: PositionLimits = NO_LIMITS,
        on_written: Callable[[int, int], object] | None = None,
    ) -> None:
        self.separator_ids, self.windows = separator_ids, windows
        self.ends_rows, self.limits, self.on_written = ends_rows, limits, on_written
        self._most = [0] * len(windows)

    def __call__(self, input_ids: torch.Tensor, scores: Any, **kwargs: Any) -> torch.Tensor:  # type: ignore[override]
        """Which rows [B] must end, after tokens [B, 1 + T] of which the first is the start token."""
        num_complete, num_current = count_complete_sentences(input_ids[:, 1:], self.separator_ids)
        num_beams = len(input_ids) // len(self.windows)
        if self.on_written is not None:
            self._report(num_complete.unflatten(0, (-1, num_beams)).amax(1).tolist())
        is_lost = torch.zeros_like(num_complete, dtype=torch.bool)
        if self.limits.sentences is not None:
            is_lost |= num_complete >= self.limits.sentences
        if self.limits.sentence_tokens is not None:
            is_lost |= num_current >= self.limits.sentence_tokens - 1
        if self.ends_rows:
            expected = torch.tensor(self.windows, device=input_ids.device).repeat_interleave(num_beams, dim=0)
            is_lost |= (num_complete >= expected[:, 0]) | (num_current > expected[:, 1])
        return is_lost

    def _report(self, num_complete: Sequence[int]) -> None:
        assert self.on_written is not None
        for index, (count, window) in enumerate(zip(num_complete, self.windows, strict=True)):
            # The last sentence is complete when the run is.
            count = min(count, window.num_sentences - 1)
            if count > self._most[index]:
                self._most[index] = count
                self.on_written(index, count)


class WithinPositions(LogitsProcessor):
    """Forbids tokens beyond the end of a learned position table, which would be an error in the middle of a run.

    A sentence of the full length can only be closed, and the last sentence or paragraph that has a position can only be
    closed by the end of the text. Rows that beam search continues after their end get padding, which has no position.

    Args:
        limits: of the model.
        separator_ids: the target's `<sep>` and `<par>`.
        end_ids: tokens that end the text.
        pad_token_id: padding.
    """

    def __init__(
        self, limits: PositionLimits, separator_ids: Sequence[int], end_ids: Sequence[int], pad_token_id: int
    ) -> None:
        self.limits = limits
        self.separator_ids, self.end_ids, self.pad_token_id = separator_ids, end_ids, pad_token_id

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        """The scores [B, V] of the token after `input_ids` [B, T], minus infinity where it is forbidden."""
        num_complete, num_current = count_complete_sentences(
            input_ids, self.separator_ids, input_ids == self.pad_token_id
        )
        if self.limits.sentence_tokens is not None:
            # The token that closes the sentence has a position, too, and so may a start token with the id of padding.
            closing_ids = [*self.separator_ids, *self.end_ids]
            scores = self._only(scores, num_current + 2 >= self.limits.sentence_tokens, closing_ids)
            is_beyond = num_current + 1 >= self.limits.sentence_tokens
            scores = self._only(scores, is_beyond, [self.pad_token_id])
            scores[is_beyond, self.pad_token_id] = LOST_SCORE
        if self.limits.sentences is not None:
            scores = self._without(scores, num_complete >= self.limits.sentences - 1, self.separator_ids)
        if self.limits.paragraphs is not None:
            closes = separator_positions(input_ids, self.separator_ids[1:])
            scores = self._without(scores, closes.sum(-1) >= self.limits.paragraphs - 1, self.separator_ids[1:])
        return scores

    def _only(self, scores: torch.Tensor, rows: torch.Tensor, token_ids: Sequence[int]) -> torch.Tensor:
        """The scores in which only these tokens are allowed in those rows [B]."""
        is_other = torch.ones(scores.shape[1], dtype=torch.bool, device=scores.device)
        is_other[list(token_ids)] = False
        return scores.masked_fill(rows[:, None] & is_other, -torch.inf)

    def _without(self, scores: torch.Tensor, rows: torch.Tensor, token_ids: Sequence[int]) -> torch.Tensor:
        """The scores in which these tokens are forbidden in those rows [B], unless they end the text."""
        forbidden = [token_id for token_id in token_ids if token_id not in self.end_ids]
        is_forbidden = torch.zeros(scores.shape[1], dtype=torch.bool, device=scores.device)
        is_forbidden[forbidden] = True
        return scores.masked_fill(rows[:, None] & is_forbidden, -torch.inf)


class FollowsSource(LogitsProcessor):
    """Closes each sentence of a window as its source sentence is closed, for models that translate each as if it were
    alone.

    The model chooses whether a sentence ends. Which token ends it (`<sep>`, `<par>` or, for the last one, `</s>`)
    follows from the source; that token gets the probability of all of them.

    Args:
        closing_ids: of each document of the batch, the target tokens that must close its sentences, in order; its beams
            are neighbouring rows.
        separator_ids: the target's `<sep>` and `<par>`.
        end_ids: tokens that end the text.
        start_id: the token with which each sentence begins, such as that of a language; `generate` writes that of the
            first.
    """

    def __init__(
        self,
        closing_ids: Sequence[Sequence[int]],
        separator_ids: Sequence[int],
        end_ids: Sequence[int],
        start_id: int | None = None,
    ) -> None:
        self.closing_ids, self.separator_ids, self.start_id = closing_ids, list(separator_ids), start_id
        self.closing = [*self.separator_ids, *(end_id for end_id in end_ids if end_id not in separator_ids)]

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        """The scores [B, V] of the token after `input_ids` [B, T]."""
        closes = separator_positions(input_ids, self.separator_ids)
        num_beams = len(scores) // len(self.closing_ids)
        wanted = [
            row[min(num_complete, len(row) - 1)]
            for row, num_complete in zip(
                (row for row in self.closing_ids for _ in range(num_beams)), closes.sum(-1).tolist(), strict=True
            )
        ]
        any_end = scores[:, self.closing].logsumexp(-1, keepdim=True)
        scores = scores.clone()
        scores[:, self.closing] = -torch.inf
        scores = scores.scatter(1, torch.tensor(wanted, device=scores.device)[:, None], any_end)
        if self.start_id is None:
            return scores
        starts = closes[:, -1:]
        forced = torch.full_like(scores, -torch.inf)
        forced[:, self.start_id] = 0.0
        return torch.where(starts, forced, scores)


class WithinLengths(LogitsProcessor):
    """Ends each row at its own length limit, so that beam search does not depend on the other rows of the batch.

    Args:
        lengths: the maximum number of new tokens of each document of the batch, including the end token; its beams are
            neighbouring rows.
        num_given: tokens before the first new one.
        end_ids: tokens that end the text.
    """

    def __init__(self, lengths: Sequence[int], num_given: int, end_ids: Sequence[int]) -> None:
        self.lengths, self.num_given, self.end_ids = lengths, num_given, end_ids

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        """The scores [B, V] of the token after `input_ids` [B, T]: in the last position all but end tokens are
        forbidden."""
        num_new = input_ids.shape[1] - self.num_given
        is_last = torch.tensor(self.lengths, device=scores.device) <= num_new + 1
        is_other = torch.ones(scores.shape[1], dtype=torch.bool, device=scores.device)
        is_other[list(self.end_ids)] = False
        rows = is_last.repeat_interleave(len(scores) // len(self.lengths))
        return scores.masked_fill(rows[:, None] & is_other, LOST_SCORE)

    def would_act(self, row: int, given: Sequence[int], ids: Sequence[int]) -> bool:
        """Whether anything would have been forbidden while the tokens `ids` of a row were generated."""
        return len(ids) >= self.lengths[row]

    def of_row(self, row: int) -> "WithinLengths":
        """The same for one document of the batch alone."""
        return WithinLengths([self.lengths[row]], self.num_given, self.end_ids)


def count_complete_sentences(
    tokens: torch.Tensor, separator_ids: Collection[int], is_ignored: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """How many sentences the tokens [B, T] complete [B], and how many tokens follow the last of these [B].

    Args:
        tokens: [B, T].
        separator_ids: tokens that close a sentence.
        is_ignored: boolean [B, T], True on tokens that are not counted.
    """
    closes = separator_positions(tokens, separator_ids)
    counted = torch.ones_like(tokens) if is_ignored is None else (~is_ignored).long()
    places = counted.cumsum(-1)
    last = (places * closes).amax(-1) if tokens.shape[1] else places.new_zeros(len(tokens))
    total = places[:, -1] if tokens.shape[1] else last
    return closes.sum(-1), total - last
