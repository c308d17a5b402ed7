# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""A list of sentence pairs cut into training, development and test parts that share no source sentence."""

import random
from collections.abc import Sequence
from typing import NamedTuple

from .documents import SentencePair


class SplitPairs(NamedTuple):
    """The three parts, each in the order in which its pairs were given."""

    train: list[SentencePair]
    dev: list[SentencePair]
    test: list[SentencePair]


def split_pairs(pairs: Sequence[SentencePair], num_dev: int, num_test: int, seed: int) -> SplitPairs:
    """The pairs, `num_dev` of them apart for development and `num_test` for testing.

    Pairs of one source sentence (in whatever case) stay together, so that no part knows a translation of what another
    one asks for. Source sentences are drawn at random; one with more pairs than there is room left goes to training.

    Args:
        pairs: sentence pairs.
        num_dev, num_test: sizes of the two parts.
        seed: decides the draw.

    Raises:
        ValueError: a negative size, or not enough pairs.
    """
    if min(num_dev, num_test) < 0 or num_dev + num_test >= len(pairs):
        raise ValueError(f"{len(pairs)} pairs cannot give {num_dev} for development, {num_test} for testing and more")
    places: dict[str, list[int]] = {}
    for place, pair in enumerate(pairs):
        places.setdefault(pair.source.casefold(), []).append(place)
    groups = list(places.values())
    random.Random(seed).shuffle(groups)
    parts: tuple[list[int], list[int], list[int]] = ([], [], [])
    sizes = (len(pairs), num_dev, num_test)
    for group in groups:
        chosen = next(part for part in (2, 1, 0) if len(parts[part]) + len(group) <= sizes[part])
        parts[chosen].extend(group)
    for name, part, size in (("development", parts[1], num_dev), ("testing", parts[2], num_test)):
        if len(part) < size:
            raise ValueError(f"the source sentences have too many translations each to give {size} pairs for {name}")
    return SplitPairs(*([pairs[place] for place in sorted(part)] for part in parts))
