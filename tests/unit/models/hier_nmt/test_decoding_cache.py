# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The cache of long translations holds what Transformers' own cache holds, without a copy of it for every token."""

from typing import Any

import pytest
import torch
from largest_tensor import LiveNumbers
from tiny_models import HIERARCHICAL, SEP, VARIANTS, source_inputs, tiny_model
from transformers.cache_utils import DynamicCache, DynamicLayer, EncoderDecoderCache

from hier_nmt.configuration.library_internals import CACHE_NAME
from hier_nmt.models.hier_nmt.decoding_cache import INITIAL_CAPACITY, GrowingLayer, SourceLayer, decoding_cache


def both_layers() -> tuple[GrowingLayer, DynamicLayer]:
    return GrowingLayer(), DynamicLayer()


def add(layers: Any, num_tokens: int, batch_size: int = 3) -> None:
    """Gives both layers the same random keys and values, and compares what they give back."""
    states = torch.randn(2, batch_size, 2, num_tokens, 5)
    held = [layer.update(*states) for layer in layers]
    for growing, dynamic in zip(*held, strict=True):
        torch.testing.assert_close(growing, dynamic, rtol=0.0, atol=0.0)


@pytest.mark.parametrize("num_tokens", [1, 7, INITIAL_CAPACITY])
def test_it_holds_what_it_was_given_through_every_growth(num_tokens):
    layers = both_layers()
    for _ in range(3 * INITIAL_CAPACITY // num_tokens):
        add(layers, num_tokens)
    assert layers[0].get_seq_length() == layers[1].get_seq_length()


@pytest.mark.parametrize("origins", [[0, 1, 2], [2, 0, 1], [1, 1, 1]])
def test_beams_take_along_what_their_origin_has(origins):
    layers = both_layers()
    for _ in range(4):
        add(layers, 2)
        for layer in layers:
            layer.reorder_cache(torch.tensor(origins))
    add(layers, 1)


def test_cropped_repeated_and_selected_rows_go_on_as_they_are():
    layers = both_layers()
    add(layers, 5)
    for layer in layers:
        layer.crop(-2)
    add(layers, 1)
    for layer in layers:
        layer.batch_repeat_interleave(2)
    add(layers, 1, batch_size=6)
    for layer in layers:
        layer.batch_select_indices(torch.tensor([5, 0]))
    add(layers, 2, batch_size=2)


def test_after_a_reset_nothing_is_held():
    layers = both_layers()
    add(layers, 5)
    layers[0].reset()
    assert layers[0].get_seq_length() == 0
    add((layers[0], DynamicLayer()), 1)


def test_nothing_is_reordered_before_anything_is_held():
    cache = decoding_cache(2)
    cache.reorder_cache(torch.tensor([1, 0]))
    assert cache.get_seq_length() == 0


def test_gradients_reach_what_was_given():
    layer = GrowingLayer()
    states = torch.randn(2, 1, 2, 3, 5, requires_grad=True)
    layer.update(*states)
    keys, values = layer.update(*states)
    (keys.sum() + 2 * values.sum()).backward()
    assert states.grad[0].unique().tolist() == [2.0]
    assert states.grad[1].unique().tolist() == [4.0]


def test_a_token_costs_no_copy_of_all_before_it():
    layer = GrowingLayer()
    layer.update(*torch.randn(2, 1, 2, INITIAL_CAPACITY, 5))
    newest = torch.randn(2, 1, 2, 1, 5)
    with LiveNumbers() as live:
        keys, values = layer.update(*newest)
    # Both have room for twice as much as they held first: nothing new is held, and what is given back is that room.
    assert live.most == 0
    assert keys.shape == values.shape == (1, 2, INITIAL_CAPACITY + 1, 5)


@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
@pytest.mark.parametrize("kwargs", [{}, {"num_beams": 3}, {"num_beams": 4, "num_return_sequences": 2}])
def test_translations_with_it_equal_those_without(changes, kwargs):
    model = tiny_model(**changes)
    options = {"max_new_tokens": 12, "min_new_tokens": 12, "do_sample": False, **kwargs}
    dynamic = EncoderDecoderCache(DynamicCache(), DynamicCache())
    plain = model.generate(**source_inputs(), **options, past_key_values=dynamic)
    growing = model.generate(**source_inputs(), **options, past_key_values=model.decoding_cache())
    assert growing.tolist() == plain.tolist()
    assert model.generate(**source_inputs(), **options).tolist() == plain.tolist()


def test_a_step_behind_a_long_translation_holds_nothing_of_its_size():
    changes = {**HIERARCHICAL, "attention_kernel": "grouped", "position_encoding": "multi_level"}
    changes |= {"structure_levels": ["token"], "token_position_origin": "sentence", "d_model": 128}
    model = tiny_model(**changes)
    words = torch.tensor([[6, 7, 8, 9, 10, SEP] * 200])
    is_separator = words == SEP
    numbers = is_separator.cumsum(-1) - is_separator.long() + 1
    cache = model.decoding_cache()
    with torch.inference_mode():
        inputs = {"encoder_outputs": model.get_encoder()(words), "past_key_values": cache, "use_cache": True}
        # The step begins the last sentence, and so completes the one before it.
        model(**inputs, decoder_input_ids=words[:, :1194], decoder_sentence_ids=numbers[:, :1194])
        with LiveNumbers() as live:
            model(**inputs, decoder_input_ids=words[:, 1194:1195], decoder_sentence_ids=numbers[:, :1195])
    # The states of all 1,194 tokens in one layer are so many numbers of eight bytes.
    assert live.most < 1194 * 128 * 2


@pytest.mark.parametrize("options", [{}, {"num_beams": 4}], ids=str)
def test_generate_makes_it_itself(options):
    model = tiny_model(decoder_self_attention="conditional")
    output = model.generate(**source_inputs(), max_new_tokens=3, return_dict_in_generate=True, **options)
    assert isinstance(output[CACHE_NAME].self_attention_cache.layers[0], GrowingLayer)
    assert isinstance(output[CACHE_NAME].cross_attention_cache.layers[0], SourceLayer)
