# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The windows of documents, one row each, as a memory-mapped `datasets` table that is made of a table of token ids.

Like that table it is cached on disk, and built a few documents at a time.
"""

import logging
from collections.abc import Sequence
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from datasets import Dataset, Features, List, Value
from datasets.fingerprint import Hasher
from transformers import PreTrainedTokenizerBase

from ..text.windows import Window, document_blocks, fit_window, join_window, sliding_windows
from .corpus_tables import FEATURES_VERSION, ids_array, map_arguments
from .library_internals import dataset_fingerprint

logger = logging.getLogger(__name__)

LENGTH_COLUMN = "length"
CORPUS_COLUMN = "corpus"
_WINDOW_FEATURES = Features(
    {
        "input_ids": List(Value("int32")),
        "labels": List(Value("int32")),
        "length": Value("int32"),
        "document_id": Value("string"),
        "sentence_index": Value("int32"),
        "num_sentences": Value("int32"),
        "corpus": Value("int32"),
    }
)


class OverlongSentence(NamedTuple):
    """A sentence that exceeds a limit by itself; `num_tokens` includes the token that closes it."""

    document_id: str
    sentence_index: int
    side: Literal["source", "target"]
    num_tokens: int


class OverlongSentenceError(ValueError):
    """Raised for sentences that do not fit into any window; `sentences` lists all of them."""

    def __init__(self, sentences: Sequence[OverlongSentence]) -> None:
        self.sentences = list(sentences)
        shown = ", ".join(
            f"{item.document_id}[{item.sentence_index}] ({item.num_tokens} {item.side} tokens)"
            for item in self.sentences[:20]
        )
        more = f" and {len(self.sentences) - 20} more" if len(self.sentences) > 20 else ""
        super().__init__(
            f"{len(self.sentences)} sentences are longer than the limit: {shown}{more}; "
            f"raise max_source_tokens / max_target_tokens, or skip them with overlong='skip'"
        )


class ClosingTokens(NamedTuple):
    """The ids of the tokens that close the sentences of a window."""

    sep: int
    par: int
    eos: int


def closing_tokens(tokenizer: PreTrainedTokenizerBase) -> ClosingTokens:
    """The closing tokens of a tokenizer; ValueError if one is missing."""
    names = ("sep_token_id", "par_token_id", "eos_token_id")
    ids = [getattr(tokenizer, name, None) for name in names]
    missing = [name for name, token_id in zip(names, ids, strict=True) if token_id is None]
    if missing:
        raise ValueError(f"the tokenizer has no {', '.join(missing)} (was it trained by `hier-nmt tokenizer`?)")
    return ClosingTokens(*(int(token_id) for token_id in ids if token_id is not None))


def overlong_sentences(
    tokens: Dataset, max_source_tokens: int | None, max_target_tokens: int | None
) -> list[OverlongSentence]:
    """All sentences that exceed a limit by themselves; None means no limit."""
    found = []
    for table in tokens.with_format("arrow").iter(batch_size=1000):
        if max_source_tokens is not None:
            found += _overlong_in(table, "source", max_source_tokens)
        if max_target_tokens is not None:
            found += _overlong_in(table, "target", max_target_tokens)
    return sorted(found)


def window_table(
    tokens: Dataset,
    closing: ClosingTokens,
    window_sentences: int,
    *,
    max_source_tokens: int | None = None,
    max_target_tokens: int | None = None,
    overlong: Literal["error", "skip"] = "error",
    num_proc: int | None = None,
) -> Dataset:
    """The window features, one row per window, in the order of the documents.

    Columns: `input_ids` and `labels` (with closing tokens as in `join_window`), `length` (the larger of the two),
        `document_id`, `sentence_index` (index within the document of the current sentence, the last of the window),
        `num_sentences` and `corpus`.

    A window that exceeds a limit drops its farthest context first. A sentence that exceeds a limit by itself raises
    OverlongSentenceError. With overlong="skip" it is logged, and is the current sentence of no window (K = 0: in no
    window); other windows are unaffected.

    Args:
        window_sentences: K; 0 divides the whole document, at sentence boundaries only, into windows that fit.
        max_source_tokens, max_target_tokens: limits of `input_ids` and of `labels`; None means no limit.
    """
    if overlong not in ("error", "skip"):
        raise ValueError(f"overlong must be 'error' or 'skip', got {overlong!r}")
    if window_sentences < 0:
        raise ValueError(f"window_sentences must not be negative, got {window_sentences}")
    too_long = overlong_sentences(tokens, max_source_tokens, max_target_tokens)
    if too_long and overlong == "error":
        raise OverlongSentenceError(too_long)
    if too_long:
        logger.warning("%s", OverlongSentenceError(too_long))
    options = {
        "closing": closing,
        "window_sentences": window_sentences,
        "max_source_tokens": max_source_tokens,
        "max_target_tokens": max_target_tokens,
    }
    windows = tokens.with_format("arrow").map(
        _make_windows,
        fn_kwargs=options,
        features=_WINDOW_FEATURES,
        new_fingerprint=Hasher.hash((FEATURES_VERSION, dataset_fingerprint(tokens), sorted(options.items()))),
        desc="making windows",
        **map_arguments(tokens, num_proc),
    )
    return windows.with_format(None)


def weighted_windows(windows: Dataset, weights: Sequence[float], window_weights: np.ndarray | None = None) -> Dataset:
    """The windows of each corpus repeated by its weight; for a fraction an evenly spaced subset is added.

    Args:
        windows: a table with the column `corpus`.
        weights: one per corpus, by its index.
        window_weights: weights of the windows, with which those of their corpora are multiplied, float
            [number of windows]; None: 1.
    """
    if window_weights is None and all(weight == 1 for weight in weights):
        return windows
    corpora = np.asarray(windows.with_format("numpy")["corpus"][:])
    factors = np.ones(len(windows)) if window_weights is None else window_weights
    chosen = []
    for corpus, factor in product(range(len(weights)), np.unique(factors).tolist()):
        rows = np.flatnonzero((corpora == corpus) & (factors == factor))
        weight = weights[corpus] * factor
        num_more = round((weight - int(weight)) * len(rows))
        chosen += [np.tile(rows, int(weight)), rows[np.linspace(0, len(rows) - 1, num_more).astype(int)]]
    return windows.select(np.sort(np.concatenate(chosen)))


def window_ids(windows: Dataset) -> np.ndarray:
    """Numbers that are equal for the copies of a window, which lie side by side, int64 [number of rows].

    A table that does not say which windows its rows are has no copies.
    """
    names = [CORPUS_COLUMN, "document_id", "sentence_index"]
    if not set(names) <= set(windows.column_names):
        return np.arange(len(windows))
    is_new = np.zeros(len(windows), dtype=np.int64)
    for column in windows.select_columns(names).with_format("arrow")[:].columns:
        values = column.combine_chunks().dictionary_encode().indices.to_numpy()
        is_new[1:] |= values[1:] != values[:-1]
    return np.cumsum(is_new)


def document_windows(
    source_lengths: Sequence[int],
    target_lengths: Sequence[int],
    window_sentences: int,
    max_source_tokens: int | None,
    max_target_tokens: int | None,
) -> list[Window]:
    """The windows of one document that fit the limits; lengths include the closing tokens."""
    if window_sentences == 0:
        windows = document_blocks(source_lengths, max_source_tokens, target_lengths, max_target_tokens)
    else:
        windows = [
            fit_window(window, source_lengths, target_lengths, max_source_tokens, max_target_tokens)
            for window in sliding_windows(len(source_lengths), window_sentences)
        ]
    return [
        window
        for window in windows
        if not _exceeds(source_lengths[window.stop - 1], max_source_tokens)
        and not _exceeds(target_lengths[window.stop - 1], max_target_tokens)
    ]


def side_lengths(dataset: Any) -> np.ndarray:
    """Numbers of source and target tokens, int64 [number of rows, 2]."""
    names = ["input_ids", "labels"]
    chunks = [
        np.stack([table[name].combine_chunks().value_lengths().to_numpy() for name in names], axis=1)
        for table in dataset.select_columns(names).with_format("arrow").iter(batch_size=10_000)
    ]
    return np.concatenate(chunks).astype(np.int64) if chunks else np.zeros((0, 2), np.int64)


def column_of(dataset: Any, name: str) -> np.ndarray:
    """A column of numbers, int64 [number of rows]."""
    return np.asarray(dataset.with_format("numpy")[name][:], dtype=np.int64)


def _exceeds(length: int, limit: int | None) -> bool:
    return limit is not None and length > limit


def _overlong_in(table: pa.Table, side: Literal["source", "target"], limit: int) -> list[OverlongSentence]:
    column = table[f"{side}_ids"].combine_chunks()
    num_tokens = column.flatten().value_lengths().to_numpy() + 1
    first_sentences = np.concatenate([[0], np.cumsum(column.value_lengths().to_numpy())])
    found = []
    for sentence in np.flatnonzero(num_tokens > limit):
        document = int(np.searchsorted(first_sentences, sentence, side="right")) - 1
        document_id = table["document_id"][document].as_py()
        index = int(sentence - first_sentences[document])
        found.append(OverlongSentence(document_id, index, side, int(num_tokens[sentence])))
    return found


def _make_windows(
    table: pa.Table,
    closing: ClosingTokens,
    window_sentences: int,
    max_source_tokens: int | None,
    max_target_tokens: int | None,
) -> pa.Table:
    rows: dict[str, list[Any]] = {name: [] for name in _WINDOW_FEATURES if name != "length"}
    for document in table.to_pylist():
        source_ids, target_ids, ends = document["source_ids"], document["target_ids"], document["ends_paragraph"]
        source_lengths = [len(ids) + 1 for ids in source_ids]
        target_lengths = [len(ids) + 1 for ids in target_ids]
        for start, stop in document_windows(
            source_lengths, target_lengths, window_sentences, max_source_tokens, max_target_tokens
        ):
            rows["input_ids"].append(join_window(source_ids[start:stop], ends[start:stop], *closing))
            rows["labels"].append(join_window(target_ids[start:stop], ends[start:stop], *closing))
            rows["document_id"].append(document["document_id"])
            rows["sentence_index"].append(stop - 1)
            rows["num_sentences"].append(stop - start)
            rows["corpus"].append(document["corpus"])
    lengths = [max(len(source), len(target)) for source, target in zip(rows["input_ids"], rows["labels"], strict=True)]
    arrays = {
        "input_ids": ids_array(rows["input_ids"]),
        "labels": ids_array(rows["labels"]),
        "length": pa.array(lengths, pa.int32()),
        "document_id": pa.array(rows["document_id"], pa.string()),
        "sentence_index": pa.array(rows["sentence_index"], pa.int32()),
        "num_sentences": pa.array(rows["num_sentences"], pa.int32()),
        "corpus": pa.array(rows["corpus"], pa.int32()),
    }
    return pa.table(arrays)
