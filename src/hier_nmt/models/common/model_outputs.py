# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What encoder and models return.

Dimensions: B batch, S source tokens, N sentences, t selected sentences, H heads, Q queries, D model width.
"""

from dataclasses import dataclass, fields
from typing import Any

import torch
from transformers.modeling_outputs import BaseModelOutput, Seq2SeqLMOutput, Seq2SeqModelOutput
from transformers.utils import ModelOutput  # type: ignore[attr-defined]  # so the documentation has it


@dataclass
class HierNMTEncoderOutput(BaseModelOutput):
    """Encoder output with the sentences of its states.

    Attributes:
        sentence_ids, paragraph_ids: sentence and paragraph ids of the source tokens [B, S]; 0 is padding.
        sentence_states: encodings of the sentences [B, N, D], where all layers share them.
        selected_sentences, sentence_attentions: per layer, on request (`output_selected_sentences`,
            `output_sentence_attentions`): the sentences that each token selected and their scores, both [B, H, S, t].
        context_attentions: per layer, on request: weights over all sentences [B, H, S, N].
    """

    sentence_ids: torch.Tensor | None = None
    paragraph_ids: torch.Tensor | None = None
    sentence_states: torch.Tensor | None = None
    selected_sentences: tuple[torch.Tensor, ...] | None = None
    sentence_attentions: tuple[torch.Tensor, ...] | None = None
    context_attentions: tuple[torch.Tensor, ...] | None = None


def encoder_output_from_tuple(parts: tuple[Any, ...]) -> HierNMTEncoderOutput:
    """The encoder's output from its tuple form: the states, then ids (tensors) and values per layer (tuples).

    Of the values per layer, states [B, S, D] and token attentions [B, H, S, S] are recognised by their shapes; others
    are dropped.
    """
    tensors = [part for part in parts if isinstance(part, torch.Tensor)]
    layers = [part for part in parts if isinstance(part, tuple)]
    names = ("last_hidden_state", "sentence_ids", "paragraph_ids", "sentence_states")
    values: dict[str, Any] = dict(zip(names, tensors, strict=False))
    for layers_of_one in layers:
        shape: list[int] = list(layers_of_one[0].shape) if layers_of_one else []
        if len(shape) == 3:
            values.setdefault("hidden_states", layers_of_one)
        elif len(shape) == 4 and shape[2] == shape[3]:
            values.setdefault("attentions", layers_of_one)
    return HierNMTEncoderOutput(**values)


@dataclass
class ChosenSentences(ModelOutput):
    """What the slots selected, on request (`output_selected_sentences`, `output_sentence_attentions`,
    `output_context_attentions`).

    Attributes:
        encoder_selected_sentences, decoder_selected_sentences, cross_selected_sentences: per layer, the sentences (from
            0) whose tokens each token reads [B, H, Q, t].
        encoder_sentence_attentions, decoder_sentence_attentions, cross_sentence_attentions: per layer, the scores of
            those sentences [B, H, Q, t]; minus infinity where fewer than t could be selected.
        encoder_context_attentions, decoder_context_attentions: per layer, the weights of the context block or heads
            over all source sentences [B, H, Q, N].
    """

    encoder_selected_sentences: tuple[torch.Tensor, ...] | None = None
    encoder_sentence_attentions: tuple[torch.Tensor, ...] | None = None
    encoder_context_attentions: tuple[torch.Tensor, ...] | None = None
    decoder_selected_sentences: tuple[torch.Tensor, ...] | None = None
    decoder_sentence_attentions: tuple[torch.Tensor, ...] | None = None
    decoder_context_attentions: tuple[torch.Tensor, ...] | None = None
    cross_selected_sentences: tuple[torch.Tensor, ...] | None = None
    cross_sentence_attentions: tuple[torch.Tensor, ...] | None = None


# Compiled code cannot ask a dataclass for its fields.
CHOSEN_SENTENCES = tuple(field.name for field in fields(ChosenSentences))


@dataclass
class HierNMTModelOutput(ChosenSentences, Seq2SeqModelOutput):
    """Fields as in `Seq2SeqModelOutput` and `ChosenSentences`."""


@dataclass
class HierNMTLMOutput(ChosenSentences, Seq2SeqLMOutput):
    """Fields as in `Seq2SeqLMOutput` and `ChosenSentences`."""


def chosen_sentences(encoder_outputs: Any, decoder_outputs: Any) -> dict[str, Any]:
    """The fields of `ChosenSentences`, from the outputs of encoder and decoder; slots that select nothing have None."""
    chosen = {}
    for name in ("selected_sentences", "sentence_attentions", "context_attentions"):
        chosen[f"encoder_{name}"] = getattr(encoder_outputs, name, None) or None
        chosen[f"decoder_{name}"] = getattr(decoder_outputs, name, None) or None
    for name in ("cross_selected_sentences", "cross_sentence_attentions"):
        chosen[name] = getattr(decoder_outputs, name, None) or None
    return chosen
