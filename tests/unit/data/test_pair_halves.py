# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nasty_text import NASTY_TEXTS

from hier_nmt.data.augmentation import Augmentation, PairAugmenter
from hier_nmt.data.documents import ParallelDocument, SentencePair
from hier_nmt.data.pair_halves import pair_halves

PIECES = [
    "a",
    "b c",
    " ",
    "\u00a0",
    "\u202f",
    "\t",
    "\x1c",
    "\u2028",
    ",",
    ";",
    " : ",
    "–",
    " - ",
    "« ",
    " »",
    "(",
    "É",
    "1,5",
]


@pytest.mark.parametrize(
    ("source", "target", "halves"),
    [
        # The middles of eight and of nine words.
        (
            "a b c d e f g h",
            "i j k l m n o p q",
            [("a b c d", "i j k l"), ("e f g h", "m n o p q")],
        ),
        # Marks in the middle thirds of both: after 3 of 8 words, after 5 of 9.
        (
            "a b c, d e f g h",
            "i j k l m; n o p q",
            [("a b c,", "i j k l m;"), ("d e f g h", "n o p q")],
        ),
        # A mark on one side alone, or outside of the middle third, is not used.
        ("a b c, d e f g h", "i j k l m n o p", [("a b c, d", "i j k l"), ("e f g h", "m n o p")]),
        ("a b, c d e f g h", "i j k, l m n o p", [("a b, c d", "i j k, l"), ("e f g h", "m n o p")]),
        # Of several marks, those after the most similar shares of the words: 5 of 9 on both sides.
        (
            "a b c, d e, f g h i",
            "i j k l m, n o p q",
            [("a b c, d e,", "i j k l m,"), ("f g h i", "n o p q")],
        ),
        # A dash is a word of its own, and so is a mark of French typography, which stays with the word before it.
        (
            "a b c d - e f g h",
            "i j k l : m n o p",
            [("a b c d -", "i j k l :"), ("e f g h", "m n o p")],
        ),
        (
            "a b c d e f g h",
            "i j k l\u00a0! m n o",
            [("a b c d", "i j k"), ("e f g h", "l\u00a0! m n o")],
        ),
    ],
)  # fmt: skip
def test_a_pair_is_divided_at_marks_of_both_middle_thirds_or_else_in_the_middle(source, target, halves):
    assert pair_halves(SentencePair(source, target)) == tuple(SentencePair(*half) for half in halves)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("a b c d e f g", "i j k l m n o p"),
        ("a b c d e f g h", "i j k l m n o"),
        ("a b c \ufdd1d\ufdd2 e f g h i", "i d k l m n o p"),
        ("a b c d e f g h", "。" * 20),
        ("", ""),
    ],
)
def test_short_pairs_and_those_with_inline_terms_stay_whole(source, target):
    pair = SentencePair(source, target)
    assert pair_halves(pair) == (pair,)


@given(
    source=st.lists(st.sampled_from(PIECES), max_size=40).map("".join) | st.sampled_from(list(NASTY_TEXTS.values())),
    target=st.lists(st.sampled_from(PIECES), max_size=40).map("".join) | st.sampled_from(list(NASTY_TEXTS.values())),
)
@settings(max_examples=500, deadline=None)
def test_no_word_is_lost(source, target):
    halves = pair_halves(SentencePair(source, target))
    assert " ".join(half.source for half in halves).split() == source.split()
    assert " ".join(half.target for half in halves).split() == target.split()
    assert all(half.source.strip() and half.target.strip() for half in halves) or len(halves) == 1


def test_the_share_of_documents_that_was_asked_for_is_divided_as_a_whole():
    pairs = (SentencePair("a b c d e f g h", "i j k l m n o p"), SentencePair("a", "b"))
    documents = [ParallelDocument(f"d{number}", (pairs, pairs[:1])) for number in range(2000)]
    augmenter = PairAugmenter(Augmentation(split_share=0.3))
    changed = list(map(augmenter.augmented, documents))
    assert changed == list(map(PairAugmenter(Augmentation(split_share=0.3)).augmented, documents))
    divided = (SentencePair("a b c d", "i j k l"), SentencePair("e f g h", "m n o p"))
    expected = ((*divided, SentencePair("a", "b")), divided)
    num_divided = sum(document.paragraphs == expected for document in changed)
    assert sum(document.paragraphs == (pairs, pairs[:1]) for document in changed) == 2000 - num_divided
    # Six standard deviations of a binomial distribution.
    assert abs(num_divided - 600) < 6 * np.sqrt(2000 * 0.3 * 0.7)


def test_all_documents_are_divided_if_the_share_is_one():
    document = ParallelDocument("d", ((SentencePair("a b c d e f g h", "i j k l m n o p"),),))
    assert PairAugmenter(Augmentation(split_share=1)).augmented(document).num_sentences == 2
    assert PairAugmenter(Augmentation(split_share=0)).augmented(document) is document


def test_an_impossible_share_is_named():
    with pytest.raises(ValueError, match=r"split_share=1\.5 must be from 0 to 1"):
        Augmentation(split_share=1.5)
