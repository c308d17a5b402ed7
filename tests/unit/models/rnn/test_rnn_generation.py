# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""`generate` with a recurrent model: with cache as without, and beam search against all there is to find."""

import itertools
import warnings
from typing import Any

import pytest
import torch
from tiny_models import BOS, EOS, PAD, padded
from tiny_recurrent_models import SOURCES, VARIANTS, source_inputs, tiny_model

from hier_nmt import RNNNMTForConditionalGeneration
from hier_nmt.configuration.library_internals import CACHE_NAME
from hier_nmt.models.rnn.recurrent_cache import RecurrentCache

every_variant = pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS.keys())
LENGTH = 6


def generate(model: RNNNMTForConditionalGeneration, rows: list[list[int]] = SOURCES, **kwargs: Any) -> Any:
    """Translations of at most six new tokens, the start token or forced prefix in front."""
    values = {"max_new_tokens": LENGTH, "do_sample": False, "suppress_tokens": [PAD, BOS], **kwargs}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.generate(**source_inputs(rows), **values)


def next_scores(model: RNNNMTForConditionalGeneration, source: list[int], prefix: list[int]) -> torch.Tensor:
    """Log-probabilities [V] of the token behind a prefix, by one whole forward."""
    with torch.no_grad():
        logits = model(**source_inputs([source]), decoder_input_ids=torch.tensor([prefix])).logits
    return logits[0, -1].log_softmax(-1)


def best_continuation(model: RNNNMTForConditionalGeneration, source: list[int], prefix: list[int]) -> list[int]:
    """Greedy decoding as a loop of whole forwards, without `generate`."""
    target = list(prefix)
    while len(target) < len(prefix) + LENGTH and target[-1] != EOS:
        scores = next_scores(model, source, target)
        scores[[PAD, BOS]] = -torch.inf
        target.append(int(scores.argmax()))
    return target


def without_padding(rows: torch.Tensor) -> list[list[int]]:
    """The rows up to the end token."""
    return [row[: row.index(EOS) + 1] if EOS in row else row for row in rows.tolist()]


@every_variant
def test_greedy_equals_a_loop_of_whole_forwards(changes):
    model = tiny_model(**changes)
    assert without_padding(generate(model)) == [best_continuation(model, source, [BOS]) for source in SOURCES]


@every_variant
@pytest.mark.parametrize(
    "kwargs",
    [
        {},
        {"num_beams": 3},
        {"num_beams": 4, "num_return_sequences": 3, "length_penalty": 0.6},
        {"do_sample": True, "top_k": 8, "num_return_sequences": 2},
        {"do_sample": True, "num_beams": 2},
    ],
    ids=["greedy", "beam", "beam list", "sampling", "beam sampling"],
)
def test_cached_equals_uncached(changes, kwargs):
    model = tiny_model(**changes)
    results = []
    for use_cache in (True, False):
        torch.manual_seed(5)
        results.append(generate(model, use_cache=use_cache, min_new_tokens=LENGTH, **kwargs).tolist())
    assert results[0] == results[1]
    assert len(results[0]) == len(SOURCES) * kwargs.get("num_return_sequences", 1)


@every_variant
@pytest.mark.parametrize("num_beams", [1, 3])
def test_batched_equals_alone(changes, num_beams):
    model = tiny_model(**changes)
    batched = without_padding(generate(model, num_beams=num_beams))
    assert batched == [without_padding(generate(model, [source], num_beams=num_beams))[0] for source in SOURCES]


def all_translations(max_length: int, tokens: list[int]) -> list[list[int]]:
    """Every sequence of tokens that ends with the end token, or is cut behind `max_length` tokens without one."""
    others = [token for token in tokens if token != EOS]
    ended = [[*start, EOS] for length in range(max_length) for start in itertools.product(others, repeat=length)]
    return ended + [list(start) for start in itertools.product(others, repeat=max_length)]


