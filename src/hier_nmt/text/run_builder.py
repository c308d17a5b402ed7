# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Collects the text of a paragraph with markup, and what the markup in it is to the sentence."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from .document_layout import TextRun
from .inline_markup import Mark
from .protected_spans import LINE_BREAK, OBJECT, ProtectedSpan

_WHITE_SPACE = " \t\n\r\f\v"
# Behind these white space adds nothing.
_ENDS = (" ", "\n", LINE_BREAK)


@dataclass(frozen=True)
class _Markup:
    """Markup at a position of the text, which is [start, stop) of the document.

    Attributes:
        is_word: it may stand in the place of a word.
        parts_words: it is seen, so what it stands between are two words.
        touches: it has text inside that is not in the text, and belongs to the word before it ("CO<sub>2</sub>").
        space_behind: white space follows that need not be in the text, because there is some before the markup.
    """

    position: int
    start: int
    stop: int
    kind: Literal["open", "close", "whole"]
    is_word: bool = False
    parts_words: bool = False
    touches: bool = False
    space_behind: bool = False


class _Object(NamedTuple):
    """What is an `OBJECT` in the place of the text [first, last): [start, stop) of the document."""

    first: int
    last: int
    start: int
    stop: int
    space_behind: bool


@dataclass
class RunBuilder:
    """Collects a `TextRun`: white space as single spaces, newlines only where they are meant.

    A pair of tags without text inside is one piece of markup, and so is one around a number that belongs to the word
    before it (a footnote, "CO<sub>2</sub>"). What may stand in the place of a word, and does, is an `OBJECT` in the
    text; so is a whole word with such a number inside ("H<sub>2</sub>O").

    Args:
        source: the document.
        keeps_space: white space is left as it is.
        keeps_edges: a space at the start is left, too.
    """

    source: str = ""
    keeps_space: bool = False
    keeps_edges: bool = False
    characters: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    stops: list[int] = field(default_factory=list)
    markup: list[_Markup] = field(default_factory=list)

    def add(self, text: str, start: int, stop: int) -> None:
        """Adds text that is written as [start, stop) of the document."""
        is_literal = stop - start == len(text)
        for index, character in enumerate(text):
            if character in _WHITE_SPACE and not self.keeps_space:
                character = " "
                self._note_space()
                if self.characters[-1] in _ENDS if self.characters else not self.keeps_edges:
                    continue
            self._append(character, start + index if is_literal else start, start + index + 1 if is_literal else stop)

    def add_source(self, start: int, stop: int, code: Sequence[ProtectedSpan]) -> None:
        """Adds [start, stop) of the document as text, but for the code in it, which is markup.

        Args:
            start, stop: places in the document.
            code: spans of the document, in order; of kind "word" if they may stand in the place of a word.
        """
        index = bisect_right(code, start, key=lambda span: span.stop)
        while index < len(code) and code[index].start < stop:
            first, last = max(start, code[index].start), min(stop, code[index].stop)
            self.add(self.source[start:first], start, first)
            self.add_mark(first, last, "whole", is_word=code[index].kind == "word", parts_words=True)
            start = last
            index += 1
        self.add(self.source[start:stop], start, stop)

    def add_break(self, start: int, stop: int, character: str = "\n") -> None:
        """Adds the end of a line that counts."""
        self._append(character, start, stop)

    def add_mark(
        self,
        start: int,
        stop: int,
        kind: Literal["open", "close", "whole"],
        is_word: bool = False,
        parts_words: bool = False,
    ) -> None:
        """Adds markup, written as [start, stop) of the document, at the end of the text so far.

        Args:
            start, stop: places in the document.
            kind: an opening or a closing tag, or what stands for itself.
            is_word: it may stand in the place of a word.
            parts_words: it is seen, so what it stands between are two words.
        """
        self.markup.append(_Markup(len(self.characters), start, stop, kind, is_word, parts_words or is_word))
        if kind == "close":
            self._join_pair()
        if len(self.markup) > 1:
            self._join_touching()

    def _join_pair(self) -> None:
        """Makes one of a pair with nothing inside that is to be translated, neither text nor other tags."""
        first = len(self.markup) - 2
        while first >= 0 and self.markup[first].kind == "whole":
            first -= 1
        if first < 0 or self.markup[first].kind == "close":
            return
        opening = self.markup[first]
        inside = self.characters[opening.position :]
        if inside and not (opening.position and self._is_touching_number(opening.position)):
            return
        inner = self.markup[first:]
        # Between words an empty element is a place that a program fills.
        is_word = any(one.is_word for one in inner) or (not inside and opening.position > 0)
        self.markup[first:] = [_joined(inner, is_word, bool(inside))]
        del self.characters[opening.position :], self.starts[opening.position :], self.stops[opening.position :]

    def _is_touching_number(self, position: int) -> bool:
        """Whether what stands from here on is a number, which belongs to the word before it."""
        number = "".join(self.characters[position:])
        return self.characters[position - 1].isalnum() and number.isalnum() and not any(map(str.isalpha, number))

    def _join_touching(self) -> None:
        """Makes one of the last two pieces of markup if both stand for themselves and nothing is between them."""
        before, last = self.markup[-2:]
        if before.kind == last.kind == "whole" and before.position == last.position and before.stop == last.start:
            self.markup[-2:] = [_joined((before, last), before.is_word or last.is_word, before.touches or last.touches)]

    def _note_space(self) -> None:
        if self.markup and self.markup[-1].position == len(self.characters):
            self.markup[-1] = replace(self.markup[-1], space_behind=True)

    def _append(self, character: str, start: int, stop: int) -> None:
        self.characters.append(character)
        self.starts.append(start)
        self.stops.append(stop)

    def run(self, escape: Callable[[str], str]) -> TextRun:
        """What was collected."""
        text = "".join(self.characters)
        objects, markup = self._objects(text)
        built = RunBuilder()
        marks = []
        position = 0
        inside: list[_Object | _Markup] = [*objects, *markup]
        for one in sorted(inside, key=lambda one: (one.start, one.stop)):
            first, last = (one.first, one.last) if isinstance(one, _Object) else (one.position, one.position)
            built._copy(self, position, first)
            position = last
            if isinstance(one, _Object):
                built._append(OBJECT, one.start, one.stop)
                if one.space_behind and text[last : last + 1] != " ":
                    built._append(" ", one.stop, one.stop + 1)
            else:
                parts_words = one.parts_words and _is_inside_word(text, first)
                if parts_words:
                    built._append(" ", one.start, one.start)
                marks.append(self._mark(one, text, len(built.characters), parts_words))
        built._copy(self, position, len(text))
        return TextRun("".join(built.characters), built.starts, built.stops, tuple(marks), escape)

    def _mark(self, one: _Markup, text: str, position: int, parts_words: bool) -> Mark:
        is_whole = one.kind == "whole"
        space_before = is_whole and text[max(0, one.position - 1) : one.position] == " "
        raw = self.source[one.start : one.stop]
        return Mark(position, raw, one.kind, space_before, is_whole and one.space_behind, parts_words)

    def _objects(self, text: str) -> tuple[list[_Object], list[_Markup]]:
        """What stands in the place of words, and the other markup."""
        objects: list[_Object] = []
        others: list[_Markup] = []
        for one in self.markup:
            before, behind = text[max(0, one.position - 1) : one.position], text[one.position : one.position + 1]
            if objects and one.position <= objects[-1].last and one.touches and one.start > objects[-1].start:
                objects[-1] = objects[-1]._replace(stop=max(objects[-1].stop, one.stop), space_behind=one.space_behind)
            elif one.touches and _is_inside_word(text, one.position) and self._is_alone_in_word(text, one.position):
                first, last = _word_around(text, one.position)
                objects.append(_Object(first, last, self.starts[first], self.stops[last - 1], False))
            elif one.is_word and _stands_alone(before, " " if one.space_behind else behind):
                objects.append(_Object(one.position, one.position, one.start, one.stop, one.space_behind))
            else:
                others.append(one)
        return objects, others

    def _is_alone_in_word(self, text: str, position: int) -> bool:
        """Whether the word around a position has no other markup inside than numbers."""
        first, last = _word_around(text, position)
        return all(one.touches for one in self.markup if first < one.position < last)

    def _copy(self, other: "RunBuilder", start: int, stop: int) -> None:
        self.characters += other.characters[start:stop]
        self.starts += other.starts[start:stop]
        self.stops += other.stops[start:stop]


def _joined(markup: Sequence[_Markup], is_word: bool, touches: bool) -> _Markup:
    """One piece of markup that stands for itself, out of neighbours."""
    parts_words = any(one.parts_words for one in markup)
    return _Markup(markup[0].position, markup[0].start, markup[-1].stop, "whole", is_word, parts_words, touches)


def _is_inside_word(text: str, position: int) -> bool:
    return text[max(0, position - 1) : position].isalnum() and text[position : position + 1].isalnum()


def _word_around(text: str, position: int) -> tuple[int, int]:
    first = last = position
    while first and text[first - 1].isalnum():
        first -= 1
    while last < len(text) and text[last].isalnum():
        last += 1
    return first, last


def _stands_alone(before: str, behind: str) -> bool:
    """Whether nothing that belongs to a word or ends a sentence touches what is between these characters."""
    return not (before.isalnum() or before in {*"_.!?…"} or behind.isalnum() or behind == "_")
