# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import pytest
import torch
from tiny_models import BOS, EOS, PAD, PAR, SENTENCE_SCOPE, SEP, tiny_config
from transformers.cache_utils import DynamicCache, EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput

from hier_nmt.models.hier_nmt.structure_inputs import (
    check_structure_ids,
    document_structure,
    mask_right_padding,
    next_token_sentence_ids,
    source_structure,
    target_numbers,
    target_structure,
    token_mask,
)

CONFIG = tiny_config()
READING_CONFIG = tiny_config(**SENTENCE_SCOPE)


def ids(*rows: list[int]) -> torch.Tensor:
    return torch.tensor(rows)


def states(batch_size: int, length: int) -> torch.Tensor:
    return torch.zeros(batch_size, length, 16)


def cache_of(length: int) -> EncoderDecoderCache:
    cache = DynamicCache(config=CONFIG)
    if length:
        cache.update(torch.zeros(1, 4, length, 4), torch.zeros(1, 4, length, 4), 0)
    return EncoderDecoderCache(cache, DynamicCache(config=CONFIG))


def test_the_callers_mask_decides_what_is_a_token():
    mask = token_mask(CONFIG, ids([7, PAD, 8]), states(1, 3), ids([1, 1, 0]))
    assert mask.tolist() == [[True, True, False]]


def test_without_a_mask_every_pad_token_is_padding():
    assert token_mask(CONFIG, ids([PAD, 7, PAD]), states(1, 3)).tolist() == [[False, True, False]]
    assert token_mask(CONFIG, None, states(1, 3)).tolist() == [[True, True, True]]
    assert token_mask(tiny_config(pad_token_id=None), ids([PAD, 7]), states(1, 2)).tolist() == [[True, True]]


def test_a_start_token_with_the_id_of_padding_is_a_token():
    config = tiny_config(decoder_start_token_id=PAD)
    assert token_mask(config, ids([PAD, 7, PAD]), states(1, 3)).tolist() == [[True, True, False]]


def test_explicit_numbers_win_and_padding_has_none():
    tokens, mask = ids([7, SEP, 8, PAR, 9, PAD]), ids([1, 1, 1, 1, 1, 0])
    derived = document_structure(CONFIG, tokens, mask)
    assert derived.sentence_ids.tolist() == [[1, 1, 2, 2, 3, 0]]
    assert derived.paragraph_ids.tolist() == [[1, 1, 1, 1, 2, 0]]
    explicit = document_structure(CONFIG, tokens, mask, ids([1, 2, 2, 2, 2, 9]), ids([1, 1, 1, 2, 3, 9]))
    assert explicit.sentence_ids.tolist() == [[1, 2, 2, 2, 2, 0]]
    assert explicit.paragraph_ids.tolist() == [[1, 1, 1, 2, 3, 0]]


def test_embeddings_alone_are_one_sentence():
    structure = document_structure(CONFIG, None, ids([1, 1, 0]))
    assert structure.sentence_ids.tolist() == structure.paragraph_ids.tolist() == [[1, 1, 0]]


def test_source_structure_comes_from_the_encoder_then_from_the_tokens():
    output = BaseModelOutput(last_hidden_state=states(1, 3))
    assert source_structure(CONFIG, output, None, None, None, None) is None
    from_tokens = source_structure(CONFIG, output, ids([7, SEP, 8]), None, None, None)
    assert from_tokens.sentence_ids.tolist() == [[1, 1, 2]]
    output.sentence_ids, output.paragraph_ids = ids([1, 2, 3]), ids([1, 1, 1])
    from_encoder = source_structure(CONFIG, output, ids([7, SEP, 8]), None, None, None)
    assert from_encoder.sentence_ids.tolist() == [[1, 2, 3]]


def test_target_structure_of_a_first_call_is_that_of_its_tokens():
    tokens = ids([BOS, 7, SEP, 8])
    for cache in (None, cache_of(0)):
        queries, keys = target_structure(READING_CONFIG, tokens, states(1, 4), None, None, None, cache)
        assert queries is keys
        assert keys.sentence_ids.tolist() == [[1, 1, 1, 2]]


def test_target_structure_of_a_later_call_is_cut_from_the_numbers_of_the_prefix():
    prefix = ids([1, 1, 2, 2, 2, 0])  # the last column lies beyond the prefix, as with static caches
    queries, keys = target_structure(READING_CONFIG, ids([8, 9]), states(1, 2), None, prefix, prefix, cache_of(3))
    assert keys.sentence_ids.tolist() == [[1, 1, 2, 2, 2, 0]]
    assert queries.sentence_ids.tolist() == [[2, 2]]
    assert queries.token_positions.tolist() == [[3, 4]]
    assert queries.positions_in_sentence.tolist() == [[1, 2]]