@pytest.mark.parametrize("name", ["lstm", "bidirectional_lstm_additive", "deep_lstm_fed"])
@pytest.mark.parametrize("length_penalty", [0.0, 1.0])
def test_a_wide_beam_finds_the_best_of_all_translations_in_order(name, length_penalty):
    model = tiny_model(**VARIANTS[name], vocab_size=6, seed=3)
    source = [3, 5, 4, EOS]
    translations = all_translations(4, [EOS, 3, 4, 5])
    assert len(translations) == (1 + 3 + 9 + 27) + 81

    scored = []
    for translation in translations:
        labels = torch.tensor([translation])
        inputs = torch.tensor([[BOS, *translation[:-1]]])
        with torch.no_grad():
            scores = model(**source_inputs([source]), decoder_input_ids=inputs).logits.log_softmax(-1)
        total = scores.gather(-1, labels[..., None]).sum().item()
        scored.append((total / len(translation) ** length_penalty, translation))
    best = sorted(scored, reverse=True)[:5]

    found = generate(
        model,
        [source],
        num_beams=27,
        num_return_sequences=5,
        max_new_tokens=4,
        length_penalty=length_penalty,
        early_stopping="never",
        return_dict_in_generate=True,
        output_scores=True,
    )
    assert [row[1:] for row in without_padding(found.sequences)] == [translation for _, translation in best]
    torch.testing.assert_close(
        found.sequences_scores, torch.tensor([score for score, _ in best], dtype=found.sequences_scores.dtype),
        rtol=1e-5, atol=1e-5,
    )  # fmt: skip


@every_variant
def test_a_narrow_beam_says_the_score_of_what_it_found(changes):
    model = tiny_model(**changes)
    found = generate(model, num_beams=2, length_penalty=0.0, return_dict_in_generate=True, output_scores=True)
    for source, row, score in zip(SOURCES, without_padding(found.sequences), found.sequences_scores, strict=True):
        total = sum(next_scores(model, source, row[:end])[row[end]] for end in range(1, len(row)))
        assert score.item() == pytest.approx(total.item(), rel=1e-5)


@every_variant
@pytest.mark.parametrize("use_cache", [True, False])
def test_forced_prefixes_with_left_padding_equal_each_alone(changes, use_cache):
    model = tiny_model(**changes)
    prefixes = [[BOS, 6, 7, 8], [BOS], [BOS, 9], [BOS, 7, 7]]
    forced = {
        "decoder_input_ids": padded(prefixes, left=True),
        "decoder_attention_mask": padded([[1] * len(prefix) for prefix in prefixes], value=0, left=True),
    }
    batched = generate(model, **forced, use_cache=use_cache)
    for row, source, prefix in zip(batched.tolist(), SOURCES, prefixes, strict=True):
        new = row[4:]
        expected = best_continuation(model, source, prefix)[len(prefix) :]
        assert new[: len(expected)] == expected


@pytest.mark.parametrize("name", ["lstm", "deep_lstm_fed"])
def test_generation_goes_on_from_a_cache(name):
    model = tiny_model(**VARIANTS[name])
    prefix = torch.tensor([[BOS, 6, 7, 8]] * len(SOURCES))
    whole = generate(model, decoder_input_ids=prefix)
    cache = model(**source_inputs(), decoder_input_ids=prefix[:, :3], use_cache=True)[CACHE_NAME]
    assert torch.equal(generate(model, decoder_input_ids=prefix, past_key_values=cache), whole)
    assert cache.get_seq_length() == whole.shape[1] - 1


def test_everything_that_was_asked_for_is_returned():
    model = tiny_model(**VARIANTS["deep_lstm_fed"])
    asked = {"output_attentions": True, "output_hidden_states": True, "output_scores": True, "output_logits": True}
    found = generate(model, min_new_tokens=LENGTH, return_dict_in_generate=True, **asked)
    assert isinstance(found[CACHE_NAME], RecurrentCache)
    assert len(found.logits) == len(found.cross_attentions) == len(found.decoder_hidden_states) == LENGTH
    whole = model(**source_inputs(), decoder_input_ids=found.sequences[:, :-1], output_attentions=True)
    torch.testing.assert_close(torch.stack(found.logits, 1), whole.logits, check_dtype=False, rtol=1e-5, atol=1e-5)
    weights = torch.cat([step[0] for step in found.cross_attentions], dim=2)
    torch.testing.assert_close(weights, whole.cross_attentions[0])


def test_a_static_cache_is_not_what_it_gets():
    model = tiny_model()
    static = generate(model, cache_implementation="static", return_dict_in_generate=True)
    assert isinstance(static[CACHE_NAME], RecurrentCache)
    assert torch.equal(static.sequences, generate(model))


def test_speculative_decoding_is_refused():
    model = tiny_model()
    with pytest.raises(ValueError, match="not supported with stateful models"):
        generate(model, [SOURCES[0]], assistant_model=model)
