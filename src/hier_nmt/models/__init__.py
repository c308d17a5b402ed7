# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The files that are uploaded to the Hub: flat, and closed over the standard library, torch and transformers.

The operations that models are built of are public here: functions of tensors, each documented with its shapes.
"""

from .selected_attention import attend_selected_sentences, attend_selected_sentences_reference
from .sentence_encoder import source2token
from .sentence_selection import keep_top_t, select_by_relevance, select_top_sentences
from .sentence_tree import build_sentence_tree, traverse_tree

__all__ = [
    "attend_selected_sentences",
    "attend_selected_sentences_reference",
    "build_sentence_tree",
    "keep_top_t",
    "select_by_relevance",
    "select_top_sentences",
    "source2token",
    "traverse_tree",
]
