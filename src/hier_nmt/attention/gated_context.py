# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""A block that reads the tokens of other sentences and, until it is trained, changes nothing.

Dimensions: B batch, S source tokens, N sentences, Q query length, D model width.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from transformers.cache_utils import EncoderDecoderCache

from ..configuration.configuration_hier_nmt import HierNMTConfig
from ..ops.document_structure import DocumentStructure, Sentences
from .attention_plan import kept_with_cache
from .conditional_attention import ConditionalAttention, SentencePooling
from .multi_head_attention import MultiHeadAttention
from .positions import sinusoidal_encoding
from .sentence_encoder import SentenceEncoder


@dataclass(frozen=True)
class ContextInputs:
    """What the context blocks of all layers share in one forward pass.

    Attributes:
        plan: of their attention.
        query_positions: encodings [B, Q, D] of the sentences that the queries belong to, or predict.
        key_states: source states [B, S, D] with the encodings of their sentences, in the decoder's blocks over the
            source; None where queries and keys are the same tokens.
        sentences: of the keys, if they are selected by their encodings and all of them are known.
    """

    plan: Any
    query_positions: torch.Tensor
    key_states: torch.Tensor | None = None
    sentences: Sentences | None = None


def sentence_positions(structure: DocumentStructure, states: torch.Tensor) -> torch.Tensor:
    """Sinusoids [B, Q, D] of the ids of the sentences in `structure` [B, Q], in the type of `states` [..., D].

    They tell a context block how far away a sentence is, in documents of any length.
    """
    return sinusoidal_encoding(structure.sentence_ids, states.shape[-1]).to(states.dtype)


class GatedContext(nn.Module):
    """Residual attention to the tokens of other sentences behind a gate, one factor per feature, that starts at zero.

    An adapter in the sense of Houlsby et al. (2019): a model to which it is added computes the same as before, and the
    gate's gradient is that of an open block from the first step on. What the block reads carries the position of its
    sentence, so that the choice of sentences (Trankova et al. 2024, sections 3.2 and 3.3) may depend on distance.

    Args:
        config: the model's configuration.
        attention_class: how the tokens are attended to.
        num_heads: H.
        layer_idx: index in the cache, other than that of the layer's own attention.
        is_causal: the tokens are those of the target before the query.
    """

    def __init__(
        self,
        config: HierNMTConfig,
        attention_class: type[MultiHeadAttention],
        num_heads: int,
        layer_idx: int,
        is_causal: bool = False,
    ):
        super().__init__()
        self.layer_idx, self.is_causal, self.dropout = layer_idx, is_causal, config.dropout
        self.layer_norm = nn.LayerNorm(config.d_model)
        self.attention = attention_class(config, num_heads, config.d_model // num_heads, layer_idx, is_causal)
        selects = issubclass(attention_class, ConditionalAttention)
        self.sentence_encoder = SentenceEncoder(config) if selects else None
        self.gate = nn.Parameter(torch.zeros(config.d_model))

    def forward(
        self,
        hidden_states: torch.Tensor,
        inputs: ContextInputs,
        cache: EncoderDecoderCache | None = None,
        **kwargs: Any,
    ) -> torch.Tensor:
        """The states [B, Q, D] plus what the block read.

        Args:
            hidden_states: [B, Q, D].
            inputs: what the blocks of all layers share.
            cache: of the decoder, or None.
        """
        states = self.layer_norm(hidden_states) + inputs.query_positions
        pooling = None
        if self.is_causal and self.sentence_encoder is not None:
            pooling = SentencePooling(states, self.sentence_encoder)
        # Before the attention to the source, which marks the cache as filled.
        keys = kept_with_cache(
            None if inputs.key_states is None else cache,
            self.layer_idx,
            "context_keys",
            lambda: self._sentence_keys(states if inputs.key_states is None else inputs.key_states, inputs.sentences),
        )
        change = self.attention(
            states, inputs.plan, inputs.key_states, cache=cache, sentence_keys=keys, pooling=pooling, **kwargs
        )[0]
        change = nn.functional.dropout(change, p=self.dropout, training=self.training)
        return hidden_states + self.gate * change

    def _sentence_keys(self, key_states: torch.Tensor, sentences: Sentences | None) -> Any:
        if sentences is None or self.sentence_encoder is None:
            return None
        encodings = self.sentence_encoder(key_states, sentences.sentence_ids, sentences.num_sentences)
        return self.attention.sentence_keys(encodings, sentences.mask)
