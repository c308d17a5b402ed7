# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The attention slots that read sentence encodings: conditional, hierarchical, and the context block.

Dimensions: B batch, S source tokens, N sentences, t selected sentences, H heads, Q queries, K keys, E head width, D
model width.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeGuard

import torch
from torch import nn
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer, EncoderDecoderCache
from transformers.utils import logging

from ..configuration.configuration_hier_nmt import HierNMTConfig
from ..ops.document_structure import CompletedSentences, Sentences, graph_sentences
from ..ops.numerics import full_precision
from ..ops.sentence_selection import nearer, select_by_relevance
from ..ops.sentence_tree import build_sentence_tree, path_summed_keys, traverse_tree
from .attention_plan import AttentionInputs, SelectionPlan
from .average_keys import AverageKeys, sentence_averages
from .multi_head_attention import MultiHeadAttention, eager_attention_forward
from .sentence_encoder import PairMerge, SentenceEncoder

logger = logging.get_logger(__name__)


class SentenceKeys(NamedTuple):
    """What queries are compared with to select sentences: keys [B, H, N_l, E] and masks [B, N_l] of the levels of the
    tree, leaves first, and the sums of the keys on the path to each node. Flat selection has only the leaves."""

    levels: list[torch.Tensor]
    masks: list[torch.Tensor]
    summed: list[torch.Tensor] | None = None


class SentencePooling(NamedTuple):
    """States [B, Q, D] of the newest target tokens, and the encoder of the sentences that they and earlier tokens
    form."""

    states: torch.Tensor
    encoder: SentenceEncoder


class ConditionalAttention(MultiHeadAttention):
    """Each token attends to the tokens of its t most relevant sentences, selected per head (Trankova et al. 2024,
    section 3.2)."""

    slot = "encoder"
    selection_widening = 0.0  # in training; see HierNMTPreTrainedModel.widen_selection

    def __init__(self, config: HierNMTConfig, num_heads: int, head_dim: int, layer_idx: int, is_causal: bool = False):
        super().__init__(config, num_heads, head_dim, layer_idx, is_causal)
        self.sentence_q_proj = nn.Linear(config.d_model, num_heads * head_dim, bias=False)
        self.sentence_k_proj = nn.Linear(config.d_model, num_heads * head_dim, bias=False)

    @classmethod
    def plan(cls, inputs: AttentionInputs) -> SelectionPlan:
        """The sentences of queries and keys."""
        return SelectionPlan.from_inputs(inputs)

    def sentence_keys(self, sentence_states: Any, sentence_mask: Any) -> SentenceKeys:
        """The keys that queries are compared with, from the encodings [B, N, D] of the sentences in the mask [B, N]."""
        return SentenceKeys([self._relevance_keys(sentence_states)], [sentence_mask])

    def _relevance_keys(self, states: torch.Tensor) -> torch.Tensor:
        return self._split_heads(self.sentence_k_proj(states))

    def forward(
        self,
        hidden_states: torch.Tensor,
        plan: SelectionPlan,
        key_value_states: torch.Tensor | None = None,
        cache: EncoderDecoderCache | None = None,
        sentence_keys: SentenceKeys | None = None,
        pooling: Any = None,
        output_attentions: bool | None = None,
        **kwargs: Any,
    ) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor, torch.Tensor]:
        """Attended states [B, Q, D], weights [B, H, Q, K] on request, selected sentences and scores [B, H, Q, t].

        Takes the arguments of `MultiHeadAttention.forward`, and:

        Args:
            sentence_keys: what `sentence_keys` gave for the keys' sentences.
            output_attentions: compute the weights, which takes the dense form.
        """
        query = self._split_heads(self.q_proj(hidden_states))
        key, value = self._keys_and_values(hidden_states, key_value_states, cache)
        assert sentence_keys is not None
        sentence_query = self._split_heads(self.sentence_q_proj(hidden_states))
        indices, scores = self._select(sentence_query, sentence_keys, plan)
        scores = self._biased(scores, indices, plan)
        output, weights = self._attend_selected(query, key, value, indices, scores, plan, output_attentions)
        return output, weights, indices, scores

    def _biased(self, scores: torch.Tensor, indices: torch.Tensor, plan: SelectionPlan) -> torch.Tensor:
        """The scores [B, H, Q, t] of selected sentences, plus `relevance_bias` for all but the query's own sentence,
        minus `relevance_slope` for each sentence in between."""
        query_ids = plan.query_sentence_ids[:, None, :, None]
        if self.config.relevance_bias:
            scores = scores + self.config.relevance_bias * (indices != query_ids - 1)
        if self.config.relevance_slope:
            scores = nearer(scores, self.config.relevance_slope, query_ids, indices)
        return scores

    def _num_selected(self, sentence_mask: torch.Tensor) -> int:
        t = self.config.selected_sentences(self.slot)
        if self.selection_widening == 1 and self.training:
            return max(t, sentence_mask.shape[1])
        if self.selection_widening > 0 and self.training:
            return widened(t, sentence_mask.shape[1], self.selection_widening)
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
        return select_by_relevance(
            sentence_query,
            keys,
            mask,
            self._num_selected(mask),
            own_sentence_ids=own,
            query_sentence_ids=plan.query_sentence_ids,
            slope=self.config.relevance_slope,
        )


