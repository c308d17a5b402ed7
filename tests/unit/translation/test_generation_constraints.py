# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a run over a window has written: counted, told step by step, ended when lost, kept within learned positions."""

import math

import pytest
import torch
from tiny_models import BOS, EOS, NUM_TOKENS, PAD, PAR, SEP

from hier_nmt.configuration.position_limits import PositionLimits
from hier_nmt.translation.generation_constraints import (
    ExpectedWindow,
    WindowStoppingCriteria,
    WithinPositions,
    count_complete_sentences,
)

SEPARATORS = (SEP, PAR)
TOKENS = torch.tensor([[7, 8, SEP, 9, PAR, 10, 11, 12], [7, 8, 9, 10, 11, 12, 13, SEP]])


def follow(follower: WindowStoppingCriteria, rows: torch.Tensor) -> list[list[bool]]:
    """What the follower says of each row after each step, from the first token behind the start token on."""
    rows = torch.nn.functional.pad(rows, (1, 0), value=BOS)
    return [follower(rows[:, :stop], None).tolist() for stop in range(2, rows.shape[1] + 1)]


def test_sentences_are_complete_behind_their_separator():
    complete, current = count_complete_sentences(TOKENS, SEPARATORS)
    assert (complete.tolist(), current.tolist()) == ([2, 1], [3, 0])
    complete, current = count_complete_sentences(TOKENS, SEPARATORS, is_ignored=TOKENS == 11)
    assert (complete.tolist(), current.tolist()) == ([2, 1], [2, 0])
    complete, current = count_complete_sentences(TOKENS[:, :0], SEPARATORS)
    assert (complete.tolist(), current.tolist()) == ([0, 0], [0, 0])


def test_every_complete_sentence_but_the_last_is_told_once():
    told = []
    windows = [ExpectedWindow(3, 99), ExpectedWindow(1, 99)]
    follow(WindowStoppingCriteria(SEPARATORS, windows, False, on_written=lambda *count: told.append(count)), TOKENS)
    assert told == [(0, 1), (0, 2)]


def test_of_several_beams_the_furthest_is_told():
    told = []
    rows = torch.tensor([[7, 8, 9, SEP], [7, SEP, 8, 9], [7, 8, SEP, SEP], [SEP, 7, 8, SEP]])
    windows = [ExpectedWindow(4, 99), ExpectedWindow(4, 99)]
    follow(WindowStoppingCriteria(SEPARATORS, windows, False, on_written=lambda *count: told.append(count)), rows)
    assert told == [(1, 1), (0, 1), (1, 2)]


def test_a_row_ends_with_its_first_separator_too_many():
    # Two separators make three sentences: one more than the first window has, as many as the second.
    rows = TOKENS[:1].repeat(2, 1)
    windows = [ExpectedWindow(2, 99), ExpectedWindow(3, 99)]
    ended = follow(WindowStoppingCriteria(SEPARATORS, windows, True), rows)
    assert [row[0] for row in ended] == [False] * 4 + [True] * 4
    assert not any(row[1] for row in ended)


def test_a_row_ends_with_a_sentence_that_is_too_long():
    windows = [ExpectedWindow(9, 2), ExpectedWindow(9, 7)]
    ended = follow(WindowStoppingCriteria(SEPARATORS, windows, True), TOKENS)
    assert [row[0] for row in ended] == [False] * 7 + [True]
    assert not any(row[1] for row in ended)


def test_beams_are_told_of_but_never_ended():
    windows = [ExpectedWindow(1, 1)]
    assert not any(map(any, follow(WindowStoppingCriteria(SEPARATORS, windows, False), TOKENS)))


def test_beams_that_run_out_of_positions_are_ended():
    # In the second row the seventh token would stand in position 7, behind the start token.
    windows = [ExpectedWindow(9, 99), ExpectedWindow(9, 99)]
    for limits, first in ((PositionLimits(sentence_tokens=7), (None, 5)), (PositionLimits(sentences=2), (4, None))):
        ended = follow(WindowStoppingCriteria(SEPARATORS, windows, False, limits), TOKENS)
        for row in (0, 1):
            steps = [step for step, rows in enumerate(ended) if rows[row]]
            assert (steps or [None])[0] == first[row]


def allowed(limits: PositionLimits, rows: list[list[int]], end_ids: tuple[int, ...] = (EOS,)) -> list[set[int]]:
    scores = WithinPositions(limits, SEPARATORS, end_ids, PAD)(torch.tensor(rows), torch.zeros(len(rows), NUM_TOKENS))
    return [{token_id for token_id, score in enumerate(row) if score > -math.inf} for row in scores.tolist()]


ALL = set(range(NUM_TOKENS))


@pytest.mark.parametrize("size", [3, 4, 6])
def test_a_sentence_that_fills_its_positions_can_only_be_closed_and_then_padded(size):
    # The start token stands in position 0 of the first sentence, and the separator in the last position of each.
    for start in ([BOS], [BOS, 7, SEP, 8]):
        for num_tokens in range(size + 1):
            row = [*start, *[9] * num_tokens]
            num_current = num_tokens + 1
            expected = {SEP, PAR, EOS} if num_current + 2 == size else {PAD} if num_current + 2 > size else ALL
            assert allowed(PositionLimits(sentence_tokens=size), [row]) == [expected]


def test_padding_in_front_has_no_position():
    assert allowed(PositionLimits(sentence_tokens=4), [[PAD, BOS], [BOS, 7]]) == [ALL, {SEP, PAR, EOS}]


def test_the_last_sentence_and_the_last_paragraph_with_a_position_are_not_closed():
    rows = [[BOS, 7, SEP, 8], [BOS, PAR, SEP, 8]]
    assert allowed(PositionLimits(sentences=3), rows) == [ALL, ALL - {SEP, PAR}]
    assert allowed(PositionLimits(paragraphs=2), rows) == [ALL, ALL - {PAR}]
    assert allowed(PositionLimits(sentences=2, sentence_tokens=3), rows) == [{EOS}, {EOS}]


def test_separators_that_end_the_run_are_never_forbidden():
    assert allowed(PositionLimits(sentences=1), [[BOS, 7]], end_ids=(EOS, SEP, PAR)) == [ALL]
    assert allowed(PositionLimits(), [[BOS, 7]]) == [ALL]
