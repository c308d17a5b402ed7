# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Where tags, links and symbols inside of a text go in its translation, for want of a model that says which word
became which."""

import re
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

_WORD = re.compile(r"\w+(?:['’-]\w+)*")


class Mark(NamedTuple):
    """What is taken out of a text at a position: an opening or closing tag, or something that stands for itself, which
    keeps a space before and behind it."""

    position: int
    text: str
    kind: Literal["open", "close", "whole"] = "whole"
    space_before: bool = False
    space_behind: bool = False

    @property
    def stands_behind(self) -> bool:
        """Whether it belongs to the word before it."""
        return self.kind == "close" or (self.space_before and not self.space_behind)


def tag_places(source: str, tags: Sequence[tuple[int, bool]], text: str) -> list[int]:
    """The place of each tag in the text: at its ends for those at the ends of the source, and for the others the border
    of words that is as far into the text as they are into the source. The order of the tags stays.

    Args:
        source: text without tags.
        tags: for each its place in `source`, and whether it is a closing one, which stands behind a word.
        text: the translation.
    """
    first, end = len(source) - len(source.lstrip()), len(source.rstrip())
    borders = [[match.start() for match in _WORD.finditer(text)], [match.end() for match in _WORD.finditer(text)]]
    places = [0]
    for position, is_closing in tags:
        if position <= first:
            place = 0
        elif position >= end:
            place = len(text)
        else:
            wanted = position / len(source) * len(text)
            place = min(borders[is_closing], key=lambda border: abs(border - wanted), default=0)
        places.append(max(place, places[-1]))
    return places[1:]


def with_marks(source: str, marks: Sequence[Mark], text: str, escape: Callable[[str], str] = str) -> str:
    """The text, a translation of `source`, with the marks of the source in it.

    Args:
        source: text without marks.
        marks: in order of their position in `source`.
        text: the translation.
        escape: what is done to the translation, but not to the marks.
    """
    if not marks:
        return escape(text)
    places = tag_places(source, [(mark.position, mark.stands_behind) for mark in marks], text)
    written = ""
    start = 0
    for mark, place in zip(marks, places, strict=True):
        written += escape(text[start:place])
        start = place
        left = " " if mark.space_before and written and not written[-1].isspace() else ""
        right = " " if mark.space_behind and start < len(text) and not text[start].isspace() else ""
        written += left + mark.text + right
    return written + escape(text[start:])
