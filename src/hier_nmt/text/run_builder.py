# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Collects the text of a paragraph with markup, and the role of each piece of markup in its sentence."""

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from .document_layout import TextRun
from .inline_markup import Mark
from .protected_spans import LINE_BREAK, OBJECT, ProtectedSpan

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_WHITE_SPACE = " \t\n\r\f\v"
_INDEX_TAG = re.compile(r"<su[bp]\b", re.IGNORECASE)
_SENTENCE_ENDS = ".!?…\"'”’»)"
# White space after these is dropped.
_ENDS = (" ", "\n", LINE_BREAK)


@dataclass(frozen=True)
class _Markup:
    """Markup at a position of the text; it is [start, stop) of the document.

    Attributes:
        acts_as_word: it may act as a word of the sentence.
        separates_words: it is visible, so the text on its two sides is two words.
        touches: it contains text that is not part of the collected text and belongs to the word before it
            ("CO<sub>2</sub>").
        space_after: white space follows it, which the text omits if there is some before the markup.
        is_index: it opens a subscript or superscript.
    """

    position: int
    start: int
    stop: int
    kind: Literal["open", "close", "whole"]
    acts_as_word: bool = False
    separates_words: bool = False
    touches: bool = False
    space_after: bool = False
    is_index: bool = False


class _Object(NamedTuple):
    """An `OBJECT` that replaces the text [first, last); it is [start, stop) of the document."""

    first: int
    last: int
    start: int
    stop: int
    space_after: bool


