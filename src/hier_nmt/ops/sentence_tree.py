# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""A binary tree over sentence encodings, and the search for the most relevant sentences in it.

Dimensions: B batch, N sentences, N_l nodes of level l (level 0: the leaves), t sentences kept, H heads, Q queries,
E head width, D model width.
"""

from collections.abc import Callable, Sequence

import torch
from torch.nn import functional

from .backends import backend_for
from .numerics import full_precision, outside_autocast
from .sentence_selection import check_num_selected, relevance_of_selected


def build_sentence_tree(
    sentence_states: torch.Tensor,
    sentence_mask: torch.Tensor,
    merge: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """The levels [B, N_l, D] of the tree and their masks [B, N_l], leaves first, root last (Trankova 2024, 3.3.1).

    Each pair of neighbours (1, 2), (3, 4), ... gets a parent; a node without a partner is copied to the next level. In
    a batch every document has the same tree as alone; above its root there are copies of the root.

    Args:
        sentence_states: sentence encodings [B, N, D], N at least 1.
        sentence_mask: boolean [B, N], True on sentences.
        merge: computes the encodings [B, M, D] of parents from those of their left and right children, both [B, M, D].
    """
    levels, masks = [sentence_states], [sentence_mask]
    while levels[-1].shape[1] > 1:
        states, mask = levels[-1], masks[-1]
        if states.shape[1] % 2:
            states, mask = functional.pad(states, (0, 0, 0, 1)), functional.pad(mask, (0, 1))
        left, right = states[:, 0::2], states[:, 1::2]
        has_left, has_right = mask[:, 0::2], mask[:, 1::2]
        only_one = torch.where(has_left[..., None], left, right)
        # Merging padding could divide by zero, which would make the gradients NaN.
        merged = merge(
            *(side.masked_fill(~has[..., None], 1.0) for side, has in ((left, has_left), (right, has_right)))
        )
        levels.append(torch.where((has_left & has_right)[..., None], merged, only_one))
        masks.append(has_left | has_right)
    return levels, masks


def path_summed_keys(node_keys: Sequence[torch.Tensor], node_masks: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """For each node the sum [B, H, N_l, E] of the keys on its path from the document's root, by level.

    Relevance is linear in the keys, so the product of a query with such a sum is the node's cumulative relevance.
    """
    num_leaves = node_masks[0].shape[1]
    leaves = torch.arange(1, num_leaves + 1, device=node_masks[0].device)
    last_leaf = ((leaves * node_masks[0]).amax(-1) - 1).clamp_min(0)  # [B]
    summed: list[torch.Tensor] = []
    for level in reversed(range(len(node_keys))):
        keys = node_keys[level]
        # The root of a document is the lowest node that is above all its leaves.
        is_above_root = (last_leaf >> (level - 1) == 0) if level > 0 else torch.zeros_like(last_leaf, dtype=torch.bool)
        keys = keys.masked_fill(is_above_root[:, None, None, None], 0.0)
        if summed:
            keys = keys + summed[-1].repeat_interleave(2, dim=2)[:, :, : keys.shape[2]]
        summed.append(keys)
    return summed[::-1]


@outside_autocast
def traverse_tree(
    query: torch.Tensor,
    node_keys: Sequence[torch.Tensor],
    node_masks: Sequence[torch.Tensor],
    t: int,
    selection: str = "cumulative",
    *,
    own_sentence_ids: torch.Tensor | None = None,
    summed_keys: Sequence[torch.Tensor] | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The t sentences that a walk from the root finds, and their cumulative scores (Trankova et al. 2024, 3.3.2).

    c(root) = r(root), c(child) = c(parent) + r(child) with r = query . key / sqrt(E). On each level the t best children
    of the kept nodes are kept; of equal ones the first. Each query computes O(t log N) scores.

    Args:
        query: [B, H, Q, E].
        node_keys: keys [B, H, N_l, E] of each level, leaves first.
        node_masks: boolean [B, N_l], True on nodes.
        t: number of nodes kept on each level.
        selection: the score by which nodes are kept: `cumulative`, or `node`, the node's own relevance.
        own_sentence_ids: id [B, Q], from 1, of a sentence that each query always keeps (with all nodes above it).
        summed_keys: `path_summed_keys(node_keys, node_masks)`, in float32 at least, if the caller has it.

    Returns:
        Indices [B, H, Q, t] from 0 in ascending order, and scores [B, H, Q, t], in float32 at least. Empty places come
        last, with index 0 and a score of minus infinity.

    Raises:
        ValueError: `selection` is unknown, or t below 1.
    """
    check_num_selected(t)
    if selection not in ("cumulative", "node"):
        raise ValueError(f"selection={selection!r} is unknown; choose cumulative or node.")
    query, node_keys = full_precision(query), [full_precision(keys) for keys in node_keys]
    if summed_keys is None:
        summed_keys = path_summed_keys(node_keys, node_masks)
    backend = backend_for(query)
    with torch.no_grad():
        deciding_keys = summed_keys if selection == "cumulative" else node_keys
        search = search_tree if backend is None else backend.search_tree
        own = None if own_sentence_ids is None else existing(own_sentence_ids, node_masks[0])
        indices, is_kept = search(query, deciding_keys, node_masks, t, own)
    relevance = relevance_of_selected if backend is None else backend.relevance
    return indices, relevance(query, summed_keys[0], indices).masked_fill(~is_kept, -torch.inf)


