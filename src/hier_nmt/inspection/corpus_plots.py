# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""A page of plots of the lengths in a corpus."""

from pathlib import Path

import numpy as np

from .figures import new_figure, save_figure


def plot_corpus(
    path: str | Path,
    title: str,
    sentences_of_documents: np.ndarray,
    words: tuple[np.ndarray, np.ndarray],
    characters: tuple[np.ndarray, np.ndarray],
    usual_ratio: float,
    outlier_factor: float,
) -> None:
    """Writes a page with four plots: sentences per document, words per sentence, target against source characters, and
    the ratio of characters with the limits of outliers.

    Args:
        path: .pdf, .png or another ending that matplotlib knows.
        title: of the page.
        sentences_of_documents: number of sentences of each document.
        words, characters: numbers per sentence, (source, target).
        usual_ratio: target characters per source character.
        outlier_factor: factor from which a ratio is an outlier.

    Raises:
        ImportError: matplotlib is not installed.
        ValueError: an empty corpus, or an ending that matplotlib does not know.
    """
    if not len(sentences_of_documents):
        raise ValueError("nothing to plot: the corpus is empty")
    figure = new_figure(11, 8)
    figure.suptitle(title)
    (documents, sentences), (pairs, ratios) = figure.subplots(2, 2)
    documents.hist(sentences_of_documents, bins=_bins(sentences_of_documents), color="tab:gray")
    documents.set(xlabel="sentences of a document", ylabel="documents")
    for side, values in zip(("source", "target"), words, strict=True):
        sentences.hist(values, bins=_bins(np.concatenate(words)), histtype="step", label=side)
    sentences.set(xlabel="words of a sentence", ylabel="sentences", yscale="log")
    sentences.legend()
    source, target = (np.maximum(values, 1) for values in characters)
    pairs.hexbin(source, target, bins="log", gridsize=60, xscale="log", yscale="log", mincnt=1, cmap="viridis")
    pairs.set(xlabel="source characters", ylabel="target characters")
    ratios.hist(np.log2(target / source / usual_ratio), bins=81, color="tab:gray")
    for limit in (-np.log2(outlier_factor), np.log2(outlier_factor)):
        ratios.axvline(limit, color="tab:red", linestyle="--")
    ratios.set(
        xlabel=f"log2 of characters, target / source / {usual_ratio:.2f} (dashed: outliers beyond)",
        ylabel="pairs",
        yscale="log",
    )
    save_figure(figure, path)


def _bins(values: np.ndarray) -> np.ndarray:
    """At most 60 bins of equal width, with borders between integers."""
    step = max(1, -(-int(values.max()) // 59))
    return np.arange(0, values.max() + 2 * step, step) - 0.5
