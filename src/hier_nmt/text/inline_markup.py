# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Projects inline markup (tags, links, symbols) from a source sentence onto its translation, without a word alignment
by a model."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from .position_alignment import AlignedText, has_word

# Punctuation before which a mark needs no space.
CLOSING_PUNCTUATION = ".,;:!?)]}"
# Pairs that are nested deeper, or exceed the number of words by more, are projected as single marks.
_MAX_DEPTH = 100


class Mark(NamedTuple):
    """Inline markup that was removed from a text at a position: an opening or closing tag, or a whole piece without a
    partner, which keeps the spaces before and after it.

    With `separates_words` it stands between two words and replaces the space that `source` has there.
    """

    position: int
    text: str
    kind: Literal["open", "close", "whole"] = "whole"
    space_before: bool = False
    space_after: bool = False
    separates_words: bool = False

    def attaches_left(self, source: str) -> bool:
        """Whether it belongs to the source text before it rather than to the text after it."""
        touches_left = self.position > 0 and not source[self.position - 1].isspace()
        following = source[self.position : self.position + 1]
        touches_right = bool(following.strip())
        if self.kind == "open":
            return touches_left and not touches_right
        if self.kind == "close":
            return touches_left or not touches_right
        if self.space_before:
            return not self.space_after and following in CLOSING_PUNCTUATION
        return self.space_after or (touches_left and not touches_right)


@dataclass
class _Node:
    """A whole mark, or a pair of tags with the marks inside; one tag is None where the text has only half of a pair.

    `start` and `stop` are positions in the source.
    """

    opening: int | None
    closing: int | None
    start: int
    stop: int
    inside: list["_Node"] = field(default_factory=list)
    num_words: int = 0

    @property
    def is_pair(self) -> bool:
        return self.opening != self.closing


def project_marks(source: str, marks: Sequence[Mark], text: str) -> list[tuple[int, int]]:
    """(position in the text, index of the mark) for each mark, in writing order.

    A mark goes to a word boundary: beside the number, name or punctuation that is beside it in the source, if the
    translation has it; otherwise to the proportional position. Tags keep their order. A pair around text stays around
    text, an empty pair stays empty; if there are fewer words than pairs, pairs are nested. In a text that equals its
    source the marks keep their positions.

    Args:
        source: text without marks.
        marks: in the order of their positions in `source`.
        text: the translation.
    """
    if source == text:
        return [(mark.position, index) for index, mark in enumerate(marks)]
    return _Projection(source, marks, text).ordered_marks()


class _Projection:
    def __init__(self, source: str, marks: Sequence[Mark], text: str) -> None:
        self.source, self.marks = source, marks
        self.aligned = AlignedText(source, text)
        self.found: list[tuple[int, int]] = []

    def ordered_marks(self) -> list[tuple[int, int]]:
        num_words = self.aligned.num_words
        is_deep = _depth(self.marks) > _MAX_DEPTH
        nodes = _unnested(self.marks) if is_deep else _tree(self.marks, len(self.source))
        if self._count_words(nodes) - num_words > _MAX_DEPTH:
            nodes = _unnested(self.marks)
        _nest(nodes, num_words)
        self._place(nodes, 0, self.aligned.num_words)
        last = 0
        ordered = []
        for target, index in self.found:
            last = max(last, target)
            ordered.append((last, index))
        return ordered

    def _count_words(self, nodes: Sequence[_Node]) -> int:
        """Sets for each pair the number of words of the translation that it must contain, and returns the sum."""
        for node in nodes:
            inner = self._count_words(node.inside)
            text = self.source[node.start : node.stop] if node.is_pair else ""
            # The translation may have the punctuation, too.
            is_there = not has_word(text) and self.aligned.has_text_between(node.start, node.stop)
            node.num_words = max(inner, int(bool(text.strip()) and not is_there))
        return sum(node.num_words for node in nodes)

    def _place(self, nodes: Sequence[_Node], first: int, last: int) -> None:
        """Places marks into the gaps from `first` to `last`; gap n is the one before word n."""
        remaining = sum(node.num_words for node in nodes)
        for node in nodes:
            remaining -= node.num_words
            high = max(first, last - remaining)
            if not node.is_pair:
                first = self._put(node.opening, first, high)
                continue
            first = self._place_pair(node, first, high)

    def _place_pair(self, node: _Node, first: int, high: int) -> int:
        """Places a pair and the marks inside it between two gaps, and returns the gap of its end."""
        first = self._put(node.opening, first, max(first, high - node.num_words))
        if node.start == node.stop and node.opening is not None and node.closing is not None:
            target = self.found[-1][0]
            self.found += [(target, index) for index in range(node.opening + 1, node.closing + 1)]
            return first
        before = len(self.found)
        # A pair around white space stays within one gap.
        most = high if self.source[node.start : node.stop].strip() else first
        end = most if node.closing is None else self._put(node.closing, min(most, first + node.num_words), most)
        closing = self.found[before:]
        del self.found[before:]
        self._place(node.inside, first, end)
        self.found += closing
        return end

    def _put(self, index: int | None, low: int, high: int) -> int:
        """Places a mark into one of the gaps from `low` to `high`, and returns that gap."""
        if index is None:
            return low
        mark = self.marks[index]
        if mark.separates_words and max(low, 1) <= min(high, self.aligned.num_words - 1):
            low, high = max(low, 1), min(high, self.aligned.num_words - 1)
        attaches_left = mark.separates_words or mark.attaches_left(self.source)
        gap, target = self.aligned.target_position(mark.position, attaches_left, low, high)
        self.found.append((target, index))
        return gap


