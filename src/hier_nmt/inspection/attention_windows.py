# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The windows in which a model processes a document and its translation."""

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from ..text.windows import Window, document_blocks, fit_window, sliding_windows
from ..translation.translation_vocabulary import TranslationVocabulary


class Reading(NamedTuple):
    """A window, and the first of its sentences that is recorded in it."""

    window: Window
    first: int


class DocumentIds(NamedTuple):
    """The token ids of the sentences of a document: `sides[0]` of the source, `sides[1]` of the target.

    Attributes:
        sides: ids from `TranslationVocabulary.encode`.
        ends_paragraph: whether each sentence is the last of its paragraph.
        are_closed: whether the ids of a sentence include the token that closes it.
        num_target_start_tokens: of the vocabulary, which writes them before each target sentence.
    """

    sides: tuple[list[list[int]], list[list[int]]]
    ends_paragraph: Sequence[bool]
    are_closed: bool
    num_target_start_tokens: int = 0

    def lengths(self, side: int) -> list[int]:
        """Number of tokens of each sentence, including the one that closes it and that of its language."""
        num_others = (not self.are_closed) + (self.num_target_start_tokens if side == 1 else 0)
        return [len(ids) + num_others for ids in self.sides[side]]

    def starts(self, side: int) -> list[int]:
        """Position of the first token of each sentence, then the number of tokens."""
        return [0, *np.cumsum(self.lengths(side)).tolist()]

    def sentence_ids(self, side: int, window: Window | None = None) -> np.ndarray:
        """The sentence of each token of a window, or of the document, from 0."""
        lengths = self.lengths(side)
        lengths = lengths if window is None else lengths[window.start : window.stop]
        return np.repeat(np.arange(len(lengths)), lengths)

    def row(self, vocabulary: TranslationVocabulary, side: int, window: Window | None = None) -> list[int]:
        """The token ids of a window, or of the document; a window of closed sentences has one sentence."""
        some = slice(0, None) if window is None else slice(window.start, window.stop)
        if self.are_closed:
            return list(chain.from_iterable(self.sides[side][some]))
        return vocabulary.join(self.sides[side][some], self.ends_paragraph[some], side)


def readings(ids: DocumentIds, config: Any, window_sentences: int) -> list[Reading]:
    """The windows in which a document is processed.

    Args:
        ids: the document.
        config: the configuration of the model.
        window_sentences: K; 0 is the whole document, in blocks that fit the model's limits.

    Raises:
        ValueError: a sentence that is too long for the model, or windows that its tokenizers cannot form.
    """
    if ids.are_closed and window_sentences != 1:
        raise ValueError(
            f"window_sentences={window_sentences} needs <sep> and <par> in the tokenizers; only 1 does not"
        )
    lengths = [ids.lengths(0), ids.lengths(1)]
    limits = [getattr(config, f"max_{name}_tokens", None) for name in ("source", "target")]
    for side, name, limit in zip(lengths, ("source", "target"), limits, strict=True):
        if limit is not None and max(side) > limit:
            raise ValueError(
                f"{name} sentence {side.index(max(side)) + 1} has {max(side)} tokens, but the model's limit is {limit}"
            )
    if window_sentences == 0:
        blocks = document_blocks(lengths[0], limits[0], lengths[1], limits[1])
        return [Reading(block, block.start) for block in blocks]
    windows = sliding_windows(len(lengths[0]), window_sentences)
    return [
        Reading(fit_window(window, lengths[0], lengths[1], limits[0], limits[1]), window.stop - 1) for window in windows
    ]
