# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Plots of which sentences a model selects."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .figures import new_figure, save_figure


def plot_selection(path: str | Path, title: str, offsets: Mapping[str, Mapping[int, Sequence[int]]]) -> None:
    """Writes for each slot a map of how often ambiguous sentences select the sentences before them.

    Args:
        path: .png, .svg or another ending that matplotlib knows.
        title: of the figure.
        offsets: for each slot and each distance of the deciding sentence, the number of selections of the sentence k
            before the ambiguous one, k = 0, 1, ...; the last number, of all others, is not shown.

    Raises:
        ImportError: matplotlib is not installed.
        ValueError: nothing to plot, or an ending that matplotlib does not know.
    """
    if not any(offsets.values()):
        raise ValueError("nothing to plot: no ambiguous sentence was found")
    figure = new_figure(1 + 6 * len(offsets), 5)
    figure.suptitle(f"{title}: selections of ambiguous sentences, last layer (squares: the deciding sentence)")
    for axes, (slot, counts) in zip(figure.subplots(1, len(offsets), squeeze=False)[0], offsets.items(), strict=True):
        image = _draw(axes, slot, counts)
        figure.colorbar(image, ax=axes, label="selections, %")
    save_figure(figure, path)


def _draw(axes: Any, slot: str, offsets: Mapping[int, Sequence[int]]) -> Any:
    distances = sorted(offsets)
    counts = np.array([offsets[distance] for distance in distances], dtype=float)
    shares = 100 * counts[:, :-1] / counts.sum(1, keepdims=True).clip(1)
    # The own sentence, which is often always kept, would make the others invisible.
    image = axes.imshow(shares, cmap="viridis", aspect="auto", origin="lower", vmin=0, vmax=shares[:, 1:].max())
    known = [(distance, row) for row, distance in enumerate(distances) if distance < shares.shape[1]]
    axes.plot(*zip(*known, strict=True), "s", mfc="none", mec="white", ms=13)
    axes.set(title=slot, xlabel="sentences before the ambiguous one", ylabel="distance of the deciding sentence")
    axes.set_xticks(range(shares.shape[1]))
    axes.set_yticks(range(len(distances)), [str(distance) for distance in distances])
    return image
