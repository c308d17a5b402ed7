# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Finds the text in Markdown, without changing anything around it."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from .document_layout import TextRun
from .html_text import html_runs, untranslated_element
from .html_tokens import OpenElement, is_empty_element, is_untranslated_inside, open_elements
from .protected_spans import OBJECT, ProtectedSpan, mask_spans, template_spans
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
    # Also subscripts and superscripts of Pandoc ("H~2~O").
    r"|(?<![\w~^])\w{1,60}(?:~[^~\s]{1,20}~|\^[^^\s]{1,20}\^)\w*"
)
_OTHERS = re.compile(
    r"\[\^[^\[\]\s]{1,60}\](?::(?=[ \t]))?|(?<![^\n])\*\[[^\[\]\n]{1,60}\]:(?=[ \t])"
    r"|\[![A-Za-z]{1,20}\][+-]?|\{(?:[#.:]|[\w:-]{1,40}=)[^{}\n]{1,200}\}"
    # The first and last lines of admonitions.
    r"|(?<![^\s>]):{3,}[^\n]*|(?<![^\n])[!?]{3}\+?[ ][\w-]+"
)
# The first line of an admonition or tab of MkDocs, perhaps with a title; four spaces indent what is in it.
_CONTAINER = re.compile(
    r"^[ \t]*(?P<mark>(?:!!!|\?\?\?\+?)(?: +[\w-]+)+|===[!+]?(?= +\"))"
    r"(?: +\"(?P<title>[^\r\n]*?)\")?[ \t]*(?![^\r\n])",
    re.MULTILINE,
)
_MAX_FIRST_LINE = 1000
# What the parser reads in its place: an item of a list, whose paragraphs are indented as much.
_ITEM = "-   "
# Of a definition, a line of verse and an abbreviation, which some parsers read at the start of a line.
_LINE_MARK = re.compile(r"[:|][ \t]|\*\[[^\[\]\n]{1,60}\]:")
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
# An escaped bar in a row of a table, which has others.
_ESCAPED_BAR = re.compile(r"\\\|")
_ROW = re.compile(r"^[^\r\n]*(?<!\\)\|[^\r\n]*", re.MULTILINE)
_SAYS_YES = re.compile(r"\stranslate\s*=\s*[\"']?yes\b", re.IGNORECASE)


class _NotFoundError(Exception):
    """The parser's text is not at the expected position of the source."""


def markdown_runs(source: str) -> list[TextRun]:
    """The text of each paragraph, heading, list item, table cell and HTML block, without code, tags and link targets.

    Text of the parser is located in the source. If it is not there, it is excluded, too.

    Raises:
        ImportError: markdown-it-py is not installed.
    """
    if markdown_it is None:
        raise ImportError('text_format="markdown" needs the markdown-it-py package: pip install markdown-it-py')
    front = _FRONT_MATTER.match(source)
    start = front.end() if front else 0
    # The parser replaces NUL by the replacement character, so the text to search must, too.
    code = _extension_spans(source[start:], start)
    text = _with_items(mask_spans(source, code)[start:].replace("\0", "\ufffd"), source[start:])
    parser = markdown_it.MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable("text_join")
    lines = [0, *(match.end() for match in _NEWLINE.finditer(text)), len(text)]
    runs = []
    position = 0
    # The elements of HTML around blocks of Markdown.
    opened: tuple[OpenElement, ...] = ()
    before = ""
    for token in parser.parse(text):
        is_cell, before = before in ("th_open", "td_open"), token.type
        is_untranslated = is_untranslated_inside(opened)
        if token.type == "html_block" and token.map is not None:
            opened = open_elements(token.content, opened)
            positions = _positions(token.content, text, lines[token.map[0] :], lines[token.map[0]])
            runs += _html_block_runs(token.content, [start + at for at in positions], is_untranslated)
        if token.type != "inline" or token.map is None or is_untranslated:
            continue
        position = max(position, lines[token.map[0]])
        positions = _positions(token.content, text, lines[token.map[0] :], position)
        if not positions:
            continue
        position = positions[-1]
        run = _run(token, source, code, [start + at for at in positions], is_cell)
        if run is not None and run.text.replace(OBJECT, "").strip():
            runs.append(run)
    return runs


def _html_block_runs(content: str, positions: Sequence[int], is_untranslated: bool) -> list[TextRun]:
    """The text of an HTML block whose characters are at these positions of the document; none if they are unknown."""
    return [
        run._replace(starts=[positions[at] for at in run.starts], stops=[positions[at - 1] + 1 for at in run.stops])
        for run in (html_runs(content, is_untranslated) if positions else [])
    ]


