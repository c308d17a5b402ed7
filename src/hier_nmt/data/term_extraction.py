# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Expressions of both languages that stand in the same sentence pairs: a glossary to train with inline terms.

Dimensions: P pairs, X expressions of the source, Y of the target.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .documents import SentencePair

# A word with what joins its parts; what elides its vowel before another ("l'") is a word of its own.
_WORD = re.compile(r"\w+['’](?=\w)|\w[\w-]*\w|\w")
# Expressions of the source that are compared at a time.
_ROWS = 1000


class FoundTerm(NamedTuple):
    """A pair of expressions, Dice's coefficient of the sentence pairs that they stand in, and the number of these."""

    source: str
    target: str
    dice: float
    num_pairs: int


class _Expressions(NamedTuple):
    """The expressions of one language, and which pairs have them: a sparse matrix [P, X] of ones."""

    names: list[str]
    is_in: Any


def extract_terms(
    pairs: Sequence[SentencePair],
    max_words: int = 2,
    min_count: int = 6,
    min_dice: float = 0.35,
    max_share: float = 0.02,
    num_translations: int = 3,
) -> Iterator[FoundTerm]:
    """Expressions and what most likely translates them (Dice 1945; for translations Smadja et al. 1996).

    Args:
        pairs: the more, the more terms.
        max_words: of a source expression; its translation may have two more.
        min_count: pairs that have both.
        min_dice: twice the pairs that have both, by the sum of the pairs that have either.
        max_share: words that more than this share of the sentences have neither begin nor end an expression.
        num_translations: the most likely ones that are given.

    Raises:
        ImportError: scipy is not installed.
    """
    source = _expressions([pair.source for pair in pairs], max_words, min_count, max_share)
    target = _expressions([pair.target for pair in pairs], max_words + 2, min_count, max_share)
    sizes = [np.asarray(side.is_in.sum(axis=0)).ravel() for side in (source, target)]
    by_source = source.is_in.tocsc()
    for start in range(0, len(source.names), _ROWS):
        both = (by_source[:, start : start + _ROWS].T @ target.is_in).tocsr()
        for row in range(both.shape[0]):
            some = slice(both.indptr[row], both.indptr[row + 1])
            counts, columns = both.data[some], both.indices[some]
            dice = 2 * counts / (sizes[0][start + row] + sizes[1][columns])
            for place in dice.argsort()[::-1][:num_translations]:
                if dice[place] >= min_dice and counts[place] >= min_count:
                    names = (source.names[start + row], target.names[columns[place]])
                    yield FoundTerm(*names, float(dice[place]), int(counts[place]))


def _expressions(sentences: Sequence[str], max_words: int, min_count: int, max_share: float) -> _Expressions:
    """The expressions that stand in at least `min_count` of the sentences."""
    try:
        from scipy.sparse import csr_matrix
    except ImportError:
        raise ImportError("extracting terms needs scipy: pip install 'hier_nmt[eval]'") from None
    words = [[word.lower().replace("’", "'") for word in _WORD.findall(sentence)] for sentence in sentences]
    num_with = Counter(word for row in words for word in set(row))
    frequent = {word for word, count in num_with.items() if count > max_share * len(sentences)}
    counts = Counter(name for row in words for name in set(_ngrams(row, max_words, frequent)))
    names = sorted(name for name, count in counts.items() if count >= min_count)
    index = {name: place for place, name in enumerate(names)}
    columns, starts = [], [0]
    for row in words:
        columns += sorted({index[name] for name in _ngrams(row, max_words, frequent) if name in index})
        starts.append(len(columns))
    ones = np.ones(len(columns), np.int64)
    return _Expressions(names, csr_matrix((ones, columns, starts), shape=(len(sentences), len(names))))


def _ngrams(words: Sequence[str], max_words: int, frequent: set[str]) -> Iterator[str]:
    """The expressions of a sentence."""
    for start, first in enumerate(words):
        if first in frequent or len(first) < 2 or not first[0].isalpha():
            continue
        for stop in range(start + 1, min(start + max_words, len(words)) + 1):
            if words[stop - 1] not in frequent and words[stop - 1][-1] != "'":
                yield " ".join(words[start:stop]).replace("' ", "'")
