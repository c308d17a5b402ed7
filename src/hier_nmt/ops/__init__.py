# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tensor functions that the models are built of, documented with shapes; the tests compare them with references."""

from .selected_attention import attend_selected_sentences, attend_selected_sentences_reference
from .sentence_selection import keep_top_t, select_by_relevance, select_top_sentences
from .sentence_tree import build_sentence_tree, traverse_tree

__all__ = [
    "attend_selected_sentences",
    "attend_selected_sentences_reference",
    "build_sentence_tree",
    "keep_top_t",
    "select_by_relevance",
    "select_top_sentences",
    "traverse_tree",
]
