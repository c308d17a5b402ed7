# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The walk down the tree of sentences, a few queries at a time, in buffers that are reused.

Dimensions: B batch, t sentences kept, H heads, Q queries.
"""

from collections.abc import Sequence

import torch

from ...ops.numerics import chunk_size
from ...ops.sentence_tree import in_order, look_up, start_level
from .buffer_pool import thread_buffers
from .relevance import score_rows
from .stable_topk import top_columns

# Maximum number of candidates of a level that are compared at a time.
CANDIDATES_AT_ONCE = 2**18


def search_tree(
    query: torch.Tensor,
    keys: Sequence[torch.Tensor],
    masks: Sequence[torch.Tensor],
    t: int,
    own_sentence_ids: torch.Tensor | None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Leaves [B, H, Q, t] that the walk keeps, ascending, and which of the places are filled [B, H, Q, t].

    Args as in `sentence_tree.search_tree`.
    """
    batch_size, num_heads, num_queries, _ = query.shape
    size = max(chunk_size(CANDIDATES_AT_ONCE, query.device) // max(batch_size * num_heads * 2 * t, 1), 1)
    buffers = thread_buffers(query)
    if num_queries > size:
        parts = []
        for start in range(0, num_queries, size):
            some = slice(start, start + size)
            own = None if own_sentence_ids is None else own_sentence_ids[:, some]
            some_queries = query[:, :, some]
            some_queries = buffers.take("queries of a part", *some_queries.shape).copy_(some_queries)
            parts.append(search_tree(some_queries, keys, masks, t, own))
        return torch.cat([leaves for leaves, _ in parts], dim=2), torch.cat([kept for _, kept in parts], dim=2)
    level = start_level(masks, t)
    num_nodes = masks[level].shape[1]
    nodes = torch.arange(t, device=query.device).expand(batch_size, num_heads, num_queries, t)
    is_kept = nodes < num_nodes
    nodes = nodes.clamp_max(num_nodes - 1)
    is_kept = is_kept & look_up(masks[level], nodes)
    while level > 0:
        level -= 1
        candidates = torch.stack([2 * nodes, 2 * nodes + 1], dim=-1).flatten(-2)  # [B, H, Q, 2t], ascending
        exists = is_kept.repeat_interleave(2, dim=-1) & (candidates < masks[level].shape[1])
        candidates = candidates.clamp_max(masks[level].shape[1] - 1)
        exists = exists & look_up(masks[level], candidates)
        scores = score_rows(query, keys[level], candidates)
        if own_sentence_ids is not None:
            # Without an own sentence this is the path of leaf -1, which has no nodes.
            is_own_path = candidates == ((own_sentence_ids - 1) >> level)[:, None, :, None]
            scores = scores.masked_fill(is_own_path, torch.inf)
        # For `top_columns`: adding zero turns negative zeros into positive ones; NaN ranks first.
        scores = (scores + 0.0).nan_to_num_(torch.inf, torch.inf, -torch.inf).masked_fill_(~exists, -torch.inf)
        best = top_columns(scores, t, buffers)
        nodes, is_kept = in_order(candidates.gather(-1, best), scores.gather(-1, best) != -torch.inf)
    return in_order(nodes, is_kept)
