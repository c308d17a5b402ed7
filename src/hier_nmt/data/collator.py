# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Batches: which windows go together, and how they are padded.

Dimensions: B batch, S source tokens, T target tokens.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.utils.data import Sampler

IGNORED_LABEL = -100


@dataclass(frozen=True)
class DocumentCollator:
    """Collates window features into a padded batch.

    Args:
        pad_token_id: fills `input_ids` and `decoder_input_ids`.
        decoder_start_token_id: the first of the `decoder_input_ids`.
        pad_to_multiple_of: both sides are padded to a multiple of this number of tokens.
        keep_columns: further columns for the batch: integers and booleans as a tensor [B], anything else as a list.
            Other columns are dropped.
    """

    pad_token_id: int
    decoder_start_token_id: int
    pad_to_multiple_of: int | None = None
    keep_columns: tuple[str, ...] = ()

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """`input_ids`, `attention_mask` [B, S], with labels also `labels`, `decoder_input_ids` [B, T], int64."""
        input_ids = [row["input_ids"] for row in rows]
        batch: dict[str, Any] = {
            "input_ids": self._pad(input_ids, self.pad_token_id),
            "attention_mask": self._pad([[1] * len(ids) for ids in input_ids], 0),
        }
        if "labels" in rows[0]:
            batch["labels"] = self._pad([row["labels"] for row in rows], IGNORED_LABEL)
            batch["decoder_input_ids"] = self._shift_right(batch["labels"])
        for name in self.keep_columns:
            values = [row[name] for row in rows]
            batch[name] = torch.tensor(values) if all(isinstance(value, int) for value in values) else values
        return batch

    def _pad(self, rows: Sequence[Sequence[int]], value: int) -> torch.Tensor:
        length = max(len(row) for row in rows)
        if self.pad_to_multiple_of:
            length = _round_up(length, self.pad_to_multiple_of)
        padded = torch.full((len(rows), length), value, dtype=torch.int64)
        for index, row in enumerate(rows):
            padded[index, : len(row)] = torch.as_tensor(row, dtype=torch.int64)
        return padded

    def _shift_right(self, labels: torch.Tensor) -> torch.Tensor:
        shifted = torch.full_like(labels, self.decoder_start_token_id)
        shifted[:, 1:] = labels[:, :-1]
        return shifted.masked_fill(shifted == IGNORED_LABEL, self.pad_token_id)


# Full batches of a round, on average at least: with fewer rows to choose from there is more padding.
_ROUND_BATCHES = 8


