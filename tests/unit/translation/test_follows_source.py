# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Windows whose sentences are closed as those of their source."""

import pytest
import torch

from hier_nmt.translation.generation_constraints import FollowsSource

SEP, PAR, EOS, LANGUAGE, VOCABULARY = 4, 5, 2, 7, 10


def scores(**values: float) -> torch.Tensor:
    """Scores [1, V], -1 but for the given ones."""
    row = torch.full((1, VOCABULARY), -1.0)
    for name, value in values.items():
        row[0, int(name.removeprefix("t"))] = value
    return row


@pytest.mark.parametrize(("written", "wanted"), [([1, 8], SEP), ([1, 8, SEP, 9], PAR), ([1, 8, SEP, 9, PAR, 8], EOS)])
def test_the_wanted_token_gets_the_probability_of_all_that_close(written: list[int], wanted: int) -> None:
    processor = FollowsSource([[SEP, PAR, EOS]], [SEP, PAR], [EOS])
    given = scores(t2=2.0, t4=1.0, t5=0.5)
    changed = processor(torch.tensor([written]), given)
    assert changed[0, wanted].item() == pytest.approx(torch.tensor([2.0, 1.0, 0.5]).logsumexp(0).item())
    others = [token for token in (SEP, PAR, EOS) if token != wanted]
    assert torch.isinf(changed[0, others]).all()
    rest = [token for token in range(VOCABULARY) if token not in (SEP, PAR, EOS)]
    assert torch.equal(changed[0, rest], given[0, rest])
    # The sum of all probabilities stays.
    assert changed.logsumexp(-1).item() == pytest.approx(given.logsumexp(-1).item())


def test_each_beam_follows_the_source_of_its_document() -> None:
    processor = FollowsSource([[EOS], [SEP, EOS]], [SEP, PAR], [EOS])
    changed = processor(torch.tensor([[1, 8]] * 4), scores().repeat(4, 1))
    assert changed[:, [SEP, EOS]].isinf().tolist() == [[True, False], [True, False], [False, True], [False, True]]


def test_a_sentence_begins_with_the_token_of_its_language() -> None:
    processor = FollowsSource([[SEP, EOS]], [SEP, PAR], [EOS], start_id=LANGUAGE)
    changed = processor(torch.tensor([[1, 8, SEP]]), scores(t9=5.0))
    assert changed.argmax(-1).item() == LANGUAGE
    assert changed[0, LANGUAGE] == 0
    assert changed.isinf().sum() == VOCABULARY - 1
    later = processor(torch.tensor([[1, 8, SEP, LANGUAGE]]), scores(t9=5.0))
    assert later.argmax(-1).item() == 9
