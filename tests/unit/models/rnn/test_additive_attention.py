# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import math

import pytest
import torch
from independent_recurrent_model import additive_attention_reference
from tiny_recurrent_models import tiny_config

from hier_nmt.models.rnn.additive_attention import AdditiveAttention, FixedContext, SourceStates, additive_attention

IS_TOKEN = torch.tensor([[1, 1, 1, 1, 1, 1, 1], [0, 0, 1, 1, 0, 1, 0], [0, 0, 0, 1, 0, 0, 0]]).bool()


def random_inputs(width: int = 3, compared: int = 4) -> list[torch.Tensor]:
    """query, keys, values, query_weight and energy_weight of three rows of seven places, with gradients."""
    torch.manual_seed(2)
    shapes = [(3, width), (3, 7, compared), (3, 7, width), (compared, width), (compared,)]
    return [torch.randn(shape, dtype=torch.float64).requires_grad_() for shape in shapes]


def test_additive_attention_equals_its_loops_in_values_and_gradients() -> None:
    inputs = random_inputs()
    query, keys, values, *weights = inputs
    directions = [torch.randn(3, 3, dtype=torch.float64), torch.randn(3, 7, dtype=torch.float64)]
    gradients = []
    results = []
    for function in (additive_attention, additive_attention_reference):
        result = function(query, keys, values, IS_TOKEN, *weights)
        total = sum((part * direction).sum() for part, direction in zip(result, directions, strict=True))
        gradients.append(torch.autograd.grad(total, inputs))
        results.append(result)
    for fast, slow in [*zip(*results, strict=True), *zip(*gradients, strict=True)]:
        torch.testing.assert_close(fast, slow, rtol=1e-10, atol=1e-12)


def test_padding_has_no_weight_and_no_gradient() -> None:
    inputs = random_inputs()
    query, keys, values, *weights = inputs
    context, attended = additive_attention(query, keys, values, IS_TOKEN, *weights)
    assert (attended[~IS_TOKEN] == 0).all()
    torch.testing.assert_close(attended.sum(1), torch.ones(3, dtype=torch.float64))
    torch.testing.assert_close(context[2], values[2, 3])
    context.sum().backward()
    assert (keys.grad[~IS_TOKEN] == 0).all()
    assert (values.grad[~IS_TOKEN] == 0).all()


def test_one_unit_by_hand() -> None:
    # Energies 2 tanh(1 + 0) and 2 tanh(1 - 1) = 0 of the values 10 and 20.
    one = torch.ones(1, 1)
    keys, values = torch.tensor([[[0.0], [-1.0]]]), torch.tensor([[[10.0], [20.0]]])
    context, _ = additive_attention(one, keys, values, torch.ones(1, 2).bool(), one, torch.tensor([2.0]))
    first = math.exp(2 * math.tanh(1))
    assert context.item() == pytest.approx((10 * first + 20) / (first + 1))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_near_and_keeps_its_type(dtype) -> None:
    query, keys, values, *weights = (tensor.detach() for tensor in random_inputs())
    exact = additive_attention(query, keys, values, IS_TOKEN, *weights)
    half = additive_attention(
        *(tensor.to(dtype) for tensor in (query, keys, values)), IS_TOKEN, *(weight.to(dtype) for weight in weights)
    )
    for near, far in zip(half, exact, strict=True):
        assert near.dtype == dtype
        torch.testing.assert_close(near.double(), far, rtol=0.05, atol=0.05)


def test_the_module_compares_projected_states() -> None:
    torch.manual_seed(0)
    module = AdditiveAttention(tiny_config(attention_size=3)).double()
    states, query = torch.randn(3, 7, 6, dtype=torch.float64), torch.randn(3, 6, dtype=torch.float64)
    keys = module.keys(states)
    assert keys.shape == (3, 7, 3)
    context, attended = module(query, SourceStates(states, IS_TOKEN, states[:, 0], keys))
    by_hand = torch.stack([module.key_proj.weight @ state + module.key_proj.bias for state in states[0]])
    torch.testing.assert_close(keys[0], by_hand)
    expected = additive_attention_reference(
        query, keys, states, IS_TOKEN, module.query_proj.weight, module.energy_proj.weight[0]
    )
    torch.testing.assert_close((context, attended), expected)


def test_without_attention_the_context_is_the_summary_whatever_the_query() -> None:
    module = FixedContext(tiny_config())
    states, summary = torch.randn(3, 7, 6), torch.randn(3, 6)
    source = SourceStates(states, IS_TOKEN, summary, module.keys(states))
    for query in (torch.zeros(3, 6), torch.ones(3, 6)):
        context, weights = module(query, source)
        assert context is summary
        assert weights is None