def _tree(marks: Sequence[Mark], length: int) -> list[_Node]:
    """The marks as nested pairs. A tag without a partner extends to the start or end of the text."""
    nodes: list[_Node] = []
    open_nodes: list[tuple[_Node, list[_Node]]] = []
    for index, mark in enumerate(marks):
        if mark.kind == "whole":
            nodes.append(_Node(index, index, mark.position, mark.position))
        elif mark.kind == "open":
            open_nodes.append((_Node(index, None, mark.position, length), nodes))
            nodes = []
        elif open_nodes:
            node, before = open_nodes.pop()
            node.closing, node.stop, node.inside = index, mark.position, nodes
            nodes = [*before, node]
        else:
            nodes = [_Node(None, index, 0, mark.position, nodes)]
    while open_nodes:
        node, before = open_nodes.pop()
        node.inside = nodes
        nodes = [*before, node]
    return nodes


def _unnested(marks: Sequence[Mark]) -> list[_Node]:
    return [_Node(index, index, mark.position, mark.position) for index, mark in enumerate(marks)]


def _depth(marks: Sequence[Mark]) -> int:
    """The largest nesting depth of pairs, half pairs included."""
    depth = deepest = num_unopened = 0
    for mark in marks:
        depth += (mark.kind == "open") - (mark.kind == "close")
        num_unopened += depth < 0
        depth = max(0, depth)
        deepest = max(deepest, depth)
    return deepest + num_unopened


def _nest(nodes: list[_Node], num_words: int) -> None:
    """Nests pairs into the pair before them until there are enough words for all."""
    while sum(node.num_words for node in nodes) > num_words:
        filled = [index for index, node in enumerate(nodes) if node.num_words]
        if len(filled) == 1:
            break
        outer, inner = filled[-2:]
        moved = nodes[inner]
        moved.inside = [*nodes[outer].inside, *nodes[outer + 1 : inner], *moved.inside]
        nodes[outer].inside = [moved]
        moved.num_words = max(1, sum(node.num_words for node in moved.inside))
        nodes[outer].num_words = moved.num_words
        del nodes[outer + 1 : inner + 1]
    for node in nodes:
        if node.num_words > num_words:
            _nest(node.inside, num_words)
            node.num_words = max(min(1, num_words), sum(inner.num_words for inner in node.inside))


def split_at_marks(source: str, marks: Sequence[Mark], text: str) -> Iterator[str | int]:
    """The text, a translation of `source`, in pieces, with the indices of the source's marks between them.

    Whole marks keep the spaces that are around them in the source.
    """
    start = 0
    ends_with_space = True
    for target, index in project_marks(source, marks, text):
        mark = marks[index]
        piece = text[start:target].rstrip(" ") if mark.separates_words else text[start:target]
        if piece:
            yield piece
            ends_with_space = piece[-1].isspace()
        start = target
        while mark.separates_words and text[start : start + 1] == " ":
            start += 1
        if mark.space_before and not ends_with_space:
            yield " "
            ends_with_space = True
        yield index
        adds_space = mark.space_after and start < len(text) and not text[start].isspace()
        if adds_space:
            yield " "
        # A tag is invisible, so the space before it is also before the mark after it.
        ends_with_space = adds_space or (mark.kind != "whole" and ends_with_space)
    if start < len(text):
        yield text[start:]


def insert_marks(source: str, marks: Sequence[Mark], text: str, escape: Callable[[str], str] = str) -> str:
    """The text, a translation of `source`, with the marks of the source inserted.

    Args:
        source: text without marks.
        marks: in the order of their positions in `source`.
        text: the translation.
        escape: applied to the translation, but not to the marks.
    """
    pieces = split_at_marks(source, marks, text)
    return "".join(marks[piece].text if isinstance(piece, int) else escape(piece) for piece in pieces)
