# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Attention of a few queries, which gather what they read, equals the loop over queries and touches nothing else."""

import math

import pytest
import torch
from largest_tensor import LargestTensor
from references import selected_attention_reference

from hier_nmt.ops import selected_attention
from hier_nmt.ops.selected_attention import (
    MAX_GATHERED_KEYS,
    attend_gathered,
    attend_sentences,
    gathers_few,
    read_sentences,
)
from hier_nmt.ops.sentence_spans import SentenceSpans

DOCUMENTS = {
    "uneven": [[1, 1, 1, 2, 3, 3, 3, 3, 4, 4]],
    "one sentence": [[1, 1, 1, 1]],
    "one token": [[1]],
    "numbers not in order": [[3, 1, 3, 2, 1, 3]],
    "empty sentences": [[2, 2, 5, 5, 5, 6]],
    "padded batch": [[1, 1, 2, 2, 2, 3, 4], [1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 2, 2, 3], [0, 0, 0, 0, 0, 0, 0]],
}
every_form = pytest.mark.parametrize("form", [attend_sentences, attend_gathered])
every_document = pytest.mark.parametrize("ids", DOCUMENTS.values(), ids=DOCUMENTS)


def leaves_of(key_ids: torch.Tensor, num_queries: int, num_places: int) -> list[torch.Tensor]:
    """Random query, key, value and scores, two heads of width 3."""
    torch.manual_seed(8)
    shapes = [(num_queries, 3), (key_ids.shape[1], 3), (key_ids.shape[1], 3), (num_queries, num_places)]
    return [torch.randn(len(key_ids), 2, *shape, dtype=torch.float64).requires_grad_() for shape in shapes]


def chosen_places(key_ids: torch.Tensor, num_queries: int, num_places: int) -> tuple[torch.Tensor, torch.Tensor]:
    """For every query other sentences [B, 2, Q, t], and which of the places are filled: not all for all queries."""
    generator = torch.Generator().manual_seed(1)
    num_sentences = max(int(key_ids.max()), num_places)
    orders = torch.rand(len(key_ids), 2, num_queries, num_sentences, generator=generator).argsort(-1)
    is_filled = torch.rand(*orders.shape[:3], num_places, generator=generator) < 0.7
    return orders[..., :num_places].masked_fill(~is_filled, 0), is_filled


def attend_by(form, query, key, value, spans, indices, scores, scaling, own_sentence_ids=None, query_positions=None):
    sentence_ids, scores = read_sentences(indices, scores, own_sentence_ids)
    return form(query, key, value, scores, sentence_ids, spans, query_positions, scaling, 0.0)


def assert_equals_the_loop(form, key_ids, num_queries, num_places, **options):
    leaves = leaves_of(key_ids, num_queries, num_places)
    indices, is_filled = chosen_places(key_ids, num_queries, num_places)
    scores = leaves[3].masked_fill(~is_filled, -math.inf)
    weighting = torch.linspace(-1, 2, leaves[0].numel(), dtype=torch.float64).view(leaves[0].shape)
    fast = attend_by(form, *leaves[:3], SentenceSpans(key_ids), indices, scores, scaling=0.7, **options)
    slow = selected_attention_reference(*leaves[:3], key_ids, indices, scores, scaling=0.7, **options)
    torch.testing.assert_close(fast, slow, rtol=1e-10, atol=1e-10)
    losses = [(output * weighting).sum() for output in (fast, slow)]
    gradients = [torch.autograd.grad(loss, leaves, retain_graph=True, materialize_grads=True) for loss in losses]
    torch.testing.assert_close(*gradients, rtol=1e-10, atol=1e-10)


@every_document
@pytest.mark.parametrize("block_queries", [1, 2, 32])
def test_blocks_of_queries_of_any_size_equal_the_loop(ids, block_queries, monkeypatch):
    monkeypatch.setattr(selected_attention, "BLOCK_QUERIES", block_queries)
    assert_equals_the_loop(attend_sentences, torch.tensor(ids), 7, 2)


@every_form
@every_document
@pytest.mark.parametrize("num_queries", [1, 3])
@pytest.mark.parametrize("num_places", [1, 3])
def test_values_and_gradients_equal_the_loop(form, ids, num_queries, num_places):
    assert_equals_the_loop(form, torch.tensor(ids), num_queries, num_places)


@every_form
@every_document
@pytest.mark.parametrize("num_places", [0, 2])
def test_the_own_sentence_without_a_view_of_the_future_equals_the_loop(form, ids, num_places):
    key_ids = torch.tensor(ids)
    positions = torch.arange(key_ids.shape[1])[-3:]
    options = {"own_sentence_ids": key_ids[:, -3:], "query_positions": positions}
    assert_equals_the_loop(form, key_ids, len(positions), num_places, **options)


def test_keys_of_a_sentence_are_found_wherever_they_stand():
    spans = SentenceSpans(torch.tensor([[3, 0, 1, 3, 2, 1], [0, 0, 1, 1, 1, 2]]))
    assert spans.sorted_ids.tolist() == [[0, 1, 1, 2, 3, 3], [0, 0, 1, 1, 1, 2]]
    assert spans.order.tolist() == [[1, 2, 5, 4, 0, 3], [0, 1, 2, 3, 4, 5]]
    assert spans.longest == 3


def test_queries_gather_only_while_what_they_could_read_is_small():
    spans = SentenceSpans(torch.tensor([[1] * 100 + [2], [1] * 101]))
    assert spans.longest == 101
    most = MAX_GATHERED_KEYS // (2 * 101)

    def few(num_queries, num_choices):
        return gathers_few(torch.zeros(2, 1, num_queries, 4), spans, torch.zeros(2, 1, num_queries, num_choices).long())

    assert few(1, most)
    assert not few(1, most + 1)
    assert not few(2, most)
    assert few(8, 1)
    assert not few(9, 1)


def test_a_query_among_many_keys_touches_only_those_it_reads():
    # 500 sentences of 8 tokens; the query reads 3 of them in each of 2 heads of width 4. No key is copied but theirs.
    key_ids = torch.arange(1, 501).repeat_interleave(8)[None]
    spans = SentenceSpans(key_ids)
    # What is found once for all layers and steps.
    assert (spans.longest, spans.order.shape) == (8, (1, 4000))
    query, key, value = torch.randn(1, 2, 1, 4), *torch.randn(2, 1, 2, 4000, 8)[..., 2:6]
    indices = torch.tensor([7, 499, 250]).expand(1, 2, 1, 3)
    with LargestTensor() as largest:
        attend_by(attend_gathered, query, key, value, spans, indices, torch.zeros(1, 2, 1, 3), scaling=0.5)
        # Views of keys and values are no copies; they show the whole.
        largest_copy = largest.numbers
    assert largest_copy == 2 * 3 * 8 * 4
