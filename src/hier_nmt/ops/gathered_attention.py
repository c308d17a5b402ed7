# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Attention to selected sentences for a few queries, such as those of a decoding step: only what is read is touched.

Dimensions: B batch, H heads, Q queries, K keys, E head width, C sentences read per query (the own one included), W
tokens of the longest of them.
"""

from typing import NamedTuple

import torch
from torch.nn import functional

from .numerics import full_precision, outside_autocast

# Keys that may be gathered for one head. A call that could exceed it groups queries by sentence instead.
MAX_GATHERED_KEYS = 2**15


class SortedKeys(NamedTuple):
    """The keys of a batch in the order of their sentences.

    Attributes:
        numbers: sentence id of each key [B, K], ascending; 0 is padding.
        order: index of each among the keys [B, K].
        longest: tokens of the longest sentence.
    """

    sentence_ids: torch.Tensor
    order: torch.Tensor
    longest: int

    def are_few(self, num_queries: int, num_choices: int) -> bool:
        """Whether so many queries, each of which reads so many sentences, gather few keys."""
        return len(self.sentence_ids) * num_queries * num_choices * self.longest <= MAX_GATHERED_KEYS


def sort_keys(key_sentence_ids: torch.Tensor) -> SortedKeys:
    """The keys numbered in `key_sentence_ids` [B, K] from 1; 0 is padding."""
    sizes = key_sentence_ids.new_zeros(len(key_sentence_ids), int(key_sentence_ids.max()) + 1)
    sizes = sizes.scatter_add(1, key_sentence_ids, torch.ones_like(key_sentence_ids))
    longest = int(sizes[:, 1:].amax()) if sizes.shape[1] > 1 else 0
    if bool((key_sentence_ids[:, 1:] >= key_sentence_ids[:, :-1]).all()):
        order = torch.arange(key_sentence_ids.shape[1], device=key_sentence_ids.device).expand_as(key_sentence_ids)
        return SortedKeys(key_sentence_ids.contiguous(), order, longest)
    return SortedKeys(*key_sentence_ids.sort(dim=-1, stable=True), longest)


@outside_autocast
def gathered_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    sorted_keys: SortedKeys,
    sentence_indices: torch.Tensor,
    sentence_scores: torch.Tensor,
    *,
    own_sentence_ids: torch.Tensor | None = None,
    query_positions: torch.Tensor | None = None,
    scaling: float,
    dropout: float = 0.0,
) -> torch.Tensor:
    """Output [B, H, Q, E] of `attend_selected_sentences`, whose arguments these are, in plain operations.

    Time and memory follow B H Q C W, and neither the number of keys nor how they lie in memory.
    """
    sentence_ids, scores = read_sentences(sentence_indices, full_precision(sentence_scores), own_sentence_ids)
    indices, is_read = tokens_of(sentence_ids, sorted_keys)  # [B, H, Q, C, W]
    if query_positions is not None:
        is_read = is_read & (indices <= query_positions[:, None, None])
    rows = torch.arange(len(query), device=query.device)[:, None, None, None, None]
    heads = torch.arange(query.shape[1], device=query.device)[:, None, None, None]
    keys, values = key[rows, heads, indices].flatten(3, 4), value[rows, heads, indices].flatten(3, 4)  # [B,H,Q,C W,E]
    logits = full_precision((query[..., None, :] @ keys.transpose(3, 4))[..., 0, :] * scaling)  # [B, H, Q, C W]
    logits = logits + scores[..., None].expand(indices.shape).flatten(3)
    is_read = is_read.flatten(3)
    reads_nothing = ~is_read.any(-1, keepdim=True)
    # Where nothing is read all is, for finite weights, and the output is zero in the end.
    weights = logits.masked_fill(~is_read & ~reads_nothing, -torch.inf).softmax(-1).to(value.dtype)
    output = (functional.dropout(weights, p=dropout)[..., None, :] @ values)[..., 0, :]
    return output.masked_fill(reads_nothing, 0.0)


def read_sentences(
    sentence_indices: torch.Tensor, sentence_scores: torch.Tensor, own_sentence_ids: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Numbers [B, H, Q, C] of the sentences that are read, 0 for none, and their added scores [B, H, Q, C].

    Args:
        sentence_indices, sentence_scores, own_sentence_ids: as in `attend_selected_sentences`.
    """
    is_selected = sentence_scores != -torch.inf
    sentence_ids = (sentence_indices + 1).masked_fill(~is_selected, 0)
    scores = sentence_scores.masked_fill(~is_selected, 0.0)
    if own_sentence_ids is None:
        return sentence_ids, scores
    own = own_sentence_ids[:, None, :, None].expand(*sentence_ids.shape[:-1], 1)
    own = own.masked_fill((sentence_ids == own).any(-1, keepdim=True), 0)
    return torch.cat([sentence_ids, own], dim=-1), functional.pad(scores, (0, 1))


def tokens_of(sentence_ids: torch.Tensor, sorted_keys: SortedKeys) -> tuple[torch.Tensor, torch.Tensor]:
    """Indices [B, H, Q, C, W] of the keys of the sentences `numbers` [B, H, Q, C], and which of them are any."""
    flat = sentence_ids.flatten(1)
    start = torch.searchsorted(sorted_keys.sentence_ids, flat)
    length = torch.searchsorted(sorted_keys.sentence_ids, flat, right=True) - start
    length = length.masked_fill(flat == 0, 0)
    # A device is not waited for.
    longest = int(length.max()) if flat.device.type == "cpu" else sorted_keys.longest
    index = torch.arange(max(longest, 1), device=flat.device)
    is_token = index < length[..., None]  # [B, H Q C, W]
    places = (start[..., None] + index).clamp_max(sorted_keys.order.shape[1] - 1)
    indices = sorted_keys.order.gather(1, places.flatten(1)).view(*sentence_ids.shape, -1)
    return indices, is_token.view(indices.shape)