@torch.compiler.disable(reason="a graph can't hold a number of sentences that a float decides")
def widened(t: int, num_sentences: int, widening: float) -> int:
    """N^widening t^(1 - widening) for N sentences, at least t."""
    return max(t, round(t * (num_sentences / t) ** widening))


class ConditionalCrossAttention(ConditionalAttention):
    """Each target token attends to the tokens of its t most relevant source sentences."""

    slot = "cross"


class HierarchicalAttention(ConditionalAttention):
    """Conditional attention whose sentences are found by a walk down a binary tree (Trankova et al. 2024, 3.3)."""

    def __init__(self, config: HierNMTConfig, num_heads: int, head_dim: int, layer_idx: int, is_causal: bool = False):
        super().__init__(config, num_heads, head_dim, layer_idx, is_causal)
        self.tree_merge = PairMerge(config)

    def sentence_keys(self, sentence_states: Any, sentence_mask: Any) -> SentenceKeys:
        """The keys of all nodes of the tree over the encodings [B, N, D] of the sentences in the mask [B, N]."""
        if self.training and sentence_states.shape[1] == 1:
            # One sentence has nothing to merge. In distributed training every parameter needs a gradient, here zero.
            sentence_states = nn.functional.pad(sentence_states, (0, 0, 0, 1))
            sentence_mask = nn.functional.pad(sentence_mask, (0, 1))
        levels, masks = build_sentence_tree(sentence_states, sentence_mask, self.tree_merge)
        keys = [full_precision(self._relevance_keys(states)) for states in levels]
        return SentenceKeys(keys, masks, path_summed_keys(keys, masks))

    def _select(
        self, sentence_query: torch.Tensor, sentence_keys: SentenceKeys, plan: SelectionPlan
    ) -> tuple[torch.Tensor, torch.Tensor]:
        own = plan.query_sentence_ids if self.config.always_keep_own_sentence else None
        keys, masks, summed_keys = sentence_keys
        t, selection = self._num_selected(masks[0]), self.config.tree_selection
        return traverse_tree(sentence_query, keys, masks, t, selection, own_sentence_ids=own, summed_keys=summed_keys)


class HierarchicalCrossAttention(HierarchicalAttention):
    """Each target token attends to the tokens of the t source sentences that its walk down the tree finds."""

    slot = "cross"


@dataclass(frozen=True)
class GrowingSelectionPlan(SelectionPlan):
    """The plan of causal self-attention.

    Attributes:
        complete: the complete sentences of the prefix, if the cache stores their keys; else None.
    """

    complete: CompletedSentences | None = None


