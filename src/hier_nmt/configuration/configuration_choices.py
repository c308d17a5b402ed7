# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The names that a configuration may give to each part of a network, and what the configuration must know of them.

The classes that implement them stand in tables with the same names as keys, in the modules that define them.
"""

from typing import NamedTuple


class AttentionSlot(NamedTuple):
    """What a configuration must know of one form of attention.

    Attributes:
        reads_sentences: whether a token's result depends on which sentences the tokens before it belong to.
        reads_sentence_encodings: whether it selects sentences by their encodings.
    """

    reads_sentences: bool = True
    reads_sentence_encodings: bool = False


_DOCUMENT = AttentionSlot(reads_sentences=False)
_SENTENCE = AttentionSlot()
# Its blocks are counted from the beginning of the document.
_BIG_BIRD = AttentionSlot()
_SELECTED = AttentionSlot(reads_sentence_encodings=True)

ENCODER_SELF_ATTENTIONS: dict[str, AttentionSlot] = {
    "document": _DOCUMENT,
    "sentence": _SENTENCE,
    "conditional": _SELECTED,
    "hierarchical": _SELECTED,
    "big_bird": _BIG_BIRD,
}
# Nodes of a tree over the target would span sentences that are not written yet.
DECODER_SELF_ATTENTIONS: dict[str, AttentionSlot] = {
    "document": _DOCUMENT,
    "sentence": _SENTENCE,
    "conditional": _SELECTED,
    "big_bird": _BIG_BIRD,
}
CROSS_ATTENTIONS: dict[str, AttentionSlot] = {
    "document": _DOCUMENT,
    "sentence": _SENTENCE,
    "conditional": _SELECTED,
    "hierarchical": _SELECTED,
}
SENTENCE_ENCODERS = ("source2token", "conv")
# What context blocks read: nothing; sentence encodings, in a block or in some of the heads; tokens of other sentences.
CONTEXT_ATTENTIONS = ("document", "conditional", "hierarchical")
CONTEXT_BLOCKS = ("none", "block", "heads", *CONTEXT_ATTENTIONS)
# Of target positions at which nothing is predicted, as everywhere in Transformers.
IGNORED_LABEL = -100

POSITION_VECTORS = ("sinusoidal", "learned")
RNN_TYPES = ("lstm", "gru")
RNN_ATTENTIONS = ("none", "additive")
POSITION_ENCODINGS = ("sequential", "segment_shifted", "multi_level")
PYTORCH_KERNELS = ("auto", "reference", "grouped")
ATTENTION_KERNELS = (*PYTORCH_KERNELS, "triton")
