# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import pytest
import torch
from tiny_models import BOS, EOS, PAD, PAR, SEP

from hier_nmt.ops.document_structure import (
    CompletedSentences,
    DocumentStructure,
    continue_sentence_ids,
    graph_of_sentences,
    sentence_ids_from_tokens,
    separator_positions,
)

#         the first paragraph       | the second
WINDOW = [7, 8, SEP, 9, PAR, 10, 11, EOS, PAD]
SENTENCES = [1, 1, 1, 2, 2, 3, 3, 3, 0]
PARAGRAPHS = [1, 1, 1, 1, 1, 2, 2, 2, 0]


def ids(*rows: list[int]) -> torch.Tensor:
    return torch.tensor(rows)


def test_separators_are_found_and_nothing_else():
    assert separator_positions(ids([7, SEP, PAR, EOS, PAD]), (SEP, PAR)).tolist() == [[False, True, True, False, False]]
    assert not separator_positions(ids([7, SEP]), ()).any()


@pytest.mark.parametrize(("separators", "expected"), [((SEP, PAR), SENTENCES), ((PAR,), PARAGRAPHS)])
def test_a_separator_belongs_to_what_it_closes(separators, expected):
    mask = (ids(WINDOW) != PAD).long()
    assert sentence_ids_from_tokens(ids(WINDOW), separators, mask).tolist() == [expected]


def test_text_without_separators_is_one_sentence():
    assert sentence_ids_from_tokens(ids([7, 8, EOS]), (SEP, PAR)).tolist() == [[1, 1, 1]]


def test_empty_sentences_are_counted():
    assert sentence_ids_from_tokens(ids([SEP, SEP, 7, EOS]), (SEP, PAR)).tolist() == [[1, 2, 3, 3]]


def test_separators_under_the_mask_are_not_counted():
    mask = ids([0, 0, 1, 1, 1, 0])
    assert sentence_ids_from_tokens(ids([SEP, PAR, 7, SEP, 8, SEP]), (SEP, PAR), mask).tolist() == [[0, 0, 1, 1, 2, 0]]


def test_explicit_numbers_are_counted_on_behind_a_separator():
    prefix = [[0, 3, 3], [5, 5, 6]]
    tokens = ids([PAD, BOS, SEP, 7, SEP, 8], [BOS, SEP, 9, 10, PAR, 11])
    expected = [[0, 3, 3, 4, 4, 5], [5, 5, 6, 6, 6, 7]]
    assert continue_sentence_ids(ids(*prefix), tokens, (SEP, PAR)).tolist() == expected


def test_explicit_numbers_of_the_whole_prefix_stay_as_they_are():
    assert continue_sentence_ids(ids([2, 2, 9]), ids([BOS, SEP, 7]), (SEP,)).tolist() == [[2, 2, 9]]


@pytest.mark.parametrize(
    ("sentence_ids", "token_positions", "positions_in_sentence"),
    [
        ([1, 1, 1, 2, 3, 3, 0, 0], [0, 1, 2, 3, 4, 5, 5, 5], [0, 1, 2, 0, 0, 1, 0, 0]),
        ([0, 0, 1, 1, 2, 2, 2, 3], [0, 0, 0, 1, 2, 3, 4, 5], [0, 0, 0, 1, 0, 1, 2, 0]),
        ([4, 4, 2, 2, 4, 4, 4, 4], [0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 0, 1, 0, 1, 2, 3]),
    ],
    ids=["padding on the right", "padding on the left", "numbers in any order"],
)
def test_positions_count_tokens_and_no_padding(sentence_ids, token_positions, positions_in_sentence):
    structure = DocumentStructure.from_ids(ids(sentence_ids), ids(sentence_ids))
    is_token = ids(sentence_ids) > 0
    assert structure.token_positions.tolist() == [token_positions]
    assert (structure.positions_in_sentence * is_token).tolist() == [positions_in_sentence]


def test_unstructured_text_is_one_sentence_of_one_paragraph():
    structure = DocumentStructure.unstructured(ids([0, 1, 1], [1, 1, 1]).bool())
    assert structure.sentence_ids.tolist() == structure.paragraph_ids.tolist() == [[0, 1, 1], [1, 1, 1]]
    assert structure.token_positions.tolist() == structure.positions_in_sentence.tolist() == [[0, 0, 1], [0, 1, 2]]


