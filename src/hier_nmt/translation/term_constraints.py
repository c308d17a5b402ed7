# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Decoding that writes a given term at a given position, and decoding that reads the probabilities of given tokens.

Both are logits processors, so `generate` runs them with any model, engine and number of beams. They derive everything
from the tokens of a row.

Dimensions: B rows, T target tokens, V vocabulary.
"""

from collections.abc import Sequence

import torch
from transformers import LogitsProcessor

from .generation_constraints import LOST_SCORE
from .target_words import Forcing, Replay, Replayed, TargetWords


class ForcedTerms(LogitsProcessor):
    """Allows only what a `Forcing` allows until its term is written, and then anything that does not continue its last
    word.

    Args:
        forcings: one for each document of the batch; its beams are neighbouring rows.
        num_given: tokens before the first new one.
        words: of the target vocabulary.
    """

    def __init__(self, forcings: Sequence[Forcing], num_given: int, words: TargetWords) -> None:
        self.forcings, self.num_given, self.words = forcings, num_given, words
        self._continues = torch.tensor(words.continues_word)

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        """The scores [B, V] of the token after `input_ids` [B, T], minus infinity where it is not allowed."""
        num_beams = len(scores) // len(self.forcings)
        is_lost = torch.zeros(scores.shape, dtype=torch.bool)
        for row, new_ids in enumerate(input_ids[:, self.num_given :].tolist()):
            allowed = self.allowed_ids(self.forcings[row // num_beams], new_ids)
            if allowed is None:
                continue
            ids, may_break = allowed
            # A model may have more outputs than its tokenizer has tokens.
            is_lost[row, : len(self._continues)] = self._continues if may_break else True
            is_lost[row, len(self._continues) :] = True
            is_lost[row, ids] = False
        is_lost = is_lost.to(scores.device)
        return torch.where(is_lost, -torch.inf, scores.clamp(min=LOST_SCORE)) if is_lost.any() else scores

    def allowed_ids(self, forcing: Forcing, new_ids: Sequence[int]) -> tuple[list[int], bool] | None:
        """The tokens allowed after the new tokens of a row, and whether those that do not continue a word are allowed,
        too; None: all are."""
        num_forced = len(forcing.prefix_ids)
        if len(new_ids) < num_forced:
            return [forcing.prefix_ids[len(new_ids)]], False
        allowed: set[int] = set()
        may_break = False
        starts: list[tuple[int, int, tuple[int, ...]]] = [(num_forced, 0, ())]
        for start, num_words, last in starts:
            joins = start > 0 and self.words.joins[new_ids[start - 1]]
            rest = tuple(new_ids[start:])
            forms = self._forms_after(forcing, last, joins)
            if any(self._is_complete(form, rest) for form in forms):
                return None
            allowed.update(form[len(rest)] for form in forms if len(form) > len(rest) and form[: len(rest)] == rest)
            may_break |= rest in forms
            for word in () if joins else self.words.short_words(num_words, last, forcing.max_gap):
                if not self._leads_to_a_form(forcing, word, num_words + 1):
                    continue
                if rest[: len(word)] == word:
                    starts.append((start + len(word), num_words + 1, word))
                elif word[: len(rest)] == rest:
                    allowed.add(word[len(rest)])
        # Beam search continues rows that have left what is allowed if it has no others.
        return (sorted(allowed), may_break) if allowed or may_break else None

    @staticmethod
    def _forms_after(forcing: Forcing, word: tuple[int, ...], joins: bool) -> list[tuple[int, ...]]:
        """The forms that may follow a determiner or preposition, or the prefix if there is none."""
        forms = forcing.joined_forms if joins else forcing.forms
        return [form for form in forms if (word, form) not in forcing.unsuited]

    def _leads_to_a_form(self, forcing: Forcing, word: tuple[int, ...], num_words: int) -> bool:
        """Whether a form, or another determiner, may follow this word, the last of so many behind the prefix."""
        joins = self.words.joins[word[-1]]
        is_followed = not joins and bool(self.words.short_words(num_words, word, forcing.max_gap))
        return is_followed or bool(self._forms_after(forcing, word, joins))

    def _is_complete(self, form: tuple[int, ...], written: tuple[int, ...]) -> bool:
        """Whether a form has been written, followed by a token that does not continue its last word."""
        is_behind = len(written) > len(form) and written[: len(form)] == form
        return is_behind and not self.words.continues_word[written[len(form)]]


class ReplayedScores(LogitsProcessor):
    """Makes each row write the tokens of its replay, and records their log-probabilities.

    Args:
        replays: one for each row of the batch.
        num_given: tokens before the first new one.
    """

    def __init__(self, replays: Sequence[Replay], num_given: int) -> None:
        self.replays, self.num_given = replays, num_given
        self._replayed = [Replayed([], [[] for _ in replay.wanted_ids]) for replay in replays]

    def complete(self) -> list[Replayed]:
        """What was recorded, with 0 for tokens that a run did not reach."""
        for replay, replayed in zip(self.replays, self._replayed, strict=True):
            for logprobs in (replayed.target, *replayed.wanted):
                logprobs += [0.0] * (len(replay.target_ids) - len(logprobs))
        return self._replayed

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        """The scores [B, V] of the token after `input_ids` [B, T]: minus infinity except for that of the replay."""
        step = input_ids.shape[1] - self.num_given
        logprobs = scores.float().log_softmax(-1)
        scores = scores.clamp(min=LOST_SCORE)
        for row, (replay, replayed) in enumerate(zip(self.replays, self._replayed, strict=True)):
            if step >= len(replay.target_ids):
                continue
            token_id = replay.target_ids[step]
            replayed.target.append(logprobs[row, token_id].item())
            for ids, found in zip(replay.wanted_ids, replayed.wanted, strict=True):
                found.append(logprobs[row, list(ids)].max().item())
            is_other = torch.ones(scores.shape[1], dtype=torch.bool, device=scores.device)
            is_other[token_id] = False
            scores[row] = scores[row].masked_fill(is_other, -torch.inf)
        return scores
