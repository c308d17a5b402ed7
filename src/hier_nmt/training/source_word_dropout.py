# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Dropout of words of the source, which has a model read their context instead.

Dimensions: B batch, S source tokens, K special tokens.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import torch
from transformers import PreTrainedTokenizerBase

from ..ops.document_structure import sentence_ids_from_tokens
from ..translation.language_tokens import special_tokens


@dataclass(frozen=True, eq=False)
class SourceWordDropout:
    """Replaces tokens of the current sentence at random: context-aware word dropout (Fernandes et al. 2021).

    Attributes:
        probability: with which each token is replaced.
        unk_token_id: replaces them.
        special_token_ids: [K], never replaced.
        separator_token_ids: the ids that close a sentence.
        has_current_sentence: the current sentence is the last one of each row; False: every sentence is one.
    """

    probability: float
    unk_token_id: int
    special_token_ids: torch.Tensor
    separator_token_ids: Collection[int]
    has_current_sentence: bool

    def __call__(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """The token ids [B, S] with replaced tokens, chosen by torch's default generator of their device.

        Args:
            input_ids: [B, S].
            attention_mask: [B, S], 0 on padding.
        """
        is_dropped = torch.rand(input_ids.shape, device=input_ids.device) < self.probability
        return input_ids.masked_fill(is_dropped & self.replaceable(input_ids, attention_mask), self.unk_token_id)

    def replaceable(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Boolean [B, S]: True on the tokens of current sentences that are not special. Arguments as above."""
        # Not torch.isin, which may sort, and then waits for the device.
        is_special = (input_ids[..., None] == self.special_token_ids).any(-1)
        is_word = attention_mask.bool() & ~is_special
        if not self.has_current_sentence:
            return is_word
        sentence_ids = sentence_ids_from_tokens(input_ids, self.separator_token_ids, attention_mask)
        return is_word & (sentence_ids == sentence_ids.amax(-1, keepdim=True))


def source_word_dropout(
    probability: float,
    tokenizer: PreTrainedTokenizerBase | None,
    separator_token_ids: Collection[int],
    has_current_sentence: bool,
    device: torch.device,
) -> SourceWordDropout:
    """The dropout with the special tokens of a source tokenizer; ValueError if it has no unknown token.

    Args:
        probability, separator_token_ids, has_current_sentence: as in `SourceWordDropout`.
        tokenizer: of the source.
        device: of the token ids.
    """
    if tokenizer is None:
        raise ValueError(f"source_word_dropout={probability} needs the source tokenizer: give processing_class")
    unk_token_id = unknown_token_id(tokenizer)
    special_ids: Any = tokenizer.convert_tokens_to_ids(special_tokens(tokenizer))
    ids = torch.tensor(sorted({*special_ids, *separator_token_ids}), device=device)
    return SourceWordDropout(probability, unk_token_id, ids, separator_token_ids, has_current_sentence)


def unknown_token_id(tokenizer: PreTrainedTokenizerBase) -> int:
    """The id of the unknown token, which replaces words; ValueError if the tokenizer has none."""
    token_id: Any = tokenizer.unk_token_id
    if token_id is None:
        raise ValueError("source_word_dropout needs a source tokenizer with an unk_token, and this one has none")
    return int(token_id)
