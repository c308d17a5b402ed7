# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The attention slots that read sentence encodings: conditional, hierarchical, and the context block.

Dimensions: B batch, S source tokens, N sentences, t selected sentences, H heads, Q queries, K keys, E head width, D
model width.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import nn
from transformers.cache_utils import EncoderDecoderCache
from transformers.utils import logging

from .document_structure import Sentences
from .multi_head_attention import AttentionInputs, MultiHeadAttention, SelectionPlan, eager_attention_forward
from .sentence_encoder import PairMerge, SentenceEncoder
from .sentence_selection import full_precision, select_by_relevance
from .sentence_tree import build_sentence_tree, traverse_tree

if TYPE_CHECKING:
    from .configuration_hier_nmt import HierNMTConfig

logger = logging.get_logger(__name__)


class SentenceKeys(NamedTuple):
    """What queries are compared with to choose sentences: keys [B, H, N_l, E] and masks [B, N_l] of the levels of the
    tree, leaves first; flat selection has the leaves alone."""

    levels: list[torch.Tensor]
    masks: list[torch.Tensor]


class SentencePooling(NamedTuple):
    """States [B, Q, D] of the newest target tokens, and what encodes the sentences that they and earlier ones form."""

    states: torch.Tensor
    encoder: SentenceEncoder


class ConditionalAttention(MultiHeadAttention):
    """A token sees the tokens of its t most relevant sentences, chosen per head (Trankova et al. 2024, section 3.2)."""

    reads_sentence_encodings = True
    slot = "encoder"
    reads_all_sentences = False  # in training; see HierNMTPreTrainedModel.read_all_sentences

    def __init__(self, config: "HierNMTConfig", num_heads: int, head_dim: int, layer_idx: int, is_causal: bool = False):
        super().__init__(config, num_heads, head_dim, layer_idx, is_causal)
        self.sentence_q_proj = nn.Linear(config.d_model, num_heads * head_dim, bias=False)
        self.sentence_k_proj = nn.Linear(config.d_model, num_heads * head_dim, bias=False)

    @classmethod
    def plan(cls, inputs: AttentionInputs) -> SelectionPlan:
        """The sentences of queries and keys."""
        return SelectionPlan.from_inputs(inputs)

    def sentence_keys(self, sentence_states: Any, sentence_mask: Any) -> SentenceKeys:
        """The keys to compare queries with, from the encodings [B, N, D] of the sentences that the mask [B, N] has."""
        return SentenceKeys([self._relevance_keys(sentence_states)], [sentence_mask])

    def _relevance_keys(self, states: torch.Tensor) -> torch.Tensor:
        return full_precision(self._split_heads(self.sentence_k_proj(states)))

    def forward(
        self,
        hidden_states: torch.Tensor,
        plan: SelectionPlan,
        key_value_states: torch.Tensor | None = None,
        past_key_values: EncoderDecoderCache | None = None,
        sentence_keys: SentenceKeys | None = None,
        pooling: Any = None,
        output_attentions: bool | None = None,
        **kwargs: Any,
    ) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor, torch.Tensor]:
        """Attended states [B, Q, D], weights [B, H, Q, K] on request, selected sentences and scores [B, H, Q, t].

        Args as in `MultiHeadAttention.forward`, and:
            sentence_keys: what `sentence_keys` gave for the keys' sentences.
            output_attentions: compute the weights, which takes the dense form.
        """
        query = self._split_heads(self.q_proj(hidden_states))
        key, value = self._keys_and_values(hidden_states, key_value_states, past_key_values)
        assert sentence_keys is not None
        sentence_query = full_precision(self._split_heads(self.sentence_q_proj(hidden_states)))
        indices, scores = self._select(sentence_query, sentence_keys, plan)
        output, weights = self._attend_selected(query, key, value, indices, scores, plan, output_attentions)
        return output, weights, indices, scores

    def _num_selected(self, sentence_mask: torch.Tensor) -> int:
        t = self.config.selected_sentences(self.slot)
        if self.reads_all_sentences and self.training:
            return max(t, sentence_mask.shape[1])
        if t == 1 and self.training and not self.is_causal:
            logger.warning_once(
                "With num_selected_sentences=1 the choice of sentences gets no gradient: the score that is added is "
                "the same for every token that is read. Train with at least 2."
            )
        return t

    def _select(
        self, sentence_query: torch.Tensor, sentence_keys: SentenceKeys, plan: SelectionPlan
    ) -> tuple[torch.Tensor, torch.Tensor]:
        own = plan.query_sentence_ids if self.config.always_keep_own_sentence else None
        keys, mask = sentence_keys.levels[0], sentence_keys.masks[0]
        return select_by_relevance(sentence_query, keys, mask, self._num_selected(mask), own_sentence_ids=own)


class ConditionalCrossAttention(ConditionalAttention):
    """A target token sees the tokens of its t most relevant source sentences."""

    slot = "cross"


