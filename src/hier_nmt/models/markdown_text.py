# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The text in Markdown, found without changing anything around it."""

import re
from collections.abc import Sequence
from typing import Any

from .document_layout import RunBuilder, TextRun
from .html_text import html_runs

try:
    import markdown_it
    import markdown_it.helpers
except ImportError:
    markdown_it = None  # type: ignore[assignment]

_NEWLINE = re.compile(r"\r\n?|\n")
_FRONT_MATTER = re.compile(r"---[ \t]*(?:\r\n?|\n).*?(?:\r\n?|\n)(?:---|\.\.\.)[ \t]*(?:\r\n?|\n|$)", re.DOTALL)
_MARKUP = "*_`[]<\\"


class _Lost(Exception):
    """The text is not where it should be."""


def markdown_runs(source: str) -> list[TextRun]:
    """The text of each paragraph, heading, list item and table cell, and that of blocks of HTML; code, tags and link
    targets are left out.

    What the parser finds is looked up in the text; what is not there (a cell with an escaped bar) is left out, too.

    Raises:
        ImportError: markdown-it-py is not installed.
    """
    if markdown_it is None:
        raise ImportError('text_format="markdown" needs the markdown-it-py package: pip install markdown-it-py')
    front = _FRONT_MATTER.match(source)
    start = front.end() if front else 0
    # The parser, too, takes a NUL for the replacement character.
    text = source[start:].replace("\0", "\ufffd")
    parser = markdown_it.MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable("text_join")
    lines = [0, *(match.end() for match in _NEWLINE.finditer(text)), len(text)]
    runs = []
    position = 0
    for token in parser.parse(text):
        if token.type == "html_block" and token.map is not None:
            places = _places(token.content, text, lines[token.map[0] :], lines[token.map[0]])
            runs += _html_block_runs(token.content, [start + place for place in places])
        if token.type != "inline" or token.map is None:
            continue
        position = max(position, lines[token.map[0]])
        places = _places(token.content, text, lines[token.map[0] :], position)
        if not places:
            continue
        position = places[-1]
        run = _run(token.content, token.children or [], [start + place for place in places])
        if run is not None and run.text.strip():
            runs.append(run)
    return runs


def _html_block_runs(content: str, places: Sequence[int]) -> list[TextRun]:
    """The text of a block of HTML, whose characters stand at these places of the document; none if they are unknown."""
    return [
        run._replace(starts=[places[at] for at in run.starts], stops=[places[at - 1] + 1 for at in run.stops])
        for run in (html_runs(content) if places else [])
    ]


def _places(content: str, text: str, lines: Sequence[int], position: int) -> list[int]:
    """Where each character of the content of a block, and its end, stands in the text; nothing if it is not found.

    Args:
        content: lines, without what stands before them in lists and quotations.
        text: of the document.
        lines: where the lines of the block begin, and those behind it.
        position: where the block begins, at the earliest.
    """
    places: list[int] = []
    for line, start, stop in zip(content.split("\n"), lines, lines[1:], strict=False):
        raw = text[start:stop].rstrip("\r\n")
        # The rest of its line, but for table cells and headings with a mark at the end.
        at = start + len(raw.rstrip()) - len(line.rstrip())
        if at < position or not raw.rstrip().endswith(line.rstrip()):
            at = text.find(line, max(start, position), stop)
        if at < 0:
            return []
        places += range(at, at + len(line))
        places.append(at + len(line))
    return places


def _run(content: str, children: Sequence[Any], places: Sequence[int]) -> TextRun | None:
    reader = _InlineReader(content, places)
    try:
        reader.read(children)
    except _Lost:
        return None
    plain = "".join(reader.builder.characters)
    # What would be markup in the translation and was none in the source; what was escaped there.
    special = {character for character in _MARKUP if character not in plain} | reader.escaped
    return reader.builder.run(lambda text: "".join(f"\\{one}" if one in special else one for one in text))


