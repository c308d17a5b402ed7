# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Records the attention of a model while it translates a document, in the windows of its training."""

from collections.abc import Collection, Sequence
from typing import Any

import torch
from transformers import PreTrainedModel

from ..translation.translation_vocabulary import TranslationVocabulary
from .attention_collector import Collector
from .attention_records import AttentionRecord
from .attention_windows import DocumentIds, readings
from .hier_nmt_collector import HierNMTCollector

# Collectors of models with sentence-level attention; `Collector` records all others.
COLLECTORS: dict[str, type[Collector]] = {"hier_nmt": HierNMTCollector}


@torch.inference_mode()
def record_attention(
    model: PreTrainedModel,
    vocabulary: TranslationVocabulary,
    source: Sequence[str],
    target: Sequence[str],
    ends_paragraph: Sequence[bool] | None = None,
    *,
    title: str = "",
    window_sentences: int | None = None,
    tree_sentences: Collection[int] | None = None,
) -> AttentionRecord:
    """The attention of a model while it produces a given translation.

    A model of K sentences processes each sentence in the window in which it is the last one, as in training; sentences
    outside of the window get no weight. The first token of a window, `<s>`, replaces the token that closes the sentence
    before it.

    Token weights are recorded if the document is short enough, weights between sentences always. No array over all
    pairs of tokens is needed for the latter.

    Args:
        model: of this package, or another encoder-decoder that returns attention weights as models of Transformers do;
            in evaluation mode.
        vocabulary: its tokenizers.
        source: the sentences of the document.
        target: a translation of each sentence.
        ends_paragraph: whether each sentence is the last of its paragraph; default: only the last one is.
        title: title of the record.
        window_sentences: K; default: that of the model's training.
        tree_sentences: the sentences whose walks down the tree are recorded; default: all if the arrays are small
            enough, else none.

    Raises:
        ValueError: a model without attention, an empty document, sides of different lengths, a sentence longer than the
            model's limit, windows that the tokenizers cannot form, or too many `tree_sentences`.
    """
    config: Any = model.config
    if not source or len(source) != len(target):
        raise ValueError(
            f"{len(source)} source sentences and {len(target)} target sentences; they must be equally many"
        )
    ends = [False] * len(source) if ends_paragraph is None else list(ends_paragraph)
    sides = vocabulary.encode(source), vocabulary.encode(target, target=True)
    ids = DocumentIds(sides, ends, not vocabulary.has_separators, vocabulary.num_target_start_tokens)
    default = getattr(config, "window_sentences", 1)
    windows = readings(ids, config, default if window_sentences is None else window_sentences)
    collector = COLLECTORS.get(config.model_type, Collector)(model, vocabulary, ids, tree_sentences)
    for reading in windows:
        collector.read(reading)
        if not collector.recorded_slots:
            raise ValueError(_without_attention(config))
    return AttentionRecord(title, collector.sides, collector.slots(), collector.poolings())


def _without_attention(config: Any) -> str:
    """The error message for a model that returns no weights."""
    reason = f" (attention={config.attention!r})" if hasattr(config, "attention") else ""
    return f"this {config.model_type} model returns no attention weights{reason}: there is nothing to record"
