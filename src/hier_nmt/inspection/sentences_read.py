# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which sentences of a document each of its sentences read while it was translated.

Dimensions: L layers, H heads, Q queries, M sentences of the queries, N sentences of the keys, t selected sentences.
"""

import math
from typing import NamedTuple

import numpy as np

from .attention_records import AttentionRecord, SlotRecord, TokenRow

# Smaller shares of the attention are left out.
MIN_SHARE = 0.005


class SentenceRead(NamedTuple):
    """A sentence that another one read.

    Attributes:
        sentence: its index, from 0.
        share: of the other sentence's attention, from 0 to 1; the mean over layers, heads and attention slots.
        selected: by which share of the other sentence's tokens it was selected, the mean over layers, heads and
            attention slots that select; None for models that select no sentences.
    """

    sentence: int
    share: float
    selected: float | None


def sentences_read(record: AttentionRecord) -> list[list[SentenceRead]]:
    """For each sentence of a record, the sentences that it read, itself included, in the order of the document.

    Args:
        record: the recorded attention.
    """
    shares = np.mean([slot.sentence_weights.mean((0, 1)) for slot in record.slots.values()], axis=0)  # [M, N]
    selections = [
        selection_shares(slot, record.query_side(name), shares.shape[1])
        for name, slot in record.slots.items()
        if slot.selected is not None
    ]
    selected = np.mean(selections, axis=0) if selections else None
    return [
        [
            SentenceRead(int(index), float(row[index]), None if selected is None else float(selected[number, index]))
            for index in np.flatnonzero(row >= MIN_SHARE)
        ]
        for number, row in enumerate(shares)
    ]


def selection_shares(slot: SlotRecord, queries: TokenRow, num_sentences: int) -> np.ndarray:
    """The share of the tokens of each sentence that selects each sentence [M, N], over all layers and heads.

    Args:
        slot: with `selected` [L, H, Q, t].
        queries: its query tokens.
        num_sentences: N.
    """
    assert slot.selected is not None
    shares = np.zeros((queries.num_sentences, num_sentences))
    for sentence in range(queries.num_sentences):
        selected = slot.selected[:, :, queries.sentence_ids == sentence]
        # A token selects no sentence twice, and -1 is none.
        counts = np.bincount(selected[selected >= 0], minlength=num_sentences)
        shares[sentence] = counts / max(1, math.prod(selected.shape[:3]))
    return shares
