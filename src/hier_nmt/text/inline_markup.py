# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Where tags, links and symbols inside of a text go in its translation, for want of a model that says which word
became which."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from .aligned_places import AlignedText, has_word

# What follows a mark without a space before it.
CLOSING_PUNCTUATION = ".,;:!?)]}"
# Pairs deeper inside of others, or so many more of them than words, are placed one by one.
_MAX_DEPTH = 100


class Mark(NamedTuple):
    """What is taken out of a text at a position: an opening or closing tag, or something that stands for itself, which
    keeps a space before and behind it.

    With `parts_words` it stands between two words in the place of the space that `source` has there.
    """

    position: int
    text: str
    kind: Literal["open", "close", "whole"] = "whole"
    space_before: bool = False
    space_behind: bool = False
    parts_words: bool = False

    def stands_behind(self, source: str) -> bool:
        """Whether it belongs to what is before it in the source, and not to what is behind."""
        touches_left = self.position > 0 and not source[self.position - 1].isspace()
        following = source[self.position : self.position + 1]
        touches_right = bool(following.strip())
        if self.kind == "open":
            return touches_left and not touches_right
        if self.kind == "close":
            return touches_left or not touches_right
        if self.space_before:
            return not self.space_behind and following in CLOSING_PUNCTUATION
        return self.space_behind or (touches_left and not touches_right)


@dataclass
class _Node:
    """A mark that stands for itself, or a pair of tags with what is inside; of a pair cut in two one tag is None.

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


def placed_marks(source: str, marks: Sequence[Mark], text: str) -> list[tuple[int, int]]:
    """(place in the text, index of the mark) of each mark, in the order in which they are written.

    A mark stands at a border of words: where the translation has the number, name or punctuation beside which it stands
    in the source, there; else as far into the text as it is into the source. Tags stay in their order, and around
    something if they were, or around nothing; where there are fewer words than pairs of tags, one stands inside the
    other. The marks of a text that is its own translation stay where they are.

    Args:
        source: text without marks.
        marks: in order of their position in `source`.
        text: the translation.
    """
    if source == text:
        return [(mark.position, index) for index, mark in enumerate(marks)]
    return _Placement(source, marks, text).places()


class _Placement:
    def __init__(self, source: str, marks: Sequence[Mark], text: str) -> None:
        self.source, self.marks = source, marks
        self.aligned = AlignedText(source, text)
        self.found: list[tuple[int, int]] = []

    def places(self) -> list[tuple[int, int]]:
        num_words = self.aligned.num_words
        is_deep = _depth(self.marks) > _MAX_DEPTH
        nodes = _apart(self.marks) if is_deep else _tree(self.marks, len(self.source))
        if self._count_words(nodes) - num_words > _MAX_DEPTH:
            nodes = _apart(self.marks)
        _nest(nodes, num_words)
        self._place(nodes, 0, self.aligned.num_words)
        last = 0
        ordered = []
        for place, index in self.found:
            last = max(last, place)
            ordered.append((last, index))
        return ordered

    def _count_words(self, nodes: Sequence[_Node]) -> int:
        """Notes for each pair how many words of the translation it must be around, and returns the sum."""
        for node in nodes:
            inner = self._count_words(node.inside)
            text = self.source[node.start : node.stop] if node.is_pair else ""
            # Punctuation may be in the translation, too.
            is_there = not has_word(text) and self.aligned.has_between(node.start, node.stop)
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
        """Places a pair and what is inside between two gaps, and returns the gap of its end."""
        first = self._put(node.opening, first, max(first, high - node.num_words))
        if node.start == node.stop and node.opening is not None and node.closing is not None:
            place = self.found[-1][0]
            self.found += [(place, index) for index in range(node.opening + 1, node.closing + 1)]
            return first
        before = len(self.found)
        # White space stays in its gap.
        most = high if self.source[node.start : node.stop].strip() else first
        end = most if node.closing is None else self._put(node.closing, min(most, first + node.num_words), most)
        closing = self.found[before:]
        del self.found[before:]
        self._place(node.inside, first, end)
        self.found += closing
        return end

    def _put(self, index: int | None, low: int, high: int) -> int:
        """Places a mark into one of the gaps from `low` to `high`, and returns which."""
        if index is None:
            return low
        mark = self.marks[index]
        if mark.parts_words and max(low, 1) <= min(high, self.aligned.num_words - 1):
            low, high = max(low, 1), min(high, self.aligned.num_words - 1)
        stands_behind = mark.parts_words or mark.stands_behind(self.source)
        gap, place = self.aligned.place_of(mark.position, stands_behind, low, high)
        self.found.append((place, index))
        return gap


def _tree(marks: Sequence[Mark], length: int) -> list[_Node]:
    """The marks as pairs inside of pairs. A tag without its partner goes to the end of the text."""
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


def _apart(marks: Sequence[Mark]) -> list[_Node]:
    return [_Node(index, index, mark.position, mark.position) for index, mark in enumerate(marks)]


def _depth(marks: Sequence[Mark]) -> int:
    """How deep pairs are inside of pairs at most, those cut in two included."""
    depth = deepest = num_unopened = 0
    for mark in marks:
        depth += (mark.kind == "open") - (mark.kind == "close")
        num_unopened += depth < 0
        depth = max(0, depth)
        deepest = max(deepest, depth)
    return deepest + num_unopened


def _nest(nodes: list[_Node], num_words: int) -> None:
    """Puts pairs inside of the pair before them until there are enough words for all."""
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


def pieces_with_marks(source: str, marks: Sequence[Mark], text: str) -> Iterator[str | int]:
    """The text, a translation of `source`, in pieces, and between them the indices of the marks of the source.

    Marks that stand for themselves have the spaces around them that they had.
    """
    start = 0
    ends_with_space = True
    for place, index in placed_marks(source, marks, text):
        mark = marks[index]
        piece = text[start:place].rstrip(" ") if mark.parts_words else text[start:place]
        if piece:
            yield piece
            ends_with_space = piece[-1].isspace()
        start = place
        while mark.parts_words and text[start : start + 1] == " ":
            start += 1
        if mark.space_before and not ends_with_space:
            yield " "
        yield index
        ends_with_space = mark.space_behind and start < len(text) and not text[start].isspace()
        if ends_with_space:
            yield " "
    if start < len(text):
        yield text[start:]


def with_marks(source: str, marks: Sequence[Mark], text: str, escape: Callable[[str], str] = str) -> str:
    """The text, a translation of `source`, with the marks of the source in it.

    Args:
        source: text without marks.
        marks: in order of their position in `source`.
        text: the translation.
        escape: what is done to the translation, but not to the marks.
    """
    pieces = pieces_with_marks(source, marks, text)
    return "".join(marks[piece].text if isinstance(piece, int) else escape(piece) for piece in pieces)
