# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The text of a subtitle: its blocks, each of one speaker, without their tags, and a translation in their lines."""

import math
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Literal, NamedTuple

from ...text.inline_markup import Mark, insert_marks

TAG = re.compile(r"</?(?!br\b)[a-zA-Z][^<>]*>|\{\\[^{}]*\}", re.IGNORECASE)
# A break that does not end a line of the file: of SubStation, which players of SubRip know too, and of HTML.
_BREAK = re.compile(r"\\[Nn]|<br\s*/?>", re.IGNORECASE)
_HARD_SPACE = "\\h"
_NEW_SPEAKER = re.compile(r"\s*[-–—]\s*")
_SENTENCE_ENDS = ".?!…♪。？！:])"
_CLOSING_MARKS = "'\"”’»]）"
# A line of a subtitle is read in time up to about so many characters (Netflix and BBC style guides: 37 to 42).
MAX_LINE_CHARACTERS = 42


class Line(NamedTuple):
    """A line as it is shown, and what ends it: a newline, or a break inside of a line of the file."""

    text: str
    end: str


class Block(NamedTuple):
    """Lines of a subtitle that belong together: what one speaker says, a caption, or what has no letters.

    Attributes:
        subtitle: the index of the subtitle.
        lines: as they are.
        dash: what stands before the text of a speaker.
        text: without dash, tags and breaks.
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
        """The lines with another text, without the end of the last one; tags are placed by `insert_marks`."""
        wrapped = _wrapped(f"{self.dash}{self._with_tags(text)}", len(self.lines))
        ends = [line.end for line in self.lines[:-1]] or [self.lines[-1].end or "\n"]
        breaks = [ends[min(index, len(ends) - 1)] for index in range(len(wrapped) - 1)]
        return "".join(line + end for line, end in zip(wrapped, [*breaks, ""], strict=True))

    def as_it_is(self) -> str:
        """The lines without the end of the last one."""
        return "".join(line.text + line.end for line in self.lines).removesuffix(self.lines[-1].end)

    def _with_tags(self, text: str) -> str:
        return insert_marks(self.text, [Mark(position, tag, _tag_kind(tag)) for position, tag in self.tags], text)


def blocks(subtitle: int, text: Sequence[str]) -> Iterator[Block]:
    """The blocks of the text of a subtitle, which joined are the whole text.

    A block begins where a line begins with a dash, before and behind lines without letters, and behind a line in
    capitals that is a caption of what follows.
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
    """Whether behind one of the marks that end a sentence nothing comes but marks that close one."""
    text = text.rstrip()
    closed = text.rstrip(_CLOSING_MARKS)
    return any(mark in _SENTENCE_ENDS for mark in closed[-1:] + text[len(closed) :])


def begins_in_lower_case(text: str) -> bool:
    """Whether the first letter is a small one, and no digit stands before it."""
    first = next(filter(str.isalnum, text), "")
    return first.islower()


def spread(text: str, weights: Sequence[float]) -> list[str]:
    """The text in as many parts as there are weights, cut between words where the weights ask for it.

    A part gets at least a word as long as there are enough of them.
    """
    if len(weights) == 1:
        return [text]
    # A dash at the beginning of a line would be a speaker's.
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
    """The text of a new subtitle in lines that can be read in time."""
    return _wrapped(text, 1)


def _shown_lines(row: str) -> Iterator[Line]:
    start = 0
    for match in _BREAK.finditer(row):
        yield Line(row[start : match.start()], match[0])
        start = match.end()
    yield Line(row[start:], "\n")


def _tag_kind(tag: str) -> Literal["open", "close", "whole"]:
    if not tag.startswith("<") or tag.endswith("/>"):
        return "whole"
    return "close" if tag.startswith("</") else "open"


def _plain(line: str) -> str:
    return TAG.sub("", line).replace(_HARD_SPACE, " ").strip()


def _begins_block(before: str, line: str) -> bool:
    """Whether a line without tags belongs to another block than the line before it."""
    if _NEW_SPEAKER.match(line) or _has_letters(line) != _has_letters(before) or not _has_letters(line):
        return True
    return _is_caption(before) and not _is_caption(line) and not begins_in_lower_case(line)


def _has_letters(text: str) -> bool:
    return any(map(str.isalpha, text))


def _is_caption(line: str) -> bool:
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
    """The place in [low, high] of the number nearest to the wanted one, of two equally near ones the first."""
    above = bisect_left(ends, wanted, low, high)
    return above - 1 if above > low and wanted - ends[above - 1] <= ends[above] - wanted else above


def _wrapped(text: str, num_lines: int) -> list[str]:
    """The text in about equal lines: as many as it had before, or more where they would be too long."""
    length = len(TAG.sub("", text))
    num_lines = max(1, min(num_lines, len(text.split())), math.ceil(length / MAX_LINE_CHARACTERS))
    if num_lines == 1 or length <= MAX_LINE_CHARACTERS // 2:
        return [text]
    return [line for line in spread(text, [1] * num_lines) if line]
