# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Big Bird attention (Zaheer et al. 2020; Shen 2023, section III.4): in blocks, in FlexAttention, or masked.

All forms give the same result. The masked one computes all pairs of tokens, the others only those of the pattern.

Dimensions: B batch, Q queries, K keys, H heads, E head width, D model width, g global tokens.
"""

from typing import Any

import torch
from torch import nn
from transformers.cache_utils import EncoderDecoderCache
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from ..configuration.library_internals import configured_attention
from ..ops.big_bird_pattern import BigBirdPattern, BigBirdPlan
from ..ops.block_sparse_attention import BlockUnits, blocked_attention
from .attention_plan import AttentionInputs, visible_sentence_ids
from .multi_head_attention import MultiHeadAttention, eager_attention_forward

# With fewer keys than this multiple of those that a block reads, masking is faster.
BLOCKED_PAYS_FROM = 2


class BigBirdAttention(MultiHeadAttention):
    """Each token attends to the first tokens, the blocks around its own and some random ones; in the decoder, to no
    later token.

    Time and memory are linear in the number of tokens. A single token that is decoded with a cache is compared with all
    earlier ones, as in other attention, and those outside of the pattern are masked.
    """

    @classmethod
    def plan(cls, inputs: AttentionInputs) -> BigBirdPlan:
        """The positions of the tokens in their documents; ValueError if those of earlier tokens are unknown."""
        is_visible = visible_sentence_ids(inputs) > 0
        keys: Any = inputs.keys
        queries = inputs.queries.token_positions
        past_length = 0 if inputs.cache is None else inputs.cache.get_seq_length()
        is_static = inputs.cache is not None and inputs.cache.is_compileable
        return BigBirdPlan(
            BigBirdPattern.from_config(inputs.config, inputs.is_causal),
            queries,
            keys.token_positions[:, : is_visible.shape[1]],
            is_visible,
            is_visible.sum(-1),
            holds_all=not is_static and isinstance(past_length, int) and past_length == 0,
        )

    def forward(
        self,
        hidden_states: torch.Tensor,
        plan: BigBirdPlan,
        key_value_states: torch.Tensor | None = None,
        cache: EncoderDecoderCache | None = None,
        sentence_keys: Any = None,
        pooling: Any = None,
        output_attentions: bool | None = None,
        **kwargs: Any,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Attended states [B, Q, D] and, on request, weights [B, H, Q, K].

        Takes the arguments of `MultiHeadAttention.forward`, and:

        Args:
            output_attentions: compute the weights, which takes the masked form.
        """
        query = self._split_heads(self.q_proj(hidden_states))
        key, value = self._keys_and_values(hidden_states, None, cache)
        dropout = self.dropout if self.training else 0.0
        weights = None
        if self.config.output_attentions if output_attentions is None else output_attentions:
            mask = plan.dense_mask(self.layer_idx, self.num_heads, key.shape[2])
            output, weights = eager_attention_forward(self, query, key, value, mask, self.scaling, dropout)
        elif self._is_flexible(query, dropout):
            output = self._attend_flexibly(query, key, value, plan)
        elif self._is_blocked(key.shape[2], plan):
            output = self._attend_in_blocks(query, key, value, plan, dropout)
        else:
            mask = plan.dense_mask(self.layer_idx, self.num_heads, key.shape[2])
            output = nn.functional.scaled_dot_product_attention(
                query, key, value, attn_mask=mask, dropout_p=dropout, scale=self.scaling
            ).transpose(1, 2)
        return self.out_proj(output.flatten(2)), weights

    def _is_flexible(self, query: torch.Tensor, dropout: float) -> bool:
        """Whether to use FlexAttention: if it is configured and there is no dropout, which it does not support."""
        is_configured = configured_attention(self.config) == "flex_attention" and self.config.attention_kernel == "auto"
        return is_configured and dropout == 0.0 and query.shape[2] > 1

    def _is_blocked(self, num_keys: int, plan: BigBirdPlan) -> bool:
        # Blocks depend on the lengths of the documents, which compiled code cannot read.
        if not plan.holds_all or torch.compiler.is_compiling() or self.config.attention_kernel == "reference":
            return False
        return self.config.attention_kernel == "grouped" or num_keys >= BLOCKED_PAYS_FROM * plan.pattern.num_keys

    def _attend_flexibly(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, plan: BigBirdPlan
    ) -> torch.Tensor:
        """Output [B, Q, H, E] of FlexAttention, which skips what the mask hides.

        Building the mask evaluates all pairs of tokens once, in memory for as many integers.
        """
        from torch.nn.attention.flex_attention import create_block_mask

        random_blocks = plan.random_blocks_of_queries(self.layer_idx, self.num_heads)

        def attend_mask(row: Any, head: Any, query_index: Any, key_index: Any) -> Any:
            return plan.attend_mask(random_blocks, row, head, query_index, key_index)

        sizes = (query.shape[0], query.shape[1], query.shape[2], key.shape[2])
        mask = create_block_mask(attend_mask, *sizes, device=query.device)
        attend = ALL_ATTENTION_FUNCTIONS["flex_attention"]
        return attend(self, query, key, value, mask, scaling=self.scaling)[0]

    def _attend_in_blocks(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, plan: BigBirdPlan, dropout: float
    ) -> torch.Tensor:
        """Output [B, Q, H, E] of blocks of queries, each with the keys it reads."""
        units = BlockUnits.from_plan(plan, self.layer_idx, self.num_heads, query.shape[2])
        output = blocked_attention(query, key, value, units, self.scaling, dropout)
        if plan.pattern.is_causal or plan.pattern.num_global == 0:
            return output
        return self._with_global_queries(output, query, key, value, plan, units, dropout)

    def _with_global_queries(
        self,
        output: torch.Tensor,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        plan: BigBirdPlan,
        units: BlockUnits,
        dropout: float,
    ) -> torch.Tensor:
        """The output [B, Q, H, E] with that of the global tokens, which read the whole document."""
        # Documents with fewer tokens than global ones write to an additional position that is cut off.
        index = units.token_at[:, : plan.pattern.num_global]  # [B, g]
        place = index[:, None, :, None].expand(-1, self.num_heads, -1, self.head_dim)
        global_query = query.gather(2, place.clamp_max(query.shape[2] - 1))
        attended = nn.functional.scaled_dot_product_attention(
            global_query, key, value, plan.is_visible[:, None, None, :], dropout, scale=self.scaling
        )
        padded = nn.functional.pad(output, (0, 0, 0, 0, 0, 1))
        return padded.scatter(1, place.transpose(1, 2), attended.transpose(1, 2))[:, :-1]
