# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The structure of source and target in a forward pass, from what the caller gave: token ids, masks, sentence ids, a
cache.

Dimensions: B batch, S source tokens, Q decoder tokens of this call, L target tokens of the whole prefix (cached ones
included), D model width.
"""

from collections.abc import Collection

import torch
from torch import nn
from transformers.cache_utils import Cache
from transformers.modeling_outputs import BaseModelOutput

from ...configuration.configuration_hier_nmt import HierNMTConfig
from ...ops.document_structure import (
    DocumentStructure,
    continue_sentence_ids,
    sentence_ids_from_tokens,
    separator_positions,
)


def check_structure_ids(name: str, structure_ids: torch.Tensor | None, states: torch.Tensor) -> None:
    """Raises a ValueError unless the caller's ids are integers for the tokens of `states` [B, S, D]."""
    if structure_ids is None:
        return
    if structure_ids.is_floating_point() or structure_ids.ndim != 2 or structure_ids.shape[0] != states.shape[0]:
        raise ValueError(
            f"{name} must be integers of shape (batch, tokens) with batch {states.shape[0]}, not "
            f"{structure_ids.dtype} of shape {tuple(structure_ids.shape)}."
        )
    if structure_ids.shape[1] < states.shape[1]:
        raise ValueError(f"{name} has {structure_ids.shape[1]} columns for {states.shape[1]} tokens.")