def highest_columns(scores: torch.Tensor, t: int) -> torch.Tensor:
    """Columns [..., t] of the highest scores [..., C]; of equal ones the first."""
    return scores.argsort(dim=-1, descending=True, stable=True)[..., :t]


def search_tree(
    query: torch.Tensor,
    keys: Sequence[torch.Tensor],
    masks: Sequence[torch.Tensor],
    t: int,
    own_sentence_ids: torch.Tensor | None,
    *,
    score: Callable[..., torch.Tensor] = relevance_of_selected,
    highest: Callable[..., torch.Tensor] = highest_columns,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Leaves [B, H, Q, t] that the walk keeps, ascending, and which of the places are filled [B, H, Q, t].

    Args as in `traverse_tree`, except that `keys` are those whose products with the query decide, and that the id of an
    own sentence that the document does not have is 0. `score` and `highest` are functions that compute the same as
    `relevance_of_selected` and `highest_columns`.
    """
    level = start_level(masks, t)
    num_nodes = masks[level].shape[1]
    nodes = torch.arange(t, device=query.device).expand(*query.shape[:3], t)
    is_kept = nodes < num_nodes
    nodes = nodes.clamp_max(num_nodes - 1)
    is_kept = is_kept & look_up(masks[level], nodes)
    while level > 0:
        level -= 1
        candidates = torch.stack([2 * nodes, 2 * nodes + 1], dim=-1).flatten(-2)  # [B, H, Q, 2t], ascending
        exists = is_kept.repeat_interleave(2, dim=-1) & (candidates < masks[level].shape[1])
        candidates = candidates.clamp_max(masks[level].shape[1] - 1)
        exists = exists & look_up(masks[level], candidates)
        # Adding zero turns negative zeros into positive ones; NaN ranks first.
        scores = (score(query, keys[level], candidates) + 0.0).nan_to_num(torch.inf, torch.inf, -torch.inf)
        if own_sentence_ids is not None:
            # Without an own sentence this is the path of leaf -1, which has no nodes.
            is_own_path = candidates == ((own_sentence_ids - 1) >> level)[:, None, :, None]
            scores = scores.masked_fill(is_own_path, torch.inf)
        scores = scores.masked_fill(~exists, -torch.inf)
        best = highest(scores, t)
        nodes, is_kept = in_order(candidates.gather(-1, best), scores.gather(-1, best) != -torch.inf)
    return in_order(nodes, is_kept)


def existing(sentence_ids: torch.Tensor, sentence_mask: torch.Tensor) -> torch.Tensor:
    """The ids [B, Q], from 1; 0 where the mask [B, N] has no such sentence."""
    num_sentences = sentence_mask.shape[1]
    exists = functional.pad(sentence_mask, (1, 0)).gather(1, sentence_ids.clamp_max(num_sentences))
    return sentence_ids.masked_fill(~exists | (sentence_ids > num_sentences), 0)


def start_level(masks: Sequence[torch.Tensor], t: int) -> int:
    """The lowest level whose nodes can all be kept; the root's if there is none."""
    return next(level for level, mask in enumerate(masks) if mask.shape[1] <= t or mask.shape[1] == 1)


def in_order(nodes: torch.Tensor, is_kept: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The kept nodes [..., t] in ascending order, then zeros, and which places hold a kept node."""
    nothing = torch.iinfo(nodes.dtype).max
    nodes = nodes.masked_fill(~is_kept, nothing).sort(-1).values
    is_kept = nodes < nothing
    return nodes.masked_fill(~is_kept, 0), is_kept


def look_up(mask: torch.Tensor, nodes: torch.Tensor) -> torch.Tensor:
    """The values of the mask [B, N_l] at the nodes [B, H, Q, C]."""
    return mask.gather(1, nodes.flatten(1)).view_as(nodes)
