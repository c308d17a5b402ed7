# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Where the labels of a batch have words between which the context decides: these tokens count more in the loss.

Dimensions: B batch, T target tokens, V vocabulary, P ordered pairs of tokens.
"""

from dataclasses import dataclass

import torch
from torch.nn.functional import pad

from ..configuration.configuration_choices import IGNORED_LABEL


@dataclass(frozen=True, eq=False)
class WordContrast:
    """Target tokens whose choice the context decides, and what they add to the loss.

    Attributes:
        token_pairs: ids [P, 2], a token and its counterpart; every pair in both orders.
        weight: factor on the cross-entropy of these tokens, except in the first sentence of a row.
        margin: see `losses.contrast_margin_loss`; 0: that loss is not added.
        margin_weight: factor on that loss.
        continues_word: see `contrast_positions`.
    """

    token_pairs: torch.Tensor
    weight: float = 1.0
    margin: float = 0.0
    margin_weight: float = 1.0
    continues_word: torch.Tensor | None = None


def contrast_positions(
    labels: torch.Tensor,
    label_sentence_ids: torch.Tensor,
    token_pairs: torch.Tensor,
    continues_word: torch.Tensor | None = None,
) -> torch.Tensor:
    """Boolean [B, T, P]: True where the label is the first token of the pair, after the first sentence of its row.

    The first sentence has no context that could decide between the two.

    Args:
        labels: [B, T].
        label_sentence_ids: [B, T].
        token_pairs: ids [P, 2].
        continues_word: boolean [V], the tokens that continue the word before them, or None. A label in front of one is
            the beginning of another word, such as "Elle" of "Elle|s", and no position.
    """
    positions = (labels[..., None] == token_pairs[:, 0]) & (label_sentence_ids > 1)[..., None]
    if continues_word is None:
        return positions
    following = labels[:, 1:]
    is_continued = continues_word[following.clamp_min(0)] & (following != IGNORED_LABEL)
    return positions & ~pad(is_continued, (0, 1))[..., None]


def contrast_token_weights(
    labels: torch.Tensor,
    label_sentence_ids: torch.Tensor,
    token_pairs: torch.Tensor,
    weight: float,
    dtype: torch.dtype = torch.float32,
    continues_word: torch.Tensor | None = None,
) -> torch.Tensor:
    """Weight of each label, [B, T]: `weight` at the `contrast_positions` of any pair, 1 elsewhere."""
    is_contrasted = contrast_positions(labels, label_sentence_ids, token_pairs, continues_word).any(-1)
    return torch.ones(labels.shape, dtype=dtype, device=labels.device).masked_fill(is_contrasted, weight)
