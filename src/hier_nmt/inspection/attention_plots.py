# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Figures of attention: between tokens, between sentences, selected sentences, and pooling into sentence encodings.

Dimensions: L layers, H heads, Q queries, K keys, M sentences of the queries, N sentences of the keys, t selected
sentences, G pooling queries.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .attention_axes import (
    LABEL_WIDTH,
    MAX_NUMBERED_SENTENCES,
    draw_colour_bar,
    figure_title,
    font_families,
    frame_own_sentences,
    label_sentences,
    label_tokens,
    side_name,
    upper_limit,
)
from .attention_records import POOLING_SIDES, SLOT_TITLES, AttentionRecord, SlotRecord, TokenRow, choose
from .figures import new_figure, save_figure
from .labels import Lettering, display_width, word_labels

# With more tokens than this on one side, the figure shows sentences instead.
MAX_TOKENS = 160
# Up to this many sentences the percentages are written into the map.
MAX_ANNOTATED_SENTENCES = 14
# Number of sentences that `plot_pooling` shows by default.
SHOWN_POOLED = 24
_LINE_WIDTH = 92
# Minimum height of a map in inches, for the labels beside it.
_MIN_HEIGHT = 2.0
# Points per side of a large map of sentences, which is 7 inches wide.
_MAX_POINTS = 1000
# Meaning of the frames, in slots with selected sentences.
_FRAMED = {
    "encoder": "selected sentences (framed: the own one)",
    "decoder": "selected sentences (framed: the own one, which is always selected)",
    "cross": "selected sentences (framed: the one being translated)",
}


def plot_token_map(
    path: str | Path,
    record: AttentionRecord,
    slot: str = "cross",
    layer: int | None = None,
    head: int | None = None,
    sentences: Sequence[int] | None = None,
) -> None:
    """Writes a map of the attention of tokens (rows) to tokens (columns), with lines between sentences.

    With more than `MAX_TOKENS` tokens, or if only sentences were recorded, it is a map of sentences.

    Args:
        path: .png, .svg or another ending that matplotlib knows.
        record: the recorded attention.
        slot: a name in `SLOT_SIDES`.
        layer, head: from 0; None is the mean.
        sentences: sentences of the queries, from 0; None is all.

    Raises:
        ImportError: matplotlib is not installed.
        ValueError: no such slot, layer, head or sentence, or an ending that matplotlib does not know.
    """
    weights = record.slot(slot).token_weights
    rows = record.query_side(slot).token_indices(sentences)
    if weights is None or len(rows) > MAX_TOKENS:
        plot_sentence_map(path, record, slot, layer, head, sentences)
        return
    shown = choose(weights, layer, head)[rows]
    columns = _read_tokens(shown, record.key_side(slot))
    if len(columns) > MAX_TOKENS:
        plot_sentence_map(path, record, slot, layer, head, sentences)
        return
    shown = shown[:, columns]
    figure = new_figure(max(1.6 + 0.155 * len(columns), 5.0), 2.5 + max(0.155 * len(rows), _MIN_HEIGHT))
    axes = figure.subplots()
    image = axes.imshow(shown, cmap="Blues", vmin=0, vmax=upper_limit(shown), aspect="auto", interpolation="nearest")
    label_tokens(axes.yaxis, record.query_side(slot), rows)
    label_tokens(axes.xaxis, record.key_side(slot), columns)
    axes.set_xlabel(side_name(slot, 1), fontsize=8, labelpad=8)
    axes.set_ylabel(side_name(slot, 0), fontsize=8)
    figure.suptitle(figure_title(record, slot, weights, layer, head), fontsize=9, family=font_families(record.title))
    draw_colour_bar(figure, axes, image, "share of the attention of the token", extend="max")
    save_figure(figure, path)