class CausalConditionalAttention(ConditionalAttention):
    """Each target token attends to the earlier tokens of its sentence and to its t most relevant complete sentences.

    Beside the key of each token, the cache holds the state from which its sentence is encoded and, with the first token
    after a sentence, the keys that queries are compared with to select this sentence. A decoding step therefore encodes
    only the sentence that it completes, and the cached values stay with their tokens in beam search and cropping.
    """

    slot = "decoder"

    @classmethod
    def plan(cls, inputs: AttentionInputs) -> GrowingSelectionPlan:
        """The sentences of queries and keys, and which of them are complete; ValueError if their ids decrease."""
        plan = super().plan(inputs)
        check_rising(plan.key_sentence_ids)
        complete = None
        if holds_what_it_is_given(inputs.cache):
            num_queries = plan.query_sentence_ids.shape[1]
            num_keys = inputs.cache.get_seq_length() + num_queries
            complete = CompletedSentences.from_ids(plan.key_sentence_ids[:, :num_keys], num_queries)
        return GrowingSelectionPlan(**vars(replace(plan, own_sentence_ids=plan.query_sentence_ids)), complete=complete)

    def forward(  # type: ignore[override]
        self,
        hidden_states: torch.Tensor,
        plan: GrowingSelectionPlan,
        key_value_states: torch.Tensor | None = None,
        cache: EncoderDecoderCache | None = None,
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
        target_cache = None if cache is None else cache.self_attention_cache
        if plan.complete is not None and target_cache is not None:
            key, value, keys = self._continue(key, value, pooled, plan.complete, target_cache, pooling.encoder)
        elif graph_sentences() is not None and cache is not None and len(pooling.encoder.query) == 1:
            key, value, keys = self._continue_graph(key, value, pooling, plan, cache)
        else:
            key, value, keys = self._encode_all(key, value, pooled, plan, target_cache, pooling.encoder)
        indices, scores = select_by_relevance(
            self._split_heads(self.sentence_q_proj(hidden_states)),
            keys.levels[0],
            keys.masks[0],
            self._num_selected(keys.masks[0]),
            num_choosable=plan.query_sentence_ids - 1,
            query_sentence_ids=plan.query_sentence_ids,
            slope=self.config.relevance_slope,
        )
        scores = self._biased(scores, indices, plan)
        output, weights = self._attend_selected(query, key, value, indices, scores, plan, output_attentions)
        return output, weights, indices, scores

    def _encode_all(
        self,
        key: torch.Tensor,
        value: torch.Tensor,
        pooled: torch.Tensor,
        plan: SelectionPlan,
        cache: Cache | None,
        encoder: SentenceEncoder,
    ) -> tuple[torch.Tensor, torch.Tensor, SentenceKeys]:
        """Keys and values [B, H, K, E] of the whole prefix, and the relevance keys of all its sentences.

        Args:
            key, value: of the newest tokens [B, H, Q, E].
            pooled: the states they are encoded from [B, H, Q, D / H].
            plan: the slot's.
            cache: of the earlier tokens; it holds their states beside their keys.
            encoder: of the sentences.
        """
        if cache is not None:
            both, value = cache.update(torch.cat([key, pooled.to(key.dtype)], dim=-1), value, self.layer_idx)
            key, pooled = both.split([key.shape[-1], pooled.shape[-1]], dim=-1)
        sentences = Sentences.from_ids(plan.key_sentence_ids[:, : key.shape[2]])
        states = encoder(pooled.transpose(1, 2).flatten(2), sentences.sentence_ids, sentences.num_sentences)
        return key, value, self.sentence_keys(states, sentences.mask)

    def _continue(
        self,
        key: torch.Tensor,
        value: torch.Tensor,
        pooled: torch.Tensor,
        complete: CompletedSentences,
        cache: Cache,
        encoder: SentenceEncoder,
    ) -> tuple[torch.Tensor, torch.Tensor, SentenceKeys]:
        """As `_encode_all`, with nothing encoded but the sentences that the newest tokens complete."""
        width, pooled_width = key.shape[-1], pooled.shape[-1]
        pooled = pooled.to(key.dtype)
        found = key.new_zeros(key.shape)
        if complete.sentence_ids.shape[1] > 0:
            states = self._states_from(complete.first, pooled, cache, width)
            states = encoder(states.transpose(1, 2).flatten(2), complete.sentence_ids, complete.num_sentences)
            keys = nn.functional.pad(self._relevance_keys(states), (0, 0, 1, 0))
            index = complete.completed[:, None, :, None].expand(*key.shape[:3], width)
            found = keys.gather(2, index).to(key.dtype)
        everything, value = cache.update(torch.cat([key, pooled, found], dim=-1), value, self.layer_idx)
        rows = torch.arange(len(key), device=key.device)[:, None]
        keys = everything[rows, :, complete.behind, width + pooled_width :].transpose(1, 2)  # [B, H, N, E]
        return everything[..., :width], value, SentenceKeys([keys], [complete.mask])

    def _continue_graph(
        self,
        key: torch.Tensor,
        value: torch.Tensor,
        pooling: SentencePooling,
        plan: SelectionPlan,
        cache: EncoderDecoderCache,
    ) -> tuple[torch.Tensor, torch.Tensor, SentenceKeys]:
        """As `_encode_all`, in a graph, whose steps all do the same. Relevance keys are linear in the states of tokens,
        so that a step adds those of the newest tokens to the averages in their sentences."""
        key, value = cache.self_attention_cache.update(key, value, self.layer_idx)
        sentences = Sentences.from_ids(plan.key_sentence_ids[:, : key.shape[2]])
        encodings, logits = pooling.encoder.of_tokens(pooling.states)
        newest, memory = self._relevance_keys(encodings), sentence_averages(cache)
        of_layer = memory.get(self.layer_idx) or AverageKeys.none(newest, sentences.num_sentences)
        memory[self.layer_idx] = of_layer.extended(newest, logits[..., 0], plan.query_sentence_ids)
        return key, value, SentenceKeys([memory[self.layer_idx].keys()], [sentences.mask])

    def _states_from(self, first: int, newest: torch.Tensor, cache: Cache, width: int) -> torch.Tensor:
        """States [B, H, L - first, D / H] of the tokens from `first` on; those of cached tokens follow the width of
        their keys."""
        past_length = cache.get_seq_length(self.layer_idx)
        if first >= past_length:
            return newest[:, :, first - past_length :]
        layer: Any = cache.layers[self.layer_idx]
        return torch.cat([layer.keys[:, :, first:, width : width + newest.shape[-1]], newest], dim=2)


def check_rising(sentence_ids: torch.Tensor) -> None:
    """Raises ValueError if the sentence ids [B, L] of a text decrease, except for padding (0).

    Otherwise a sentence that continues later could be selected before all of its tokens exist.
    """
    if sentence_ids.device.type != "cpu" or torch.compiler.is_compiling() or not sentence_ids.numel():
        return
    falls = (sentence_ids > 0) & (sentence_ids < sentence_ids.cummax(1).values)
    if falls.any():
        row, place = falls.nonzero()[0].tolist()
        raise ValueError(
            f"Sentence id {int(sentence_ids[row, place])} at position {place} of target {row} follows a higher one; "
            f"conditional attention in the decoder needs decoder_sentence_ids that never decrease."
        )


def holds_what_it_is_given(cache: Cache | None) -> TypeGuard[Cache]:
    """Whether the states of earlier tokens can be read from the cache between its updates."""
    if torch.compiler.is_compiling() or graph_sentences() is not None or not isinstance(cache, DynamicCache):
        return False
    return not cache.offloading and all(isinstance(layer, DynamicLayer) for layer in cache.layers)


class SentenceContextAttention(nn.Module):
    """Multi-head attention to all sentence encodings (Trankova et al. 2024, section 2): a block of its own, or some of
    the heads of another attention.

    Args:
        config: the model's configuration.
        num_heads: H.
        head_dim: E.
        output_bias: whether the output projection has a bias.
    """

    def __init__(self, config: HierNMTConfig, num_heads: int, head_dim: int, output_bias: bool = True):
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