@dataclass
class RunBuilder:
    """Collects a `TextRun`: white space becomes single spaces, with newlines only for line breaks that matter.

    A pair of tags without text inside is one piece of markup, and so is a pair around a number that belongs to the word
    or sentence before it (a footnote, "CO<sub>2</sub>"), or around the index of a variable ("x<sub>i</sub>"). Markup
    that acts as a word is an `OBJECT` in the text; so is a whole word with such a number inside ("H<sub>2</sub>O").

    Args:
        source: the document.
        keeps_space: white space is kept unchanged.
        keeps_edges: a space at the start is kept, too.
    """

    source: str = ""
    keeps_space: bool = False
    keeps_edges: bool = False
    characters: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    stops: list[int] = field(default_factory=list)
    markup: list[_Markup] = field(default_factory=list)
    _ends_of_whole: set[tuple[int, int]] = field(default_factory=set, init=False)

    def add(self, text: str, start: int, stop: int) -> None:
        """Adds text; the document has it at [start, stop)."""
        is_literal = stop - start == len(text)
        for index, character in enumerate(text):
            if character in _WHITE_SPACE and not self.keeps_space:
                character = " "
                self._note_space()
                if self.characters[-1] in _ENDS if self.characters else not self.keeps_edges:
                    continue
            self._append(character, start + index if is_literal else start, start + index + 1 if is_literal else stop)

    def add_source(self, start: int, stop: int, code: Sequence[ProtectedSpan]) -> None:
        """Adds [start, stop) of the document as text, except the code in it, which is added as markup.

        Args:
            start, stop: positions in the document.
            code: spans of the document, in order; those of kind "word" may act as words, a "break" is added as one.
        """
        index = bisect_right(code, start, key=lambda span: span.stop)
        while index < len(code) and code[index].start < stop:
            first, last = max(start, code[index].start), min(stop, code[index].stop)
            self.add(self.source[start:first], start, first)
            if code[index].kind == "break":
                self.add_break(first, last)
            else:
                self.add_mark(first, last, "whole", acts_as_word=code[index].kind == "word", separates_words=True)
            start = last
            index += 1
        self.add(self.source[start:stop], start, stop)

    def add_break(self, start: int, stop: int, character: str = "\n") -> None:
        """Adds a line break that matters."""
        self._append(character, start, stop)

    def add_mark(
        self,
        start: int,
        stop: int,
        kind: Literal["open", "close", "whole"],
        acts_as_word: bool = False,
        separates_words: bool = False,
        is_index: bool = False,
    ) -> None:
        """Adds markup, [start, stop) of the document, at the end of the text so far.

        Args:
            start, stop: positions in the document.
            kind: "open" and "close" for tags, "whole" for markup without a partner.
            acts_as_word: it may act as a word of the sentence.
            separates_words: it is visible, so the text on its two sides is two words.
            is_index: it opens a subscript or superscript. Tags of HTML in the document are recognized as such.
        """
        is_index = is_index or _INDEX_TAG.match(self.source, start) is not None
        separates_words = separates_words or acts_as_word
        self.markup.append(
            _Markup(len(self.characters), start, stop, kind, acts_as_word, separates_words, is_index=is_index)
        )
        if kind == "close":
            self._join_pair()
        if len(self.markup) > 1:
            self._join_touching()

    def _join_pair(self) -> None:
        """Merges a pair of tags that has nothing to translate inside, neither text nor other tags."""
        first = len(self.markup) - 2
        while first >= 0 and self.markup[first].kind == "whole":
            first -= 1
        if first < 0 or self.markup[first].kind == "close":
            return
        opening = self.markup[first]
        inside = self.characters[opening.position :]
        if inside and not (
            opening.position and (self._is_touching_number(opening.position) or self._is_index(opening))
        ):
            return
        inner = self.markup[first:]
        # An empty element between words is a place that a program fills.
        acts_as_word = any(one.acts_as_word for one in inner) or (not inside and opening.position > 0)
        self.markup[first:] = [_merge(inner, acts_as_word, bool(inside))]
        del self.characters[opening.position :], self.starts[opening.position :], self.stops[opening.position :]

    def _is_touching_number(self, position: int) -> bool:
        """Whether the text from here on is a number that belongs to the word or the sentence before it."""
        number = "".join(self.characters[position:])
        if not number.isalnum() or any(map(str.isalpha, number)):
            return False
        before = "".join(self.characters[max(0, position - 2) : position])
        # A footnote, but not the rest of a number ("3.14").
        return before[-1].isalnum() or (before[-1] in _SENTENCE_ENDS and not before[0].isdigit())

    def _is_index(self, opening: _Markup) -> bool:
        """Whether this tag opens an index in letters of a variable ("x<sub>i</sub>")."""
        index = "".join(self.characters[opening.position :])
        before = "".join(self.characters[max(0, opening.position - 3) : opening.position])
        variable = before[len(before.rstrip(_LETTERS)) :]
        is_short = 1 <= len(variable) <= 2 and len(index) <= 3 and index.isalpha()
        return is_short and opening.is_index

    def _join_touching(self) -> None:
        """Merges the last two pieces of markup if both are whole and nothing is between them."""
        before, last = self.markup[-2:]
        if before.kind == last.kind == "whole" and before.position == last.position and before.stop == last.start:
            self.markup[-2:] = [
                _merge((before, last), before.acts_as_word or last.acts_as_word, before.touches or last.touches)
            ]

    def _note_space(self) -> None:
        if self.markup and self.markup[-1].position == len(self.characters):
            self.markup[-1] = replace(self.markup[-1], space_after=True)

    def _append(self, character: str, start: int, stop: int) -> None:
        self.characters.append(character)
        self.starts.append(start)
        self.stops.append(stop)

    def run(self, escape: Callable[[str], str]) -> TextRun:
        """The collected run."""
        text = "".join(self.characters)
        self._ends_of_whole = {(one.position, one.stop) for one in self.markup if one.kind == "whole"}
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
                if one.space_after and text[last : last + 1] != " ":
                    built._append(" ", one.stop, one.stop + 1)
            else:
                separates_words = one.separates_words and _is_inside_word(text, first)
                if separates_words:
                    built._append(" ", one.start, one.start)
                marks.append(self._mark(one, text, len(built.characters), separates_words))
        built._copy(self, position, len(text))
        return TextRun("".join(built.characters), built.starts, built.stops, tuple(marks), escape)

    def _mark(self, one: _Markup, text: str, position: int, separates_words: bool) -> Mark:
        space_before = text[max(0, one.position - 1) : one.position] == " "
        raw = self.source[one.start : one.stop]
        # A tag moves with the words beside it, and needs spaces of its own only where it stands between two.
        keeps_spaces = one.kind == "whole" or (space_before and one.space_after)
        # The space before a closing tag may be that before the markup inside.
        space_before = space_before and not (one.kind == "close" and (one.position, one.start) in self._ends_of_whole)
        return Mark(
            position, raw, one.kind, keeps_spaces and space_before, keeps_spaces and one.space_after, separates_words
        )

    def _objects(self, text: str) -> tuple[list[_Object], list[_Markup]]:
        """The markup that acts as a word, and the other markup."""
        objects: list[_Object] = []
        others: list[_Markup] = []
        for one in self.markup:
            before, after = text[max(0, one.position - 1) : one.position], text[one.position : one.position + 1]
            if objects and one.position <= objects[-1].last and one.touches and one.start > objects[-1].start:
                objects[-1] = objects[-1]._replace(stop=max(objects[-1].stop, one.stop), space_after=one.space_after)
            elif one.touches and _is_inside_word(text, one.position) and self._is_alone_in_word(text, one.position):
                first, last = _word_around(text, one.position)
                objects.append(_Object(first, last, self.starts[first], self.stops[last - 1], False))
            elif one.acts_as_word and _is_standalone(before, " " if one.space_after else after):
                objects.append(_Object(one.position, one.position, one.start, one.stop, one.space_after))
            else:
                others.append(one)
        return objects, others

    def _is_alone_in_word(self, text: str, position: int) -> bool:
        """Whether the word around a position has no markup inside except numbers."""
        first, last = _word_around(text, position)
        return all(one.touches for one in self.markup if first < one.position < last)

    def _copy(self, other: "RunBuilder", start: int, stop: int) -> None:
        self.characters += other.characters[start:stop]
        self.starts += other.starts[start:stop]
        self.stops += other.stops[start:stop]


def _merge(markup: Sequence[_Markup], acts_as_word: bool, touches: bool) -> _Markup:
    """Adjacent pieces of markup as one whole piece."""
    separates_words = any(one.separates_words for one in markup)
    return _Markup(
        markup[0].position, markup[0].start, markup[-1].stop, "whole", acts_as_word, separates_words, touches
    )


def _is_inside_word(text: str, position: int) -> bool:
    return text[max(0, position - 1) : position].isalnum() and text[position : position + 1].isalnum()


def _word_around(text: str, position: int) -> tuple[int, int]:
    first = last = position
    while first and text[first - 1].isalnum():
        first -= 1
    while last < len(text) and text[last].isalnum():
        last += 1
    return first, last


def _is_standalone(before: str, after: str) -> bool:
    """Whether no part of a word, and no end of a sentence, touches the markup between these two characters."""
    return not (before.isalnum() or before in {*"_.!?…"} or after.isalnum() or after == "_")
