# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Beams over a target vocabulary of another size than that of the source."""

import pytest
import tiny_han_models
import tiny_models
import tiny_recurrent_models
import torch

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
