# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""A figure of one token's walk down the tree over the sentences (Trankova et al. 2024, Fig. 3)."""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .attention_records import SLOT_TITLES, AttentionRecord, TokenRow, TreeRecord
from .figures import new_figure, save_figure
from .labels import CONTINUATION, Lettering, whole_words, word_labels

_KEPT, _DROPPED, _EDGE, _OWN = "#c6dbef", "#d9d9d9", "#4a6a8a", "tab:orange"
_INCHES_OF_NODE, _INCHES_OF_LEVEL = 1.15, 0.95


class Node(NamedTuple):
    """A node that the walk scored.

    Attributes:
        level: 0 for leaves.
        position: position within its level, from 0.
        relevance, cumulative: its own relevance, and the sum from the root to it.
        is_kept: whether the walk continued from it.
    """

    level: int
    position: int
    relevance: float
    cumulative: float
    is_kept: bool


def plot_tree_walk(
    path: str | Path, record: AttentionRecord, slot: str, query: int, layer: int | None = None, head: int | None = None
) -> None:
    """Writes the nodes that one token scored on its walk: kept ones blue, dropped ones grey, with both scores.

    Args:
        path: .png, .svg or another ending that matplotlib knows.
        record: the recorded attention.
        slot: `encoder` or `cross`.
        query: index of the token among the queries of the slot.
        layer: from 0; None is the last.
        head: from 0; None is the first.

    Raises:
        ImportError: matplotlib is not installed.
        ValueError: no recorded walk of the token, or no such slot, layer or head.
    """
    tree, row = find_walk(record, slot, query)
    num_layers, num_heads = tree.kept.shape[:2]
    layer, head = num_layers - 1 if layer is None else layer, head or 0
    for name, index, size in (("layer", layer, num_layers), ("head", head, num_heads)):
        if not 0 <= index < size:
            raise ValueError(f"no {name} {index + 1}: the slot has {size}")
    nodes = scored_nodes(tree, layer, head, row)
    positions = node_positions(nodes)
    num_levels = len(tree.level_sizes)
    width = max(positions.values()) - min(positions.values()) + 1
    figure = new_figure(max(width * _INCHES_OF_NODE, 6.5) + 0.4, num_levels * _INCHES_OF_LEVEL + 1.9)
    axes = figure.subplots()
    axes.axis("off")
    axes.set(xlim=(min(positions.values()) - 0.6, max(positions.values()) + 0.6), ylim=(-0.95, num_levels - 0.45))
    texts = [record.key_side(slot).sentence(tree.first_sentence + node.position) for node in nodes if node.level == 0]
    lettering = Lettering(texts)
    side = record.query_side(slot)
    for node in nodes:
        is_own = node.level == 0 and tree.first_sentence + node.position == side.sentence_ids[query]
        _draw_node(axes, node, positions, record, slot, tree, lettering, is_own)
    title = (
        f"{record.title}: how {_named(side, query)} (sentence {side.sentence_ids[query] + 1}) finds its sentences\n"
        f"{SLOT_TITLES[slot]}, layer {layer + 1} of {num_layers}, head {head + 1} of {num_heads}"
    )
    figure.suptitle(title, fontsize=9, family=Lettering([title]).families)
    _draw_legend(axes)
    save_figure(figure, path)


def find_token(
    record: AttentionRecord, slot: str, word: str | None = None, sentences: Sequence[int] | None = None
) -> int:
    """The index, among the queries of the slot, of the first token that starts the word or equals a piece of it.

    Args:
        record: what was read.
        slot: a name in `SLOT_SIDES`.
        word: the word; None is any.
        sentences: sentences to search, from 0; None is all.

    Raises:
        ValueError: there is no such token, or no such slot or sentence.
    """
    record.slot(slot)
    side = record.query_side(slot)
    pieces = word_labels(side.tokens)
    words = whole_words(pieces)
    positions = side.token_indices(sentences).tolist()
    for names in (words, pieces, [piece.removeprefix(CONTINUATION) for piece in pieces]):
        for position in positions:
            if word in (None, names[position]):
                return position
    raise ValueError(f"no word {word!r} among {' '.join(pieces[position] for position in positions[:20])}")


def find_walk(record: AttentionRecord, slot: str, query: int) -> tuple[TreeRecord, int]:
    """The tree that a token walked, and the token's row in it.

    Raises:
        ValueError: its walk was not recorded.
    """
    trees = record.slot(slot).trees
    for tree in trees:
        rows = np.flatnonzero(tree.queries == query)
        if len(rows):
            return tree, int(rows[0])
    reason = f"not that of token {query}" if trees else "the slot is not hierarchical, or the document too long for all"
    raise ValueError(f"no walk down a tree was recorded for slot {slot!r}: {reason}")


