# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which place in a translation is that of a place in its source, as far as the two texts tell by themselves."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher

from .protected_spans import OBJECT

_TOKEN = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")
_WORD = re.compile(rf"\w+(?:['’-]\w+)*|{OBJECT}")
# Longer texts are aligned by length alone: comparing takes up to the square of their length.
_MOST_TOKENS = 400
# Lower-case words of so many letters are rarely the same in two languages by chance ("on", "but", "pour").
_NUM_CERTAIN_LETTERS = 6


class AlignedText:
    """A source and its translation, with the tokens that are the same in both: numbers, names, punctuation.

    Places in the translation are those before, between and behind its words. They are counted as gaps: gap n reaches
    from the end of word n - 1 to the start of word n, and holds the punctuation between the two.
    """

    def __init__(self, source: str, text: str) -> None:
        self.source, self.text = source, text
        words = [match.span() for match in _WORD.finditer(text)]
        self.num_words = len(words)
        self._starts = [*(start for start, _ in words), len(text)]
        self._ends = [0, *(end for _, end in words)]
        self._first, self._stop = len(source) - len(source.lstrip()), len(source.rstrip())
        tokens = [[match.span() for match in _TOKEN.finditer(one)] for one in (source, text)]
        self._source_tokens = tokens[0]
        self._same = {one: tokens[1][other] for one, other in _same_tokens(source, text, *tokens)}
        # The places that are known, for going in proportion between them.
        known = [(0, 0)]
        for one, span in self._same.items():
            known += zip(tokens[0][one], span, strict=True)
        known.append((len(source), len(text)))
        self._known = known

    def place_of(self, position: int, stands_behind: bool, low: int, high: int) -> tuple[int, int]:
        """The gap, of those from `low` to `high`, and the place in it for a position of the source.

        Args:
            position: in the source.
            stands_behind: it belongs to what is before it, and so behind a word; else before one.
            low, high: the gaps that are allowed.
        """
        exact = self._exact(position, stands_behind)
        if exact is not None:
            gap = bisect_right(self._ends, exact) - 1
            # A place inside of a word is none.
            if low <= gap <= high and exact <= self._starts[gap]:
                return gap, exact
        wanted = self._in_proportion(position)
        # Of the borders of words on the right side; before all words and behind them is where only the ends go.
        borders = self._ends if stands_behind else self._starts
        low, high = max(low, min(high, int(stands_behind))), max(low, min(high, self.num_words - 1 + stands_behind))
        above = bisect_left(borders, wanted, low, high + 1)
        near = [gap for gap in (above - 1, above) if low <= gap <= high]
        gap = min(near, key=lambda gap: abs(borders[gap] - wanted))
        return gap, borders[gap]

    def has_between(self, start: int, stop: int) -> bool:
        """Whether the translation has, at known places, something between two positions of the source."""
        places = self._exact(start, False), self._exact(stop, True)
        return places[0] is not None and places[1] is not None and places[0] < places[1]

    def _exact(self, position: int, stands_behind: bool) -> int | None:
        """The place beside a token that is the same in both texts; before and behind all words, the ends."""
        if position <= self._first:
            return min(position, len(self.text) - len(self.text.lstrip()))
        if position >= self._stop:
            return min(len(self.text), len(self.text.rstrip()) + position - self._stop)
        following = bisect_left(self._source_tokens, (position, position))
        before = following - 1
        if before >= 0 and self._source_tokens[before][1] > position:
            return None
        if stands_behind:
            place = self._same[before][1] if before in self._same else None
            if place is None and following in self._same:
                place = len(self.text[: self._same[following][0]].rstrip())
            return place
        place = self._same[following][0] if following in self._same else None
        if place is None and before in self._same:
            end = self._same[before][1]
            place = end + len(self.text[end:]) - len(self.text[end:].lstrip())
        return place

    def _in_proportion(self, position: int) -> float:
        index = bisect_right(self._known, (position, len(self.text)))
        (left, left_place), (right, right_place) = self._known[index - 1], self._known[min(index, len(self._known) - 1)]
        return left_place + (right_place - left_place) * (position - left) / max(1, right - left)


def has_word(text: str) -> bool:
    """Whether there is a word in it, and not only punctuation."""
    return _WORD.search(text) is not None


def _same_tokens(
    source: str, text: str, source_spans: Sequence[tuple[int, int]], text_spans: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Pairs (index in the source, index in the translation) of tokens that are the same, in the order of both."""
    if max(len(source_spans), len(text_spans)) > _MOST_TOKENS:
        return []
    sides = [
        [(index, one[slice(*span)]) for index, span in enumerate(spans) if _is_certain(one[slice(*span)])]
        for one, spans in ((source, source_spans), (text, text_spans))
    ]
    counts = [Counter(token for _, token in side) for side in sides]
    # What is more often in one of them is punctuated or said otherwise.
    sides = [[(index, token) for index, token in side if counts[0][token] == counts[1][token]] for side in sides]
    left, right = ([token for _, token in side] for side in sides)
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    return [
        (sides[0][block.a + offset][0], sides[1][block.b + offset][0])
        for block in matcher.get_matching_blocks()
        for offset in range(block.size)
    ]


def _is_certain(token: str) -> bool:
    return not token.islower() or len(token) >= _NUM_CERTAIN_LETTERS
