# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The text in HTML, found without changing anything around it."""

import html
import re
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from typing import Literal, NamedTuple

from .document_layout import TextRun
from .protected_spans import OBJECT, masked, template_spans
from .run_builder import RunBuilder

# Elements inside of sentences; every other one begins and ends paragraphs.
_INLINE = frozenset(
    ["a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "data", "del", "dfn", "em", "font", "i", "ins", "label"]
) | {
    "mark",
    "nobr",
    "q",
    "rp",
    "rt",
    "ruby",
    "s",
    "small",
    "span",
    "strike",
    "strong",
    "sub",
    "sup",
    "time",
    "u",
    "wbr",
}
# Elements whose content is no text in a language: inside of sentences, and all of them.
_INLINE_KEPT = frozenset(["code", "kbd", "math", "samp", "svg", "tt", "var"])
_KEPT = _INLINE_KEPT | {"iframe", "object", "plaintext", "pre", "script", "style", "textarea"}
# Elements without content.
_VOID = frozenset(["br", "hr", "img", "input", "link", "meta", "wbr"])


class _Token(NamedTuple):
    """A tag, a piece of text or something else (a comment, a declaration) and where it begins."""

    kind: Literal["start", "end", "text", "other"]
    name: str
    start: int
    is_kept: bool = False


class _Reader(HTMLParser):
    """Notes what is where."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=False)
        self._lines = [0, *(match.end() for match in re.finditer("\n", source))]
        self.tokens: list[_Token] = []
        self.feed(source)
        self.close()

    def _note(self, kind: Literal["start", "end", "text", "other"], name: str = "", is_kept: bool = False) -> None:
        line, column = self.getpos()
        self.tokens.append(_Token(kind, name, self._lines[line - 1] + column, is_kept))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        is_kept = values.get("translate", "").lower() == "no" or "notranslate" in values.get("class", "").split()
        self._note("start", tag, is_kept and tag not in _VOID)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note("start", tag, False)

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
        """The end of what begins with "<![", which the standard library may refuse."""
        end = self.rawdata.find(">", i)
        if end < 0:
            return -1
        self.unknown_decl(self.rawdata[i:end])
        return end + 1


def html_runs(source: str) -> list[TextRun]:
    """The text between the tags of each block; what is in code, scripts and elements with translate="no" is left out.

    Entities are read as the characters they stand for, and `&`, `<` and `>` are written as entities.
    """
    templates = template_spans(source)
    tokens = _Reader(masked(source, templates)).tokens
    runs = []
    builder = RunBuilder(source)
    for token, raw_stop in _with_stops(tokens, len(source)):
        raw = source[token.start : raw_stop]
        if token.kind == "text" and not token.is_kept:
            if token.name:
                builder.add_source(token.start, token.start + len(token.name), templates)
            else:
                builder.add(html.unescape(raw), token.start, raw_stop)
        elif token.is_kept:
            builder.add_mark(token.start, raw_stop, "whole", is_word=True)
        elif token.kind == "other" or token.name in ("img", "wbr"):
            builder.add_mark(token.start, raw_stop, "whole", parts_words=token.name == "img")
        elif token.name in _INLINE:
            builder.add_mark(token.start, raw_stop, "open" if token.kind == "start" else "close")
        else:
            runs.append(builder.run(_escape))
            builder = RunBuilder(source)
    runs.append(builder.run(_escape))
    return [run for run in runs if run.text.replace(OBJECT, "").strip()]


def kept_element(tag: str) -> str | None:
    """The name of the element inside of sentences that begins with this tag, if what is in it is not translated."""
    token = next(iter(_Reader(tag).tokens), None)
    if token is None or token.kind != "start" or not (token.is_kept or token.name in _INLINE_KEPT):
        return None
    return token.name if token.name in _INLINE or token.name in _INLINE_KEPT else None


def is_empty_element(tag: str) -> bool:
    """Whether a tag stands for itself: an element without content, or a comment."""
    token = next(iter(_Reader(tag).tokens), None)
    return token is None or token.kind == "other" or token.name in _VOID or tag.endswith("/>")


def _escape(text: str) -> str:
    return html.escape(text, quote=False)


def _with_stops(tokens: Sequence[_Token], end: int) -> Iterator[tuple[_Token, int]]:
    """The tokens and where they end. An element inside of a sentence that is kept is one token, marked as such; a kept
    block is its first tag."""
    starts = [*(token.start for token in tokens), end]
    index = 0
    while index < len(tokens):
        token = tokens[index]
        after = index + 1
        is_kept = token.kind == "start" and (token.is_kept or token.name in _KEPT)
        if is_kept:
            after = _behind_element(tokens, index)
        is_inline = token.name in _INLINE or token.name in _INLINE_KEPT
        yield token._replace(is_kept=is_kept and is_inline), starts[after]
        index = after


def _behind_element(tokens: Sequence[_Token], index: int) -> int:
    """The token behind the end of the element that begins at `index`; an element without end has no content."""
    depth = 0
    for after, token in enumerate(tokens[index:], start=index):
        if token.name == tokens[index].name and token.kind in ("start", "end"):
            depth += 1 if token.kind == "start" else -1
            if depth == 0:
                return after + 1
    return index + 1
