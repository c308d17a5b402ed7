# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Axes and titles of figures of attention: tokens and sentences as labels, frames, and the colour scale."""

from itertools import count
from typing import Any

import numpy as np

from .attention_records import SLOT_SIDES, SLOT_TITLES, AttentionRecord, TokenRow
from .labels import Lettering, word_labels

# With more sentences than this, only some are numbered.
MAX_NUMBERED_SENTENCES = 64
# Maximum display width of a token and of a sentence.
LABEL_WIDTH, _SENTENCE_WIDTH = 16, 30
_BOUNDARY = "tab:orange"


def label_tokens(axis: Any, side: TokenRow, token_indices: np.ndarray) -> None:
    """Writes tokens along an axis, draws lines between sentences, and numbers them on the other side."""
    labels = word_labels([side.tokens[position] for position in token_indices])
    lettering = Lettering(labels)
    labels = [lettering.label(word, LABEL_WIDTH) for word in labels]
    is_x = axis.axis_name == "x"
    rotation = {"rotation": 90} if is_x else {}
    axis.set_ticks(range(len(token_indices)), labels, family=lettering.families, fontsize=6.5, **rotation)
    axis.set_tick_params(length=2)
    if is_x:
        axis.tick_top()
        axis.set_label_position("top")
    sentence_ids = side.sentence_ids[token_indices]
    for position in np.flatnonzero(np.diff(sentence_ids)) + 0.5:
        (axis.axes.axvline if is_x else axis.axes.axhline)(position, color=_BOUNDARY, lw=0.9)
    _number_sentences(axis, sentence_ids)


def _number_sentences(axis: Any, sentence_ids: np.ndarray) -> None:
    """Writes sentence numbers beside the tokens, on the side without labels."""
    is_x = axis.axis_name == "x"
    other = axis.axes.secondary_xaxis("bottom") if is_x else axis.axes.secondary_yaxis("right")
    middles = [float(np.flatnonzero(sentence_ids == number).mean()) for number in np.unique(sentence_ids)]
    ticks = {"fontsize": 7, "color": _BOUNDARY}
    other_axis = other.xaxis if is_x else other.yaxis
    other_axis.set_ticks(middles, [str(number + 1) for number in np.unique(sentence_ids)], **ticks)
    other_axis.set_tick_params(length=0)


def label_sentences(axis: Any, side: TokenRow, sentences: np.ndarray) -> None:
    """Writes the first words of sentences along an axis, or only numbers if there are many."""
    if len(sentences) > MAX_NUMBERED_SENTENCES:
        # Round numbers, about a dozen.
        step = next(
            base * 10**power for power in count() for base in (1, 2, 5) if 12 * base * 10**power > len(sentences)
        )
        ticks = [position for position, number in enumerate(sentences) if (number + 1) % step == 0 or position == 0]
        axis.set_ticks(ticks, [str(sentences[position] + 1) for position in ticks], fontsize=7)
        return
    texts = [side.sentence(sentence) for sentence in sentences]
    lettering = Lettering(texts)
    pairs = zip(sentences, texts, strict=True)
    labels = [f"{number + 1}  {lettering.label(text, _SENTENCE_WIDTH)}" for number, text in pairs]
    rotation = {"rotation": 90} if axis.axis_name == "x" else {}
    axis.set_ticks(range(len(labels)), labels, family=lettering.families, fontsize=6.5, **rotation)
    if axis.axis_name == "x":
        axis.tick_top()
        axis.set_label_position("top")


def frame_own_sentences(axes: Any, row_sentences: np.ndarray, columns: np.ndarray) -> None:
    """Frames where a row selects its own sentence, or in cross-attention the sentence it translates."""
    for sentence in np.unique(row_sentences):
        rows, token_indices = np.flatnonzero(row_sentences == sentence), np.flatnonzero(columns == sentence)
        for position in token_indices:
            left, right, top, bottom = position - 0.5, position + 0.5, rows[0] - 0.5, rows[-1] + 0.5
            axes.plot([left, right, right, left, left], [top, top, bottom, bottom, top], color=_BOUNDARY, lw=1.2)


def side_name(slot: str, side: int, unit: str = "tokens") -> str:
    """What a slot's queries (side 0) or keys (side 1) are."""
    names = {
        "source": f"source {unit}",
        "target": f"target {unit}",
        "prefix": f"target {unit} before them",
    }
    return names[SLOT_SIDES[slot][side]]


def upper_limit(shown: np.ndarray) -> float:
    """A high quantile of the shares, so that single large ones do not make the rest invisible."""
    positive = shown[shown > 0]
    return float(np.quantile(positive, 0.995)) if len(positive) else 1.0


def draw_colour_bar(figure: Any, axes: Any, image: Any, label: str, **options: Any) -> None:
    """Draws the colour scale below the figure."""
    width = min(1.0, 3.0 / figure.get_figwidth())
    bar = figure.colorbar(image, ax=axes, location="bottom", shrink=width, aspect=30, pad=0.02, **options)
    bar.set_label(label, fontsize=7)
    bar.ax.tick_params(labelsize=7)


def figure_title(record: AttentionRecord, slot: str, values: np.ndarray, layer: int | None, head: int | None) -> str:
    """The title of a figure; `choose` checks whether layer and head exist."""
    num_layers, num_heads = values.shape[:2]
    which = [
        f"mean of {number} {name}s" if index is None and number > 1 else f"{name} {(index or 0) + 1} of {number}"
        for name, index, number in (("layer", layer, num_layers), ("head", head, num_heads))
    ]
    return f"{record.title}: {SLOT_TITLES[slot]}\n{', '.join(which)}"


def font_families(text: str) -> list[str]:
    """The fonts that have the characters of a text."""
    return Lettering([text]).families
