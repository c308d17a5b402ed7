# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Beams over a target vocabulary of another size than that of the source, and caches under either name."""

import threading

import pytest
import tiny_han_models
import tiny_models
import tiny_recurrent_models
import torch

from hier_nmt.configuration.library_internals import CACHE_NAME
from hier_nmt.models.common import target_generation

FAMILIES = pytest.mark.parametrize("family", [tiny_models, tiny_han_models, tiny_recurrent_models])


@FAMILIES
@pytest.mark.parametrize("change", [-3, 4])
def test_the_scores_of_beams_are_the_sums_of_those_of_their_tokens(family, change) -> None:
    size = family.tiny_model().config.vocab_size
    model = family.tiny_model(share_encoder_decoder_embeddings=False, decoder_vocab_size=size + change)
    sources = torch.tensor([[7, 8, 9, 2], [10, 11, 12, 2]])
    given = {"num_beams": 3, "num_return_sequences": 3, "max_new_tokens": 5, "length_penalty": 0.0}
    output = model.generate(sources, **given, return_dict_in_generate=True, output_scores=True)
    scores = model.compute_transition_scores(output.sequences, output.scores, output.beam_indices)
    torch.testing.assert_close(scores.sum(-1), output.sequences_scores)
    assert model.config.vocab_size == size


@FAMILIES
@pytest.mark.parametrize("name", ["cache", "past_key_values"])
def test_a_cache_that_generate_gave_back_goes_in_again_under_either_name(family, name) -> None:
    model = family.tiny_model()
    sources = {"input_ids": torch.tensor([[7, 8, 9, 2]])}
    options = {"eos_token_id": None, "return_dict_in_generate": True}
    whole = model.generate(**sources, max_new_tokens=7, **options)
    first = model.generate(**sources, max_new_tokens=3, **options)
    cached = {name: first[CACHE_NAME], "decoder_input_ids": first.sequences}
    rest = model.generate(**sources, **cached, max_new_tokens=4, **options)
    assert rest.sequences.tolist() == whole.sequences.tolist()
    assert rest[CACHE_NAME] is first[CACHE_NAME]


@FAMILIES
@pytest.mark.parametrize("name", ["cache", "past_key_values"])
def test_a_step_reads_the_cache_under_either_name(family, name) -> None:
    model = family.tiny_model()
    sources = {"input_ids": torch.tensor([[7, 8, 9, 2]])}
    prefix = torch.tensor([[1, 6, 7, 8]])
    whole = model(**sources, decoder_input_ids=prefix).logits
    cache = model(**sources, decoder_input_ids=prefix[:, :3], use_cache=True)[CACHE_NAME]
    step = model(**sources, decoder_input_ids=prefix[:, 3:], **{name: cache})
    torch.testing.assert_close(step.logits, whole[:, 3:])
    assert step[CACHE_NAME] is cache


@FAMILIES
def test_generating_in_threads_leaves_the_configuration_as_it_was(family) -> None:
    size = family.tiny_model().config.vocab_size
    model = family.tiny_model(share_encoder_decoder_embeddings=False, decoder_vocab_size=size + 4)
    sources = torch.tensor([[7, 8, 9, 2]])
    expected = model.generate(sources, num_beams=3, max_new_tokens=8).tolist()
    found: list[object] = []
    threads = [
        threading.Thread(target=lambda: found.append(model.generate(sources, num_beams=3, max_new_tokens=8).tolist()))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4
    assert model.config.vocab_size == size


def test_an_error_in_generate_names_the_tested_versions_where_a_newer_one_is_installed(monkeypatch) -> None:
    model = tiny_models.tiny_model()
    sources = torch.tensor([[7, 8, 9, 2]])
    with pytest.raises(ValueError, match="num_return_sequences") as tested:
        model.generate(sources, num_beams=2, num_return_sequences=3)
    assert getattr(tested.value, "__notes__", []) == []

    monkeypatch.setattr(target_generation, "describe_untested_version", lambda: "Transformers 5.99.0 is installed")
    with pytest.raises(ValueError, match="num_return_sequences") as untested:
        model.generate(sources, num_beams=2, num_return_sequences=3)
    assert untested.value.__notes__ == ["Transformers 5.99.0 is installed"]
