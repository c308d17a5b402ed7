# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Summaries of a document by a convolution over its tokens, which needs no sentence boundaries.

Dimensions: B batch, S tokens, N summaries, D model width.
"""

import math

import torch
from torch import nn

from ..configuration.configuration_han import HANConfig
from ..configuration.configuration_hier_nmt import HierNMTConfig
from ..ops.document_structure import Sentences


def summary_stride(kernel_size: int) -> int:
    """Half the kernel, but at least one token (Shen 2023, section III.1)."""
    return max(kernel_size // 2, 1)


def count_summaries(num_tokens: torch.Tensor, kernel_size: int) -> torch.Tensor:
    """The number of windows, one every stride, that cover all tokens; 0 for a document without tokens.

    Args:
        num_tokens: of each document, integers of any shape, which the result has too.
        kernel_size: tokens of a window.
    """
    stride = summary_stride(kernel_size)
    beyond_the_first = (num_tokens - kernel_size).clamp_min(0)
    return (num_tokens > 0).long() * (1 + (beyond_the_first + stride - 1) // stride)


def compact_tokens(states: torch.Tensor, is_token: torch.Tensor, length: int) -> torch.Tensor:
    """The states of the tokens [B, length, D] in order, from the first position on, followed by zeros.

    Args:
        states: [B, S, D].
        is_token: boolean [B, S], False on padding.
        length: at least S.
    """
    places = (is_token.long().cumsum(-1) - 1).masked_fill(~is_token, length)
    index = places[..., None].expand_as(states)
    return states.new_zeros(len(states), length + 1, states.shape[2]).scatter(1, index, states)[:, :length]


class ConvolutionalSummaries(nn.Module):
    """A convolution over windows of the tokens, each of which begins half a window after the previous one (Shen 2023,
    section III.1).

    The windows of a document begin with its first token; tokens that are missing in its last one count as zeros.
    """

    def __init__(self, config: "HANConfig | HierNMTConfig"):
        super().__init__()
        self.kernel_size = config.summary_kernel_size
        self.stride = summary_stride(self.kernel_size)
        self.convolution = nn.Conv1d(config.d_model, config.d_model, self.kernel_size, self.stride)

    @classmethod
    def units(cls, config: "HANConfig | HierNMTConfig", sentence_ids: torch.Tensor) -> Sentences:
        """What is summarised of documents with the ids `sentence_ids` [B, S] (0 is padding): their windows."""
        kernel_size, num_places = config.summary_kernel_size, sentence_ids.shape[1]
        num_summaries = 1 + math.ceil(max(num_places - kernel_size, 0) / summary_stride(kernel_size))
        counts = count_summaries((sentence_ids > 0).sum(-1), kernel_size)
        mask = torch.arange(num_summaries, device=sentence_ids.device) < counts[:, None]
        return Sentences(sentence_ids, num_summaries, mask)

    def forward(self, hidden_states: torch.Tensor, sentence_ids: torch.Tensor, num_summaries: int) -> torch.Tensor:
        """Summaries [B, N, D] of token states [B, S, D]; those of windows without tokens must not be used.

        Args:
            hidden_states: [B, S, D].
            sentence_ids: ids of the tokens' sentences [B, S]; only that 0 is padding is read.
            num_summaries: N, as `units` counts them.
        """
        length = (num_summaries - 1) * self.stride + self.kernel_size
        tokens = compact_tokens(hidden_states, sentence_ids > 0, length)
        return self.convolution(tokens.transpose(1, 2)).transpose(1, 2)
