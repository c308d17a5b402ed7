# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Where the tags inside of a text go in its translation, for want of a model that says which word became which."""

import re
from collections.abc import Sequence

_WORD = re.compile(r"\w+(?:['’-]\w+)*")


def tag_places(source: str, tags: Sequence[tuple[int, bool]], text: str) -> list[int]:
    """The place of each tag in the text: at its ends for those at the ends of the source, and for the others the border
    of words that is as far into the text as they are into the source. The order of the tags stays.

    Args:
        source: text without tags.
        tags: for each its place in `source`, and whether it is a closing one, which stands behind a word.
        text: the translation.
    """
    first, end = len(source) - len(source.lstrip()), len(source.rstrip())
    places = [0]
    for position, is_closing in tags:
        if position <= first:
            place = 0
        elif position >= end:
            place = len(text)
        else:
            place = _nearest_border(text, position / len(source), is_closing)
        places.append(max(place, places[-1]))
    return places[1:]


def _nearest_border(text: str, fraction: float, is_closing: bool) -> int:
    borders = [match.end() if is_closing else match.start() for match in _WORD.finditer(text)]
    return min(borders, key=lambda border: abs(border - fraction * len(text)), default=0)
