# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a recurrent decoder reads of the source at each step: additive attention, or the encoder's last state.

Dimensions: B batch, S source tokens, D width of the states, A width in which they are compared.
"""

from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional

from ...configuration.configuration_rnn_nmt import RNNNMTConfig


class SourceStates(NamedTuple):
    """A source as the decoder sees it.

    Attributes:
        states: of the tokens [B, S, D], called annotations by Bahdanau et al. (2014).
        is_token: boolean [B, S], False on padding.
        summary: the final states of the encoder [B, D].
        keys: the states as they are compared with queries [B, S, A]; None where nothing is compared.
    """

    states: torch.Tensor
    is_token: torch.Tensor
    summary: torch.Tensor
    keys: torch.Tensor | None


def additive_attention(
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    is_token: torch.Tensor,
    query_weight: torch.Tensor,
    energy_weight: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Contexts [B, D] and weights [B, S]: the values, weighted by softmax(v . tanh(W s + U h_j)) over the tokens j.

    (Bahdanau et al. 2014, section 3.1; Ogunnaike 2022, eq. 5 to 7.) The softmax is taken in float32 at least.

    Args:
        query: states s of the decoder [B, D].
        keys: U h_j of the source tokens [B, S, A].
        values: their states h_j [B, S, D].
        is_token: boolean [B, S]; padding gets no weight. Each row needs a token.
        query_weight: W [A, D].
        energy_weight: v [A].
    """
    compared = torch.tanh(functional.linear(query, query_weight)[:, None] + keys)  # [B, S, A]
    energies = compared @ energy_weight  # [B, S]
    energies = energies.float() if energies.dtype in (torch.float16, torch.bfloat16) else energies
    weights = energies.masked_fill(~is_token, -torch.inf).softmax(-1).to(values.dtype)
    return (weights[:, None] @ values)[:, 0], weights


class AdditiveAttention(nn.Module):
    """Additive attention with its learned comparison (Bahdanau et al. 2014)."""

    def __init__(self, config: RNNNMTConfig):
        super().__init__()
        self.query_proj = nn.Linear(config.hidden_size, config.attention_size or config.hidden_size, bias=False)
        self.key_proj = nn.Linear(config.hidden_size, config.attention_size or config.hidden_size)
        self.energy_proj = nn.Linear(config.attention_size or config.hidden_size, 1, bias=False)

    def keys(self, states: torch.Tensor) -> torch.Tensor:
        """Keys [B, S, A] of the states [B, S, D] of the source; they serve all steps."""
        return self.key_proj(states)

    def forward(self, query: torch.Tensor, source: SourceStates) -> tuple[torch.Tensor, torch.Tensor | None]:
        """The context [B, D] of the decoder's states [B, D], and the weights of the source tokens [B, S]."""
        assert source.keys is not None
        return additive_attention(
            query, source.keys, source.states, source.is_token, self.query_proj.weight, self.energy_proj.weight[0]
        )


class FixedContext(nn.Module):
    """No attention: at every step the same vector, the final state of the encoder (Cho et al. 2014)."""

    def __init__(self, config: RNNNMTConfig):
        super().__init__()

    def keys(self, states: torch.Tensor) -> None:
        """Nothing is compared."""

    def forward(self, query: torch.Tensor, source: SourceStates) -> tuple[torch.Tensor, torch.Tensor | None]:
        """The context [B, D], whatever the decoder's states [B, D] are, and no weights."""
        return source.summary, None


ATTENTION_CLASSES: dict[str, type[AdditiveAttention] | type[FixedContext]] = {
    "none": FixedContext,
    "additive": AdditiveAttention,
}
