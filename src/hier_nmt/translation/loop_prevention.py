# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Decoding without repetition loops: the next turn of a loop is forbidden during decoding.

Dimensions: B rows, T target tokens, V vocabulary.
"""

from collections.abc import Collection, Sequence

import torch
from transformers import LogitsProcessor

from .repetition import REPEATED_NGRAM_SIZE, loop_continuations


class WithoutLoops(LogitsProcessor):
    """Forbids the tokens with which the current sentence would begin the next turn of a repetition loop.

    `begins_next_turn` defines loops; the translation of a source that repeats itself may do so, too. The probability of
    the forbidden tokens goes to the end of the sentence if the sentence is as long as its source: a model that has
    nothing left to translate loops instead of ending. A shorter one continues with the next best token.

    Everything is derived from the tokens of a row, so that rows may be reordered or dropped at any step.

    Args:
        sources: for each document of the batch the token ids of its source sentences; its beams are neighbouring rows.
        separator_ids: the target's `<sep>` and `<par>`, or nothing.
        end_ids: tokens that end the text.
        start_ids: tokens before the text that are not part of it: padding and the start token.
    """

    def __init__(
        self,
        sources: Sequence[Sequence[Sequence[int]]],
        separator_ids: Collection[int],
        end_ids: Collection[int],
        start_ids: Collection[int],
    ) -> None:
        self.sources, self.separator_ids, self.start_ids = sources, separator_ids, start_ids
        self.end_ids = end_ids
        self.closing_ids = sorted({*separator_ids, *end_ids})
        # A row that has ended, or a sentence that has just begun.
        self._is_no_loop = {*self.closing_ids, *start_ids}

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        """The scores [B, V] of the token after `input_ids` [B, T], minus infinity where it would continue a loop."""
        rows = _rows_that_repeat(input_ids, REPEATED_NGRAM_SIZE - 1)
        if not rows:
            return scores
        num_beams = len(input_ids) // len(self.sources)
        found = {
            row: self._forbidden(ids, self.sources[row // num_beams])
            for row, ids in zip(rows, input_ids[rows].tolist(), strict=True)
            if ids[-1] not in self._is_no_loop
        }
        if any(forbidden for forbidden, _ in found.values()):
            scores = scores.clone()
        for row, (forbidden, may_end) in found.items():
            if forbidden:
                self._forbid(scores[row], forbidden, may_end)
        return scores

    def would_act(self, row: int, given: Sequence[int], ids: Sequence[int]) -> bool:
        """Whether anything would have been forbidden while the tokens `ids` of a row were generated after given
        ones."""
        everything = [*given, *ids]
        seen: set[tuple[int, ...]] = set()
        for stop in range(REPEATED_NGRAM_SIZE - 1, len(everything)):
            last = tuple(everything[stop - REPEATED_NGRAM_SIZE + 1 : stop])
            is_new_token = stop >= len(given) and last[-1] not in self._is_no_loop
            if last in seen and is_new_token and self._forbidden(everything[:stop], self.sources[row])[0]:
                return True
            seen.add(last)
        return False

    def of_row(self, row: int) -> "WithoutLoops":
        """The same for one document of the batch alone."""
        return WithoutLoops([self.sources[row]], self.separator_ids, self.end_ids, self.start_ids)

    def _forbidden(self, ids: Sequence[int], sources: Sequence[Sequence[int]]) -> tuple[list[int], bool]:
        """The tokens that are forbidden after those of one row, and whether the sentence is as long as its source."""
        return loop_continuations(ids, sources, self.separator_ids, self.start_ids)

    def _forbid(self, scores: torch.Tensor, forbidden: list[int], may_end: bool) -> None:
        """Changes the scores [V] of one row."""
        lost = scores[forbidden].logsumexp(0)
        scores[forbidden] = -torch.inf
        closing_id = max(self.closing_ids, key=lambda token_id: scores[token_id].item())
        if may_end and scores[closing_id] > -torch.inf:
            scores[closing_id] = torch.logaddexp(scores[closing_id], lost)


def _rows_that_repeat(input_ids: torch.Tensor, size: int) -> list[int]:
    """The rows of the tokens [B, T] whose last n-gram of this size occurred in them before."""
    num_tokens = input_ids.shape[1]
    if num_tokens <= size:
        return []
    stood_before = torch.ones_like(input_ids[:, size:], dtype=torch.bool)  # [B, T - size]
    for back in range(1, size + 1):
        stood_before &= input_ids[:, size - back : num_tokens - back] == input_ids[:, num_tokens - back, None]
    return stood_before.any(-1).nonzero().flatten().tolist()