def _positions(content: str, text: str, lines: Sequence[int], position: int) -> list[int]:
    """The position in the text of each character of a block's content, and of its end; empty if it is not found.

    Args:
        content: lines of the block, without the list and quotation marks before them.
        text: the document.
        lines: starts of the lines of the block and of those after it.
        position: the earliest start of the block.
    """
    positions: list[int] = []
    for line, start, stop in zip(content.split("\n"), lines, lines[1:], strict=False):
        raw = text[start:stop].rstrip("\r\n")
        # A line of the content is the end of its source line, except in table cells and headings with closing marks.
        at = start + len(raw.rstrip()) - len(line.rstrip())
        if at < position or not raw.rstrip().endswith(line.rstrip()):
            at = text.find(line, max(start, position), stop)
        if at < 0:
            return []
        positions += range(at, at + len(line))
        positions.append(at + len(line))
    return positions


def _extension_spans(text: str, offset: int) -> list[ProtectedSpan]:
    """Spans that are not CommonMark and must not be parsed as such: templates, formulas, footnotes, attributes, the
    first and last lines of admonitions, and escaped bars of tables. Their positions are counted from `offset`."""
    containers = [ProtectedSpan(*span, "other") for one in _CONTAINER.finditer(text) for span in _around_title(one)]
    formulas = [ProtectedSpan(*match.span(), "word") for match in _FORMULA.finditer(text)]
    others = [ProtectedSpan(*match.span(), "other") for match in _OTHERS.finditer(text)]
    spans: list[ProtectedSpan] = []
    # Of overlapping spans the first wins; of spans with the same start the longest.
    bars = [bar for row in _ROW.finditer(text) for bar in _escaped_bars(text, *row.span())]
    found = [*containers, *template_spans(text), *formulas, *others, *bars]
    for span in sorted(found, key=lambda span: (span.start, -span.stop)):
        if not spans or span.start + offset >= spans[-1].stop:
            spans.append(ProtectedSpan(span.start + offset, span.stop + offset, span.kind))
    return spans


def _escaped_bars(text: str, start: int, stop: int) -> Iterator[ProtectedSpan]:
    """The escaped bars in a row of a table; between spaces they separate sentences, as other bars do."""
    for match in _ESCAPED_BAR.finditer(text, start, stop):
        is_apart = text[match.start() - 1 : match.start()] == text[match.end() : match.end() + 1] == " "
        yield ProtectedSpan(*match.span(), "break" if is_apart else "other")


def _around_title(match: re.Match[str]) -> list[tuple[int, int]]:
    """What is around the title in the first line of an admonition or tab; the whole line if it has none."""
    start, stop = match.start("mark"), match.end()
    return [(start, match.start("title")), (match.end("title"), stop)] if match["title"] else [(start, stop)]


def _with_items(text: str, source: str) -> str:
    """The text of a document with an item of a list in place of each admonition or tab of its source."""
    for match in _CONTAINER.finditer(source):
        start = match.start("mark")
        text = f"{text[:start]}{_ITEM}{text[start + len(_ITEM) :]}"
    return text


def _run(
    block: Any, source: str, code: Sequence[ProtectedSpan], positions: Sequence[int], is_cell: bool
) -> TextRun | None:
    """The text of a block, perhaps a cell of a table; None if it is not where it should be."""
    reader = _InlineReader(block.content, positions, source, code)
    try:
        reader.read(block.children or [])
    except _NotFoundError:
        return None
    plain = "".join(reader.builder.characters)
    # Escape what would be markup only in the translation, and what the source escapes.
    special = {character for character in _MARKUP if character not in plain} | reader.escaped | {*("|" * is_cell)}
    return reader.builder.run(lambda text: "".join(f"\\{one}" if one in special else one for one in text))