def scored_nodes(tree: TreeRecord, layer: int, head: int, row: int) -> list[Node]:
    """The nodes that a walk scored, root first, each level from left to right."""
    starts = np.concatenate([[0], np.cumsum(tree.level_sizes)])
    nodes = []
    for level in reversed(range(len(tree.level_sizes))):
        for index in range(tree.level_sizes[level]):
            position = (layer, head, row, starts[level] + index)
            if not np.isnan(tree.cumulative[position]):
                values = float(tree.relevance[position]), float(tree.cumulative[position]), bool(tree.kept[position])
                nodes.append(Node(level, index, *values))
    return nodes


def node_positions(nodes: list[Node]) -> dict[tuple[int, int], float]:
    """Horizontal position of each node (level, index): parents above their children, nodes of a level at least 1
    apart."""
    positions: dict[tuple[int, int], float] = {}
    for level in sorted({node.level for node in nodes}):
        row = [node for node in nodes if node.level == level]
        centres = [_above_children(node, positions) for node in row]
        found: list[float] = []
        for wish in _preferred_positions(centres):
            found.append(max(found[-1] + 1, wish) if found else wish)
        shifts = [centre - position for centre, position in zip(centres, found, strict=True) if centre is not None]
        shift = sum(shifts) / max(len(shifts), 1)
        positions |= {(level, node.position): position + shift for node, position in zip(row, found, strict=True)}
    return positions


def _above_children(node: Node, positions: dict[tuple[int, int], float]) -> float | None:
    """The middle of a node's children, if the walk reached them."""
    below = [(node.level - 1, 2 * node.position + side) for side in (0, 1)]
    children = [positions[child] for child in below if child in positions]
    return sum(children) / len(children) if children else None


def _preferred_positions(centres: list[float | None]) -> list[float]:
    """Preferred positions of the nodes of a level: above their children, or else beside their neighbours."""
    known = [index for index, centre in enumerate(centres) if centre is not None]
    preferred = []
    for index, centre in enumerate(centres):
        nearest = min(known, key=lambda other: abs(other - index), default=index)
        beside = centres[nearest] if known else float(index)
        preferred.append(centre if centre is not None else (beside or 0.0) + index - nearest)
    return preferred


def _draw_node(
    axes: Any,
    node: Node,
    positions: dict[tuple[int, int], float],
    record: AttentionRecord,
    slot: str,
    tree: TreeRecord,
    lettering: Lettering,
    is_own: bool,
) -> None:
    """Draws a box with the two scores and the node's label, and the line to its parent."""
    x, y = positions[node.level, node.position], float(node.level)
    parent = (node.level + 1, node.position // 2)
    if parent in positions:
        style = {"color": _EDGE, "lw": 1.6} if node.is_kept else {"color": "tab:gray", "lw": 0.8, "ls": "--"}
        axes.plot([x, positions[parent]], [y + (0.43 if node.level else 0.24), parent[0] - 0.24], zorder=0, **style)
    box = {
        "boxstyle": "round,pad=0.35",
        "fc": _KEPT if node.is_kept else _DROPPED,
        "ec": _OWN if is_own else _EDGE if node.is_kept else "gray",
        "lw": 2.0 if is_own else 1.0,
    }
    text = f"{_score(node.cumulative)}\n({_score(node.relevance, '+')})"
    weight = "bold" if node.is_kept else "normal"
    axes.text(x, y, text, ha="center", va="center", fontsize=7, bbox=box, weight=weight, linespacing=1.3)
    first = tree.first_sentence + (node.position << node.level)
    if node.level > 0:
        last = min(first + (1 << node.level), tree.first_sentence + tree.level_sizes[0])
        axes.text(
            x, y + 0.27, _range(first + 1, last), ha="center", va="bottom", fontsize=6, color="tab:orange", zorder=3
        )
        return
    text = lettering.label(record.key_side(slot).sentence(first), 54)
    wrapped = "\n".join(textwrap.wrap(text, 18) or [""])
    colour = "black" if node.is_kept else "gray"
    label = f"{first + 1}\n{wrapped}"
    axes.text(x, y - 0.3, label, ha="center", va="top", fontsize=6, color=colour, family=lettering.families)


def _named(side: TokenRow, position: int) -> str:
    """A token for a title, with the word that it is a piece of."""
    piece = word_labels(side.tokens)[position]
    word = whole_words(word_labels(side.tokens))[position]
    return f"{word!r}" if piece == word else f"{piece!r} of {word!r}"


def _score(value: float, sign: str = "") -> str:
    return format(value, f"{sign}.2f" if abs(value) < 100 else f"{sign}.0f")


def _range(first: int, last: int) -> str:
    return f"{first}" if first == last else f"{first}\u2013{last}"


def _draw_legend(axes: Any) -> None:
    """The legend."""
    legend = ((_KEPT, _EDGE, "kept"), (_DROPPED, "gray", "dropped"), ("none", _OWN, "own sentence"))
    for colour, edge, label in legend:
        axes.plot([], [], "s", ms=8, mfc=colour, mec=edge, label=label)
    axes.plot([], [], " ", label="above: sum from the root; in brackets: of the node alone; orange: sentences below")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=4, fontsize=6.5, frameon=False, handletextpad=0.3)
