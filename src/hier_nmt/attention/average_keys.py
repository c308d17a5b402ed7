# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What sentences of a growing text are chosen by, token by token, for graphs, whose steps all do the same.

Dimensions: B batch, H heads, N sentences, Q newest tokens, E head width.
"""

from typing import NamedTuple

import torch
from transformers.cache_utils import EncoderDecoderCache


class AverageKeys(NamedTuple):
    """Averages of the relevance keys of tokens in each of N sentences, weighted by the softmax of logits, in a graph.

    Attributes:
        sums: weighted keys [B, H, N, E].
        weights: the sum of the weights and the logit whose weight is 1 [B, 1, N, 2]; the former is 0 without tokens.
    """

    sums: torch.Tensor
    weights: torch.Tensor

    @classmethod
    def none(cls, keys: torch.Tensor, num_sentences: int) -> "AverageKeys":
        """Those of no token, for keys like these [B, H, Q, E]."""
        batch_size, num_heads, _, width = keys.shape
        sums = keys.new_zeros(batch_size, num_heads, num_sentences, width)
        return cls(sums, keys.new_zeros(batch_size, 1, num_sentences, 2))

    def extended(self, keys: torch.Tensor, logits: torch.Tensor, sentence_ids: torch.Tensor) -> "AverageKeys":
        """With further tokens: their keys [B, H, Q, E], logits [B, Q] and sentence ids [B, Q]."""
        sentences = torch.arange(1, self.sums.shape[2] + 1, device=keys.device)[:, None]
        is_in = sentence_ids[:, None] == sentences  # [B, N, Q]
        lowest = torch.finfo(logits.dtype).min
        logits = logits[:, None].masked_fill(~is_in, lowest)
        total, largest = self.weights[:, 0].split(1, dim=-1)  # [B, N, 1]
        largest = largest.masked_fill(total == 0, lowest)
        new_largest = torch.maximum(largest, logits.amax(-1, keepdim=True))
        shrinks = (largest - new_largest).exp()
        added = (logits - new_largest).exp() * is_in
        total = total * shrinks + added.sum(-1, keepdim=True)
        sums = self.sums * shrinks[:, None] + added[:, None] @ keys
        return AverageKeys(sums, torch.cat([total, new_largest], dim=-1)[:, None])

    def keys(self) -> torch.Tensor:
        """The averages [B, H, N, E]; zeros for a sentence without tokens."""
        return self.sums / self.weights[..., :1].clamp_min(torch.finfo(self.sums.dtype).tiny)


def sentence_averages(cache: EncoderDecoderCache) -> dict[int, AverageKeys]:
    """What conditional self-attention in a graph keeps of the sentences so far, by layer."""
    averages: dict[int, AverageKeys] = cache.__dict__.setdefault("sentence_averages", {})
    return averages
