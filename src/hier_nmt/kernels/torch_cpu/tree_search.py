# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The walk down the tree of sentences with faster products and maxima.

Dimensions: B batch, t sentences kept, H heads, Q queries.
"""

import functools
from collections.abc import Sequence

import torch

from ...ops import sentence_tree
from .buffer_pool import thread_buffers
from .relevance import score_rows
from .stable_topk import top_columns


def search_tree(
    query: torch.Tensor,
    keys: Sequence[torch.Tensor],
    masks: Sequence[torch.Tensor],
    t: int,
    own_sentence_ids: torch.Tensor | None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Leaves and filled places [B, H, Q, t] of `sentence_tree.search_tree`, with the same arguments."""
    highest = functools.partial(top_columns, buffers=thread_buffers(query))
    return sentence_tree.search_tree(query, keys, masks, t, own_sentence_ids, score=score_rows, highest=highest)
