# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""`generate` with a HAN model: with cache as without, batched as alone."""

import warnings
from typing import Any

import pytest
import torch
from tiny_han_models import VARIANTS, tiny_model
from tiny_models import BOS, PAD, SOURCES, padded, source_inputs

from hier_nmt import HANForConditionalGeneration

every_variant = pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS.keys())
LENGTH = 9


def generate(model: HANForConditionalGeneration, rows: list[list[int]] = SOURCES, **kwargs: Any) -> torch.Tensor:
    """Translations of exactly nine new tokens, the start token or forced prefix in front."""
    values = {"max_new_tokens": LENGTH, "min_new_tokens": LENGTH, "do_sample": False, "suppress_tokens": [PAD, BOS]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.generate(**source_inputs(rows), **{**values, **kwargs})


def best_continuation(model: HANForConditionalGeneration, source: list[int], prefix: list[int]) -> list[int]:
    """Greedy decoding as a loop of whole forwards, without `generate`; the end token is never taken."""
    target = list(prefix)
    for _ in range(LENGTH):
        with torch.no_grad():
            scores = model(**source_inputs([source]), decoder_input_ids=torch.tensor([target])).logits[0, -1]
        scores[[PAD, BOS, model.config.eos_token_id]] = -torch.inf
        target.append(int(scores.argmax()))
    return target


@every_variant
def test_greedy_equals_a_loop_of_whole_forwards(changes):
    model = tiny_model(**changes)
    assert generate(model).tolist() == [best_continuation(model, source, [BOS]) for source in SOURCES]


@every_variant
@pytest.mark.parametrize("kwargs", [{}, {"num_beams": 3}, {"num_beams": 4, "num_return_sequences": 2}])
def test_cached_equals_uncached(changes, kwargs):
    model = tiny_model(**changes)
    cached, uncached = (generate(model, use_cache=use_cache, **kwargs) for use_cache in (True, False))
    assert cached.tolist() == uncached.tolist()
    assert len(cached) == len(SOURCES) * kwargs.get("num_return_sequences", 1)


@every_variant
@pytest.mark.parametrize("num_beams", [1, 3])
def test_batched_equals_alone(changes, num_beams):
    model = tiny_model(**changes)
    alone = [generate(model, [source], num_beams=num_beams)[0].tolist() for source in SOURCES]
    assert generate(model, num_beams=num_beams).tolist() == alone


@every_variant
def test_a_static_cache_gives_the_same(changes):
    model = tiny_model(**changes)
    assert torch.equal(generate(model, cache_implementation="static", disable_compile=True), generate(model))


@every_variant
@pytest.mark.parametrize("use_cache", [True, False])
def test_forced_prefixes_with_left_padding_equal_each_alone(changes, use_cache):
    model = tiny_model(**changes)
    prefixes = [[BOS, 6, 7, 8, 9], [BOS], [BOS, 9, 10]]
    forced = {
        "decoder_input_ids": padded(prefixes, left=True),
        "decoder_attention_mask": padded([[1] * len(prefix) for prefix in prefixes], value=0, left=True),
    }
    batched = generate(model, **forced, use_cache=use_cache)
    for row, source, prefix in zip(batched.tolist(), SOURCES, prefixes, strict=True):
        assert row[5:] == best_continuation(model, source, prefix)[len(prefix) :]
