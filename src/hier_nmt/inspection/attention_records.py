# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Records of a model's attention during translation: arrays and labels, for plots and files.

Dimensions: L layers, H heads, Q queries, K keys, M sentences of the queries, N sentences of the keys, t selected
sentences, R queries whose walks down the tree are recorded, G pooling queries.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

# Mark at the start of words in many tokenizers.
WORD_START = "\u2581"
# Tokens that are not text: those that close sentences, and the one before the first word.
SENTENCE_MARKS = ("<s>", "</s>", "<sep>", "<par>")
FILE_FORMAT = "hier_nmt attention 1"
# Sides of queries and keys. `target` are the predicted tokens, `prefix` the decoder's inputs: the same tokens, shifted
# by one position.
SLOT_SIDES = {
    "cross": ("target", "source"),
    "encoder": ("source", "source"),
    "decoder": ("target", "prefix"),
    "encoder_context": ("source", "source"),
    "decoder_context": ("target", "source"),
}
SLOT_TITLES = {
    "cross": "cross-attention",
    "encoder": "self-attention of the encoder",
    "decoder": "self-attention of the decoder",
    "encoder_context": "attention to sentence encodings in the encoder",
    "decoder_context": "attention to sentence encodings in the decoder",
}
# The side whose sentences the encodings of a slot represent.
POOLING_SIDES = {"encoder": "source", "cross": "source", "decoder": "prefix"}


@dataclass(frozen=True)
class TokenRow:
    """The tokens of a document in one language.

    Attributes:
        tokens: as the tokenizer represents them.
        sentence_ids: sentence of each token, from 0.
    """

    tokens: tuple[str, ...]
    sentence_ids: np.ndarray

    def __post_init__(self) -> None:
        if len(self.tokens) != len(self.sentence_ids):
            raise ValueError(f"{len(self.tokens)} tokens but {len(self.sentence_ids)} sentence_ids")

    @property
    def num_sentences(self) -> int:
        """Number of sentences."""
        return int(self.sentence_ids.max()) + 1 if len(self.sentence_ids) else 0

    def sentence(self, index: int) -> str:
        """The text of a sentence, without the tokens that close it or start the document."""
        token_indices = np.flatnonzero(self.sentence_ids == index)
        kept_tokens = [self.tokens[at] for at in token_indices if self.tokens[at] not in SENTENCE_MARKS]
        has_marks = any(WORD_START in token for token in self.tokens)
        return ("" if has_marks else " ").join(kept_tokens).replace(WORD_START, " ").strip()

    def token_indices(self, sentences: Sequence[int] | None) -> np.ndarray:
        """Indices of the tokens of these sentences; None means all.

        Raises:
            ValueError: a sentence that does not exist.
        """
        if sentences is None:
            return np.arange(len(self.tokens))
        for index in sentences:
            if not 0 <= index < self.num_sentences:
                raise ValueError(f"no sentence {index + 1}: the document has {self.num_sentences}")
        return np.flatnonzero(np.isin(self.sentence_ids, list(sentences)))


@dataclass(frozen=True)
class TreeRecord:
    """The walks of queries down the binary tree over the sentences of one window (Trankova et al. 2024, section 3.3).

    The nodes of all levels form one axis, leaves first, root last.

    Attributes:
        first_sentence: sentence of the document that is leaf 0.
        level_sizes: number of nodes on each level, leaves first.
        queries: indices [R] of the tokens among all queries of the slot.
        relevance: relevance of each node [L, H, R, nodes]; NaN if the walk did not reach it.
        cumulative: sums of relevance from the root to the node, of the same shape.
        kept: boolean, of the same shape: whether the walk continued from the node or, for a leaf, selected it.
    """

    first_sentence: int
    level_sizes: tuple[int, ...]
    queries: np.ndarray
    relevance: np.ndarray
    cumulative: np.ndarray
    kept: np.ndarray


@dataclass(frozen=True)
class SlotRecord:
    """The recorded attention of one attention slot.

    Attributes:
        sentence_weights: share of the attention of each sentence that goes to each sentence [L, H, M, N], averaged over
            its tokens.
        token_weights: attention weights [L, H, Q, K]; None for documents that are too long, and for sentence encodings.
        selected: sentences that each token selects [L, H, Q, t], in document order, filled up with -1; None in slots
            without selection.
        scores: relevance of those sentences, of the same shape.
        trees: walks down the trees, one record per window.
    """

    sentence_weights: np.ndarray
    token_weights: np.ndarray | None = None
    selected: np.ndarray | None = None
    scores: np.ndarray | None = None
    trees: tuple[TreeRecord, ...] = ()


