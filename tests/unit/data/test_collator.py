# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Batches: hand-made padding, and the promises of the sampler."""

import numpy as np
import pytest
import torch

from hier_nmt.data.collator import DocumentCollator, TokenBatchSampler

ROWS = [
    {"input_ids": [10, 11, 2], "labels": [20, 2], "document_id": "a", "sentence_index": 0, "length": 3},
    {"input_ids": [12, 2], "labels": [21, 22, 23, 2], "document_id": "b", "sentence_index": 4, "length": 4},
]


def test_batch_is_padded_and_decoder_inputs_are_the_labels_shifted():
    batch = DocumentCollator(pad_token_id=0, decoder_start_token_id=1)(ROWS)
    expected = {
        "input_ids": [[10, 11, 2], [12, 2, 0]],
        "attention_mask": [[1, 1, 1], [1, 1, 0]],
        "labels": [[20, 2, -100, -100], [21, 22, 23, 2]],
        "decoder_input_ids": [[1, 20, 2, 0], [1, 21, 22, 23]],
    }
    assert {name: tensor.tolist() for name, tensor in batch.items()} == expected
    assert {tensor.dtype for tensor in batch.values()} == {torch.int64}


def test_both_sides_are_padded_to_the_multiple():
    batch = DocumentCollator(0, 1, pad_to_multiple_of=4)(ROWS)
    assert batch["input_ids"].shape == (2, 4)
    assert batch["labels"].shape == batch["decoder_input_ids"].shape == (2, 4)


def test_only_named_columns_are_kept():
    batch = DocumentCollator(0, 1, keep_columns=("document_id", "sentence_index"))(ROWS)
    assert batch["document_id"] == ["a", "b"]
    assert batch["sentence_index"].tolist() == [0, 4]
    assert "length" not in batch


def test_rows_without_labels_make_a_batch_without_decoder_side():
    batch = DocumentCollator(0, 1)([{"input_ids": [10, 2]}])
    assert sorted(batch) == ["attention_mask", "input_ids"]


def test_numpy_rows_are_taken_too():
    batch = DocumentCollator(0, 1)([{"input_ids": np.array([10, 2], np.int32), "labels": np.array([3], np.int32)}])
    assert batch["input_ids"].dtype == torch.int64


def test_batches_are_filled_from_the_longest_row_on():
    # Sorted: 6 | 5 5 | 3 2 1: one row of 6, two of 5, and 12 // 3 = 4 rows of at most 3.
    sampler = TokenBatchSampler([3, 6, 5, 2, 5, 1], 10, shuffle=False)
    assert list(sampler) == [[1], [2, 4], [0, 3, 5]]
    assert len(sampler) == 3


def test_row_longer_than_the_limit_is_a_batch_of_its_own():
    assert list(TokenBatchSampler([2, 50, 2], 4, shuffle=False)) == [[1], [0, 2]]


def test_limit_holds_after_padding_to_a_multiple():
    # Lengths 5 and 4 are padded to 8 and 4: 16 tokens hold two rows of 8, or four of 4.
    sampler = TokenBatchSampler([5, 5, 5, 4, 4, 4, 4], 16, shuffle=False, pad_to_multiple_of=4)
    assert [len(batch) for batch in sampler] == [2, 2, 3]


def test_number_of_rows_can_be_limited():
    assert [len(batch) for batch in TokenBatchSampler([1] * 5, 100, max_rows=2)] in ([2, 2, 1], [2, 1, 2], [1, 2, 2])


LENGTHS = np.random.default_rng(0).integers(1, 40, 500)


def test_every_row_comes_once_and_no_batch_exceeds_the_limit():
    batches = list(TokenBatchSampler(LENGTHS, 100, seed=3))
    assert sorted(row for batch in batches for row in batch) == list(range(500))
    assert all(len(batch) * max(LENGTHS[batch]) <= 100 for batch in batches)


def test_batches_depend_on_seed_and_epoch_only():
    def batches(seed: int, epoch: int) -> list[list[int]]:
        sampler = TokenBatchSampler(LENGTHS, 100, seed=seed)
        sampler.set_epoch(epoch)
        assert len(list(sampler)) == len(sampler)
        return list(sampler)

    assert batches(1, 2) == batches(1, 2)
    assert batches(1, 2) != batches(1, 3)
    assert batches(1, 2) != batches(2, 2)
    assert len(batches(1, 2)) == len(batches(1, 3))


def test_rows_of_equal_length_go_together_by_both_sides():
    sides = np.array([[5, 1], [5, 5], [2, 5], [5, 2], [1, 5], [3, 2]])
    sampler = TokenBatchSampler(sides.max(1), 10, side_lengths=sides, shuffle=False)
    assert list(sampler) == [[1, 3], [0, 2], [4, 5]]