def token_mask(
    config: HierNMTConfig,
    input_ids: torch.Tensor | None,
    inputs_embeds: torch.Tensor,
    attention_mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """Boolean [B, S]: True on tokens, False on padding.

    Args:
        config: names the padding token and the start token.
        input_ids: [B, S], or None: then everything unmasked is a token.
        inputs_embeds: [B, S, D], for its shape.
        attention_mask: the caller's mask [B, S], which takes precedence (masks of other ranks are ignored). Without it,
            every `pad_token_id` is padding, except for a start token of that id at the beginning.

    Raises:
        ValueError: the mask is of another shape than the tokens.
    """
    if attention_mask is not None and attention_mask.ndim == 2:
        if attention_mask.shape != inputs_embeds.shape[:2]:
            raise ValueError(
                f"A mask of shape {tuple(attention_mask.shape)} does not fit tokens of shape "
                f"{tuple(inputs_embeds.shape[:2])}."
            )
        return attention_mask.bool()
    if input_ids is None or config.pad_token_id is None:
        return torch.ones(inputs_embeds.shape[:2], dtype=torch.bool, device=inputs_embeds.device)
    is_token = input_ids != config.pad_token_id
    first = is_token[:, :1] | (input_ids[:, :1] == config.decoder_start_token_id)
    return torch.cat([first, is_token[:, 1:]], dim=1)


def document_structure(
    config: HierNMTConfig,
    input_ids: torch.Tensor | None,
    attention_mask: torch.Tensor,
    sentence_ids: torch.Tensor | None = None,
    paragraph_ids: torch.Tensor | None = None,
) -> DocumentStructure:
    """Structure of a window: the caller's ids [B, S] where given, else derived from the tokens, else one sentence.

    Args:
        config: names the separator tokens.
        input_ids: token ids [B, S], or None where only embeddings are known.
        attention_mask: [B, S], zero on padding.
        sentence_ids, paragraph_ids: the caller's own ids [B, S], or None; those on padding are ignored.

    Raises:
        ValueError: an id is negative.
    """
    is_token = attention_mask.long()
    for name, numbers in (("Sentence", sentence_ids), ("Paragraph", paragraph_ids)):
        if numbers is None or torch.compiler.is_compiling():
            continue
        below_zero = (numbers * is_token).clamp_max(0)
        if below_zero.any():
            raise ValueError(f"{name} id {int(below_zero.min())} is negative: ids begin with 1.")
    if sentence_ids is None and input_ids is not None:
        sentence_ids = sentence_ids_from_tokens(input_ids, config.separator_token_ids, attention_mask)
    if paragraph_ids is None and input_ids is not None:
        paragraph_ids = sentence_ids_from_tokens(input_ids, config.paragraph_token_ids, attention_mask)
    return DocumentStructure.from_ids(
        is_token if sentence_ids is None else sentence_ids * is_token,
        is_token if paragraph_ids is None else paragraph_ids * is_token,
    )


def source_structure(
    config: HierNMTConfig,
    encoder_outputs: BaseModelOutput,
    input_ids: torch.Tensor | None,
    attention_mask: torch.Tensor | None,
    sentence_ids: torch.Tensor | None,
    paragraph_ids: torch.Tensor | None,
) -> DocumentStructure | None:
    """Structure of encoded source tokens, from the encoder's output if it has one; None if it is unknown."""
    known_ids = (getattr(encoder_outputs, "sentence_ids", None), getattr(encoder_outputs, "paragraph_ids", None))
    if known_ids[0] is not None and known_ids[1] is not None:
        return DocumentStructure.from_ids(known_ids[0], known_ids[1])
    if input_ids is None and sentence_ids is None:
        return None
    mask = token_mask(config, input_ids, encoder_outputs[0], attention_mask)
    return document_structure(config, input_ids, mask, sentence_ids, paragraph_ids)


def target_structure(
    config: HierNMTConfig,
    input_ids: torch.Tensor | None,
    inputs_embeds: torch.Tensor,
    attention_mask: torch.Tensor | None,
    sentence_ids: torch.Tensor | None,
    paragraph_ids: torch.Tensor | None,
    cache: Cache | None,
) -> tuple[DocumentStructure, DocumentStructure | None]:
    """Structure of the Q newest target tokens, and of the whole prefix, or None if only its newest part is known.

    Args as in `HierNMTDecoder.forward`.

    Raises:
        ValueError: the configuration reads sentences, earlier tokens are cached and their sentences are unknown.
    """
    num_queries = inputs_embeds.shape[1]
    past_length: int | torch.Tensor = 0 if cache is None else cache.get_seq_length()
    if cache is not None and sentence_ids is not None and sentence_ids.shape[1] > num_queries:
        if paragraph_ids is None:
            if config.reads_paragraphs:
                raise ValueError("With a cache and decoder_sentence_ids, pass decoder_paragraph_ids too.")
            paragraph_ids = (sentence_ids > 0).long()
        keys = DocumentStructure.from_ids(sentence_ids, paragraph_ids)
        return keys.select(past_length, num_queries), keys
    # The length of a static cache is a tensor, whose value is known only outside of compiled code.
    if isinstance(past_length, torch.Tensor) and not torch.compiler.is_compiling():
        past_length = int(past_length)
    if isinstance(past_length, int) and past_length == 0:
        mask = token_mask(config, input_ids, inputs_embeds, attention_mask)
        keys = document_structure(config, input_ids, mask, sentence_ids, paragraph_ids)
        return keys, keys
    if config.reads_sentences:
        raise ValueError(
            "This configuration reads the sentences of the target prefix, which the cache does not hold: pass "
            "decoder_sentence_ids (and decoder_paragraph_ids) for the whole prefix, as generate() does."
        )
    if attention_mask is not None and attention_mask.ndim == 2:
        prefix = DocumentStructure.unstructured(attention_mask)
        return prefix.select(prefix.sentence_ids.shape[1] - num_queries, num_queries), None
    ones = torch.ones(inputs_embeds.shape[:2], dtype=torch.long, device=inputs_embeds.device)
    positions = ones.cumsum(-1) - 1 + past_length
    return DocumentStructure(ones, ones, positions, positions), None


def target_numbers(
    input_ids: torch.Tensor,
    given: torch.Tensor | None,
    separator_token_ids: Collection[int],
    attention_mask: torch.Tensor | None,
) -> torch.Tensor:
    """Ids [B, L] of all tokens of a target prefix: derived from its separators, or continuing those `given` [B, P]."""
    if given is None:
        return sentence_ids_from_tokens(input_ids, separator_token_ids, attention_mask)
    numbers = continue_sentence_ids(given, input_ids, separator_token_ids)
    return numbers if attention_mask is None else numbers * attention_mask.long()


def mask_right_padding(
    input_ids: torch.Tensor, pad_token_id: int | None, attention_mask: torch.Tensor | None
) -> torch.Tensor | None:
    """The mask [B, L] of a target prefix [B, L] without padding after its tokens; None if there is nothing to mask.

    `generate` appends padding to rows that are finished. It is not part of the document: it must not be attended to,
    and must not run out of positions while other rows continue.

    Args:
        input_ids: [B, L].
        pad_token_id: padding; it may be the start token, too.
        attention_mask: [B, L], zero on padding in front, or None.
    """
    if pad_token_id is None:
        return attention_mask
    is_padding = input_ids == pad_token_id
    is_behind = is_padding & ((~is_padding).cumsum(-1) > 0)
    if attention_mask is None:
        return (~is_behind).long() if bool(is_behind.any()) else None
    return attention_mask * ~is_behind


def next_token_sentence_ids(
    config: HierNMTConfig, queries: DocumentStructure, input_ids: torch.Tensor | None
) -> DocumentStructure:
    """The Q newest target tokens with the ids of the sentences that they predict: those of the tokens after them.

    The last token has no successor yet: a separator predicts the next sentence, any other token its own.
    """
    if config.restart_target_sentences:
        return queries
    own_ids = queries.sentence_ids
    if input_ids is not None:
        own_ids = own_ids + separator_positions(input_ids, config.separator_token_ids).long()
    next_ids = nn.functional.pad(queries.sentence_ids, (0, 1))[:, 1:]
    return queries.with_sentence_ids(torch.where(next_ids > 0, next_ids, own_ids))


def restarted_structure(
    config: HierNMTConfig, input_ids: torch.Tensor | None, prefix: DocumentStructure | None, num_queries: int
) -> tuple[DocumentStructure, DocumentStructure]:
    """Structure of the Q newest target tokens, and of the whole prefix, where a separator opens the next sentence.

    Args:
        config: names the separators.
        input_ids: the newest tokens [B, Q]; without them, none of the last tokens counts as a separator.
        prefix: the structure of the whole prefix [B, L] in which a separator closes the previous sentence.
        num_queries: Q.
    """
    assert prefix is not None  # of a configuration that reads sentences

    def opened(ids: torch.Tensor, separator_token_ids: Collection[int]) -> torch.Tensor:
        following = nn.functional.pad(ids, (0, 1))[:, 1:]
        last = ids
        if input_ids is not None:
            opens = separator_positions(input_ids, separator_token_ids).long()
            last = ids + nn.functional.pad(opens, (ids.shape[1] - num_queries, 0)) * (ids > 0)
        return torch.where((ids > 0) & (following > 0), following, last)

    keys = DocumentStructure.from_ids(
        opened(prefix.sentence_ids, config.separator_token_ids),
        opened(prefix.paragraph_ids, config.paragraph_token_ids),
    )
    return keys.select(keys.sentence_ids.shape[1] - num_queries, num_queries), keys


def embedded_target_ids(config: HierNMTConfig, input_ids: torch.Tensor | None) -> torch.Tensor | None:
    """The target tokens [B, Q] whose embeddings are read: the start token for separators that open a sentence."""
    if input_ids is None or not config.restart_target_sentences:
        return input_ids
    assert config.decoder_start_token_id is not None  # of such a configuration
    is_separator = separator_positions(input_ids, config.separator_token_ids)
    return input_ids.masked_fill(is_separator, config.decoder_start_token_id)
