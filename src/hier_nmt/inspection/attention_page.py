# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""An interactive page that shows what each token attends to: one file, which works offline."""

import base64
import html
import json
import os
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from .attention_records import (
    SENTENCE_MARKS,
    SLOT_SIDES,
    SLOT_TITLES,
    WORD_START,
    AttentionRecord,
    SlotRecord,
    TokenRow,
    TreeRecord,
)
from .labels import CONTINUATION, word_labels

# Maximum size of one array in a page. Larger arrays are averaged over heads, then over layers.
MAX_ARRAY_SIZE = 2**22
_WHOLE = 2**16 - 1


def write_attention_page(path: str | Path, record: AttentionRecord) -> None:
    """Writes a page that shows the attention of the tokens and sentences of a record, atomically.

    Weights have a precision of 1/65535. If there are too many, the page has their means over heads, or over heads and
    layers, or only weights between sentences.

    Args:
        path: of the page, .html.
        record: the recorded attention.

    Raises:
        ValueError: the path does not end in .html or .htm.
    """
    path = Path(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"{path} does not end in .html")
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{os.getpid()}.{path.name}")
    try:
        temporary.write_text(page(record), encoding="utf-8")
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def page(record: AttentionRecord) -> str:
    """The text of the page."""
    template = resources.files(__package__).joinpath("attention_page.html").read_text(encoding="utf-8")
    content = json.dumps(page_data(record), ensure_ascii=False, separators=(",", ":"))
    # The content must not contain the end tag of its script element.
    content = content.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    before, between, after = template.replace("__TITLE__", html.escape(record.title)).partition("__DATA__")
    assert between
    return before + content + after


def page_data(record: AttentionRecord) -> dict[str, Any]:
    """The record as JSON for the page."""
    return {
        "sides": {name: _side(side) for name, side in record.sides.items()},
        "slots": {name: _slot(name, slot) for name, slot in record.slots.items()},
        "poolings": {name: pack(weights, np.uint16) for name, weights in record.poolings.items()},
    }


def pack(values: np.ndarray, dtype: Any) -> dict[str, Any]:
    """An array as JSON: its bytes, little-endian, in base64. Weights from 0 to 1 become uint16."""
    scale = _WHOLE if dtype is np.uint16 else 1
    numbers = np.rint(np.clip(values, 0, 1) * scale) if dtype is np.uint16 else values
    content = np.ascontiguousarray(numbers, np.dtype(dtype).newbyteorder("<"))
    return {
        "type": np.dtype(dtype).name,
        "scale": scale,
        "shape": list(values.shape),
        "base64": base64.b64encode(content.tobytes()).decode(),
    }


def _side(side: TokenRow) -> dict[str, Any]:
    return {"tokens": list(_tokens(side)), "sentence_ids": side.sentence_ids.tolist()}


def _tokens(side: TokenRow) -> Iterator[dict[str, Any]]:
    """For each token its text, whether a space precedes it, whether it closes a sentence, and whether it continues a
    word."""
    has_marks = any(WORD_START in token for token in side.tokens)
    for token, label in zip(side.tokens, word_labels(side.tokens), strict=True):
        is_end = token in SENTENCE_MARKS
        text = token.removeprefix(WORD_START) if has_marks else token
        has_space = is_end or not has_marks or text != token
        continues_word = label.startswith(CONTINUATION)
        yield {
            "text": "\u2423" if token == WORD_START else text,
            "space": has_space,
            "end": is_end,
            "continues_word": continues_word,
        }


def _slot(name: str, slot: SlotRecord) -> dict[str, Any]:
    query, key = SLOT_SIDES[name]
    tokens, axes = slot.token_weights, _axes_of_means([slot.sentence_weights, slot.token_weights])
    if axes is None:
        tokens, axes = None, _axes_of_means([slot.sentence_weights])
    if axes is None:
        axes = (0, 1)
    return {
        "title": SLOT_TITLES[name],
        "query": query,
        "key": key,
        "is_mean": [axis in axes for axis in (0, 1)],
        "token_weights": None if tokens is None else pack(_means(tokens, axes), np.uint16),
        "sentence_weights": pack(_means(slot.sentence_weights, axes), np.uint16),
        "selected": None if slot.selected is None else pack(slot.selected, np.int32),
        "scores": None if slot.scores is None else pack(slot.scores, np.float32),
        "trees": [] if axes else [_tree(tree) for tree in slot.trees],
    }


def _axes_of_means(arrays: list[np.ndarray | None]) -> tuple[int, ...] | None:
    """The axes (layers, heads) to average so that arrays [L, H, ...] fit; None if they never do."""
    for axes in ((), (1,), (0, 1)):
        sizes = [
            np.prod([size for axis, size in enumerate(array.shape) if axis not in axes])
            for array in arrays
            if array is not None
        ]
        if max(sizes) <= MAX_ARRAY_SIZE:
            return axes
    return None


def _means(values: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    return values.mean(axes, keepdims=True) if axes else values


def _tree(tree: TreeRecord) -> dict[str, Any]:
    return {
        "first_sentence": tree.first_sentence,
        "level_sizes": list(tree.level_sizes),
        "queries": tree.queries.tolist(),
        "relevance": pack(tree.relevance, np.float32),
        "cumulative": pack(tree.cumulative, np.float32),
        "kept": pack(tree.kept, np.uint8),
    }