def test_sides_decide_which_rows_go_together_and_nothing_else():
    sides = np.random.default_rng(1).integers(1, 40, (500, 2))
    lengths = sides.max(1)
    plain, by_sides = (
        list(TokenBatchSampler(lengths, 100, seed=3, side_lengths=side_lengths)) for side_lengths in (None, sides)
    )
    assert sorted(row for batch in by_sides for row in batch) == list(range(500))
    assert sorted(map(len, by_sides)) == sorted(map(len, plain))

    def num_padded(batches: list[list[int]]) -> int:
        return sum(len(batch) * int(sides[batch].max(0).sum()) for batch in batches)

    assert num_padded(by_sides) < num_padded(plain)


COPIES = np.random.default_rng(2).choice([1, 1, 1, 2, 3, 30], 500)
WINDOW_IDS = np.repeat(np.arange(500), COPIES)


def test_copies_of_a_window_are_spread_over_the_epoch():
    lengths = LENGTHS[WINDOW_IDS]
    batches = list(TokenBatchSampler(lengths, 100, seed=3, window_ids=WINDOW_IDS))
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    assert all(len(set(WINDOW_IDS[batch])) == len(batch) for batch in batches)
    together = list(TokenBatchSampler(lengths, 100, seed=3))
    assert not all(len(set(WINDOW_IDS[batch])) == len(batch) for batch in together)
    # A tenth of the epoch has a tenth of the copies of each window, one more or less.
    order = np.concatenate(batches)
    for window in np.flatnonzero(COPIES == 30):
        tenths = np.flatnonzero(WINDOW_IDS[order] == window) * 10 // len(order)
        assert np.bincount(tenths, minlength=10).tolist() == pytest.approx([3] * 10, abs=1)


def test_spreading_copies_costs_little_padding_and_few_batches():
    lengths = LENGTHS[WINDOW_IDS]
    samplers = [TokenBatchSampler(lengths, 100, window_ids=ids) for ids in (None, WINDOW_IDS)]
    together, spread = (
        sum(len(batch) * int(lengths[batch].max()) for batch in sampler) / lengths.sum() for sampler in samplers
    )
    assert spread < together + 0.1
    assert len(samplers[1]) < 1.1 * len(samplers[0])


def test_batches_with_copies_depend_on_seed_and_epoch_and_their_number_does_not():
    sampler = TokenBatchSampler(LENGTHS[WINDOW_IDS], 100, window_ids=WINDOW_IDS)
    first, again = list(sampler), list(sampler)
    sampler.set_epoch(1)
    assert first == again != list(sampler)
    assert len(first) == len(list(sampler)) == len(sampler)


def test_without_copies_window_ids_change_nothing():
    plain, by_ids = (list(TokenBatchSampler(LENGTHS, 100, seed=3, window_ids=ids)) for ids in (None, np.arange(500)))
    assert plain == by_ids


def test_few_rows_are_not_divided_into_rounds():
    sampler = TokenBatchSampler([2] * 12, 8, window_ids=np.repeat([0, 1], 6))
    assert [len(batch) for batch in sampler] == [4, 4, 4]


@pytest.mark.parametrize("num_processes", [2, 3])
def test_processes_share_copies(num_processes):
    samplers = [
        TokenBatchSampler(
            LENGTHS[WINDOW_IDS], 100, window_ids=WINDOW_IDS, num_processes=num_processes, process_index=index
        )
        for index in range(num_processes)
    ]
    rows = sorted(row for sampler in samplers for batch in sampler for row in batch)
    assert rows == list(range(len(WINDOW_IDS)))
    assert {len(list(sampler)) for sampler in samplers} == {len(samplers[0])}


@pytest.mark.parametrize("num_processes", [2, 3, 7])
def test_processes_share_the_rows_with_equally_many_batches(num_processes):
    samplers = [
        TokenBatchSampler(LENGTHS, 100, num_processes=num_processes, process_index=index)
        for index in range(num_processes)
    ]
    shards = [list(sampler) for sampler in samplers]
    assert {len(shard) for shard in shards} == {len(samplers[0])}
    assert sorted(row for shard in shards for batch in shard for row in batch) == list(range(500))


def test_fullest_batch_is_halved_where_batches_do_not_divide():
    shards = [
        list(TokenBatchSampler([6, 1, 1, 1, 1, 1], 6, shuffle=False, num_processes=3, process_index=index))
        for index in range(3)
    ]
    assert shards == [[[0]], [[1, 2]], [[3, 4, 5]]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_tokens": 0}, "max_tokens must be at least 1, got 0"),
        ({"max_tokens": 9, "num_processes": 2, "process_index": 2}, r"\[0, 2\), got 2"),
        ({"max_tokens": 9, "num_processes": 4}, "3 rows cannot be shared evenly by 4 processes"),
    ],
)
def test_impossible_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        TokenBatchSampler([1, 1, 1], **arguments)