def test_a_later_call_without_numbers_is_an_error_where_sentences_are_read():
    with pytest.raises(ValueError, match="decoder_sentence_ids"):
        target_structure(READING_CONFIG, ids([8]), states(1, 1), None, None, None, cache_of(3))


def test_a_later_call_without_paragraphs_is_an_error_where_paragraphs_are_read():
    config = tiny_config(position_encoding="multi_level")
    with pytest.raises(ValueError, match="decoder_paragraph_ids"):
        target_structure(config, ids([8]), states(1, 1), None, ids([1, 1, 1, 2]), None, cache_of(3))


def test_a_later_call_without_numbers_counts_positions_on():
    queries, keys = target_structure(CONFIG, ids([8, 9]), states(1, 2), None, None, None, cache_of(3))
    assert keys is None
    assert queries.token_positions.tolist() == [[3, 4]]
    queries, _ = target_structure(CONFIG, ids([8]), states(1, 1), ids([0, 0, 1, 1]), None, None, cache_of(3))
    assert queries.token_positions.tolist() == [[1]]


def test_numbers_of_a_prefix_count_from_its_separators_or_from_those_given():
    tokens, mask = ids([PAD, BOS, 7, SEP, 8]), ids([0, 1, 1, 1, 1])
    assert target_numbers(tokens, None, (SEP, PAR), mask).tolist() == [[0, 1, 1, 1, 2]]
    assert target_numbers(tokens, ids([9, 3, 3]), (SEP, PAR), mask).tolist() == [[0, 3, 3, 3, 4]]


def test_a_separator_as_input_writes_the_next_sentence():
    tokens = ids([BOS, 7, SEP, 8, PAR, 9, EOS])
    structure = document_structure(CONFIG, tokens, torch.ones_like(tokens))
    assert next_token_sentence_ids(CONFIG, structure, tokens).sentence_ids.tolist() == [[1, 1, 2, 2, 3, 3, 3]]
    assert next_token_sentence_ids(CONFIG, structure, None).sentence_ids.tolist() == [[1, 1, 2, 2, 3, 3, 3]]


def test_the_last_token_and_the_one_before_padding_write_their_own_sentence_or_the_next():
    tokens = ids([BOS, SEP, 7, PAD], [PAD, BOS, 8, SEP])
    structure = document_structure(CONFIG, tokens, tokens != PAD)
    written = next_token_sentence_ids(CONFIG, structure, tokens).sentence_ids
    assert written[0, :3].tolist() == [1, 2, 2]
    assert written[1, 1:].tolist() == [1, 1, 2]


def test_explicit_numbers_say_which_sentence_is_written():
    tokens = ids([BOS, 7, 8, SEP])
    structure = document_structure(CONFIG, tokens, torch.ones_like(tokens), ids([1, 1, 5, 5]))
    assert next_token_sentence_ids(CONFIG, structure, tokens).sentence_ids.tolist() == [[1, 5, 5, 6]]


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        (torch.ones(2, 3), "sentence_ids must be integers .* not torch.float32 of shape \\(2, 3\\)"),
        (torch.ones(3, 3, dtype=torch.long), "with batch 2"),
        (torch.ones(3, dtype=torch.long), "of shape \\(3,\\)"),
        (torch.ones(2, 2, dtype=torch.long), "sentence_ids has 2 columns for 3 tokens"),
    ],
)
def test_numbers_that_fit_no_tokens_are_named(numbers, message):
    check_structure_ids("sentence_ids", None, states(2, 3))
    check_structure_ids("sentence_ids", torch.ones(2, 3, dtype=torch.long), states(2, 3))
    with pytest.raises(ValueError, match=message):
        check_structure_ids("sentence_ids", numbers, states(2, 3))


@pytest.mark.parametrize("start", [BOS, PAD])
def test_padding_behind_tokens_has_no_place_and_padding_in_front_is_the_masks_business(start):
    rows = torch.tensor([[start, 7, SEP, EOS, PAD, PAD], [start, 7, 8, 9, SEP, 7]])
    assert mask_right_padding(rows, PAD, None).tolist() == [[1, 1, 1, 1, 0, 0], [1] * 6]
    assert mask_right_padding(rows[1:], PAD, None) is None
    assert mask_right_padding(rows, None, None) is None
    rows = torch.tensor([[PAD, start, 7, EOS, PAD]])
    mask = torch.tensor([[0, 1, 1, 1, 1]])
    assert mask_right_padding(rows, PAD, mask).tolist() == [[0, 1, 1, 1, 0]]