def plot_sentence_map(
    path: str | Path,
    record: AttentionRecord,
    slot: str = "cross",
    layer: int | None = None,
    head: int | None = None,
    sentences: Sequence[int] | None = None,
) -> None:
    """Writes a map of the attention of sentences (rows) to sentences (columns); see `plot_token_map`."""
    weights = record.slot(slot).sentence_weights
    _draw_sentences(
        path,
        record,
        slot,
        choose(weights, layer, head),
        sentences,
        figure_title(record, slot, weights, layer, head),
        "share of the attention of the sentence",
    )


def plot_selected_sentences(
    path: str | Path,
    record: AttentionRecord,
    slot: str = "encoder",
    layer: int | None = None,
    head: int | None = None,
    sentences: Sequence[int] | None = None,
) -> None:
    """Writes a matrix of the sentences (columns) that each token (row) selects; its own is framed.

    For one head of one layer the colour is the score of the sentence, otherwise the share of heads that select it. With
    more than `MAX_TOKENS` tokens the rows are sentences.

    Args as in `plot_token_map`.

    Raises:
        ImportError, ValueError: see `plot_token_map`; also if the slot selects no sentences.
    """
    record_of_slot = record.slot(slot)
    if record_of_slot.selected is None or record_of_slot.scores is None:
        raise ValueError(f"slot {slot!r} selects no sentences")
    side = record.query_side(slot)
    rows = side.token_indices(sentences)
    title = figure_title(record, slot, record_of_slot.selected, layer, head)
    if len(rows) > MAX_TOKENS:
        shares = np.stack(
            [
                _selection(record_of_slot, side.token_indices([m]), layer, head)[0].mean(0)
                for m in _rows(side, sentences)
            ]
        )
        _draw_sentences(path, record, slot, shares, sentences, title, "share of tokens and heads that select it")
        return
    shares, scores = _selection(record_of_slot, rows, layer, head)
    is_single = layer is not None and head is not None
    # The token that closes a sentence predicts the first token of the next one.
    own = (record.key_side(slot) if slot == "decoder" else side).sentence_ids[rows]
    columns = _columns_of_selected(shares, np.union1d(own, side.sentence_ids[rows]))
    shown = (scores if is_single else np.where(shares > 0, shares, np.nan))[:, columns]
    figure = new_figure(max(3.4 + 0.24 * len(columns), 5.0), 2.8 + max(0.155 * len(rows), _MIN_HEIGHT))
    axes = figure.subplots()
    limits = {} if is_single else {"vmin": 0, "vmax": 1}
    image = axes.imshow(shown, cmap="viridis_r", aspect="auto", interpolation="nearest", **limits)
    label_tokens(axes.yaxis, side, rows)
    label_sentences(axes.xaxis, record.key_side(slot), columns)
    frame_own_sentences(axes, own, columns)
    axes.set_ylabel(side_name(slot, 0), fontsize=8)
    figure.suptitle(f"{title}\n{_FRAMED[slot]}", fontsize=9, family=font_families(record.title))
    label = "score of the sentence" if is_single else "share of heads that select it"
    draw_colour_bar(figure, axes, image, label)
    save_figure(figure, path)