class _InlineReader:
    """Locates the tokens of a paragraph, in order, in its content."""

    def __init__(self, content: str, positions: Sequence[int], source: str, code: Sequence[ProtectedSpan]) -> None:
        self.content, self.positions, self.code = content, positions, code
        self.position = 0
        self.builder = RunBuilder(source)
        self.escaped: set[str] = set()
        # The elements of HTML around a token, if something to translate is in one that is not translated.
        self.opened: tuple[OpenElement, ...] = ()

    def read(self, tokens: Sequence[Any]) -> None:
        """Reads the tokens; raises `_NotFoundError` if one is not where it should be."""
        remaining = iter(tokens)
        has_translated = any(token.type == "html_inline" and _SAYS_YES.search(token.content) for token in tokens)
        for token in remaining:
            if has_translated and token.type == "html_inline":
                self.opened = open_elements(token.content, self.opened)
                self._mark(self._end_of(token), _kind(token))
            elif is_untranslated_inside(self.opened) and token.type in ("text", "text_special"):
                self._mark(self._expected(token.markup or token.content), "whole", acts_as_word=True)
            elif token.type == "text":
                self._text(token.content)
            elif token.type == "text_special":
                # What an entity stands for would be markup in the translation, too.
                is_escaped = token.markup.startswith("\\") or token.content in ("&", *_MARKUP)
                self.escaped |= {token.content} if is_escaped else set()
                self._text(token.content, token.markup)
            elif token.type in ("softbreak", "hardbreak"):
                self._line_end(token.type == "hardbreak")
            elif token.type == "link_open" and token.markup == "autolink":
                self._mark(self._after(">", self.position), "whole", acts_as_word=True)
                for inner in remaining:
                    if inner.type == "link_close":
                        break
            elif token.type == "html_inline" and _BREAK.fullmatch(token.content):
                stop = self._expected(token.content)
                self.builder.add_break(self.positions[self.position], self.positions[stop - 1] + 1)
                self.position = stop
            elif token.type == "html_inline" and (name := untranslated_element(token.content)) is not None:
                self._mark(
                    self._end_of_untranslated(name, remaining, self._expected(token.content)),
                    "whole",
                    acts_as_word=True,
                )
            else:
                self._mark(self._end_of(token), _kind(token), acts_as_word=token.type == "code_inline")

    def _text(self, text: str, written: str | None = None) -> None:
        written = text if written is None else written
        if not written:
            return
        start = self.content.find(written, self.position)
        if start < 0 or self.content[self.position : start].strip():
            raise _NotFoundError
        stop = start + len(written)
        if written == text:
            self.builder.add_source(self.positions[start], self.positions[stop - 1] + 1, self.code)
        else:
            self.builder.add(text, self.positions[start], self.positions[stop - 1] + 1)
        self.position = stop

    def _line_end(self, is_hard: bool) -> None:
        stop = self._after("\n", self.position)
        if self.content[self.position : stop].strip(" \t\\\n"):
            raise _NotFoundError
        at = self.positions[stop - 1]
        source = self.builder.source
        is_hard = is_hard or _LINE_MARK.match(source, self.positions[stop]) is not None
        line = _NEWLINE.split(source[max(0, at - _MAX_FIRST_LINE) : at])[-1]
        is_hard = is_hard or _CONTAINER.match(line) is not None
        if is_hard or self._is_beside_code(self.position, stop):
            self.builder.add_break(at, at + 1)
        else:
            self.builder.add(" ", at, at + 1)
        self.position = stop

    def _is_beside_code(self, start: int, stop: int) -> bool:
        """Whether the line before or after a line end is nothing but code, so that the line break must stay."""
        before = self.content.rfind("\n", 0, start) + 1
        after = self.content.find("\n", stop)
        lines = [(before, start), (stop, len(self.content) if after < 0 else after)]
        return any(self._is_code(self.positions[first], self.positions[last]) for first, last in lines)

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

    def _mark(self, stop: int, kind: Literal["open", "close", "whole"], acts_as_word: bool = False) -> None:
        self.builder.add_mark(self.positions[self.position], self.positions[stop - 1] + 1, kind, acts_as_word)
        self.position = stop

    def _end_of_untranslated(self, name: str, remaining: Iterator[Any], position: int) -> int:
        """The end of an HTML element whose content is not translated; its start tag ends at `position`."""
        tag = re.compile(rf"<(/?){re.escape(name)}\b", re.IGNORECASE)
        depth = 1
        for token in remaining:
            if token.type != "html_inline":
                continue
            position = self._after(token.content, position)
            if match := tag.match(token.content):
                depth += -1 if match[1] else int(not token.content.endswith("/>"))
            if depth == 0:
                return position
        return len(self.content)

    def _end_of(self, token: Any) -> int:
        """The end of a token that is not text."""
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
            raise _NotFoundError
        return self.position + len(text)

    def _after(self, text: str, start: int) -> int:
        stop = self.content.find(text, start)
        if stop < 0:
            raise _NotFoundError
        return stop + len(text)

    def _end_of_code(self, markup: str) -> int:
        closing = re.compile(f"(?<!`){re.escape(markup)}(?!`)").search(self.content, self._expected(markup))
        if closing is None:
            raise _NotFoundError
        return closing.end()

    def _end_of_link(self, position: int) -> int:
        """The end of a link whose text ends at `position`, which "(target "title")", "[reference]" or nothing
        follows."""
        following = self.content[position : position + 1]
        if following == "[":
            return self._after("]", position)
        if following != "(":
            return position
        length = len(self.content)
        start = self._after_space(position + 1)
        target = markdown_it.helpers.parseLinkDestination(self.content, start, length)
        stop = self._after_space(target.pos if target.ok else start)
        title = markdown_it.helpers.parseLinkTitle(self.content, stop, length)
        if title.ok:
            stop = self._after_space(title.pos)
        if self.content[stop : stop + 1] != ")":
            raise _NotFoundError
        return stop + 1

    def _after_space(self, position: int) -> int:
        while position < len(self.content) and self.content[position].isspace():
            position += 1
        return position


def _kind(token: Any) -> Literal["open", "close", "whole"]:
    if token.type in ("code_inline", "image"):
        return "whole"
    if token.type == "html_inline" and not token.content.startswith("</") and is_empty_element(token.content):
        return "whole"
    return "close" if token.nesting < 0 or token.content.startswith("</") else "open"
