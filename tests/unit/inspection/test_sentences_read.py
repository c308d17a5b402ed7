# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from hier_nmt.inspection.attention_records import AttentionRecord, SlotRecord, TokenRow
from hier_nmt.inspection.sentences_read import selection_shares, sentences_read

# Two sentences of two tokens and of one.
ROW = TokenRow(("a", "</s>", "b"), np.array([0, 0, 1]))


def record(**slots: SlotRecord) -> AttentionRecord:
    return AttentionRecord("", {"source": ROW, "target": ROW, "prefix": ROW}, slots)


def test_shares_are_means_over_layers_heads_and_slots() -> None:
    # One layer of two heads, and two layers of one head.
    cross = SlotRecord(np.array([[[[1.0, 0.0], [0.2, 0.8]], [[0.5, 0.5], [0.4, 0.6]]]]))
    encoder = SlotRecord(np.array([[[[1.0, 0.0], [0.0, 1.0]]], [[[0.5, 0.5], [0.2, 0.8]]]]))
    found = sentences_read(record(cross=cross, encoder=encoder))
    # Sentence 0: cross 0.75, encoder 0.75. Sentence 1 reads sentence 0: cross 0.3, encoder 0.1.
    assert [[one.sentence for one in row] for row in found] == [[0, 1], [0, 1]]
    assert [[one.share for one in row] for row in found] == [pytest.approx([0.75, 0.25]), pytest.approx([0.2, 0.8])]
    assert {one.selected for row in found for one in row} == {None}


def test_sentences_with_next_to_no_attention_are_left_out() -> None:
    slot = SlotRecord(np.array([[[[1.0, 0.0], [0.001, 0.999]]]]))
    assert [[one.sentence for one in row] for row in sentences_read(record(cross=slot))] == [[0], [1]]


def test_selected_is_the_share_of_tokens_that_select_a_sentence() -> None:
    # One layer of two heads: of sentence 0 both tokens select sentence 0 in both heads, and one selects sentence 1 in
    # one head; sentence 1 selects nothing in one head, and sentence 0 in the other.
    selected = np.array([[[[0, 1], [0, -1], [-1, -1]], [[0, -1], [0, -1], [0, -1]]]])
    slot = SlotRecord(np.full((1, 2, 2, 2), 0.5), selected=selected)
    assert selection_shares(slot, ROW, 2).tolist() == [[1.0, 0.25], [0.5, 0.0]]
    # A slot that selects nothing has no part in this mean.
    found = sentences_read(record(cross=slot, encoder=SlotRecord(np.full((1, 2, 2, 2), 0.5))))
    assert [[one.selected for one in row] for row in found] == [[1.0, 0.25], [0.5, 0.0]]
