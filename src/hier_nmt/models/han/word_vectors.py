# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Frozen word vectors at both ends of a network: as input embeddings, and to look up the predicted word (Shen 2023).

Dimensions: B batch, T target tokens, V vocabulary, W width of the word vectors, D model width.
"""

import torch
from torch import nn

from ...configuration.configuration_choices import IGNORED_LABEL


def minus_squared_distances(points: torch.Tensor, vectors: torch.Tensor) -> torch.Tensor:
    """Minus the squared distances [..., V] of points [..., W] to vectors [V, W]; computed in float32 at least.

    The highest is that of the nearest vector, so that they serve as logits.
    """
    if points.dtype in (torch.float16, torch.bfloat16):
        points, vectors = points.float(), vectors.float()
    with torch.autocast(points.device.type, enabled=False):
        products = points @ vectors.mT  # [..., V]
        lengths = points.square().sum(-1, keepdim=True) + vectors.square().sum(-1)
        return 2 * products - lengths


def mean_squared_error(
    logits: torch.Tensor, labels: torch.Tensor, vector_size: int, num_items_in_batch: torch.Tensor | int | None
) -> torch.Tensor:
    """The mean squared error of the elements of predicted vectors, a scalar (Shen 2023, section IV.2.d).

    Args:
        logits: [B, T, V], as `minus_squared_distances` gives them; divided by W, the value at the label is minus the
            token's error.
        labels: [B, T], -100 where nothing is to be predicted.
        vector_size: W.
        num_items_in_batch: what the sum over tokens is divided by; None: the number of labels that are not -100.
    """
    labels = labels.to(logits.device)
    is_predicted = labels != IGNORED_LABEL
    distances = -logits.gather(-1, labels.masked_fill(~is_predicted, 0)[..., None])[..., 0]  # [B, T]
    total = (distances * is_predicted).sum() / vector_size
    return total / (is_predicted.sum() if num_items_in_batch is None else num_items_in_batch)


class WordVectorEmbedding(nn.Embedding):
    """Frozen word vectors [V, W] and a learned projection of them to the model's width."""

    def __init__(self, vocab_size: int, vector_size: int, d_model: int):
        super().__init__(vocab_size, vector_size)
        self.weight.requires_grad_(False)
        self.projection = nn.Linear(vector_size, d_model)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Embeddings [..., D] of ids [...]."""
        return self.projection(super().forward(input))


class NearestWordOutput(nn.Module):
    """A predicted word vector, and how near it is to those of all words.

    Attributes:
        weight: the word vectors [V, W], those of the decoder's embedding.
    """

    def __init__(self, vocab_size: int, vector_size: int, d_model: int):
        super().__init__()
        self.projection = nn.Linear(d_model, vector_size)
        self.weight = nn.Parameter(torch.zeros(vocab_size, vector_size), requires_grad=False)

    def vectors(self, hidden_states: torch.Tensor) -> torch.Tensor:
        """Predicted word vectors [..., W] of states [..., D]."""
        return self.projection(hidden_states)

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        """Minus squared distances [..., V] of the vectors that states [..., D] predict, used as logits."""
        return minus_squared_distances(self.vectors(hidden_states), self.weight)
