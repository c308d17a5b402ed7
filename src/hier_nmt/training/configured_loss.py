# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The training loss that arguments ask for."""

from typing import Any

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from .contrast_words import contrast_token_pairs, word_continuations
from .losses import CrossEntropyLoss, SquaredErrorLoss
from .training_arguments import DocumentSeq2SeqTrainingArguments
from .word_contrast import WordContrast


def configured_loss(
    model: PreTrainedModel, args: DocumentSeq2SeqTrainingArguments, target_tokenizer: PreTrainedTokenizerBase | None
) -> CrossEntropyLoss | SquaredErrorLoss:
    """The loss of a model with a softmax over words or with predicted word vectors.

    Raises:
        ValueError: label smoothing or contrasted words for word vectors; contrasted words for single sentences, or
            without a tokenizer.
    """
    vector_size = getattr(model.config, "word_vector_size", None)
    label_smoothing = args.label_smoothing_factor
    if vector_size is None:
        return CrossEntropyLoss(label_smoothing, _word_contrast(model, args, target_tokenizer))
    if label_smoothing:
        raise ValueError(f"label_smoothing_factor={label_smoothing} needs a softmax; word vectors are not smoothed")
    if args.contrast_words:
        raise ValueError(f"contrast_words={args.contrast_words} need a softmax; word vectors have no probabilities")
    return SquaredErrorLoss(vector_size)


def _word_contrast(
    model: PreTrainedModel, args: DocumentSeq2SeqTrainingArguments, target_tokenizer: PreTrainedTokenizerBase | None
) -> WordContrast | None:
    """What the arguments say about `contrast_words`; None without them."""
    if not args.contrast_words:
        return None
    config: Any = model.config
    if config.window_sentences == 1:
        raise ValueError(
            f"contrast_words={args.contrast_words} with window_sentences=1: a sentence by itself has no context that "
            "could decide between them"
        )
    if target_tokenizer is None:
        raise ValueError("contrast_words need a tokenizer: give processing_class or target_tokenizer")
    pairs = torch.tensor(contrast_token_pairs(target_tokenizer, args.contrast_words), device=args.device)
    continues_word = torch.tensor(word_continuations(target_tokenizer), device=args.device)
    return WordContrast(pairs, args.contrast_weight, args.contrast_margin, args.contrast_margin_weight, continues_word)