def plot_pooling(
    path: str | Path,
    record: AttentionRecord,
    slot: str = "encoder",
    layer: int | None = None,
    sentences: Sequence[int] | None = None,
) -> None:
    """Writes the tokens of sentences, shaded by their weight in the encoding of their sentence (source2token weights).

    Args:
        path: .png, .svg or another ending that matplotlib knows.
        record: the recorded attention.
        slot: slot of the encodings, a name in `POOLING_SIDES`.
        layer: from 0; None is the mean.
        sentences: from 0; None is the first `SHOWN_POOLED`.

    Raises:
        ImportError: matplotlib is not installed.
        ValueError: no encodings were recorded for the slot, no such layer or sentence, or an unknown ending.
    """
    if slot not in record.poolings:
        raise ValueError(
            f"slot {slot!r} has no sentence encodings; recorded are {', '.join(record.poolings) or 'none'}"
        )
    side = record.sides[POOLING_SIDES[slot]]
    chosen = _rows(side, sentences)[: SHOWN_POOLED if sentences is None else None]
    weights = choose(record.poolings[slot], layer, None)
    lines = _wrapped_lines(side, chosen)
    figure = new_figure(9.6, 1.0 + 0.25 * len(lines))
    axes = figure.subplots()
    axes.axis("off")
    lettering = Lettering([text for _, tokens_of_line in lines for _, _, text in tokens_of_line], monospaced=True)
    # Invisible, as it lies outside of the axes; only its colour scale is used.
    limit = upper_limit(weights[[position for _, tokens_of_line in lines for position, _, _ in tokens_of_line]])
    image = axes.imshow([[0.0]], cmap="Blues", vmin=0, vmax=limit, aspect="auto", extent=(-9, -8, -9, -8))
    axes.set(xlim=(-4, _LINE_WIDTH), ylim=(len(lines) - 0.4, -0.6))
    for line, (number, tokens_of_line) in enumerate(lines):
        if number is not None:
            axes.text(-1, line, str(number + 1), ha="right", va="center", fontsize=7, color="tab:gray")
        for position, start, text in tokens_of_line:
            _draw_word(
                axes, start, line, lettering.label(text, LABEL_WIDTH), weights[position] / limit, lettering.families
            )
    note = f", sentences 1 to {len(chosen)} of {side.num_sentences}" if len(chosen) < side.num_sentences else ""
    which = "mean of the layers" if layer is None else f"layer {layer + 1} of {record.poolings[slot].shape[0]}"
    title = f"{record.title}: weight of each token in the encoding of its sentence\n{SLOT_TITLES[slot]}, {which}{note}"
    figure.suptitle(title, fontsize=9, family=font_families(title))
    draw_colour_bar(figure, axes, image, "weight of the token in the encoding of its sentence", extend="max")
    save_figure(figure, path)


# Attention maps, which all take the same arguments.
MAPS: dict[str, Callable[..., None]] = {
    "tokens": plot_token_map,
    "sentences": plot_sentence_map,
    "selected": plot_selected_sentences,
}


def _draw_sentences(
    path: str | Path,
    record: AttentionRecord,
    slot: str,
    values: np.ndarray,
    sentences: Sequence[int] | None,
    title: str,
    bar_label: str,
) -> None:
    """Draws values [M, N] of pairs of sentences, or of the rows of the chosen sentences."""
    rows = _rows(record.query_side(slot), sentences)
    shown = values if len(values) == len(rows) else values[rows]
    columns = np.arange(values.shape[1])
    if sentences is not None:
        columns = np.flatnonzero(shown.any(0)) if shown.any() else columns
        shown = shown[:, columns]
    width, height = (_inches(number, max(shown.shape)) for number in (len(columns), len(rows)))
    figure = new_figure(max(2.6 + width, 5.0), 3.2 + max(height, _MIN_HEIGHT))
    axes = figure.subplots()
    # With more sentences than points per side, "nearest" would drop some.
    how = "nearest" if max(shown.shape) <= _MAX_POINTS else "antialiased"
    image = axes.imshow(shown, cmap="Blues", vmin=0, vmax=upper_limit(shown), aspect="auto", interpolation=how)
    label_sentences(axes.yaxis, record.query_side(slot), rows)
    label_sentences(axes.xaxis, record.key_side(slot), columns)
    axes.set_xlabel(side_name(slot, 1, "sentences"), fontsize=8, labelpad=8)
    axes.set_ylabel(side_name(slot, 0, "sentences"), fontsize=8)
    if max(shown.shape) <= MAX_ANNOTATED_SENTENCES:
        for (row, column), value in np.ndenumerate(shown):
            if value < 0.005:
                continue
            colour = "white" if value > 0.6 * upper_limit(shown) else "black"
            axes.text(column, row, f"{100 * value:.0f}", ha="center", va="center", fontsize=6, color=colour)
        bar_label += " (values: %)"
    figure.suptitle(title, fontsize=9, family=font_families(title))
    draw_colour_bar(figure, axes, image, bar_label, extend="max")
    save_figure(figure, path)


