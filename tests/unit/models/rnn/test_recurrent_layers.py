# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import pytest
import torch
from torch import nn

from hier_nmt.models.rnn.recurrent_layers import (
    RNN_CLASSES,
    last_states,
    recurrent_layers,
    run_over_tokens,
    take_step,
)

# All, a hole in the middle and padding on both sides, padding on the right, on the left, a single token.
IS_TOKEN = torch.tensor([[1, 1, 1, 1, 1], [0, 1, 0, 1, 0], [1, 1, 1, 0, 0], [0, 0, 1, 1, 1], [0, 0, 0, 1, 0]]).bool()
every_type = pytest.mark.parametrize("rnn_type", RNN_CLASSES)
every_direction = pytest.mark.parametrize("bidirectional", [False, True], ids=["one way", "both ways"])


def layer_of(rnn_type: str, bidirectional: bool) -> nn.Module:
    torch.manual_seed(3)
    (layer,) = recurrent_layers(rnn_type, 3, 4, 1, bidirectional)
    return layer.double()


@every_type
@every_direction
def test_padding_anywhere_equals_each_sentence_alone(rnn_type, bidirectional) -> None:
    layer = layer_of(rnn_type, bidirectional)
    inputs = torch.randn(5, 5, 3, dtype=torch.float64)
    direction = torch.randn(5, 5, 4, dtype=torch.float64)
    outputs = run_over_tokens(layer, inputs, IS_TOKEN)
    batched_gradients = torch.autograd.grad((outputs * direction).sum(), list(layer.parameters()))
    total = torch.zeros((), dtype=torch.float64)
    for row, tokens in enumerate(IS_TOKEN):
        alone = layer(inputs[row, tokens][None])[0][0]
        torch.testing.assert_close(outputs[row, tokens], alone)
        total = total + (alone * direction[row, tokens]).sum()
    assert (outputs[~IS_TOKEN] == 0).all()
    for batched, alone in zip(batched_gradients, torch.autograd.grad(total, list(layer.parameters())), strict=True):
        torch.testing.assert_close(batched, alone)


@every_type
@every_direction
def test_the_content_of_padding_is_irrelevant(rnn_type, bidirectional) -> None:
    layer = layer_of(rnn_type, bidirectional)
    inputs = torch.randn(5, 5, 3, dtype=torch.float64)
    changed = inputs.masked_fill(~IS_TOKEN[..., None], 100.0)
    assert torch.equal(run_over_tokens(layer, inputs, IS_TOKEN), run_over_tokens(layer, changed, IS_TOKEN))


@every_type
@every_direction
def test_the_last_states_are_those_that_torch_ends_with(rnn_type, bidirectional) -> None:
    layer = layer_of(rnn_type, bidirectional)
    inputs = torch.randn(5, 5, 3, dtype=torch.float64)
    ends = last_states(run_over_tokens(layer, inputs, IS_TOKEN), IS_TOKEN, bidirectional)
    for row, tokens in enumerate(IS_TOKEN):
        _, state = layer(inputs[row, tokens][None])
        hidden = state[0] if rnn_type == "lstm" else state  # [directions, 1, units]
        torch.testing.assert_close(ends[row], hidden.flatten())


@every_type
def test_steps_through_two_layers_equal_torch_over_the_whole_sentence(rnn_type) -> None:
    torch.manual_seed(4)
    kind = RNN_CLASSES[rnn_type]
    whole = kind.layer(3, 4, num_layers=2, batch_first=True).double()
    cells = nn.ModuleList([kind.step(3, 4), kind.step(4, 4)]).double()
    for index, cell in enumerate(cells):
        cell.load_state_dict({name: getattr(whole, f"{name}_l{index}") for name, _ in cell.named_parameters()})
    inputs = torch.randn(2, 5, 3, dtype=torch.float64)
    zeros = torch.zeros(2, 4, dtype=torch.float64)
    state = tuple((zeros,) * kind.step.num_states for _ in cells)
    outputs = []
    for vector in inputs.unbind(1):
        state = take_step(cells, vector, state, torch.ones(2, 1).bool(), dropout=0.0)
        outputs.append(state[-1][0])
    torch.testing.assert_close(torch.stack(outputs, 1), whole(inputs)[0])


@every_type
def test_a_row_that_does_not_go_on_keeps_every_state(rnn_type) -> None:
    kind = RNN_CLASSES[rnn_type]
    cells = nn.ModuleList([kind.step(3, 4), kind.step(4, 4)])
    state = tuple(tuple(torch.randn(2, 4) for _ in range(kind.step.num_states)) for _ in cells)
    after = take_step(cells, torch.randn(2, 3), state, torch.tensor([[False], [True]]), dropout=0.0)
    for layer, new_layer in zip(state, after, strict=True):
        for old, new in zip(layer, new_layer, strict=True):
            assert torch.equal(old[0], new[0])
            assert not torch.equal(old[1], new[1])


def test_dropout_lies_between_layers_only() -> None:
    kind = RNN_CLASSES["gru"]
    cells = nn.ModuleList([kind.step(3, 40), kind.step(40, 40)])
    state = ((torch.zeros(1, 40),), (torch.zeros(1, 40),))
    inputs, goes_on = torch.randn(1, 3), torch.ones(1, 1).bool()
    without = take_step(cells, inputs, state, goes_on, dropout=0.0)
    dropped = take_step(cells, inputs, state, goes_on, dropout=0.5)
    assert torch.equal(without[0][0], dropped[0][0])
    assert not torch.equal(without[1][0], dropped[1][0])
    assert (dropped[1][0] != 0).all()