class TokenBatchSampler(Sampler[list[int]]):
    """Yields lists of row indices: rows of similar length, with at most `max_tokens` padded tokens in a batch.

    Rows are sorted by length, then by the lengths of their sides if given, then randomly by (seed, epoch). They are
    divided greedily from the longest on, and the batches are shuffled. The sorted lengths are the same in every epoch,
    so the number of batches is constant and `len()` is exact. A row longer than `max_tokens` is a batch of its own.

    Copies of a window have equal lengths, which would bring them into the same batch. So an epoch is divided into as
    many rounds as the most frequent window has copies: each copy goes into another round, and batches are made within
    rounds. An epoch with fewer than eight full batches for each round has fewer rounds, in which copies may meet.

    Every row goes to exactly one process, and all processes get the same number of batches. If the number of batches is
    not divisible, the fullest batches are halved until it is.

    Args:
        lengths: [number of rows], the padded length of each row (that of its longer side).
        max_tokens: limit on the length of the longest row times the number of rows.
        side_lengths: source and target lengths, [number of rows, 2]; if given, both sides get little padding.
        window_ids: [number of rows], equal for copies of a window; None: no row is repeated.
        pad_to_multiple_of: that of the collator, so that the limit holds after padding.
        max_rows: limit on the number of rows of a batch, or None.
        shuffle: False yields the batches from the longest to the shortest rows, in the same order each time.
    """

    def __init__(
        self,
        lengths: Sequence[int] | np.ndarray,
        max_tokens: int,
        *,
        side_lengths: np.ndarray | None = None,
        window_ids: np.ndarray | None = None,
        seed: int = 0,
        shuffle: bool = True,
        pad_to_multiple_of: int | None = None,
        max_rows: int | None = None,
        num_processes: int = 1,
        process_index: int = 0,
    ) -> None:
        if max_tokens < 1:
            raise ValueError(f"max_tokens must be at least 1, got {max_tokens}")
        if not 0 <= process_index < num_processes:
            raise ValueError(f"process_index must lie in [0, {num_processes}), got {process_index}")
        self.lengths = np.asarray(lengths, dtype=np.int64)
        if pad_to_multiple_of:
            self.lengths = _round_up(self.lengths, pad_to_multiple_of)
        self._sort_keys = self.lengths
        if side_lengths is not None:
            # One sort key: the longer side first, then the source, then the target.
            base = int(side_lengths.max(initial=0)) + 1
            self._sort_keys = (self.lengths * base + side_lengths[:, 0]) * base + side_lengths[:, 1]
        self.seed, self.shuffle, self.epoch = seed, shuffle, 0
        self.num_processes, self.process_index = num_processes, process_index
        self._rounds = np.zeros_like(self.lengths)
        if window_ids is not None:
            max_rounds = max(1, int(self.lengths.sum()) // (_ROUND_BATCHES * max_tokens))
            self._rounds = _rounds(window_ids, self._sort_keys, max_rounds)
        starts, num_before = [], 0
        for index in range(self._num_rounds):
            lengths = np.sort(self.lengths[self._rounds == index])[::-1]
            starts += [num_before + start for start in _batch_starts(lengths, max_tokens, max_rows)]
            num_before += len(lengths)
        self._starts = _split_until_divisible(starts, num_before, num_processes)

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of the next iteration."""
        self.epoch = epoch

    @property
    def _num_rounds(self) -> int:
        return int(self._rounds.max(initial=0)) + 1

    def __len__(self) -> int:
        """The number of batches of this process in each epoch."""
        return len(self._starts) // self.num_processes

    def __iter__(self) -> Iterator[list[int]]:
        generator = np.random.default_rng((self.seed, self.epoch))
        num_rows, num_batches = len(self.lengths), len(self._starts)
        rows = generator.permutation(num_rows) if self.shuffle else np.arange(num_rows)
        rows = rows[np.lexsort((-self._sort_keys[rows], self._rounds[rows]))]
        stops = [*self._starts[1:], num_rows]
        batch_order = generator.permutation(num_batches) if self.shuffle else np.arange(num_batches)
        if self.shuffle and self._num_rounds > 1:
            batch_rounds = self._rounds[rows[self._starts]]
            round_order = generator.permutation(self._num_rounds)
            batch_order = batch_order[np.argsort(round_order[batch_rounds[batch_order]], kind="stable")]
        for batch in batch_order[self.process_index :: self.num_processes]:
            yield rows[self._starts[batch] : stops[batch]].tolist()


def _rounds(window_ids: np.ndarray, sort_keys: np.ndarray, max_rounds: int) -> np.ndarray:
    """The round of each row, int64 [number of rows]; the copies of a window are evenly spread over all rounds.

    Multiples of the golden ratio decide where the first copies go, so that each round gets windows of all lengths.
    """
    _, firsts, windows, counts = np.unique(window_ids, return_index=True, return_inverse=True, return_counts=True)
    copies = np.empty_like(windows)
    copies[np.argsort(windows, kind="stable")] = _counted(counts)
    ranks = np.empty_like(firsts)
    ranks[np.argsort(sort_keys[firsts], kind="stable")] = np.arange(len(firsts))
    offsets = ranks * (np.sqrt(5) - 1) / 2 % 1
    num_rounds = min(int(counts.max(initial=1)), max_rounds)
    return ((copies + offsets[windows]) * num_rounds / counts[windows]).astype(np.int64)


def _counted(counts: np.ndarray) -> np.ndarray:
    """0, 1 ... up to each count, one after the other."""
    return np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)


def _round_up(length: Any, multiple: int) -> Any:
    return -(-length // multiple) * multiple


def _batch_starts(descending_lengths: np.ndarray, max_tokens: int, max_rows: int | None) -> list[int]:
    """Start of each batch in the rows sorted from the longest; the first row decides its padded length."""
    starts = []
    start = 0
    while start < len(descending_lengths):
        starts.append(start)
        num_rows = max(1, max_tokens // max(1, int(descending_lengths[start])))
        start += min(num_rows, max_rows) if max_rows else num_rows
    return starts


def _split_until_divisible(starts: list[int], num_rows: int, num_processes: int) -> list[int]:
    """The starts with the fullest batches halved until the number of batches is a multiple of `num_processes`."""
    while len(starts) % num_processes:
        sizes = np.diff([*starts, num_rows])
        fullest = int(np.argmax(sizes))
        if sizes[fullest] < 2:
            raise ValueError(f"{num_rows} rows cannot be shared evenly by {num_processes} processes")
        starts = sorted([*starts, starts[fullest] + int(sizes[fullest]) // 2])
    return starts