def _selection(
    slot: SlotRecord, rows: np.ndarray, layer: int | None, head: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """For each row and sentence the share of heads that select the sentence, and their mean score (NaN if none does),
    both [rows, N]."""
    assert slot.selected is not None
    assert slot.scores is not None
    num_sentences = slot.sentence_weights.shape[3]
    selected, scores = (array[:, :, rows] for array in (slot.selected, slot.scores))
    hits = np.zeros((*selected.shape[:3], num_sentences + 1), np.float32)
    sums = np.zeros_like(hits)
    np.put_along_axis(hits, selected, 1.0, -1)
    np.put_along_axis(sums, selected, scores, -1)
    shares, totals = (choose(array[..., :-1], layer, head) for array in (hits, sums))
    return shares, np.divide(totals, shares, out=np.full_like(totals, np.nan), where=shares > 0)


def _columns_of_selected(shares: np.ndarray, own: np.ndarray) -> np.ndarray:
    """The sentences to show for shares [rows, N] of tokens in the sentences `own`: from the first to the last that is
    selected or an own one; if those are too many, only the selected ones."""
    selected = np.flatnonzero(shares.any(0))
    shown = np.union1d(selected, own)
    columns = np.arange(shown.min(), shown.max() + 1)
    return columns if len(columns) <= MAX_NUMBERED_SENTENCES else selected


def _rows(side: TokenRow, sentences: Sequence[int] | None) -> np.ndarray:
    """The chosen sentences, after checking that they exist."""
    side.token_indices(sentences)
    return np.arange(side.num_sentences) if sentences is None else np.array(sentences)


def _read_tokens(weights: np.ndarray, side: TokenRow) -> np.ndarray:
    """The tokens of all sentences that get any weight in weights [rows, K]."""
    read = np.unique(side.sentence_ids[weights.any(0)])
    return np.flatnonzero(np.isin(side.sentence_ids, read)) if len(read) else np.arange(weights.shape[1])


def _inches(number: int, largest: int) -> float:
    """Inches for a number of sentences on one side of a map whose larger side has `largest`."""
    if largest > MAX_NUMBERED_SENTENCES:
        return 7.0 * max(number / largest, 0.1)
    return number * (0.34 if largest <= MAX_ANNOTATED_SENTENCES else max(0.16, 0.3 - 0.004 * largest))


def _wrapped_lines(side: TokenRow, sentences: np.ndarray) -> list[tuple[int | None, list[tuple[int, float, str]]]]:
    """The lines of a page: the number of the sentence that starts there, or None, and (token index, start in the line,
    label)."""
    labels = word_labels(side.tokens)
    lines: list[tuple[int | None, list[tuple[int, float, str]]]] = []
    for sentence in sentences:
        lines.append((int(sentence), []))
        start = 0.0
        for position in side.token_indices([sentence]):
            width = min(display_width(labels[position]), LABEL_WIDTH) + 1.0
            if start + width > _LINE_WIDTH:
                lines.append((None, []))
                start = 0.0
            lines[-1][1].append((int(position), start, labels[position]))
            start += width
    return lines


def _draw_word(axes: Any, start: float, line: int, label: str, weight: float, families: list[str]) -> None:
    width = display_width(label) + 0.8
    colour = axes.images[0].cmap(float(weight))
    axes.fill_between([start, start + width], line - 0.42, line + 0.42, color=colour, lw=0)
    text_colour = "white" if weight > 0.55 else "black"
    axes.text(start + width / 2, line, label, ha="center", va="center", fontsize=7, color=text_colour, family=families)