@dataclass(frozen=True)
class AttentionRecord:
    """The attention of a model while it translated a document.

    Attributes:
        title: heading of the plots.
        sides: the tokens, for `source`, `target` and `prefix`.
        slots: by name, see `SLOT_SIDES`.
        poolings: by slot, the source2token weights of the tokens in the encodings of their sentences [L, G, tokens].
    """

    title: str
    sides: Mapping[str, TokenRow]
    slots: Mapping[str, SlotRecord]
    poolings: Mapping[str, np.ndarray] = field(default_factory=dict)

    def slot(self, name: str) -> SlotRecord:
        """The slot with that name.

        Raises:
            ValueError: it was not recorded.
        """
        if name not in self.slots:
            raise ValueError(f"slot {name!r} was not recorded; recorded are {', '.join(self.slots) or 'none'}")
        return self.slots[name]

    def query_side(self, slot: str) -> TokenRow:
        """The tokens of the queries of a slot."""
        return self.sides[SLOT_SIDES[slot][0]]

    def key_side(self, slot: str) -> TokenRow:
        """The tokens of the keys of a slot."""
        return self.sides[SLOT_SIDES[slot][1]]


def choose(values: np.ndarray, layer: int | None, head: int | None) -> np.ndarray:
    """Values [L, H, ...] of one layer and head, averaged over layers or heads where the index is None.

    Args:
        values: [L, H, ...].
        layer, head: from 0.

    Raises:
        ValueError: no such layer or head.
    """
    for name, index, size in (("layer", layer, values.shape[0]), ("head", head, values.shape[1])):
        if index is not None and not 0 <= index < size:
            raise ValueError(f"no {name} {index + 1}: the slot has {size}")
    values = values.mean(0) if layer is None else values[layer]
    return values.mean(0) if head is None else values[head]


def save_record(path: str | Path, record: AttentionRecord) -> None:
    """Writes a record as .npz, with its labels as JSON inside; atomically."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{os.getpid()}.{path.name}.npz")
    arrays, labels = _to_arrays(record)
    try:
        np.savez_compressed(temporary, allow_pickle=False, labels=np.array(json.dumps(labels)), **arrays)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def load_record(path: str | Path) -> AttentionRecord:
    """The record in a file of `save_record`.

    Raises:
        ValueError: the file is something else.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        labels = json.loads(str(arrays.pop("labels")))
        if labels["format"] != FILE_FORMAT:
            raise ValueError(f"its format is {labels['format']!r}")
    except (ValueError, KeyError, EOFError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is not an attention record ({error})") from None
    return _from_arrays(arrays, labels)


def _to_arrays(record: AttentionRecord) -> tuple[dict[str, np.ndarray], dict]:
    """The arrays by name, and the rest."""
    arrays = {f"sides/{name}": side.sentence_ids for name, side in record.sides.items()}
    arrays |= {f"poolings/{name}": weights for name, weights in record.poolings.items()}
    trees: dict[str, list] = {}
    for name, slot in record.slots.items():
        for part in ("sentence_weights", "token_weights", "selected", "scores"):
            if getattr(slot, part) is not None:
                arrays[f"slots/{name}/{part}"] = getattr(slot, part)
        trees[name] = [[tree.first_sentence, tree.level_sizes] for tree in slot.trees]
        for number, tree in enumerate(slot.trees):
            for part in ("queries", "relevance", "cumulative", "kept"):
                arrays[f"slots/{name}/trees/{number}/{part}"] = getattr(tree, part)
    tokens = {name: side.tokens for name, side in record.sides.items()}
    return arrays, {"format": FILE_FORMAT, "title": record.title, "tokens": tokens, "trees": trees}


def _from_arrays(arrays: dict[str, np.ndarray], labels: dict) -> AttentionRecord:
    """The inverse of `_to_arrays`."""
    slots = {}
    for name, trees in labels["trees"].items():
        parts = {part: arrays.get(f"slots/{name}/{part}") for part in ("token_weights", "selected", "scores")}
        walks = [
            TreeRecord(
                first,
                tuple(sizes),
                *(arrays[f"slots/{name}/trees/{n}/{part}"] for part in ("queries", "relevance", "cumulative", "kept")),
            )
            for n, (first, sizes) in enumerate(trees)
        ]
        slots[name] = SlotRecord(arrays[f"slots/{name}/sentence_weights"], **parts, trees=tuple(walks))
    sides = {name: TokenRow(tuple(tokens), arrays[f"sides/{name}"]) for name, tokens in labels["tokens"].items()}
    prefix = "poolings/"
    poolings = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    return AttentionRecord(labels["title"], sides, slots, poolings)