class _InlineReader:
    """Finds the parts of a paragraph, as the parser names them, one behind the other in its content."""

    def __init__(self, content: str, places: Sequence[int]) -> None:
        self.content, self.places = content, places
        self.position = 0
        self.builder = RunBuilder()
        self.escaped: set[str] = set()

    def read(self, tokens: Sequence[Any]) -> None:
        """Reads the parts; `_Lost` if one is not where it should be."""
        remaining = iter(tokens)
        for token in remaining:
            if token.type == "text":
                self._text(token.content)
            elif token.type == "text_special":
                self.escaped |= {token.content} if token.markup.startswith("\\") else set()
                self._text(token.content, token.markup)
            elif token.type in ("softbreak", "hardbreak"):
                self._line_end(token.type == "hardbreak")
            elif token.type == "link_open" and token.markup == "autolink":
                self._mark(self._behind(">", self.position), "whole")
                for inner in remaining:
                    if inner.type == "link_close":
                        break
            else:
                self._mark(self._end_of(token), _kind(token))

    def _text(self, text: str, written: str | None = None) -> None:
        written = text if written is None else written
        if not written:
            return
        start = self.content.find(written, self.position)
        if start < 0 or self.content[self.position : start].strip():
            raise _Lost
        stop = start + len(written)
        self.builder.add(text, self.places[start], self.places[stop - 1] + 1)
        self.position = stop

    def _line_end(self, is_hard: bool) -> None:
        stop = self._behind("\n", self.position)
        if self.content[self.position : stop].strip(" \t\\\n"):
            raise _Lost
        place = self.places[stop - 1]
        if is_hard:
            self.builder.add_break(place, place + 1)
        else:
            self.builder.add(" ", place, place + 1)
        self.position = stop

    def _mark(self, stop: int, kind: str) -> None:
        self.builder.add_mark(self.content[self.position : stop], kind)
        self.position = stop

    def _end_of(self, token: Any) -> int:
        """Where a part that is no text ends."""
        if token.type == "code_inline":
            return self._end_of_code(token.markup)
        if token.type == "link_close":
            return self._end_of_link(self._expected("]"))
        if token.type == "image":
            return self._end_of_link(self._expected(f"![{token.content}]"))
        if token.type == "link_open":
            return self._expected("[")
        return self._expected(token.content if token.type == "html_inline" else token.markup)

    def _expected(self, text: str) -> int:
        if not text or not self.content.startswith(text, self.position):
            raise _Lost
        return self.position + len(text)

    def _behind(self, text: str, start: int) -> int:
        stop = self.content.find(text, start)
        if stop < 0:
            raise _Lost
        return stop + len(text)

    def _end_of_code(self, markup: str) -> int:
        closing = re.compile(f"(?<!`){re.escape(markup)}(?!`)").search(self.content, self._expected(markup))
        if closing is None:
            raise _Lost
        return closing.end()

    def _end_of_link(self, position: int) -> int:
        """Behind the target of a link, whose text ends at `position`: "(target "title")", "[reference]" or nothing."""
        following = self.content[position : position + 1]
        if following == "[":
            return self._behind("]", position)
        if following != "(":
            return position
        length = len(self.content)
        start = self._behind_space(position + 1)
        target = markdown_it.helpers.parseLinkDestination(self.content, start, length)
        stop = self._behind_space(target.pos if target.ok else start)
        title = markdown_it.helpers.parseLinkTitle(self.content, stop, length)
        if title.ok:
            stop = self._behind_space(title.pos)
        if self.content[stop : stop + 1] != ")":
            raise _Lost
        return stop + 1

    def _behind_space(self, position: int) -> int:
        while position < len(self.content) and self.content[position].isspace():
            position += 1
        return position


def _kind(token: Any) -> str:
    if token.type in ("code_inline", "image"):
        return "whole"
    return "close" if token.nesting < 0 or token.content.startswith("</") else "open"
