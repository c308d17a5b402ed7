# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import pytest

from hier_nmt.data.documents import SentencePair
from hier_nmt.data.pair_split import split_pairs

# Forty source sentences; every fourth has three translations, one of them with the source in another case.
PAIRS = [
    SentencePair(f"Sentence {number}" if copy < 2 else f"SENTENCE {number}", f"phrase {number} {copy}")
    for number in range(40)
    for copy in range(3 if number % 4 == 0 else 1)
]


def test_every_pair_is_in_exactly_one_part_of_the_size_asked_for() -> None:
    parts = split_pairs(PAIRS, num_dev=7, num_test=9, seed=1)
    assert (len(parts.dev), len(parts.test)) == (7, 9)
    assert sorted([*parts.train, *parts.dev, *parts.test], key=PAIRS.index) == PAIRS


def test_no_source_sentence_is_in_two_parts() -> None:
    sources = [{pair.source.casefold() for pair in part} for part in split_pairs(PAIRS, 7, 9, seed=2)]
    assert not sources[0] & sources[1] | sources[0] & sources[2] | sources[1] & sources[2]


def test_the_seed_decides_the_draw_and_nothing_else() -> None:
    assert split_pairs(PAIRS, 7, 9, seed=1) == split_pairs(PAIRS, 7, 9, seed=1)
    assert split_pairs(PAIRS, 7, 9, seed=1) != split_pairs(PAIRS, 7, 9, seed=2)


def test_each_part_keeps_the_order_of_the_pairs() -> None:
    for part in split_pairs(PAIRS, 7, 9, seed=3):
        assert part == sorted(part, key=PAIRS.index)


@pytest.mark.parametrize(("num_dev", "num_test"), [(-1, 2), (30, 30), (0, 60)])
def test_impossible_sizes_are_named(num_dev, num_test) -> None:
    with pytest.raises(ValueError, match=f"60 pairs cannot give {num_dev} for development, {num_test} for testing"):
        split_pairs(PAIRS, num_dev, num_test, seed=1)


def test_a_part_that_no_group_fits_into_is_an_error() -> None:
    with pytest.raises(ValueError, match="too many translations each for 1 pairs for testing"):
        split_pairs([SentencePair("a", "b")] * 3, 0, 1, seed=1)
