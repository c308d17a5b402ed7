# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Translations in which decoding runs in circles: known by the n-grams that come back, and by those of the source."""

from collections.abc import Sequence

# Tokens of an n-gram, for knowing a loop (seq-rep-4 of Welleck et al. 2020) and for forbidding it.
REPEATED_NGRAM_SIZE = 4
# A loop has this much more of repeated n-grams than its source: a little above what any of 282,599 human translations
# has (French of Europarl, dev 2011a and extra 2007, and of Tatoeba, in tokens of the shipped checkpoint), of which the
# largest is 0.225 and one other above 0.2. Three loops of that checkpoint on single words and symbols had 0.25 to 0.64.
MAX_EXCESS_REPETITION = 0.25
# And at least so many: short sentences have few n-grams, of which one that comes back is no loop.
MIN_REPEATED_NGRAMS = 4


def num_repeated_ngrams(ids: Sequence[int], size: int = REPEATED_NGRAM_SIZE) -> int:
    """How many n-grams of the row stood in it before."""
    num_ngrams = max(0, len(ids) - size + 1)
    return num_ngrams - len({tuple(ids[start : start + size]) for start in range(num_ngrams)})


def repetition(ids: Sequence[int], size: int = REPEATED_NGRAM_SIZE) -> float:
    """The share of n-grams of the row that stood in it before: 0 where there is none, below 1."""
    return num_repeated_ngrams(ids, size) / max(1, len(ids) - size + 1)


def is_loop(target_ids: Sequence[int], source_ids: Sequence[int]) -> bool:
    """Whether a translation repeats itself and its source does not as much."""
    if num_repeated_ngrams(target_ids) < MIN_REPEATED_NGRAMS:
        return False
    return repetition(target_ids) - repetition(source_ids) > MAX_EXCESS_REPETITION
