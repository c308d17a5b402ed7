# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The linear map that multiplies as a convolution equals the one that does not."""

import pytest
import torch
from torch import nn

from hier_nmt.ops import linear
from hier_nmt.ops.linear import MIN_CONVOLVED_ROWS, Linear, convolves_faster, is_convolved

MANY = MIN_CONVOLVED_ROWS


@pytest.fixture
def on_such_a_processor(monkeypatch):
    monkeypatch.setattr(linear, "convolves_faster", lambda: True)


@pytest.fixture
def convolutions(monkeypatch):
    """The shapes of what was convolved."""
    shapes = []
    convolve = torch.nn.functional.conv2d

    def count(rows, *args):
        shapes.append(tuple(rows.shape))
        return convolve(rows, *args)

    monkeypatch.setattr(linear.functional, "conv2d", count)
    return shapes


def states(*shape, seed=1):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("shape", [(MANY,), (2, MANY // 2), (3, 2, MANY), (1, MANY + 7)])
@pytest.mark.parametrize("bias", [True, False])
def test_convolved_rows_equal_products_in_values_and_gradients(on_such_a_processor, convolutions, shape, bias):
    torch.manual_seed(0)
    ours = Linear(20, 33, bias=bias)
    plain = nn.Linear(20, 33, bias=bias)
    plain.load_state_dict(ours.state_dict())
    grad = states(*shape, 33, seed=2)
    found = []
    for module in (ours, plain):
        given = states(*shape, 20).requires_grad_()
        output = module(given)
        output.backward(grad)
        found.append([output, given.grad, *(parameter.grad for parameter in module.parameters())])
    assert len(convolutions) == 1
    assert found[0][0].is_contiguous()
    torch.testing.assert_close(found[0], found[1], atol=1e-4, rtol=1e-5)


def test_states_that_are_not_contiguous_are_convolved_as_they_are(on_such_a_processor, convolutions):
    module = Linear(6, 5)
    given = states(6, MANY, 2).transpose(0, 1).transpose(1, 2)
    expected = nn.functional.linear(given, module.weight, module.bias)
    torch.testing.assert_close(module(given), expected)
    module(given).sum().backward()  # its gradient is one number, expanded
    torch.testing.assert_close(module.bias.grad, torch.full((5,), 2.0 * MANY))
    assert len(convolutions) == 2


def test_a_gradient_of_the_gradient_exists(on_such_a_processor, convolutions):
    module, given = Linear(3, 4), states(MANY, 3).requires_grad_()
    (grad,) = torch.autograd.grad((module(given) ** 2).sum(), given, create_graph=True)
    (second,) = torch.autograd.grad(grad.sum(), given)
    expected = 2 * (module.weight.T @ module.weight).sum(0).expand_as(second)
    assert convolutions
    torch.testing.assert_close(second, expected, atol=1e-4, rtol=1e-4)


def test_few_rows_other_types_autocast_and_compiled_code_are_multiplied(on_such_a_processor, convolutions):
    module = Linear(8, 8)
    module(states(MANY - 1, 8))
    module(states(0, 8))
    module.double()(states(MANY, 8).double())
    module.bfloat16()(states(MANY, 8).bfloat16())
    module.float()
    with torch.autocast("cpu", torch.bfloat16):
        assert module(states(MANY, 8)).dtype == torch.bfloat16
    torch.jit.trace(module, states(MANY, 8), check_trace=False)
    torch.compile(module, backend="eager", fullgraph=True)(states(MANY, 8))
    assert not convolutions
    module(states(MANY, 8))
    assert convolutions


def test_tensors_of_other_kinds_are_multiplied(on_such_a_processor):
    class Quantized(torch.Tensor):
        pass

    weight, given = nn.Parameter(states(8, 8)), states(MANY, 8)
    assert is_convolved(given, weight)
    assert not is_convolved(given.as_subclass(Quantized), weight)
    assert not is_convolved(given, states(8, 8).as_subclass(Quantized))


@pytest.mark.parametrize(
    ("capabilities", "expected"),
    [
        ({"cpu_name": "AMD EPYC", "avx512_f": True}, True),
        ({"cpu_name": "AMD EPYC", "avx512_f": False}, False),
        ({"cpu_name": "Intel Xeon", "avx512_f": True}, False),
        ({}, False),
    ],
)
def test_which_processors_convolve(monkeypatch, capabilities, expected):
    monkeypatch.setattr(linear, "processor_capabilities", lambda: capabilities)
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: True)
    monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: True)
    assert convolves_faster() is expected
    monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: False)
    assert convolves_faster() is False
