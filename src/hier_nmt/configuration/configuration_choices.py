# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The names from which a configuration chooses the parts of a network, and what it must know about each choice.

The modules that implement the parts have tables of their classes, with the same names as keys.
"""

from typing import NamedTuple


class AttentionSlot(NamedTuple):
    """What a configuration must know about a variant of attention.

    Attributes:
        reads_sentences: whether a token's output depends on the sentences that the tokens before it belong to.
        reads_sentence_encodings: whether it selects sentences by their encodings.
    """

    reads_sentences: bool = True
    reads_sentence_encodings: bool = False


_DOCUMENT = AttentionSlot(reads_sentences=False)
_SENTENCE = AttentionSlot()
# It counts its blocks from the beginning of the document, so it must know where the document begins.
_BIG_BIRD = AttentionSlot()
_SELECTED = AttentionSlot(reads_sentence_encodings=True)

ENCODER_SELF_ATTENTIONS: dict[str, AttentionSlot] = {
    "document": _DOCUMENT,
    "sentence": _SENTENCE,
    "conditional": _SELECTED,
    "hierarchical": _SELECTED,
    "big_bird": _BIG_BIRD,
}
# No tree: its nodes would span target sentences that have not been generated yet.
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
# Label of target positions that the loss ignores, as everywhere in Transformers.
IGNORED_LABEL = -100

# What runs a model; `auto`: onnxruntime where it is installed and can run it.
ENGINES = ("torch", "onnx", "onnx-int8", "ctranslate2", "ctranslate2-int8", "auto")
POSITION_VECTORS = ("sinusoidal", "learned")
RNN_TYPES = ("lstm", "gru")
RNN_ATTENTIONS = ("none", "additive")
POSITION_ENCODINGS = ("sequential", "segment_shifted", "multi_level")
PYTORCH_KERNELS = ("auto", "reference", "grouped")
ATTENTION_KERNELS = (*PYTORCH_KERNELS, "triton")
