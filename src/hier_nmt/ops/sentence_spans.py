# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The positions of each sentence's tokens among the keys of a batch.

Dimensions: B batch, K keys, L sentences looked up, M blocks, W tokens of the longest sentence.
"""

from collections.abc import Callable
from typing import Any

import torch


class SentenceSpans:
    """The keys of a batch sorted by sentence; everything is computed on first use and kept.

    Args:
        key_sentence_ids: sentence id of each key [B, K], from 1; 0 is padding.
    """

    def __init__(self, key_sentence_ids: torch.Tensor):
        self.key_sentence_ids = key_sentence_ids
        self._derived: dict[str, Any] = {}

    def derived(self, name: str, derive: Callable[[torch.Tensor], Any]) -> Any:
        """The result of `derive` for the ids [B, K], computed once."""
        if name not in self._derived:
            self._derived[name] = derive(self.key_sentence_ids)
        return self._derived[name]

    @property
    def longest(self) -> int:
        """Number of tokens of the longest sentence; 0 if there is none."""
        return self.derived("longest", _longest)

    @property
    def sorted_ids(self) -> torch.Tensor:
        """The ids [B, K] in ascending order."""
        return self.derived("sorted", _sorted)[0]

    @property
    def order(self) -> torch.Tensor:
        """Index of each of `sorted_ids` among the keys [B, K]."""
        return self.derived("sorted", _sorted)[1]

    def tokens_of(self, sentence_ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Indices [B, L, W] of the tokens of the sentences [B, L] among the keys, and which places hold a token.

        Sentence 0 and sentences without keys have no tokens.
        """
        start, length = self._bounds(sentence_ids)
        index, is_token = self._offsets(start, length)  # [B, L, W]
        return self.order.gather(1, index.flatten(1)).view(index.shape), is_token

    def tokens_of_blocks(self, document: torch.Tensor, sentence_id: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Indices [M, W] of the tokens of M sentences, given by document and id, and which places hold a token."""
        ids = torch.arange(int(sentence_id.max()) + 1, device=sentence_id.device)
        start, length = self._bounds(ids.expand(len(self.order), -1).contiguous())
        index, is_token = self._offsets(start[document, sentence_id], length[document, sentence_id])
        return self.order[document[:, None], index], is_token

    def _bounds(self, sentence_ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The start of each sentence [B, L] in `sorted_ids`, and its number of tokens [B, L]."""
        start = torch.searchsorted(self.sorted_ids, sentence_ids)
        length = torch.searchsorted(self.sorted_ids, sentence_ids, right=True) - start
        return start, length.masked_fill(sentence_ids == 0, 0)

    def _offsets(self, start: torch.Tensor, length: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Indices [..., W] in `order` from each start [...] on, and which of them are within the length [...]."""
        # Computing a maximum on a device would wait for the device.
        longest = int(length.max()) if length.device.type == "cpu" else self.longest
        offset = torch.arange(max(longest, 1), device=length.device)
        return (start[..., None] + offset).clamp_max(self.order.shape[1] - 1), offset < length[..., None]


def _longest(key_sentence_ids: torch.Tensor) -> int:
    sizes = key_sentence_ids.new_zeros(len(key_sentence_ids), int(key_sentence_ids.max()) + 1)
    sizes = sizes.scatter_add(1, key_sentence_ids, torch.ones_like(key_sentence_ids))
    return int(sizes[:, 1:].amax()) if sizes.shape[1] > 1 else 0


def _sorted(key_sentence_ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    if bool((key_sentence_ids[:, 1:] >= key_sentence_ids[:, :-1]).all()):
        order = torch.arange(key_sentence_ids.shape[1], device=key_sentence_ids.device)
        return key_sentence_ids.contiguous(), order.expand_as(key_sentence_ids)
    found = key_sentence_ids.sort(dim=-1, stable=True)
    return found.values, found.indices
