# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The highest scores of a row are those that a stable sort puts first."""

import pytest
import torch

from hier_nmt.kernels.torch_cpu import stable_topk
from hier_nmt.kernels.torch_cpu.buffer_pool import BufferPool
from hier_nmt.kernels.torch_cpu.stable_topk import first_maxima, ordered_keys, top_columns, top_members


def rows_of_scores(num_rows, num_columns):
    """Rows of numbers of all sizes, of nearly and wholly equal ones, and with infinities."""
    generator = torch.Generator().manual_seed(6)
    scores = torch.randn(num_rows, num_columns, generator=generator)
    kind = torch.arange(num_rows)[:, None] % 6
    sizes = 10.0 ** torch.randint(-40, 38, scores.shape, generator=generator)
    scores = torch.where(kind == 1, scores * sizes, scores)
    scores = torch.where(kind == 2, scores.round(), scores)
    scores = torch.where(kind == 3, -(1 + scores.abs() * 1e-5), scores)
    infinity = torch.where(scores > 0, torch.inf, -torch.inf)
    scores = torch.where((kind == 4) & (scores.abs() > 1), infinity, scores)
    largest = torch.finfo(torch.float32).max
    scores = torch.where((kind == 5) & (scores.abs() > 1), infinity.clamp(-largest, largest), scores)
    return scores + 0.0  # no negative zeros


@pytest.mark.parametrize("num_columns", [2, 5, 8, 31, 32, 33, 64, 200])
def test_the_highest_columns_are_those_that_a_stable_sort_puts_first(monkeypatch, num_columns):
    monkeypatch.setattr(stable_topk, "FEW_SCORES", 0)
    monkeypatch.setattr(stable_topk, "FEW_ROWS", 0)
    scores = rows_of_scores(600, num_columns)
    order = scores.argsort(dim=-1, descending=True, stable=True)
    buffers = BufferPool(scores)
    for t in {1, min(4, num_columns - 1), num_columns - 1}:
        found = top_columns(scores, t, buffers)
        assert torch.equal(found.sort(-1).values, order[:, :t].sort(-1).values)
        assert torch.equal(first_maxima(ordered_keys(scores, buffers), t, buffers), order[:, :t])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("num_columns", [2, 5, 64, 400])
def test_of_few_scores_the_highest_are_those_that_a_stable_sort_puts_first(num_columns, dtype):
    scores = rows_of_scores(6 * 64, num_columns).to(dtype)
    buffers = BufferPool(scores)
    # Rows in which nothing is equal are not sorted.
    for some in (scores[::6], scores[2::6], scores[4::6], scores):
        order = some.argsort(dim=-1, descending=True, stable=True)
        for t in {1, min(4, num_columns - 1), num_columns - 1}:
            found = top_columns(some, t, buffers)
            assert torch.equal(*(some.gather(-1, columns).sort(-1).values for columns in (found, order[:, :t])))
            is_finite = some.gather(-1, order[:, t - 1 : t + 1]).isfinite().all(-1)
            columns = found[is_finite].sort(-1).values
            assert torch.equal(columns, order[is_finite, :t].sort(-1).values)


@pytest.mark.parametrize(("num_sentences", "group_size"), [(256, 8), (320, 16), (300, 4)])
def test_the_highest_members_of_groups_are_those_that_a_stable_sort_puts_first(num_sentences, group_size):
    by_sentence = rows_of_scores(600, num_sentences)
    order = by_sentence.argsort(dim=-1, descending=True, stable=True)
    scores = by_sentence.unflatten(-1, (-1, group_size)).transpose(-1, -2).flatten(-2)
    for t in (1, 4, 9):
        found, best = top_members(scores, t, group_size, BufferPool(scores))
        assert torch.equal(found.sort(-1).values, order[:, :t].sort(-1).values)
        assert torch.equal(best, by_sentence.gather(-1, found))


def test_zeros_of_either_sign_are_equal_members_of_groups():
    by_sentence = -1.0 - torch.arange(256.0).repeat(3, 1)
    # In more groups than are kept, in one group, and in the first and all others.
    by_sentence[0, 3:9], by_sentence[0, 20:100:20] = -0.0, 0.0
    by_sentence[1, :4], by_sentence[1, 4:8] = -0.0, 0.0
    by_sentence[2, :7], by_sentence[2, 7:] = -0.0, 0.0
    scores = by_sentence.unflatten(-1, (-1, 8)).transpose(-1, -2).flatten(-2)
    found, best = top_members(scores, 4, 8, BufferPool(scores))
    assert found.sort(-1).values.tolist() == [[3, 4, 5, 6], [0, 1, 2, 3], [0, 1, 2, 3]]
    assert (best == 0).all()