class HierarchicalAttention(ConditionalAttention):
    """Conditional attention whose sentences are found by a walk down a binary tree (Trankova et al. 2024, 3.3)."""

    def __init__(self, config: "HierNMTConfig", num_heads: int, head_dim: int, layer_idx: int, is_causal: bool = False):
        super().__init__(config, num_heads, head_dim, layer_idx, is_causal)
        self.tree_merge = PairMerge(config)

    def sentence_keys(self, sentence_states: Any, sentence_mask: Any) -> SentenceKeys:
        """The keys of all nodes of the tree over the encodings [B, N, D] of the sentences in the mask [B, N]."""
        levels, masks = build_sentence_tree(sentence_states, sentence_mask, self.tree_merge)
        return SentenceKeys([self._relevance_keys(states) for states in levels], masks)

    def _select(
        self, sentence_query: torch.Tensor, sentence_keys: SentenceKeys, plan: SelectionPlan
    ) -> tuple[torch.Tensor, torch.Tensor]:
        own = plan.query_sentence_ids if self.config.always_keep_own_sentence else None
        selection = self.config.tree_selection
        t = self._num_selected(sentence_keys.masks[0])
        return traverse_tree(sentence_query, *sentence_keys, t, selection, own_sentence_ids=own)


class HierarchicalCrossAttention(HierarchicalAttention):
    """A target token sees the tokens of the t source sentences that its walk down the tree finds."""

    slot = "cross"


class CausalConditionalAttention(ConditionalAttention):
    """A target token sees its own sentence's past and, of the sentences complete before it, its t most relevant ones.

    The sentences of a cached prefix are encoded from the states that lie in the cache behind the keys.
    """

    slot = "decoder"

    def forward(  # type: ignore[override]
        self,
        hidden_states: torch.Tensor,
        plan: SelectionPlan,
        key_value_states: torch.Tensor | None = None,
        past_key_values: EncoderDecoderCache | None = None,
        sentence_keys: Any = None,
        pooling: SentencePooling | None = None,
        output_attentions: bool | None = None,
        **kwargs: Any,
    ) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor, torch.Tensor]:
        """As `ConditionalAttention.forward`, with the sentence encodings made here from `pooling`."""
        assert pooling is not None
        query = self._split_heads(self.q_proj(hidden_states))
        key, value = self._split_heads(self.k_proj(hidden_states)), self._split_heads(self.v_proj(hidden_states))
        pooled = pooling.states.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)  # [B, H, Q, D / H]
        if past_key_values is not None:
            both, value = past_key_values.self_attention_cache.update(
                torch.cat([key, pooled.to(key.dtype)], dim=-1), value, self.layer_idx
            )
            key, pooled = both.split([key.shape[-1], pooled.shape[-1]], dim=-1)
        sentences = Sentences.from_ids(plan.key_sentence_ids[:, : key.shape[2]])
        states = pooling.encoder(pooled.transpose(1, 2).flatten(2), sentences.sentence_ids, sentences.num_sentences)
        indices, scores = select_by_relevance(
            full_precision(self._split_heads(self.sentence_q_proj(hidden_states))),
            self._relevance_keys(states),
            sentences.mask,
            self._num_selected(sentences.mask),
            num_choosable=plan.query_sentence_ids - 1,
        )
        plan_with_own = replace(plan, own_sentence_ids=plan.query_sentence_ids)
        output, weights = self._attend_selected(query, key, value, indices, scores, plan_with_own, output_attentions)
        return output, weights, indices, scores


class SentenceContextAttention(nn.Module):
    """Multi-head attention to all sentence encodings (Trankova et al. 2024, section 2): a block of its own, or some of
    the heads of another attention.

    Args:
        config: the model's configuration.
        num_heads: H.
        head_dim: E.
        output_bias: whether the output projection has a bias.
    """

    def __init__(self, config: "HierNMTConfig", num_heads: int, head_dim: int, output_bias: bool = True):
        super().__init__()
        self.config = config
        self.num_heads, self.head_dim = num_heads, head_dim
        self.dropout = config.attention_dropout
        self.q_proj = nn.Linear(config.d_model, num_heads * head_dim)
        self.k_proj = nn.Linear(config.d_model, num_heads * head_dim)
        self.v_proj = nn.Linear(config.d_model, num_heads * head_dim)
        self.out_proj = nn.Linear(num_heads * head_dim, config.d_model, bias=output_bias)

    def sentence_keys(self, sentence_states: torch.Tensor, sentence_mask: torch.Tensor) -> Any:
        """Keys and values [B, H, N, E] of the encodings [B, N, D], and the mask [B, 1, 1, N]."""
        key, value = self._split_heads(self.k_proj(sentence_states)), self._split_heads(self.v_proj(sentence_states))
        return key, value, sentence_mask[:, None, None, :]

    def _split_heads(self, states: torch.Tensor) -> torch.Tensor:
        return states.unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2)

    def forward(
        self,
        hidden_states: torch.Tensor,
        sentence_keys: Any,
        output_context_attentions: bool | None = None,
        **kwargs: Any,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Attended states [B, Q, D] and, on request, weights [B, H, Q, N].

        Args:
            hidden_states: queries [B, Q, D].
            sentence_keys: what `sentence_keys` gave.
            output_context_attentions: compute the weights.
        """
        query = self._split_heads(self.q_proj(hidden_states))
        key, value, mask = sentence_keys
        dropout = self.dropout if self.training else 0.0
        if output_context_attentions or getattr(self.config, "output_context_attentions", False):
            output, weights = eager_attention_forward(
                self, query, key, value, mask, scaling=self.head_dim**-0.5, dropout=dropout
            )
            return self.out_proj(output.flatten(2)), weights
        output = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=dropout)
        return self.out_proj(output.transpose(1, 2).flatten(2)), None
