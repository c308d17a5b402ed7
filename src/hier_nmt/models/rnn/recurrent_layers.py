# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers: over whole sentences, which ignore padding, and one step at a time.

Dimensions: B batch, S tokens, I input width, D width of the states.
"""

from typing import NamedTuple

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class LSTMStep(nn.LSTMCell):
    """One step of an LSTM; its state is a hidden state and a cell, both [B, D]."""

    num_states = 2

    def forward(  # type: ignore[override]  # the same call for all cells
        self, inputs: torch.Tensor, state: tuple[torch.Tensor, ...]
    ) -> tuple[torch.Tensor, ...]:
        """The state after the inputs [B, I]."""
        hidden, cell = state
        return super().forward(inputs, (hidden, cell))


class GRUStep(nn.GRUCell):
    """One step of a GRU; its state is a hidden state [B, D]."""

    num_states = 1

    def forward(  # type: ignore[override]  # the same call for all cells
        self, inputs: torch.Tensor, state: tuple[torch.Tensor, ...]
    ) -> tuple[torch.Tensor, ...]:
        """The state after the inputs [B, I]."""
        return (super().forward(inputs, state[0]),)


class RNNType(NamedTuple):
    """The layer that runs over sentences and the cell that takes one step."""

    layer: type[nn.LSTM] | type[nn.GRU]
    step: type[LSTMStep] | type[GRUStep]


RNN_CLASSES: dict[str, RNNType] = {"lstm": RNNType(nn.LSTM, LSTMStep), "gru": RNNType(nn.GRU, GRUStep)}


def run_over_tokens(rnn: nn.Module, inputs: torch.Tensor, is_token: torch.Tensor) -> torch.Tensor:
    """The outputs of a recurrent layer [B, S, D] for the inputs [B, S, I], as if there were no padding; zeros on it.

    Padding may be anywhere, including on the left.

    Args:
        rnn: an LSTM or GRU with `batch_first`.
        inputs: [B, S, I].
        is_token: boolean [B, S]; each row needs a token.
    """
    order = (~is_token).long().argsort(dim=1, stable=True)  # the tokens first, in their order
    packed = pack_padded_sequence(
        _reordered(inputs, order), is_token.sum(1).cpu(), batch_first=True, enforce_sorted=False
    )
    outputs, _ = pad_packed_sequence(rnn(packed)[0], batch_first=True, total_length=inputs.shape[1])
    return _reordered(outputs, order.argsort(dim=1))


def _reordered(states: torch.Tensor, order: torch.Tensor) -> torch.Tensor:
    """States [B, S, D] with those of each row in the order [B, S]."""
    return states.gather(1, order[..., None].expand_as(states))


def last_states(states: torch.Tensor, is_token: torch.Tensor, bidirectional: bool) -> torch.Tensor:
    """The final states [B, D] of the encoder, from the states [B, S, D] of its tokens.

    With both directions the first half of the width ends at the last token and the second half at the first.

    Args:
        states: [B, S, D].
        is_token: boolean [B, S]; each row needs a token.
        bidirectional: the encoder read in both directions.
    """
    rows = torch.arange(len(states), device=states.device)
    first = is_token.long().argmax(1)
    last = is_token.shape[1] - 1 - is_token.flip(1).long().argmax(1)
    if not bidirectional:
        return states[rows, last]
    half = states.shape[-1] // 2
    return torch.cat([states[rows, last, :half], states[rows, first, half:]], dim=-1)


def take_step(
    cells: nn.ModuleList,
    inputs: torch.Tensor,
    state: tuple[tuple[torch.Tensor, ...], ...],
    goes_on: torch.Tensor,
    dropout: float,
) -> tuple[tuple[torch.Tensor, ...], ...]:
    """The states of all layers one step later, or the same as before where a row does not continue.

    Args:
        cells: one for each layer.
        inputs: of the first layer [B, I]; each further one reads the hidden state of the one below.
        state: of each layer, its tensors [B, D].
        goes_on: boolean [B, 1].
        dropout: on what goes from one layer to the next.
    """
    new_state: list[tuple[torch.Tensor, ...]] = []
    for cell, old in zip(cells, state, strict=True):
        new = cell(inputs, old)
        new_state.append(tuple(torch.where(goes_on, *pair) for pair in zip(new, old, strict=True)))
        inputs = nn.functional.dropout(new_state[-1][0], p=dropout, training=dropout > 0)
    return tuple(new_state)


def recurrent_layers(
    rnn_type: str, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> nn.ModuleList:
    """Layers over sentences, the first for inputs [B, S, input_size], all with outputs [B, S, D].

    Args:
        rnn_type: a name in `RNN_CLASSES`.
        input_size: width of what the first layer reads.
        hidden_size: D.
        num_layers: how many.
        bidirectional: two directions with D / 2 units each, instead of one.
    """
    units = hidden_size // 2 if bidirectional else hidden_size
    sizes = [input_size, *[hidden_size] * (num_layers - 1)]
    layer = RNN_CLASSES[rnn_type].layer
    return nn.ModuleList([layer(size, units, batch_first=True, bidirectional=bidirectional) for size in sizes])
