# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Repetition loops in translations, recognised by repeated n-grams and compared with those of the source. A turn is one
of several consecutive occurrences of an n-gram."""

from collections.abc import Collection, Sequence
from itertools import groupby
from operator import eq

from ..text.windows import split_window

# Tokens of an n-gram, for recognising a loop (seq-rep-4 of Welleck et al. 2020) and for forbidding it.
REPEATED_NGRAM_SIZE = 4
# The share of repeated n-grams in a loop is this much larger than in its source: a little above what any of 282,599
# human translations has (French of Europarl, dev 2011a and extra 2007, and of Tatoeba, in tokens of the shipped
# checkpoint), of which the largest is 0.225 and one other above 0.2. Three loops of that checkpoint on single words and
# symbols had 0.25 to 0.64.
MAX_EXCESS_REPETITION = 0.25
# And at least this many are repeated: short sentences have few n-grams, and a single repeated one is not a loop.
MIN_REPEATED_NGRAMS = 4
# Tokens of the longest n-gram whose turns are counted.
MAX_TURN_SIZE = 30
# A translation with more tokens than these, per source token and in total, is on its way to the length limit. Of
# 100,477 human translations of the corpora below 1,296 are, and 215 of these then repeat an n-gram more often than
# their source.
LONG_RATIO, LONG_EXCESS = 1.5, 5


def num_repeated_ngrams(ids: Sequence[int], size: int = REPEATED_NGRAM_SIZE) -> int:
    """The number of n-grams of the row that occurred in it before."""
    num_ngrams = max(0, len(ids) - size + 1)
    return num_ngrams - len({tuple(ids[start : start + size]) for start in range(num_ngrams)})


def repetition(ids: Sequence[int], size: int = REPEATED_NGRAM_SIZE) -> float:
    """The share of n-grams of the row that occurred in it before: from 0 to below 1."""
    return num_repeated_ngrams(ids, size) / max(1, len(ids) - size + 1)


def is_loop(target_ids: Sequence[int], source_ids: Sequence[int]) -> bool:
    """Whether a translation repeats itself more than its source does."""
    if num_repeated_ngrams(target_ids) < MIN_REPEATED_NGRAMS:
        return False
    return repetition(target_ids) - repetition(source_ids) > MAX_EXCESS_REPETITION


def most_turns(ids: Sequence[int]) -> int:
    """The largest number of turns of an n-gram in the row: 1 if none is repeated immediately."""
    most = 1
    for size in range(1, min(MAX_TURN_SIZE, len(ids) // 2) + 1):
        runs = groupby(map(eq, ids[size:], ids))
        most = max([most, *(1 + sum(1 for _ in run) // size for is_repeated, run in runs if is_repeated)])
    return most


def ends_in_turns(ids: Sequence[int], num_turns: int) -> bool:
    """Whether the row ends in this many turns of an n-gram, or in more of a short one, so that `MIN_REPEATED_NGRAMS`
    are repeated."""
    fewest = REPEATED_NGRAM_SIZE + MIN_REPEATED_NGRAMS - 1
    for size in range(1, min(MAX_TURN_SIZE, len(ids) // num_turns) + 1):
        num_repeated = max(fewest, (num_turns - 1) * size)
        if len(ids) >= num_repeated + size and ids[-num_repeated:] == ids[-num_repeated - size : -size]:
            return True
    return False


def begins_next_turn(target_ids: Sequence[int], source_ids: Sequence[int]) -> bool:
    """Whether the last token of an unfinished translation continues a loop.

    It ends an n-gram that occurred before, and one of these is true:

    * The translation ends in three turns of an n-gram, or in two more than its source has of one. Of 840,000 human
      translations (French of Europarl, Tatoeba, laws, manuals, novels, games and news, in tokens of the shipped
      checkpoint) 44 have such turns, and most of these are leader dots.
    * It is longer than its source, and a loop if it ended here.
    * It is on its way to the length limit, and has more repeated n-grams than its source.
    """
    num_target, num_source = len(target_ids), len(source_ids)
    comes_in_turns = ends_in_turns(target_ids, 3)
    # The fast checks come first, because this runs in every step.
    if not comes_in_turns and num_target <= num_source:
        return False
    num_repeated = num_repeated_ngrams(target_ids)
    if num_repeated == num_repeated_ngrams(target_ids[:-1]):
        return False
    if comes_in_turns and ends_in_turns(target_ids, most_turns(source_ids) + 2):
        return True
    if num_target > LONG_RATIO * num_source + LONG_EXCESS and num_repeated > num_repeated_ngrams(source_ids):
        return True
    return num_target > num_source and is_loop(target_ids, source_ids)


def loop_continuations(
    ids: Sequence[int], sources: Sequence[Sequence[int]], separator_ids: Collection[int], start_ids: Collection[int]
) -> tuple[list[int], bool]:
    """The tokens with which the last sentence of a row would begin the next turn of a loop, and whether it is as long
    as its source sentence.

    Args:
        ids: the row so far.
        sources: the source sentences of the row.
        separator_ids: the target's `<sep>` and `<par>`, or nothing.
        start_ids: tokens before the text that are not part of it: padding and the start token.
    """
    sentences = split_window(ids, separator_ids, start_ids)
    source, sentence = sources[min(len(sentences), len(sources)) - 1], sentences[-1]
    forbidden = [one for one in _continuations(sentence) if begins_next_turn([*sentence, one], source)]
    return forbidden, len(sentence) >= len(source)


def _continuations(ids: Sequence[int]) -> list[int]:
    """The tokens that would repeat an n-gram of the row."""
    last = list(ids[1 - REPEATED_NGRAM_SIZE :])
    starts = range(len(ids) - len(last))
    return sorted({ids[start + len(last)] for start in starts if list(ids[start : start + len(last)]) == last})
