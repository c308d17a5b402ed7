# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Source2token pooling equals the loop over sentences and never pads them to the longest one."""

import math

import pytest
import torch
from largest_tensor import LargestTensor
from references import source2token_reference
from tiny_models import tiny_config

from hier_nmt.attention.sentence_encoder import PairMerge, SentenceEncoder, source2token

DOCUMENTS = {
    "uneven": [[1, 1, 1, 2, 3, 3, 3]],
    "single": [[1, 1, 1]],
    "one token": [[1]],
    "empty sentences": [[2, 2, 5, 5, 5, 6]],
    "numbers not in order": [[3, 1, 3, 2, 1, 3]],
    "padded batch": [[1, 1, 2, 2, 2, 3, 4], [1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 2, 2, 2], [0, 0, 0, 0, 0, 0, 0]],
    "one giant sentence": [[1, *[2] * 40, 3]],
}
D_MODEL = 8

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def inputs_of(ids: list[list[int]], num_heads: int = 2, dtype: torch.dtype = torch.float64) -> list[torch.Tensor]:
    """Random states [B, S, D], query [H, E] and three weights [D, D]."""
    torch.manual_seed(1)
    shapes = [(len(ids), len(ids[0]), D_MODEL), (num_heads, D_MODEL // num_heads), *[(D_MODEL, D_MODEL)] * 3]
    return [torch.randn(shape, dtype=torch.float64).to(dtype).requires_grad_() for shape in shapes]


def gradients(output: torch.Tensor, inputs: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    weighting = torch.linspace(-1, 2, output.numel()).to(output).view_as(output)
    return torch.autograd.grad((output * weighting).sum(), inputs)


@pytest.mark.parametrize("num_heads", [1, 2, 4])
@pytest.mark.parametrize("ids", DOCUMENTS.values(), ids=DOCUMENTS)
def test_source2token_equals_the_loop_in_values_and_gradients(ids, num_heads):
    states, *weights = inputs_of(ids, num_heads)
    sentence_ids = torch.tensor(ids)
    num_sentences = int(sentence_ids.max()) + 1  # one more than there are
    fast = source2token(states, sentence_ids, num_sentences, *weights)
    slow = source2token_reference(states, sentence_ids, num_sentences, *weights)
    assert fast.shape == (len(ids), num_sentences, D_MODEL)
    torch.testing.assert_close(fast, slow, rtol=1e-10, atol=1e-10)
    both = [gradients(output, [states, *weights]) for output in (fast, slow)]
    torch.testing.assert_close(*both, rtol=1e-10, atol=1e-10)


def test_encoding_is_the_softmax_weighted_mean_of_the_sentences_tokens():
    # Query 0.5 and width 1: logits are half the states; the value projection triples, the output projection negates.
    states = torch.tensor([[[2.0], [4.0], [-1.0], [9.0]]])
    one = torch.ones(1, 1)
    encodings = source2token(states, torch.tensor([[1, 1, 3, 0]]), 3, 0.5 * one, one, 3 * one, -one)
    first = (2 * math.exp(1) + 4 * math.exp(2)) / (math.exp(1) + math.exp(2))
    torch.testing.assert_close(encodings, torch.tensor([[[-3 * first], [0.0], [3.0]]]))


def test_a_query_of_one_dimension_is_that_of_a_single_head():
    states, query, *weights = inputs_of(DOCUMENTS["uneven"], num_heads=1)
    ids = torch.tensor(DOCUMENTS["uneven"])
    torch.testing.assert_close(
        source2token(states, ids, 3, query[0], *weights), source2token(states, ids, 3, query, *weights)
    )


def test_padding_and_its_content_change_nothing():
    ids = torch.tensor([[1, 1, 2, 3, 3]])
    states, *weights = inputs_of(ids.tolist())
    alone = source2token(states, ids, 3, *weights)
    for content in (0.0, 1e6):
        padded = torch.cat([states, torch.full((1, 4, D_MODEL), content, dtype=states.dtype)], dim=1)
        padded_ids = torch.nn.functional.pad(ids, (0, 4))
        padded = padded.detach().requires_grad_()
        encodings = source2token(padded, padded_ids, 3, *weights)
        torch.testing.assert_close(encodings, alone)
        assert (gradients(encodings, [padded])[0][:, 5:] == 0).all()


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_gpu)])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half_types_are_finite_and_near_even_for_large_logits(dtype, device):
    ids = torch.tensor(DOCUMENTS["padded batch"], device=device)
    exact_inputs = [tensor.to(device) for tensor in inputs_of(ids.tolist())]
    exact = source2token(exact_inputs[0], ids, 4, *exact_inputs[1:])
    inputs = [tensor.detach().to(device).requires_grad_() for tensor in inputs_of(ids.tolist(), dtype=dtype)]
    encodings = source2token(inputs[0], ids, 4, *inputs[1:])
    assert encodings.dtype == dtype
    torch.testing.assert_close(encodings.double(), exact, rtol=0.05, atol=0.3)
    # Logits of hundreds: their exponentials would overflow without the maximum taken off.
    large = source2token(inputs[0], ids, 4, 100 * inputs[1], *inputs[2:])
    assert large.isfinite().all()
    for output in (encodings, large):
        assert all(gradient.isfinite().all() for gradient in gradients(output, inputs))


def test_one_giant_sentence_among_many_short_ones_makes_no_rectangle():
    ids = torch.tensor([[1] * 2000 + list(range(2, 502))])
    inputs = inputs_of(ids.tolist(), num_heads=2, dtype=torch.float32)
    with LargestTensor() as largest:
        gradients(source2token(inputs[0], ids, 501, *inputs[1:]), inputs)
    # 2,500 tokens of width 8. A rectangle would have 501 * 2,000 places of width 8, or of 2 heads.
    assert largest.numbers <= 2 * 2500 * D_MODEL


def test_sentence_encoder_is_source2token_with_its_own_weights():
    module = SentenceEncoder(tiny_config(sentence_encoder_heads=4)).double()
    torch.nn.init.normal_(module.query)
    assert module.query.shape == (4, 4)
    states = torch.randn(2, 5, 16, dtype=torch.float64)
    ids = torch.tensor([[1, 1, 2, 4, 4], [1, 2, 2, 0, 0]])
    weights = [module.query, module.k_proj.weight, module.v_proj.weight, module.out_proj.weight]
    torch.testing.assert_close(module(states, ids, 4), source2token_reference(states, ids, 4, *weights))


def test_merging_pairs_is_source2token_over_two_members():
    module = PairMerge(tiny_config(sentence_encoder_heads=2)).double()
    torch.nn.init.normal_(module.query)
    left, right = torch.randn(2, 3, 2, 16, dtype=torch.float64)
    weights = [module.query, module.k_proj.weight, module.v_proj.weight, module.out_proj.weight]
    merged = module(left, right)
    for pair in range(2):
        members = torch.stack([left[:, pair], right[:, pair]], dim=1)
        expected = source2token_reference(members, torch.ones(3, 2, dtype=torch.long), 1, *weights)
        torch.testing.assert_close(merged[:, pair], expected[:, 0])


def test_a_sentence_beyond_those_that_are_asked_for_is_an_error():
    module = SentenceEncoder(tiny_config()).double()
    with pytest.raises(ValueError, match="Sentence id 3 is above num_sentences=2"):
        module(torch.randn(1, 3, 16, dtype=torch.float64), torch.tensor([[1, 2, 3]]), 2)
