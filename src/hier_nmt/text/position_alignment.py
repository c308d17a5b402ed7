# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Position alignment between a text and its translation, inferred from the two texts alone."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher

from .protected_spans import OBJECT

_TOKEN = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")
_WORD = re.compile(rf"\w+(?:['’-]\w+)*|{OBJECT}")
# Longer texts are aligned by length alone, since the comparison takes quadratic time.
_MAX_TOKENS = 400
# Lower-case words of this length are rarely the same in two languages by chance (unlike "on", "but", "pour").
_MIN_DISTINCTIVE_LETTERS = 6


class AlignedText:
    """A source and its translation, with the tokens that both share: numbers, names, punctuation.

    Positions in the translation are those before, between and after its words. They are grouped into gaps: gap n
    reaches from the end of word n - 1 to the start of word n, and contains the punctuation between the two.
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
        self._shared = {one: tokens[1][other] for one, other in _shared_tokens(source, text, *tokens)}
        # Aligned positions, between which others are interpolated.
        known = [(0, 0)]
        for one, span in self._shared.items():
            known += zip(tokens[0][one], span, strict=True)
        known.append((len(source), len(text)))
        self._known = known

    def target_position(self, position: int, attaches_left: bool, low: int, high: int) -> tuple[int, int]:
        """(gap, position in the translation) for a position of the source; the gap is from `low` to `high`.

        Args:
            position: in the source.
            attaches_left: the mark belongs to the text before it, and so follows a word; otherwise it precedes one.
            low, high: the first and last gap allowed.
        """
        exact = self._exact_position(position, attaches_left)
        if exact is not None:
            gap = bisect_right(self._ends, exact) - 1
            # A position inside a word is not usable.
            if low <= gap <= high and exact <= self._starts[gap]:
                return gap, exact
        wanted = self._interpolated_position(position)
        # Word boundaries on the required side. Only the ends of the text map before the first and after the last word.
        borders = self._ends if attaches_left else self._starts
        low, high = max(low, min(high, int(attaches_left))), max(low, min(high, self.num_words - 1 + attaches_left))
        above = bisect_left(borders, wanted, low, high + 1)
        near = [gap for gap in (above - 1, above) if low <= gap <= high]
        gap = min(near, key=lambda gap: abs(borders[gap] - wanted))
        return gap, borders[gap]

    def has_text_between(self, start: int, stop: int) -> bool:
        """Whether the translation has something between the exact positions for two positions of the source."""
        targets = self._exact_position(start, False), self._exact_position(stop, True)
        return targets[0] is not None and targets[1] is not None and targets[0] < targets[1]

    def _exact_position(self, position: int, attaches_left: bool) -> int | None:
        """The position beside a shared token; outside of the first and last word of the source, the end of the text."""
        if position <= self._first:
            return min(position, len(self.text) - len(self.text.lstrip()))
        if position >= self._stop:
            return min(len(self.text), len(self.text.rstrip()) + position - self._stop)
        following = bisect_left(self._source_tokens, (position, position))
        before = following - 1
        if before >= 0 and self._source_tokens[before][1] > position:
            return None
        if attaches_left:
            target = self._shared[before][1] if before in self._shared else None
            if target is None and following in self._shared:
                target = len(self.text[: self._shared[following][0]].rstrip())
            return target
        target = self._shared[following][0] if following in self._shared else None
        if target is None and before in self._shared:
            end = self._shared[before][1]
            target = end + len(self.text[end:]) - len(self.text[end:].lstrip())
        return target

    def _interpolated_position(self, position: int) -> float:
        index = bisect_right(self._known, (position, len(self.text)))
        left, left_target = self._known[index - 1]
        right, right_target = self._known[min(index, len(self._known) - 1)]
        return left_target + (right_target - left_target) * (position - left) / max(1, right - left)


def has_word(text: str) -> bool:
    """Whether the text has a word, and not only punctuation."""
    return _WORD.search(text) is not None


def _shared_tokens(
    source: str, text: str, source_spans: Sequence[tuple[int, int]], text_spans: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Pairs (index in the source, index in the translation) of shared tokens, in the order of both texts."""
    if max(len(source_spans), len(text_spans)) > _MAX_TOKENS:
        return []
    sides = [
        [(index, one[slice(*span)]) for index, span in enumerate(spans) if _is_distinctive(one[slice(*span)])]
        for one, spans in ((source, source_spans), (text, text_spans))
    ]
    counts = [Counter(token for _, token in side) for side in sides]
    # Tokens whose counts differ may not correspond: punctuation or wording differs there.
    sides = [[(index, token) for index, token in side if counts[0][token] == counts[1][token]] for side in sides]
    left, right = ([token for _, token in side] for side in sides)
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    return [
        (sides[0][block.a + offset][0], sides[1][block.b + offset][0])
        for block in matcher.get_matching_blocks()
        for offset in range(block.size)
    ]


def _is_distinctive(token: str) -> bool:
    return not token.islower() or len(token) >= _MIN_DISTINCTIVE_LETTERS
