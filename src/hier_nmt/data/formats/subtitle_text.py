# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The text of a subtitle: its blocks, each of one speaker, without tags; and how a translation is put in their
lines."""

import math
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Literal, NamedTuple

from ...text.inline_markup import Mark, insert_marks

# Also the times inside a subtitle of WebVTT, and its annotations of pronunciation with their text.
TAG = re.compile(r"<rt\b[^<>]*>[^<>\n]*</rt>|</?(?!br\b)[a-zA-Z][^<>]*>|<[\d:.]{5,13}>|\{\\[^{}]*\}", re.IGNORECASE)
# Line breaks inside a line of the file: those of SubStation, which SubRip players support too, and of HTML.
_BREAK = re.compile(r"\\[Nn]|<br\s*/?>", re.IGNORECASE)
_HARD_SPACE = "\\h"
_NEW_SPEAKER = re.compile(r"\s*[-–—]\s*")
_SENTENCE_ENDS = ".?!…♪。？！:])"
_CLOSING_MARKS = "'\"”’»]）"
# Line length that viewers can read in time (style guides of Netflix and BBC: 37 to 42).
MAX_LINE_CHARACTERS = 42


class Line(NamedTuple):
    """A line as displayed, and what ends it: a newline, or a break inside a line of the file."""

    text: str
    end: str


class Block(NamedTuple):
    """Consecutive lines of a subtitle: those of one speaker, a caption, or lines without letters.

    Attributes:
        subtitle: the index of the subtitle.
        lines: the lines, unchanged.
        dash: the dash before the text of a speaker.
        text: the text without dash, tags and breaks.
        tags: (place in the text, tag).
    """

    subtitle: int
    lines: tuple[Line, ...]
    dash: str
    text: str
    tags: tuple[tuple[int, str], ...]

    @property
    def has_letters(self) -> bool:
        """Whether there is anything to translate."""
        return any(map(str.isalpha, self.text))

    def with_text(self, text: str) -> str:
        """The lines with another text, without the end of the last one; `insert_marks` places the tags."""
        wrapped = _wrapped(f"{self.dash}{self._with_tags(text)}", len(self.lines))
        ends = [line.end for line in self.lines[:-1]] or [self.lines[-1].end or "\n"]
        breaks = [ends[min(index, len(ends) - 1)] for index in range(len(wrapped) - 1)]
        return "".join(line + end for line, end in zip(wrapped, [*breaks, ""], strict=True))

    def original(self) -> str:
        """The unchanged lines, without the end of the last one."""
        return "".join(line.text + line.end for line in self.lines).removesuffix(self.lines[-1].end)

    def _with_tags(self, text: str) -> str:
        return insert_marks(self.text, [Mark(position, tag, _tag_kind(tag)) for position, tag in self.tags], text)


def blocks(subtitle: int, text: Sequence[str]) -> Iterator[Block]:
    """The blocks of the text of a subtitle; joined they are the whole text.

    A block starts at a line that starts with a dash, before and after lines without letters, and after a line in
    capitals, which is a caption.
    """
    lines = [line for row in text for line in _shown_lines(row)]
    if not lines:
        return
    lines[-1] = lines[-1]._replace(end="")
    start = 0
    for stop in range(1, len(lines) + 1):
        if stop == len(lines) or _begins_block(_plain(lines[stop - 1].text), _plain(lines[stop].text)):
            yield _block(subtitle, tuple(lines[start:stop]))
            start = stop


def ends_sentence(text: str) -> bool:
    """Whether the text ends with punctuation that ends a sentence, perhaps followed by closing quotation marks."""
    text = text.rstrip()
    closed = text.rstrip(_CLOSING_MARKS)
    return any(mark in _SENTENCE_ENDS for mark in closed[-1:] + text[len(closed) :])


def begins_in_lower_case(text: str) -> bool:
    """Whether the first letter is lower case, with no digit before it."""
    first = next(filter(str.isalnum, text), "")
    return first.islower()


def split_by_weights(text: str, weights: Sequence[float]) -> list[str]:
    """The text in as many parts as there are weights, split between words in proportion to the weights.

    Each part gets at least one word, if there are enough.
    """
    if len(weights) == 1:
        return [text]
    # A dash at the start of a line would mark a speaker, so no line starts with one.
    words = re.split(" (?![-–—])", text)
    ends = [0, *accumulate(len(word) + 1 for word in words)]
    whole = sum(weights) or 1
    parts = []
    first = 0
    for number, weight in enumerate(accumulate(weights), start=1):
        wanted = ends[-1] * weight / whole
        low = min(len(words), first + 1)
        high = max(low, len(words) - (len(weights) - number))
        last = len(words) if number == len(weights) else _nearest(ends, wanted, low, high)
        parts.append(" ".join(words[first:last]))
        first = last
    return parts


def wrapped_lines(text: str) -> list[str]:
    """The text of a new subtitle in lines that viewers can read in time."""
    return _wrapped(text, 1)


def _shown_lines(row: str) -> Iterator[Line]:
    start = 0
    for match in _BREAK.finditer(row):
        yield Line(row[start : match.start()], match[0])
        start = match.end()
    yield Line(row[start:], "\n")


def _tag_kind(tag: str) -> Literal["open", "close", "whole"]:
    if not tag.startswith("<") or tag.endswith("/>") or tag[1].isdecimal() or "<" in tag[1:]:
        return "whole"
    return "close" if tag.startswith("</") else "open"


def _plain(line: str) -> str:
    return TAG.sub("", line).replace(_HARD_SPACE, " ").strip()


def _begins_block(before: str, line: str) -> bool:
    """Whether a line without tags belongs to another block than the line before it."""
    if _NEW_SPEAKER.match(line) or _has_letters(line) != _has_letters(before) or not _has_letters(line):
        return True
    return is_caption(before) and not is_caption(line) and not begins_in_lower_case(line)


def _has_letters(text: str) -> bool:
    return any(map(str.isalpha, text))


def is_caption(line: str) -> bool:
    """Whether a line is all in capitals, as titles and signs are."""
    return line.isupper() and sum(map(str.isalpha, line)) > 1


def _block(subtitle: int, lines: tuple[Line, ...]) -> Block:
    text = " ".join(line.text.strip() for line in lines).replace(_HARD_SPACE, "\u00a0")
    tags: list[tuple[int, str]] = []
    plain = ""
    end = 0
    for match in TAG.finditer(text):
        plain += text[end : match.start()]
        tags.append((len(plain), match[0]))
        end = match.end()
    plain += text[end:]
    dash = _NEW_SPEAKER.match(plain)
    cut = dash.end() if dash else 0
    left = len(plain[cut:]) - len(plain[cut:].lstrip())
    positions = tuple((max(0, position - cut - left), tag) for position, tag in tags)
    return Block(subtitle, lines, plain[:cut], plain[cut:].strip(), positions)


def _nearest(ends: Sequence[int], wanted: float, low: int, high: int) -> int:
    """The index in [low, high] of the value nearest to `wanted`; the first of two equally near ones."""
    above = bisect_left(ends, wanted, low, high)
    return above - 1 if above > low and wanted - ends[above - 1] <= ends[above] - wanted else above


def _wrapped(text: str, num_lines: int) -> list[str]:
    """The text in lines of similar length: as many as before, or more if they would be too long."""
    length = len(TAG.sub("", text))
    num_lines = max(1, min(num_lines, len(text.split())), math.ceil(length / MAX_LINE_CHARACTERS))
    if num_lines == 1 or length <= MAX_LINE_CHARACTERS // 2:
        return [text]
    return [line for line in split_by_weights(text, [1] * num_lines) if line]
