# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a model read while it translated a document: arrays and labels, which plots draw and files keep.

Dimensions: L layers, H heads, Q queries, K keys, M sentences of the queries, N sentences of the keys, t selected
sentences, R queries whose walks down the tree are recorded, G pooling queries.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

# What tokenizers begin words with.
WORD_START = "\u2581"
# Tokens that are no text: what closes sentences, and what stands before the first word.
SENTENCE_MARKS = ("<s>", "</s>", "<sep>", "<par>")
FILE_FORMAT = "hier_nmt attention 1"
# Whose tokens read, and whose are read. `target` is what is written, `prefix` what the decoder has before it: the same
# tokens, one place later.
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
    "encoder_context": "sentence encodings read by the encoder",
    "decoder_context": "sentence encodings read by the decoder",
}
# Of the sentences of which side the poolings of a slot are encodings.
POOLING_SIDES = {"encoder": "source", "cross": "source", "decoder": "prefix"}


@dataclass(frozen=True)
class TokenRow:
    """The tokens of a document in one language.

    Attributes:
        tokens: as the tokenizer writes them.
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
        """Indices of the tokens of these sentences; None means of all.

        Raises:
            ValueError: a sentence that does not exist.
        """
        if sentences is None:
            return np.arange(len(self.tokens))
        for index in sentences:
            if not 0 <= index < self.num_sentences:
                raise ValueError(f"there is no sentence {index + 1}; the document has {self.num_sentences}")
        return np.flatnonzero(np.isin(self.sentence_ids, list(sentences)))


@dataclass(frozen=True)
class TreeRecord:
    """How queries walked down the binary tree over the sentences of one window (Trankova et al. 2024, section 3.3).

    The nodes of all levels stand in one row, leaves first, root last.

    Attributes:
        first_sentence: sentence of the document that is leaf 0.
        level_sizes: number of nodes on each level, leaves first.
        queries: indices [R] of the tokens among all queries of the slot.
        relevance: of each node [L, H, R, nodes]; nan where the walk did not come by.
        cumulative: the sums of relevance from the root to the node, likewise.
        kept: boolean, likewise: whether the walk went on from the node, or read it, if it is a leaf.
    """

    first_sentence: int
    level_sizes: tuple[int, ...]
    queries: np.ndarray
    relevance: np.ndarray
    cumulative: np.ndarray
    kept: np.ndarray


@dataclass(frozen=True)
class SlotRecord:
    """What the tokens of one attention slot read.

    Attributes:
        sentence_weights: share of the attention of each sentence that goes to each sentence [L, H, M, N], the mean over
            its tokens.
        token_weights: attention weights [L, H, Q, K]; None in documents too long for it, and where encodings are read.
        selected: sentences whose tokens each token reads [L, H, Q, t], in the order of the text, behind them -1 where
            there are fewer; None in slots that select none.
        scores: relevance of those sentences, likewise.
        trees: walks down the trees, one record for each window.
    """

    sentence_weights: np.ndarray
    token_weights: np.ndarray | None = None
    selected: np.ndarray | None = None
    scores: np.ndarray | None = None
    trees: tuple[TreeRecord, ...] = ()


@dataclass(frozen=True)
class AttentionRecord:
    """What a model read while it translated a document.

    Attributes:
        title: what the plots are headed with.
        sides: the tokens, for `source`, `target` and `prefix`.
        slots: by name, see `SLOT_SIDES`.
        poolings: by slot, the source2token weights of the tokens in the encodings of their sentences [L, G, tokens].
    """

    title: str
    sides: Mapping[str, TokenRow]
    slots: Mapping[str, SlotRecord]
    poolings: Mapping[str, np.ndarray] = field(default_factory=dict)

    def slot(self, name: str) -> SlotRecord:
        """The slot of this name.

        Raises:
            ValueError: there is none.
        """
        if name not in self.slots:
            raise ValueError(f"slot {name!r} was not recorded; recorded are {', '.join(self.slots) or 'none'}")
        return self.slots[name]

    def query_side(self, slot: str) -> TokenRow:
        """The tokens that read in a slot."""
        return self.sides[SLOT_SIDES[slot][0]]

    def key_side(self, slot: str) -> TokenRow:
        """The tokens that are read in a slot."""
        return self.sides[SLOT_SIDES[slot][1]]


def choose(values: np.ndarray, layer: int | None, head: int | None) -> np.ndarray:
    """Of values [L, H, ...] those of one layer and head, each the mean over all where it is None.

    Args:
        values: [L, H, ...].
        layer, head: from 0.

    Raises:
        ValueError: there is no such layer or head.
    """
    for name, index, size in (("layer", layer, values.shape[0]), ("head", head, values.shape[1])):
        if index is not None and not 0 <= index < size:
            raise ValueError(f"there is no {name} {index + 1}; the slot has {size}")
    values = values.mean(0) if layer is None else values[layer]
    return values.mean(0) if head is None else values[head]


def save_record(path: str | Path, record: AttentionRecord) -> None:
    """Writes a record as .npz, its labels as JSON in it; at no time is there half a file."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{os.getpid()}.{path.name}.npz")
    arrays, labels = _taken_apart(record)
    try:
        np.savez_compressed(temporary, allow_pickle=False, labels=np.array(json.dumps(labels)), **arrays)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def load_record(path: str | Path) -> AttentionRecord:
    """The record in a file that `save_record` wrote.

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
        raise ValueError(f"{path} is no attention record ({error})") from None
    return _put_together(arrays, labels)


def _taken_apart(record: AttentionRecord) -> tuple[dict[str, np.ndarray], dict]:
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


def _put_together(arrays: dict[str, np.ndarray], labels: dict) -> AttentionRecord:
    """What `_taken_apart` took apart."""
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
