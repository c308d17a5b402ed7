# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Splits sentence pairs into training, development and test parts without common source sentences."""

import random
from collections.abc import Sequence
from typing import NamedTuple

from .documents import SentencePair


class SplitPairs(NamedTuple):
    """The three parts, each in the original order of its pairs."""

    train: list[SentencePair]
    dev: list[SentencePair]
    test: list[SentencePair]


def split_pairs(pairs: Sequence[SentencePair], num_dev: int, num_test: int, seed: int) -> SplitPairs:
    """The pairs, with `num_dev` of them set apart for development and `num_test` for testing.

    Pairs with the same source sentence (ignoring case) stay together, so that no part has a translation that another
    part asks for. Source sentences are drawn at random; one with more pairs than a part has room for goes to training.

    Args:
        pairs: sentence pairs.
        num_dev, num_test: sizes of the two parts.
        seed: seed of the random draw.

    Raises:
        ValueError: a negative size, or not enough pairs.
    """
    if min(num_dev, num_test) < 0 or num_dev + num_test >= len(pairs):
        raise ValueError(f"{len(pairs)} pairs cannot give {num_dev} for development, {num_test} for testing and more")
    indices: dict[str, list[int]] = {}
    for index, pair in enumerate(pairs):
        indices.setdefault(pair.source.casefold(), []).append(index)
    groups = list(indices.values())
    random.Random(seed).shuffle(groups)
    parts: tuple[list[int], list[int], list[int]] = ([], [], [])
    sizes = (len(pairs), num_dev, num_test)
    for group in groups:
        chosen = next(part for part in (2, 1, 0) if len(parts[part]) + len(group) <= sizes[part])
        parts[chosen].extend(group)
    for name, part, size in (("development", parts[1], num_dev), ("testing", parts[2], num_test)):
        if len(part) < size:
            raise ValueError(f"the source sentences have too many translations each for {size} pairs for {name}")
    return SplitPairs(*([pairs[index] for index in sorted(part)] for part in parts))
