# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Windows over documents; every expected value is written out by hand."""

import pytest

from hier_nmt.text.windows import (
    Window,
    closed_sentences,
    document_blocks,
    fit_window,
    join_window,
    sliding_windows,
    split_window,
)

SEP, PAR, EOS = 4, 5, 2


def test_window_of_one_sentence_is_the_sentence_alone():
    assert sliding_windows(3, 1) == [(0, 1), (1, 2), (2, 3)]


def test_windows_slide_by_one_and_start_short():
    assert sliding_windows(4, 3) == [(0, 1), (0, 2), (0, 3), (1, 4)]


def test_window_longer_than_the_document_sees_all_before():
    assert sliding_windows(2, 10) == [(0, 1), (0, 2)]


def test_document_without_sentences_has_no_windows():
    assert sliding_windows(0, 3) == []
    assert document_blocks([], 10) == []


@pytest.mark.parametrize("window_sentences", [0, -1])
def test_sliding_needs_a_window_of_at_least_one(window_sentences):
    with pytest.raises(ValueError, match=f"got {window_sentences}"):
        sliding_windows(3, window_sentences)


def test_blocks_end_only_where_the_next_sentence_does_not_fit():
    # 3 + 4 = 7 <= 8; 7 + 2 = 9 > 8 cuts; 2 + 6 = 8 fits exactly.
    assert document_blocks([3, 4, 2, 6], 8) == [(0, 2), (2, 4)]


def test_document_that_fits_is_one_block():
    assert document_blocks([3, 4, 2], 9) == [(0, 3)]
    assert document_blocks([3, 4, 2], None) == [(0, 3)]


def test_overlong_sentence_is_a_block_of_its_own():
    assert document_blocks([3, 20, 2, 2], 8) == [(0, 1), (1, 2), (2, 4)]


def test_blocks_keep_the_target_limit_too():
    assert document_blocks([1, 1, 1], 10, [4, 4, 4], 8) == [(0, 2), (2, 3)]


def test_fitting_drops_the_farthest_context_first():
    lengths = [9, 2, 3, 4]
    assert fit_window(Window(0, 4), lengths, None, 9, None) == (1, 4)
    assert fit_window(Window(0, 4), lengths, None, 8, None) == (2, 4)
    assert fit_window(Window(0, 4), lengths, None, 18, None) == (0, 4)


def test_fitting_keeps_both_limits():
    assert fit_window(Window(0, 3), [1, 1, 1], [5, 5, 5], 3, 10) == (1, 3)


def test_fitting_never_drops_the_current_sentence():
    assert fit_window(Window(0, 3), [1, 1, 30], None, 8, None) == (2, 3)


def test_joined_window_closes_sentences_paragraphs_and_itself():
    ids = join_window([[10, 11], [12], [13, 14]], [False, True, True], SEP, PAR, EOS)
    assert ids == [10, 11, SEP, 12, PAR, 13, 14, EOS]


def test_joined_single_sentence_has_only_the_end_token():
    assert join_window([[10]], [False], SEP, PAR, EOS) == [10, EOS]
    assert join_window([[]], [True], SEP, PAR, EOS) == [EOS]


def test_joining_needs_one_paragraph_mark_for_each_sentence():
    with pytest.raises(ValueError, match="2 sentences but 1"):
        join_window([[10], [11]], [True], SEP, PAR, EOS)


def test_splitting_undoes_joining():
    sentences = [[10, 11], [12], [13, 14]]
    ids = join_window(sentences, [False, True, True], SEP, PAR, EOS)
    assert split_window([1, *ids, 0, 0], {SEP, PAR}, {0, 1, EOS}) == sentences


def test_n_separators_give_n_plus_one_sentences():
    assert split_window([10, SEP, SEP, 11, PAR, EOS], {SEP, PAR}, {EOS}) == [[10], [], [11], []]
    assert split_window([], {SEP}, {EOS}) == [[]]


def test_closed_sentences_keep_the_token_that_closes_them() -> None:
    assert closed_sentences([10, 11, SEP, 12, PAR, 13, EOS], {SEP, PAR}) == [[10, 11, SEP], [12, PAR], [13, EOS]]
    assert closed_sentences([10, EOS], {SEP}) == [[10, EOS]]
