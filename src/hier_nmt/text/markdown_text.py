# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The text in Markdown, found without changing anything around it."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from .document_layout import TextRun
from .html_text import html_runs, is_empty_element, kept_element
from .protected_spans import OBJECT, ProtectedSpan, masked, template_spans
from .run_builder import RunBuilder

try:
    import markdown_it
    import markdown_it.helpers
except ImportError:
    markdown_it = None  # type: ignore[assignment]

_NEWLINE = re.compile(r"\r\n?|\n")
_FRONT_MATTER = re.compile(r"---[ \t]*(?:\r\n?|\n).*?(?:\r\n?|\n)(?:---|\.\.\.)[ \t]*(?:\r\n?|\n|$)", re.DOTALL)
_MARKUP = "*_`[]<\\"
_FORMULA = re.compile(
    r"\$\$[^$]{1,1000}?\$\$|(?<![\w$\\])\$(?=\S)(?!\(\w+\)|\{)[^$\n]{0,300}?(?<=\S)\$(?![\w$])|\\\([^\n]{1,300}?\\\)"
    # With subscripts and superscripts of Pandoc ("H~2~O").
    r"|(?<![\w~^])\w{1,60}(?:~[^~\s]{1,20}~|\^[^^\s]{1,20}\^)\w*"
)
_OTHERS = re.compile(
    r"\[\^[^\[\]\s]{1,60}\](?::(?=[ \t]))?|\[![A-Za-z]{1,20}\][+-]?|\{[#.:][^{}\n]{1,200}\}"
    # The first and last lines of admonitions.
    r"|(?<![^\s>]):{3,}[^\n]*|(?<![^\n])[!?]{3}\+?[ ][\w-]+"
)
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)


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
    code = _code_of_others(source[start:], start)
    text = masked(source, code)[start:].replace("\0", "\ufffd")
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
        run = _run(token, source, code, [start + place for place in places])
        if run is not None and run.text.replace(OBJECT, "").strip():
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


def _code_of_others(text: str, offset: int) -> list[ProtectedSpan]:
    """What is not CommonMark, and must not be read as if it were: templates, formulas, footnotes, attributes, and the
    lines that open and close admonitions. Their places are counted from `offset` on."""
    formulas = [ProtectedSpan(*match.span(), "word") for match in _FORMULA.finditer(text)]
    others = [ProtectedSpan(*match.span(), "other") for match in _OTHERS.finditer(text)]
    spans: list[ProtectedSpan] = []
    # Of those that overlap, the first; of those that begin together, the longest.
    for span in sorted([*template_spans(text), *formulas, *others], key=lambda span: (span.start, -span.stop)):
        if not spans or span.start + offset >= spans[-1].stop:
            spans.append(ProtectedSpan(span.start + offset, span.stop + offset, span.kind))
    return spans


def _run(block: Any, source: str, code: Sequence[ProtectedSpan], places: Sequence[int]) -> TextRun | None:
    reader = _InlineReader(block.content, places, source, code)
    try:
        reader.read(block.children or [])
    except _Lost:
        return None
    plain = "".join(reader.builder.characters)
    # What would be markup in the translation and was none in the source; what was escaped there.
    special = {character for character in _MARKUP if character not in plain} | reader.escaped
    return reader.builder.run(lambda text: "".join(f"\\{one}" if one in special else one for one in text))


class _InlineReader:
    """Finds the parts of a paragraph, as the parser names them, one behind the other in its content."""

    def __init__(self, content: str, places: Sequence[int], source: str, code: Sequence[ProtectedSpan]) -> None:
        self.content, self.places, self.code = content, places, code
        self.position = 0
        self.builder = RunBuilder(source)
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
                self._mark(self._behind(">", self.position), "whole", is_word=True)
                for inner in remaining:
                    if inner.type == "link_close":
                        break
            elif token.type == "html_inline" and _BREAK.fullmatch(token.content):
                stop = self._expected(token.content)
                self.builder.add_break(self.places[self.position], self.places[stop - 1] + 1)
                self.position = stop
            elif token.type == "html_inline" and (name := kept_element(token.content)) is not None:
                self._mark(self._end_of_kept(name, remaining, self._expected(token.content)), "whole", is_word=True)
            else:
                self._mark(self._end_of(token), _kind(token), is_word=token.type == "code_inline")

    def _text(self, text: str, written: str | None = None) -> None:
        written = text if written is None else written
        if not written:
            return
        start = self.content.find(written, self.position)
        if start < 0 or self.content[self.position : start].strip():
            raise _Lost
        stop = start + len(written)
        if written == text:
            self.builder.add_source(self.places[start], self.places[stop - 1] + 1, self.code)
        else:
            self.builder.add(text, self.places[start], self.places[stop - 1] + 1)
        self.position = stop

    def _line_end(self, is_hard: bool) -> None:
        stop = self._behind("\n", self.position)
        if self.content[self.position : stop].strip(" \t\\\n"):
            raise _Lost
        place = self.places[stop - 1]
        if is_hard or self._is_beside_code(self.position, stop):
            self.builder.add_break(place, place + 1)
        else:
            self.builder.add(" ", place, place + 1)
        self.position = stop

    def _is_beside_code(self, start: int, stop: int) -> bool:
        """Whether one of the lines before and behind a line end has nothing but code in it, and stays alone."""
        before = self.content.rfind("\n", 0, start) + 1
        behind = self.content.find("\n", stop)
        lines = [(before, start), (stop, len(self.content) if behind < 0 else behind)]
        return any(self._is_code(self.places[first], self.places[last]) for first, last in lines)

    def _is_code(self, start: int, stop: int) -> bool:
        source = self.builder.source
        position = start
        rest = ""
        for span in self.code[bisect_right(self.code, start, key=lambda span: span.stop) :]:
            if span.start >= stop:
                break
            rest += source[position : span.start]
            position = span.stop
        return position > start and not (rest + source[position:stop]).strip()

    def _mark(self, stop: int, kind: Literal["open", "close", "whole"], is_word: bool = False) -> None:
        self.builder.add_mark(self.places[self.position], self.places[stop - 1] + 1, kind, is_word)
        self.position = stop

    def _end_of_kept(self, name: str, remaining: Iterator[Any], position: int) -> int:
        """Behind the end of an HTML element in which nothing is translated, whose first tag ends at `position`."""
        tag = re.compile(rf"<(/?){re.escape(name)}\b", re.IGNORECASE)
        depth = 1
        for token in remaining:
            if token.type != "html_inline":
                continue
            position = self._behind(token.content, position)
            if match := tag.match(token.content):
                depth += -1 if match[1] else int(not token.content.endswith("/>"))
            if depth == 0:
                return position
        return len(self.content)

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


def _kind(token: Any) -> Literal["open", "close", "whole"]:
    if token.type in ("code_inline", "image"):
        return "whole"
    if token.type == "html_inline" and not token.content.startswith("</") and is_empty_element(token.content):
        return "whole"
    return "close" if token.nesting < 0 or token.content.startswith("</") else "open"
