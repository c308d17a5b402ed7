# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The windows in which a model reads a document and its translation."""

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from ..text.windows import Window, document_blocks, fit_window, sliding_windows
from ..translation.translation_vocabulary import TranslationVocabulary


class Reading(NamedTuple):
    """A window, and the first of its sentences whose tokens are recorded while they read it."""

    window: Window
    first: int


class DocumentIds(NamedTuple):
    """The token ids of the sentences of a document: `sides[0]` of the source, `sides[1]` of the target.

    Attributes:
        sides: as `TranslationVocabulary.encode` gives them.
        ends_paragraph: whether each sentence is the last of its paragraph.
        are_closed: whether the ids of a sentence have the token that closes it.
    """

    sides: tuple[list[list[int]], list[list[int]]]
    ends_paragraph: Sequence[bool]
    are_closed: bool

    def lengths(self, side: int) -> list[int]:
        """Tokens of each sentence, the one that closes it counted."""
        return [len(ids) + (not self.are_closed) for ids in self.sides[side]]

    def starts(self, side: int) -> list[int]:
        """Place of the first token of each sentence, and behind the last the number of tokens."""
        return [0, *np.cumsum(self.lengths(side)).tolist()]

    def sentence_ids(self, side: int, window: Window | None = None) -> np.ndarray:
        """Sentence of each token of a window, or of the document, from 0."""
        lengths = self.lengths(side)
        lengths = lengths if window is None else lengths[window.start : window.stop]
        return np.repeat(np.arange(len(lengths)), lengths)

    def row(self, vocabulary: TranslationVocabulary, side: int, window: Window | None = None) -> list[int]:
        """The token ids of a window, or of the document; of closed sentences a window has one."""
        some = slice(0, None) if window is None else slice(window.start, window.stop)
        if self.are_closed:
            return list(chain.from_iterable(self.sides[side][some]))
        return vocabulary.join(self.sides[side][some], self.ends_paragraph[some], side)


def readings(ids: DocumentIds, config: Any, window_sentences: int) -> list[Reading]:
    """The windows in which a document is read.

    Args:
        ids: the document.
        config: of the model.
        window_sentences: K; 0 is the whole document, in blocks that the model can hold.

    Raises:
        ValueError: a sentence that is too long for the model, or windows that its tokenizers cannot make.
    """
    if ids.are_closed and window_sentences != 1:
        raise ValueError(
            f"window_sentences={window_sentences} needs <sep> and <par> in the tokenizers; only 1 does not"
        )
    lengths = [ids.lengths(0), ids.lengths(1)]
    limits = [getattr(config, f"max_{name}_tokens", None) for name in ("source", "target")]
    for side, name, limit in zip(lengths, ("source", "target"), limits, strict=True):
        if limit is not None and max(side) > limit:
            raise ValueError(f"{name} sentence {side.index(max(side)) + 1} has {max(side)} tokens, the model {limit}")
    if window_sentences == 0:
        blocks = document_blocks(lengths[0], limits[0], lengths[1], limits[1])
        return [Reading(block, block.start) for block in blocks]
    windows = sliding_windows(len(lengths[0]), window_sentences)
    return [
        Reading(fit_window(window, lengths[0], lengths[1], limits[0], limits[1]), window.stop - 1) for window in windows
    ]
