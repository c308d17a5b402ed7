# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The tags and pieces of text of HTML, with their positions, and what they say about translation."""

import re
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from typing import Literal, NamedTuple

Kind = Literal["start", "end", "text", "other"]
# Elements without content.
_VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"]
)

_CELLS = frozenset(["td", "th", "tr", "tbody", "tfoot", "thead"])
# Elements whose end tag may be left out, and the start tags that end them (HTML standard, 13.1.2.4), as the end of the
# element around them does.
_ENDED_BY = {
    "p": frozenset(
        (
            "address", "article", "aside", "blockquote", "center", "details", "dialog", "dir", "div", "dl", "fieldset",
            "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup", "hr",
            "main", "menu", "nav", "ol", "p", "pre", "search", "section", "table", "ul"
        )
    ),
    "li": frozenset(["li"]),
    "dt": frozenset(["dt", "dd"]),
    "dd": frozenset(["dt", "dd"]),
    "option": frozenset(["option", "optgroup", "hr"]),
    "td": _CELLS,
    "th": _CELLS,
    "tr": _CELLS - {"td", "th"},
}  # fmt: skip


class HtmlToken(NamedTuple):
    """A tag, a piece of text or something else (a comment, a declaration), and its start.

    Attributes:
        name: of a tag; of a piece of text the text itself, or nothing for an entity.
        translate: whether the element of a start tag says that its content is translated; None if it says nothing.
        is_empty: the tag is that of an element without content.
    """

    kind: Kind
    name: str
    start: int
    translate: bool | None = None
    is_empty: bool = False


class OpenElement(NamedTuple):
    """An element that goes on in the next piece of a document, and whether it is not translated."""

    name: str
    is_untranslated: bool


class _Reader(HTMLParser):
    """Records the tokens of the document and their starts."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=False)
        self._lines = [0, *(match.end() for match in re.finditer("\n", source))]
        self.tokens: list[HtmlToken] = []
        self.feed(source)
        self.close()

    def _note(self, kind: Kind, name: str = "", translate: bool | None = None, is_empty: bool = False) -> None:
        line, column = self.getpos()
        self.tokens.append(HtmlToken(kind, name, self._lines[line - 1] + column, translate, is_empty))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _VOID:
            self._note("start", tag, None, True)
            return
        values = {name: value or "" for name, value in attrs}
        translate = {"no": False, "yes": True, "": True}.get(values.get("translate", "inherit").strip().lower())
        self._note("start", tag, False if "notranslate" in values.get("class", "").split() else translate)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note("start", tag, None, True)

    def handle_endtag(self, tag: str) -> None:
        self._note("end", tag)

    def handle_data(self, data: str) -> None:
        self._note("text", data)

    def handle_entityref(self, name: str) -> None:
        self._note("text")

    def handle_charref(self, name: str) -> None:
        self._note("text")

    def handle_comment(self, data: str) -> None:
        self._note("other")

    def handle_decl(self, decl: str) -> None:
        self._note("other")

    def handle_pi(self, data: str) -> None:
        self._note("other")

    def unknown_decl(self, data: str) -> None:
        self._note("other")

    def parse_marked_section(self, i: int, report: int = 1) -> int:
        """The end of a section that starts with "<![", some of which the standard library refuses."""
        end = self.rawdata.find(">", i)
        if end < 0:
            return -1
        self.unknown_decl(self.rawdata[i:end])
        return end + 1


def html_tokens(source: str) -> list[HtmlToken]:
    """The tokens of a document, or of a piece of one, in order."""
    return _Reader(source).tokens


def end_tags(tokens: Sequence[HtmlToken]) -> dict[int, int]:
    """Index of a start tag -> index of its end tag; where this is left out after a tag that says whether its content is
    translated, of the last token of the content."""
    is_open: dict[str, list[int]] = {}
    ends = {}
    for index, token in enumerate(tokens):
        if token.kind == "start" and not token.is_empty:
            is_open.setdefault(token.name, []).append(index)
        elif token.kind == "end" and is_open.get(token.name):
            ends[is_open[token.name].pop()] = index
    for index in (index for name in _ENDED_BY for index in is_open.get(name, ())):
        if tokens[index].translate is not None:
            ends[index] = _last_of_content(tokens, index, ends)
    return ends


def _last_of_content(tokens: Sequence[HtmlToken], start: int, ends: Mapping[int, int]) -> int:
    """Index of the last token of an element without an end tag."""
    closing = _ENDED_BY[tokens[start].name]
    index = start + 1
    while index < len(tokens):
        token = tokens[index]
        if token.kind == "end" or (token.kind == "start" and token.name in closing):
            break
        index = ends.get(index, index) + 1
    return index - 1


def open_elements(piece: str, before: tuple[OpenElement, ...] = ()) -> tuple[OpenElement, ...]:
    """The elements that are open after a piece of a document; `before` are those that were open before it."""
    opened = list(before)
    for token in html_tokens(piece):
        if token.kind == "start" and not token.is_empty:
            inherited = is_untranslated_inside(opened)
            opened.append(OpenElement(token.name, inherited if token.translate is None else not token.translate))
        elif token.kind == "end" and any(one.name == token.name for one in opened):
            last = max(index for index, one in enumerate(opened) if one.name == token.name)
            del opened[last:]
    return tuple(opened)


def is_untranslated_inside(opened: Sequence[OpenElement]) -> bool:
    """Whether text inside of these elements is not translated."""
    return bool(opened) and opened[-1].is_untranslated


def is_empty_element(tag: str) -> bool:
    """Whether a tag is complete by itself: an element without content, or a comment."""
    token = next(iter(html_tokens(tag)), None)
    return token is None or token.kind == "other" or token.is_empty or tag.endswith("/>")
