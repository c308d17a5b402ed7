# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import copy

import pytest
import torch

from hier_nmt.models.rnn.recurrent_cache import DecoderState, RecurrentCache


def filled(num_rows: int = 3) -> RecurrentCache:
    """A cache of two layers behind four tokens; all of row i is 10 i, 10 i + 1, ..., tensor by tensor."""
    rows = 10.0 * torch.arange(num_rows)[:, None]
    layers = ((rows, rows + 1), (rows + 2, rows + 3))
    cache = RecurrentCache()
    cache.remember(DecoderState(layers, rows + 4), (rows + 5)[..., None], 4)
    return cache


def tensors(cache: RecurrentCache) -> list[list[float]]:
    return [
        tensor.flatten().tolist()
        for tensor in (
            *(tensor for layer in cache.state.layers for tensor in layer),
            cache.state.attentional_vector,
            cache.source_keys,
        )
    ]


def expected(rows: list[int]) -> list[list[float]]:
    return [[10.0 * row + index for row in rows] for index in range(6)]


def test_a_new_cache_is_empty() -> None:
    cache = RecurrentCache()
    assert (cache.get_seq_length(), cache.get_max_length(), cache.batch_size) == (0, -1, -1)
    assert not cache.is_initialized
    cache.reorder_cache(torch.tensor([0]))
    cache.batch_repeat_interleave(2)
    assert cache.state is None


def test_the_length_counts_all_tokens_remembered() -> None:
    cache = filled()
    assert (cache.get_seq_length(), cache.batch_size, cache.is_initialized) == (4, 3, True)
    cache.remember(cache.state, cache.source_keys, 2)
    assert cache.get_seq_length() == 6
    assert repr(cache) == "RecurrentCache(num_tokens=6, batch_size=3)"


def test_reordering_moves_whole_rows_of_every_tensor() -> None:
    cache = filled()
    cache.reorder_cache(torch.tensor([2, 2, 0]))
    assert tensors(cache) == expected([2, 2, 0])
    assert cache.get_seq_length() == 4


def test_rows_are_selected_and_repeated() -> None:
    cache = filled()
    cache.batch_select_indices(torch.tensor([1]))
    assert tensors(cache) == expected([1])
    cache = filled(2)
    cache.batch_repeat_interleave(3)
    assert tensors(cache) == expected([0, 0, 0, 1, 1, 1])
    assert cache.batch_size == 6


def test_a_cache_without_attention_has_no_keys_to_move() -> None:
    cache = filled()
    cache.source_keys = None
    cache.reorder_cache(torch.tensor([1, 0, 2]))
    assert cache.source_keys is None


def test_reset_forgets_everything() -> None:
    cache = filled()
    cache.reset()
    assert (cache.state, cache.source_keys, cache.get_seq_length()) == (None, None, 0)


def test_tokens_cannot_be_taken_back() -> None:
    cache = filled()
    cache.crop(0)
    assert cache.get_seq_length() == 4
    with pytest.raises(ValueError, match="cannot be rolled back by tokens_to_remove=1"):
        cache.crop(1)
    assert not cache.is_croppable
    assert not cache.is_compileable


def test_a_copy_is_independent() -> None:
    cache = filled()
    other = copy.deepcopy(cache)
    cache.reorder_cache(torch.tensor([1, 1, 1]))
    assert tensors(other) == expected([0, 1, 2])
