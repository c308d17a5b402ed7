# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Sentence pairs divided in two, so that sentences need their context more often.

Lupo, Dinarelli and Besacier 2022, "Divide and Rule: Effective Pre-Training for Context-Aware Multi-Encoder Translation
Models": the halves count as sentences of the document. A half often needs the other one, and the context is shorter, so
that what it needs is found more easily.
"""

import re
from itertools import product

from ..text.inline_terms import CLOSING_MARK, OPENING_MARK
from .documents import SentencePair

# So that a half has about four words or more.
MIN_WORDS = 8
_WORD = re.compile(r"\S+")
_BEFORE_CUT = re.compile(r"\S*[,;:–—]|-")
# French typography separates them from what they close or open.
_CLOSING = re.compile(r"[,;:.!?…»”)\]]+")
_OPENING = re.compile(r"[«“(\[]+")


def pair_halves(pair: SentencePair) -> tuple[SentencePair, ...]:
    """The two halves of the pair, or the pair alone if it stays whole.

    The halves have the words of the pair; words are separated by white space. Both sides are divided after a
    punctuation mark in their middle third if both have one there, else in the middle. A pair stays whole if a side has
    fewer than `MIN_WORDS` words, or the source an inline term.
    """
    cuts = None if _has_inline_term(pair.source) else _cuts(pair.source.split(), pair.target.split())
    if cuts is None:
        return (pair,)
    (first_source, second_source), (first_target, second_target) = map(_divided, (pair.source, pair.target), cuts)
    return SentencePair(first_source, first_target), SentencePair(second_source, second_target)


def _has_inline_term(text: str) -> bool:
    return OPENING_MARK in text or CLOSING_MARK in text


def _divided(text: str, num_words: int) -> tuple[str, str]:
    """The text of the first words, and the rest."""
    words = list(_WORD.finditer(text))
    return text[: words[num_words - 1].end()], text[words[num_words].start() :]


def _cuts(source: list[str], target: list[str]) -> tuple[int, int] | None:
    """The numbers of words of the first halves; None if the pair stays whole."""
    sizes = (len(source), len(target))
    source_cuts, target_cuts = _allowed_cuts(source), _allowed_cuts(target)
    if min(sizes) < MIN_WORDS or not source_cuts or not target_cuts:
        return None
    marked = list(product(_marked_cuts(source, source_cuts), _marked_cuts(target, target_cuts)))
    if marked:
        return min(marked, key=lambda cuts: _unevenness(cuts, sizes))
    return _nearest_to_middle(source_cuts, sizes[0]), _nearest_to_middle(target_cuts, sizes[1])


def _nearest_to_middle(cuts: list[int], size: int) -> int:
    return min(cuts, key=lambda cut: abs(2 * cut - size))


def _allowed_cuts(words: list[str]) -> list[int]:
    """Numbers of words after which a text may be divided: a mark stays with what it closes or opens."""
    return [
        cut
        for cut in range(1, len(words))
        if not _CLOSING.fullmatch(words[cut]) and not _OPENING.fullmatch(words[cut - 1])
    ]


def _marked_cuts(words: list[str], allowed: list[int]) -> list[int]:
    """Those of them that are in the middle third and after a punctuation mark."""
    size = len(words)
    return [cut for cut in allowed if size <= 3 * cut <= 2 * size and _BEFORE_CUT.fullmatch(words[cut - 1])]


def _unevenness(cuts: tuple[int, int], sizes: tuple[int, int]) -> tuple[float, float]:
    """How much the shares of the first halves differ, and how far they are from a half."""
    source, target = (cut / size for cut, size in zip(cuts, sizes, strict=True))
    return abs(source - target), abs(source + target - 1)
