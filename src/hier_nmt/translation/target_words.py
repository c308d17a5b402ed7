# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""How a vocabulary writes words, what a translation must begin with, and translations whose probabilities are read."""

from collections.abc import Sequence
from typing import NamedTuple

# After these a word begins without white space.
_JOINS = "'’([{/-«“‘"
# A sentence ends with these.
_CLOSES = ".!?…:;»”\"')]。！？"
_WORD_MARKS, _CONTINUATION_MARK = ("▁", "Ġ"), "##"


class Forcing(NamedTuple):
    """What the translation of one sentence must begin with: a prefix, perhaps a preposition and a determiner, a term.

    Attributes:
        prefix_ids: its first tokens.
        forms: the token ids of each form of the term, one of which is written.
        joined_forms: the same for a position after an apostrophe or bracket.
        max_gap: the maximum number of words between prefix and term.
        unsuited: pairs of a determiner or preposition and a form that cannot follow it.
    """

    prefix_ids: tuple[int, ...]
    forms: tuple[tuple[int, ...], ...]
    joined_forms: tuple[tuple[int, ...], ...]
    max_gap: int
    unsuited: frozenset[tuple[tuple[int, ...], tuple[int, ...]]] = frozenset()


class Replay(NamedTuple):
    """A translation that is decoded once more unchanged, and tokens whose probability is read at each position.

    Attributes:
        target_ids: its tokens, the end token last.
        wanted_ids: sets of tokens; the most probable token of each set counts.
    """

    target_ids: tuple[int, ...]
    wanted_ids: tuple[tuple[int, ...], ...] = ()


class Replayed(NamedTuple):
    """Log-probabilities of the tokens of a replay, and of the wanted ones at each of their positions."""

    target: list[float]
    wanted: list[list[float]]


class TargetWords(NamedTuple):
    """How a vocabulary writes words.

    Attributes:
        starts_word: boolean [V], whether a word begins with a token.
        continues_word: boolean [V], whether a token directly after a word continues this word.
        joins: boolean [V], whether a word after a token begins without white space.
        closes: boolean [V], whether a token is punctuation that may end a sentence.
        determiners: the token ids of words that may stand before a term.
        prepositions: those of words that may stand before a term or its determiner.
    """

    starts_word: list[bool]
    continues_word: list[bool]
    joins: list[bool]
    closes: list[bool]
    determiners: tuple[tuple[int, ...], ...]
    prepositions: tuple[tuple[int, ...], ...]

    @classmethod
    def of(
        cls,
        tokens: Sequence[str],
        determiners: tuple[tuple[int, ...], ...] = (),
        prepositions: tuple[tuple[int, ...], ...] = (),
    ) -> "TargetWords":
        """From all tokens of a vocabulary; if it has no marks of words, each token is a word."""
        has_mark = any(token.startswith(_WORD_MARKS) for token in tokens)
        starts, continues, joins, closes = [], [], [], []
        for token in tokens:
            text = token.lstrip("".join(_WORD_MARKS)).removeprefix(_CONTINUATION_MARK)
            starts.append(token.startswith(_WORD_MARKS) if has_mark else not token.startswith(_CONTINUATION_MARK))
            continues.append(not starts[-1] and text[:1].isalnum())
            joins.append(text[-1:] in {*_JOINS})
            closes.append(bool(text) and {*text} <= {*_CLOSES})
        return cls(starts, continues, joins, closes, determiners, prepositions)

    def places(self, ids: Sequence[int]) -> list[int]:
        """The positions in a sentence where a word may be written, including its end, before its last punctuation."""
        end = next((place for place in range(len(ids), 0, -1) if not self.closes[ids[place - 1]]), 0)
        return [*(place for place in range(end) if self._is_place(ids, place)), end]

    def before_short_words(self, ids: Sequence[int], place: int) -> tuple[int, int]:
        """The position before the determiner or preposition, or both, that end at a position, and their number."""
        determined = self._before(ids, place, self.determiners)
        start = place if determined is None else determined
        preposed = self._before(ids, start, self.prepositions)
        return (start if preposed is None else preposed), (determined is not None) + (preposed is not None)

    def _before(self, ids: Sequence[int], place: int, words: tuple[tuple[int, ...], ...]) -> int | None:
        starts = [place - len(word) for word in words if tuple(ids[max(0, place - len(word)) : place]) == word]
        return min((start for start in starts if self._is_place(ids, start)), default=None)

    def short_words(self, num_written: int, last: tuple[int, ...], max_gap: int) -> tuple[tuple[int, ...], ...]:
        """The words that may precede a term, after this many others, of which `last` is the last."""
        if num_written >= max_gap or (num_written and last not in self.prepositions):
            return ()
        return self.determiners if num_written else (*self.determiners, *self.prepositions)

    def _is_place(self, ids: Sequence[int], place: int) -> bool:
        return place == 0 or self.starts_word[ids[place]] or self.joins[ids[place - 1]]
