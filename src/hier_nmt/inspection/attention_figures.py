# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""All ways to display a record, by name."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from .attention_page import write_attention_page
from .attention_plots import plot_pooling, plot_selected_sentences, plot_sentence_map, plot_token_map
from .attention_records import AttentionRecord
from .tree_plots import find_token, plot_tree_walk


class View(NamedTuple):
    """The part of a record to display.

    Attributes:
        slot: a name in `SLOT_SIDES`.
        layer, head: from 0; None is the mean, and for a tree the last layer and the first head.
        sentences: the sentences of the queries, from 0; None is all.
        word: the word whose walk down the tree is shown; None is the first.
    """

    slot: str
    layer: int | None = None
    head: int | None = None
    sentences: Sequence[int] | None = None
    word: str | None = None


def _draw_page(path: str | Path, record: AttentionRecord, view: View) -> None:
    write_attention_page(path, record)


def _draw_tokens(path: str | Path, record: AttentionRecord, view: View) -> None:
    plot_token_map(path, record, view.slot, view.layer, view.head, view.sentences)


def _draw_sentences(path: str | Path, record: AttentionRecord, view: View) -> None:
    plot_sentence_map(path, record, view.slot, view.layer, view.head, view.sentences)


def _draw_selected(path: str | Path, record: AttentionRecord, view: View) -> None:
    plot_selected_sentences(path, record, view.slot, view.layer, view.head, view.sentences)


def _draw_tree(path: str | Path, record: AttentionRecord, view: View) -> None:
    token = find_token(record, view.slot, view.word, view.sentences)
    plot_tree_walk(path, record, view.slot, token, view.layer, view.head)


def _draw_pooling(path: str | Path, record: AttentionRecord, view: View) -> None:
    plot_pooling(path, record, view.slot, view.layer, view.sentences)


KINDS: dict[str, Callable[[str | Path, AttentionRecord, View], None]] = {
    "page": _draw_page,
    "tokens": _draw_tokens,
    "sentences": _draw_sentences,
    "selected": _draw_selected,
    "tree": _draw_tree,
    "pooling": _draw_pooling,
}


def default_slot(record: AttentionRecord, kind: str) -> str:
    """The first slot that has the data for this kind: the cross-attention if it has it, or if no slot has."""
    suitable = {
        "selected": [name for name, slot in record.slots.items() if slot.selected is not None],
        "tree": [name for name, slot in record.slots.items() if slot.trees],
        "pooling": list(record.poolings),
    }
    return next(iter(suitable.get(kind, ())), "cross")


def draw(path: str | Path, record: AttentionRecord, kind: str, view: View) -> None:
    """Writes a page or a figure of a record.

    Args:
        path: .html for a page; .png, .svg or another ending that matplotlib knows.
        record: the recorded attention.
        kind: a name in `KINDS`.
        view: the part of the record to display.

    Raises:
        ImportError: matplotlib is not installed.
        ValueError: the record does not have the requested part, or an unknown ending.
    """
    KINDS[kind](path, record, view)
