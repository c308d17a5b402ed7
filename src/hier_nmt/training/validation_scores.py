# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Scores of the translations that are generated during training."""

from collections.abc import Sequence

import numpy as np
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from transformers import PreTrainedTokenizerBase

from ..configuration.configuration_choices import IGNORED_LABEL
from ..text.windows import split_window


def window_scores(
    tokenizer: PreTrainedTokenizerBase,
    separators: frozenset[int],
    generated: np.ndarray,
    labels: np.ndarray,
    only_current: bool,
) -> dict[str, float]:
    """`bleu`, `chrf` and `wrong_sentence_count`, the share of windows whose number of sentences is not the reference's.

    Args:
        tokenizer: of the target language.
        separators: ids of the tokens that close sentences.
        generated: token ids [number of windows, length].
        labels: token ids of the references [number of windows, T], `IGNORED_LABEL` where there is none.
        only_current: score the current sentence of each window, its last; False: the whole window.
    """
    # A special id in mid-sentence does not end the sentence; it is only dropped.
    ignored = {IGNORED_LABEL, *tokenizer.all_special_ids} - separators
    translations = [split_window(row.tolist(), separators, ignored) for row in generated]
    references = [split_window(row.tolist(), separators, ignored) for row in labels]
    scored = slice(-1, None) if only_current else slice(None)
    scores = corpus_scores(
        [_text(tokenizer, sentences[scored]) for sentences in translations],
        [_text(tokenizer, sentences[scored]) for sentences in references],
    )
    is_wrong = [len(a) != len(b) for a, b in zip(translations, references, strict=True)]
    return {**scores, "wrong_sentence_count": float(np.mean(is_wrong))}


def corpus_scores(translations: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """`bleu` and `chrf` of sacrebleu with its default settings."""
    return {
        "bleu": BLEU().corpus_score(translations, [references]).score,
        "chrf": CHRF().corpus_score(translations, [references]).score,
    }


def _text(tokenizer: PreTrainedTokenizerBase, sentences: Sequence[Sequence[int]]) -> str:
    return " ".join(str(tokenizer.decode(list(ids))).strip() for ids in sentences)