@pytest.mark.parametrize("start", [3, torch.tensor(3)])
def test_a_selected_part_keeps_its_place_in_the_window(start):
    structure = DocumentStructure.from_ids(ids([1, 1, 2, 2, 2, 3]), ids([1, 1, 1, 1, 1, 2]))
    part = structure.select(start, 3)
    assert part.sentence_ids.tolist() == [[2, 2, 3]]
    assert part.paragraph_ids.tolist() == [[1, 1, 2]]
    assert part.token_positions.tolist() == [[3, 4, 5]]
    assert part.positions_in_sentence.tolist() == [[1, 2, 0]]


def test_other_sentence_numbers_leave_the_places_as_they_are():
    structure = DocumentStructure.from_ids(ids([1, 1, 2]), ids([1, 1, 1]))
    other = structure.with_sentence_ids(ids([2, 2, 3]))
    assert other.sentence_ids.tolist() == [[2, 2, 3]]
    assert other.positions_in_sentence.tolist() == structure.positions_in_sentence.tolist() == [[0, 1, 0]]


def test_a_sentence_is_complete_once_the_next_one_has_begun():
    complete = CompletedSentences.from_ids(ids([1, 1, 2, 3, 3], [0, 1, 1, 1, 2]), num_newest=5)
    assert complete.mask.tolist() == [[True, True], [True, False]]
    assert complete.behind.tolist() == [[2, 3], [4, 0]]
    # All of it is new: every complete sentence is to be encoded, the last ones are not.
    assert (complete.first, complete.num_sentences) == (0, 2)
    assert complete.sentence_ids.tolist() == [[1, 1, 2, 0, 0], [0, 1, 1, 1, 0]]
    assert complete.completed.tolist() == [[0, 0, 1, 2, 0], [0, 0, 0, 0, 1]]


def test_only_sentences_that_the_newest_tokens_complete_are_to_be_encoded():
    numbers = ids([1, 1, 2, 2, 3, 3, 4], [1, 2, 2, 2, 3, 3, 3])
    complete = CompletedSentences.from_ids(numbers, num_newest=2)
    assert complete.behind.tolist() == [[2, 4, 6], [1, 4, 0]]
    # In the first row sentence 4 begins, which completes 3, the fifth and sixth token. In the second nothing ends.
    assert complete.first == 4
    assert complete.sentence_ids.tolist() == [[1, 1, 0], [0, 0, 0]]
    assert complete.completed.tolist() == [[0, 1], [0, 0]]


def test_newest_tokens_that_complete_nothing_need_no_earlier_ones():
    complete = CompletedSentences.from_ids(ids([1, 1, 2, 2, 2]), num_newest=2)
    assert complete.first == 5
    assert complete.sentence_ids.shape == (1, 0)
    assert complete.completed.tolist() == [[0, 0]]
    assert complete.mask.tolist() == [[True]]


def test_numbers_may_be_left_out_and_padding_may_stand_anywhere():
    complete = CompletedSentences.from_ids(ids([2, 2, 0, 2, 5, 5, 0, 7]), num_newest=4)
    # Sentence 2 ends twice, before the padding inside it and for good; 5 ends before padding.
    assert complete.behind.tolist() == [[0, 4, 0, 0, 6]]
    assert complete.first == 0
    assert complete.sentence_ids.tolist() == [[1, 1, 0, 1, 4, 4, 0, 0]]
    assert complete.completed.tolist() == [[1, 0, 4, 0]]


@pytest.mark.parametrize(
    "row",
    [
        [1, 1, 1, 2, 2, 3, 3, 0, 0],
        [0, 0, 1, 1, 2, 2, 2, 3, 4],
        [1, 1, 4, 4, 4, 6, 6, 6, 6],
        [1, 2, 3, 4, 5, 6, 7, 8, 9],
        [0] * 9,
    ],
)
def test_a_graph_has_the_same_positions(row):
    expected = DocumentStructure.from_ids(ids(row), ids(row))
    with graph_of_sentences(4):
        found = DocumentStructure.from_ids(ids(row), ids(row))
    # Padding has no position.
    is_token = ids(row) > 0
    assert torch.equal(found.positions_in_sentence[is_token], expected.positions_in_sentence[is_token])
    assert torch.equal(found.token_positions, expected.token_positions)
