# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The constraints of decoder runs without PyTorch are those of `translation`, for any tokens and scores."""

from typing import Any

import numpy as np
import pytest
import torch
from tiny_models import BOS, EOS, PAD, PAR, SEP, UNK, tiny_model

from hier_nmt.publishing.onnx_runs import OnnxRuns, _Constraints, _Follower
from hier_nmt.translation.batched_generation import BatchedGenerator
from hier_nmt.translation.decoder_runs import ExpectedWindow, Request, StopConditions

NUM_TOKENS = 12

SOURCES = [[6, 7, SEP, 8, 9, 6, PAR, 7, EOS], [8, SEP, 9, EOS], [6, 7, 8, 6, 7, 8, SEP, 9, 9, EOS]]


def both(num_beams: int, follows: bool) -> tuple[BatchedGenerator, OnnxRuns]:
    """Runs of a model with PyTorch and without."""
    model = tiny_model(restart_target_sentences=follows, token_position_origin="sentence" if follows else "document")
    arguments: Any = ((PAD, PAD), [(SEP, PAR), (SEP, PAR)], 8, None, {"num_beams": num_beams})
    return BatchedGenerator(model, *arguments), OnnxRuns(None, None, model, *arguments)  # type: ignore[arg-type]


def requests(has_windows: bool) -> list[Request]:
    """One for each source, with a length limit of its own."""
    windows = [ExpectedWindow(3, 4), ExpectedWindow(2, 5), ExpectedWindow(2, 6)] if has_windows else [None] * 3
    return [
        Request(source, [], limit, window) for source, limit, window in zip(SOURCES, (9, 4, 14), windows, strict=True)
    ]


@pytest.mark.parametrize("num_beams", [1, 3])
@pytest.mark.parametrize("follows", [True, False])
@pytest.mark.parametrize("has_windows", [True, False])
@pytest.mark.parametrize("min_new_tokens", [None, 2])
def test_scores_are_changed_alike(num_beams: int, follows: bool, has_windows: bool, min_new_tokens: int | None) -> None:
    generator, runs = both(num_beams, follows)
    batch = requests(has_windows)
    suppressed = [PAD, BOS, UNK] if has_windows else [PAD, BOS, UNK, SEP, PAR]
    ends = StopConditions([EOS], suppressed, min_new_tokens)
    config = runs._config(ends, num_beams, 14)
    constraints = _Constraints(runs, batch, ends, config)
    processors = generator._hooks(batch, ends, None)["logits_processor"]
    random = torch.Generator().manual_seed(0)
    num_rows, num_changed = len(batch) * num_beams, 0
    for length in range(1, 14):
        for turn in range(1, 5):
            # Most rows repeat themselves.
            tokens = torch.randint(SEP, 9, (num_rows, turn), generator=random)[:, torch.arange(length) % turn]
            tokens[:, 0] = BOS
            scores = torch.randn(num_rows, NUM_TOKENS, generator=random).log_softmax(-1)
            expected = scores.clone()
            if length - 1 < (min_new_tokens or 0):
                expected[:, EOS] = -torch.inf
            expected[:, suppressed] = -torch.inf
            free = expected.clone()
            for processor in processors:
                expected = processor(tokens, expected)
            num_changed += int((expected != free).any())
            if num_beams > 1:
                expected = expected.log_softmax(-1)
            found = constraints.constrain(tokens.numpy(), scores.numpy().copy())
            torch.testing.assert_close(torch.from_numpy(found), expected, rtol=1e-5, atol=1e-5)
    assert num_changed > 10


def test_rows_end_and_are_counted_alike() -> None:
    generator, runs = both(num_beams=1, follows=False)
    batch = requests(has_windows=True)
    written: list[list[tuple[int, int]]] = [[], []]
    ends = StopConditions([EOS], [PAD])
    hooks = generator._hooks(batch, ends, lambda index, count: written[0].append((index, count)))
    follower = _Follower(runs, batch, 1, lambda index, count: written[1].append((index, count)))
    random = torch.Generator().manual_seed(1)
    num_ended = 0
    for _ in range(30):
        tokens = torch.randint(SEP, 9, (3, 9), generator=random)
        tokens[:, 0] = BOS
        for length in range(2, 10):
            (criterion,) = hooks["stopping_criteria"]
            expected = criterion(tokens[:, :length], None)
            assert follower.follow(tokens[:, :length].numpy()).tolist() == expected.tolist()
            num_ended += int(expected.sum())
    assert written[0] == written[1] != []
    assert num_ended > 50


def test_beams_do_not_end_by_it() -> None:
    _, runs = both(num_beams=3, follows=False)
    follower = _Follower(runs, requests(has_windows=True), 3, None)
    assert not follower.follow(np.full((9, 12), SEP)).any()
