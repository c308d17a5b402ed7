# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The attention pattern of Big Bird (Zaheer et al. 2020, section 2; Shen 2023, section III.4): integers only.

A document is cut into blocks. A token attends to the first tokens of the document, to the blocks around its own, and to
some random blocks; the first tokens of a source attend to everything. The random blocks are not drawn but hashed from a
seed, the layer, the head and the block, so that a reloaded model has the same ones, in any batch.

Dimensions: B batch, Q queries, K keys, H heads, X blocks or queries, r random blocks, C blocks read by a block.
"""

from dataclasses import dataclass

import torch

from ..configuration.configuration_hier_nmt import HierNMTConfig

_BITS = 0xFFFFFFFF
_MULTIPLIER = 0x45D9F3B


def scrambled(numbers: torch.Tensor) -> torch.Tensor:
    """A hash of integers below 2**32: pseudo-random integers below 2**32."""
    for _ in range(2):
        numbers = ((numbers >> 16) ^ numbers) * _MULTIPLIER & _BITS
    return (numbers >> 16) ^ numbers


@dataclass(frozen=True)
class BigBirdPattern:
    """Which tokens attend to which.

    Attributes:
        block_size: tokens of a block.
        num_global: number of first tokens to which all attend (and which attend to all, unless `is_causal`).
        num_window: number of neighbouring blocks to attend to, on each side (only those before, if `is_causal`).
        num_random: r, number of random blocks to attend to.
        seed: of the random blocks.
        is_causal: no token attends to a later one.
    """

    block_size: int
    num_global: int
    num_window: int
    num_random: int
    seed: int
    is_causal: bool

    @classmethod
    def from_config(cls, config: HierNMTConfig, is_causal: bool) -> "BigBirdPattern":
        """The pattern of a configuration."""
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
        """Maximum number of keys that a block of queries reads."""
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
        """The random blocks [B, H, X, r] of each of the blocks [B, X], without repetition; -1 if there are fewer.

        The blocks outside the window (only those before it, if causal) are divided into r equal stretches, and one of
        each stretch is chosen. With at most r such blocks, all of them are chosen.

        Args:
            blocks: [B, X].
            num_blocks: of each document [B].
            layer_idx: index of the layer.
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
    """What all layers of a slot share in one forward pass.

    Attributes:
        pattern: which tokens attend to which.
        query_positions: position [B, Q] of each query among the tokens of its document.
        key_positions: the same of the keys [B, K or more].
        is_visible: boolean [B, K or more], False on padding.
        num_tokens: of each document [B].
        holds_all: whether the queries are all tokens, so that no earlier ones are cached.
    """

    pattern: BigBirdPattern
    query_positions: torch.Tensor
    key_positions: torch.Tensor
    is_visible: torch.Tensor
    num_tokens: torch.Tensor
    holds_all: bool

    @property
    def num_blocks(self) -> torch.Tensor:
        """Number of blocks of each document [B], including an incomplete last one."""
        return (self.num_tokens + self.pattern.block_size - 1) // self.pattern.block_size

    def random_blocks_of_queries(self, layer_idx: int, num_heads: int) -> torch.Tensor:
        """The random blocks [B, H, Q, r] of each query."""
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
        """Whether queries may attend to keys: boolean, of the shape to which the indices broadcast.

        Args:
            random_blocks: the result of `random_blocks_of_queries`.
            row, head, query, key: indices, of shapes that can be broadcast.
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
        """Boolean [B, H, Q, K]: whether each query may attend to each key."""
        device = self.query_positions.device
        rows = torch.arange(len(self.query_positions), device=device)[:, None, None, None]
        heads = torch.arange(num_heads, device=device)[:, None, None]
        queries = torch.arange(self.query_positions.shape[1], device=device)[:, None]
        keys = torch.arange(num_keys, device=device)
        return self.attend_mask(self.random_blocks_of_queries(layer_idx, num_heads), rows, heads, queries, keys)
