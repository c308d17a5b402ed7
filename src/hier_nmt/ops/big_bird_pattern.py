# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Who sees whom in Big Bird attention (Zaheer et al. 2020, section 2; Shen 2023, section III.4): integers only.

A document is cut into blocks. A token sees the first tokens of the document, the blocks around its own, and some random
blocks; the first tokens of a source see everything. What is random is computed from a seed, the layer, the head and the
block, and not drawn: a model that is loaded again sees the same, in any batch and at any length.

Dimensions: B batch, Q queries, K keys, H heads, X blocks or queries, r random blocks, C blocks read by a block.
"""

from dataclasses import dataclass

import torch

from ..configuration.configuration_hier_nmt import HierNMTConfig

_BITS = 0xFFFFFFFF
_MULTIPLIER = 0x45D9F3B


def scrambled(numbers: torch.Tensor) -> torch.Tensor:
    """Integers below 2**32 that look random and depend on nothing but the integers below 2**32 they are made of."""
    for _ in range(2):
        numbers = ((numbers >> 16) ^ numbers) * _MULTIPLIER & _BITS
    return (numbers >> 16) ^ numbers


@dataclass(frozen=True)
class BigBirdPattern:
    """Who sees whom.

    Attributes:
        block_size: tokens of a block.
        num_global: first tokens of the document, which all see (and which see all, unless `is_causal`).
        num_window: blocks seen on either side of the own one (before it, if `is_causal`).
        num_random: r, blocks seen elsewhere.
        seed: from which these follow.
        is_causal: no token sees a later one.
    """

    block_size: int
    num_global: int
    num_window: int
    num_random: int
    seed: int
    is_causal: bool

    @classmethod
    def from_config(cls, config: HierNMTConfig, is_causal: bool) -> "BigBirdPattern":
        """The pattern that a configuration names."""
        return cls(
            config.big_bird_block_size,
            config.big_bird_global_tokens,
            config.big_bird_window_blocks,
            config.big_bird_random_blocks,
            config.big_bird_seed,
            is_causal,
        )

    @property
    def num_keys(self) -> int:
        """Keys that a block of queries reads at most, wherever they are."""
        num_blocks = (1 if self.is_causal else 2) * self.num_window + 1 + self.num_random
        return self.num_global + num_blocks * self.block_size

    def window(self, blocks: torch.Tensor, num_blocks: torch.Tensor) -> torch.Tensor:
        """The blocks around each of the blocks [B, X], [B, X, C]; -1 where the document ends."""
        last = 0 if self.is_causal else self.num_window
        offsets = torch.arange(-self.num_window, last + 1, device=blocks.device)
        around = blocks[..., None] + offsets
        return around.masked_fill((around < 0) | (around >= num_blocks[:, None, None]), -1)

    def random_blocks(
        self, blocks: torch.Tensor, num_blocks: torch.Tensor, layer_idx: int, num_heads: int
    ) -> torch.Tensor:
        """The random blocks that each of the blocks [B, X] sees, [B, H, X, r]; no one twice, -1 where there are fewer.

        The blocks outside of the window (only those before it, if causal) are divided into r equal stretches, of each
        of which one is seen; so all are where there are no more than r.

        Args:
            blocks: [B, X].
            num_blocks: of each document [B].
            layer_idx: the layer.
            num_heads: H.
        """
        device = blocks.device
        blocks = blocks[:, None, :, None]
        first = (blocks - self.num_window).clamp_min(0)
        width = torch.zeros_like(first)
        count = first
        if not self.is_causal:
            num_blocks = num_blocks[:, None, None, None]
            width = torch.minimum(blocks + self.num_window + 1, num_blocks) - first
            count = (num_blocks - width).clamp_min(0)
        choices = torch.arange(self.num_random, device=device)
        start = choices * count // max(self.num_random, 1)
        length = (choices + 1) * count // max(self.num_random, 1) - start
        place = start + self._noise(blocks, choices, layer_idx, num_heads) % length.clamp_min(1)
        return (place + width * (place >= first)).masked_fill(length == 0, -1)

    def _noise(self, blocks: torch.Tensor, choices: torch.Tensor, layer_idx: int, num_heads: int) -> torch.Tensor:
        """Integers [B, H, X, r] below 2**32."""
        heads = torch.arange(num_heads, device=blocks.device)[:, None, None]
        noise = torch.full_like(heads, self.seed & _BITS)
        for number in (layer_idx, heads, blocks, choices):
            noise = scrambled((noise + number + 1) & _BITS)
        return noise


@dataclass(frozen=True)
class BigBirdPlan:
    """What all layers of a slot share in one forward.

    Attributes:
        pattern: who sees whom.
        query_positions: place [B, Q] of each query among the tokens of its document.
        key_positions: the same of the keys [B, K or more].
        is_visible: boolean [B, K or more], False on padding.
        num_tokens: of each document [B].
        holds_all: whether the queries are all the tokens there are, and no earlier ones are cached.
    """

    pattern: BigBirdPattern
    query_positions: torch.Tensor
    key_positions: torch.Tensor
    is_visible: torch.Tensor
    num_tokens: torch.Tensor
    holds_all: bool

    @property
    def num_blocks(self) -> torch.Tensor:
        """Of each document [B], the last one filled or not."""
        return (self.num_tokens + self.pattern.block_size - 1) // self.pattern.block_size

    def random_blocks_of_queries(self, layer_idx: int, num_heads: int) -> torch.Tensor:
        """The random blocks that each query sees, [B, H, Q, r]."""
        blocks = self.query_positions // self.pattern.block_size
        return self.pattern.random_blocks(blocks, self.num_blocks, layer_idx, num_heads)

    def attend_mask(
        self,
        random_blocks: torch.Tensor,
        row: torch.Tensor,
        head: torch.Tensor,
        query: torch.Tensor,
        key: torch.Tensor,
    ) -> torch.Tensor:
        """Whether queries may look at keys: boolean, of the shape that the indices have together.

        Args:
            random_blocks: as `random_blocks_of_queries` gives them.
            row, head, query, key: indices, tensors of shapes that fit each other.
        """
        pattern = self.pattern
        query_position, key_position = self.query_positions[row, query], self.key_positions[row, key]
        block = key_position // pattern.block_size
        distance = block - query_position // pattern.block_size
        attend_mask = (key_position < pattern.num_global) | (distance.abs() <= pattern.num_window)
        for choice in range(pattern.num_random):
            attend_mask = attend_mask | (block == random_blocks[row, head, query, choice])
        if pattern.is_causal:
            attend_mask = attend_mask & (key_position <= query_position)
        else:
            attend_mask = attend_mask | (query_position < pattern.num_global)
        return attend_mask & self.is_visible[row, key]

    def dense_mask(self, layer_idx: int, num_heads: int, num_keys: int) -> torch.Tensor:
        """Boolean [B, H, Q, K]: which key each query may look at."""
        device = self.query_positions.device
        rows = torch.arange(len(self.query_positions), device=device)[:, None, None, None]
        heads = torch.arange(num_heads, device=device)[:, None, None]
        queries = torch.arange(self.query_positions.shape[1], device=device)[:, None]
        keys = torch.arange(num_keys, device=device)
        return self.attend_mask(self.random_blocks_of_queries(layer_idx, num_heads), rows, heads, queries, keys)
