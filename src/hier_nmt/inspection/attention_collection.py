# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Records what a model reads while it translates a document, in the windows it was trained with."""

from collections.abc import Collection, Sequence
from typing import Any

import torch
from transformers import PreTrainedModel

from ..translation.translation_vocabulary import TranslationVocabulary
from .attention_collector import Collector
from .attention_records import AttentionRecord
from .attention_windows import DocumentIds, readings
from .hier_nmt_collector import HierNMTCollector

# What is recorded of models that read more than tokens; of all others it is what `Collector` finds.
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
    """What a model reads while it writes a given translation.

    A model of K sentences reads each sentence in the window in which it is the last one, as in training; nothing
    outside of the window gets any weight. The first token of a window, `<s>`, stands in the place of the token that
    closes the sentence before it.

    Token weights are recorded in documents short enough, weights between sentences always. Nothing as large as all
    pairs of tokens is made for them.

    Args:
        model: of this package, or another encoder-decoder that gives attention weights as those of Transformers do; in
            evaluation mode.
        vocabulary: its tokenizers.
        source: the sentences of the document.
        target: a translation for each.
        ends_paragraph: whether each is the last of its paragraph; default: none but the last is.
        title: of the record.
        window_sentences: K; default: the one the model was trained with.
        tree_sentences: the sentences whose walks down the tree are recorded; default: all, where that is not too much,
            else none.

    Raises:
        ValueError: a model without attention, an empty document, sides of different lengths, a sentence longer than the
            model's limit, windows that the tokenizers cannot make, or too many `tree_sentences`.
    """
    config: Any = model.config
    if not source or len(source) != len(target):
        raise ValueError(f"{len(source)} source sentences and {len(target)} target sentences; both must be the same")
    ends = [False] * len(source) if ends_paragraph is None else list(ends_paragraph)
    sides = vocabulary.encode(source), vocabulary.encode(target, target=True)
    ids = DocumentIds(sides, ends, are_closed=not vocabulary.has_separators)
    default = getattr(config, "window_sentences", 1)
    windows = readings(ids, config, default if window_sentences is None else window_sentences)
    collector = COLLECTORS.get(config.model_type, Collector)(model, vocabulary, ids, tree_sentences)
    for reading in windows:
        collector.read(reading)
        if not collector.slots_read:
            raise ValueError(_without_attention(config))
    return AttentionRecord(title, collector.sides, collector.slots(), collector.poolings())


def _without_attention(config: Any) -> str:
    """What is said of a model that gives no weights."""
    reason = f" (attention={config.attention!r})" if hasattr(config, "attention") else ""
    return f"this {config.model_type} model gives no attention weights{reason}: there is nothing to record"
