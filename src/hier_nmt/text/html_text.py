# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Finds the text in HTML, without changing anything around it."""

import html
import re
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from typing import Literal, NamedTuple

from .document_layout import TextRun
from .protected_spans import OBJECT, mask_spans, template_spans
from .run_builder import RunBuilder

# Elements inside sentences; all others start and end paragraphs.
_INLINE = frozenset(
    ["a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "data", "del", "dfn", "em", "font", "i", "ins", "label"]
) | {
    "mark",
    "nobr",
    "q",
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
# Codes of XLIFF, which programs put into HTML for what must stay.
_CODES = frozenset(["bpt", "bx", "ept", "ex", "g", "it", "mrk", "ph", "x"])
# Elements whose content is not translated (`rt` is a pronunciation): those inside sentences, and all of them.
_INLINE_UNTRANSLATED = frozenset(["code", "kbd", "math", "rp", "rt", "samp", "svg", "tt", "var"])
_UNTRANSLATED = _INLINE_UNTRANSLATED | {"iframe", "object", "plaintext", "pre", "script", "style", "textarea"}
# Elements without content.
_VOID = frozenset(["br", "hr", "img", "input", "link", "meta", "wbr"])


class _Token(NamedTuple):
    """A tag, a piece of text or something else (a comment, a declaration), and its start."""

    kind: Literal["start", "end", "text", "other"]
    name: str
    start: int
    is_untranslated: bool = False


class _Reader(HTMLParser):
    """Records the tokens of the document and their starts."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=False)
        self._lines = [0, *(match.end() for match in re.finditer("\n", source))]
        self.tokens: list[_Token] = []
        self.feed(source)
        self.close()

    def _note(
        self, kind: Literal["start", "end", "text", "other"], name: str = "", is_untranslated: bool = False
    ) -> None:
        line, column = self.getpos()
        self.tokens.append(_Token(kind, name, self._lines[line - 1] + column, is_untranslated))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        is_untranslated = (
            values.get("translate", "").lower() == "no" or "notranslate" in values.get("class", "").split()
        )
        self._note("start", tag, is_untranslated and tag not in _VOID)

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
        """The end of a section that starts with "<![", some of which the standard library refuses."""
        end = self.rawdata.find(">", i)
        if end < 0:
            return -1
        self.unknown_decl(self.rawdata[i:end])
        return end + 1


def html_runs(source: str) -> list[TextRun]:
    """The text of each block; code, scripts and elements with translate="no" are excluded.

    Entities are decoded; in translations `&`, `<` and `>` are written as entities.
    """
    templates = template_spans(source)
    tokens = _Reader(mask_spans(source, templates)).tokens
    runs = []
    builder = RunBuilder(source)
    for token, raw_stop in _with_stops(tokens, len(source)):
        raw = source[token.start : raw_stop]
        if token.kind == "text" and not token.is_untranslated:
            if token.name:
                builder.add_source(token.start, token.start + len(token.name), templates)
            else:
                builder.add(html.unescape(raw), token.start, raw_stop)
        elif token.is_untranslated:
            builder.add_mark(token.start, raw_stop, "whole", acts_as_word=True)
        elif token.kind == "other" or token.name in ("img", "wbr"):
            builder.add_mark(token.start, raw_stop, "whole", separates_words=token.name == "img")
        elif token.name in _CODES and raw.endswith("/>"):
            builder.add_mark(token.start, raw_stop, "whole", acts_as_word=True)
        elif token.name in _INLINE or token.name in _CODES:
            builder.add_mark(token.start, raw_stop, "open" if token.kind == "start" else "close")
        else:
            runs.append(builder.run(_escape))
            builder = RunBuilder(source)
    runs.append(builder.run(_escape))
    return [run for run in runs if run.text.replace(OBJECT, "").strip()]


def untranslated_element(tag: str) -> str | None:
    """The name of the untranslated element inside a sentence that this tag opens, or None."""
    token = next(iter(_Reader(tag).tokens), None)
    if token is None or token.kind != "start" or not (token.is_untranslated or token.name in _INLINE_UNTRANSLATED):
        return None
    return token.name if token.name in _INLINE or token.name in _INLINE_UNTRANSLATED else None


class OpenElement(NamedTuple):
    """An element that is not translated and goes on in the next piece of a document: its name, and how many of the name
    are open."""

    name: str
    depth: int = 1


def open_untranslated(piece: str, before: OpenElement | None) -> OpenElement | None:
    """The element with translate="no" or the like that is open after a piece of a document; `before` is the one that
    was open before it."""
    tokens = _Reader(piece).tokens
    ends = _end_tags(tokens)
    for index, token in enumerate(tokens):
        if before is None and token.kind == "start" and token.is_untranslated and index not in ends:
            before = OpenElement(token.name, 0)
        if before is not None and token.name == before.name:
            depth = before.depth + (token.kind == "start") - (token.kind == "end")
            before = OpenElement(before.name, depth) if depth else None
    return before


def is_empty_element(tag: str) -> bool:
    """Whether a tag is complete by itself: an element without content, or a comment."""
    token = next(iter(_Reader(tag).tokens), None)
    return token is None or token.kind == "other" or token.name in _VOID or tag.endswith("/>")


def _escape(text: str) -> str:
    return html.escape(text, quote=False)


def _with_stops(tokens: Sequence[_Token], end: int) -> Iterator[tuple[_Token, int]]:
    """The tokens and their ends. An untranslated element inside a sentence is one token, marked as such; an
    untranslated block is represented by its start tag."""
    starts = [*(token.start for token in tokens), end]
    ends = _end_tags(tokens)
    index = 0
    while index < len(tokens):
        token = tokens[index]
        after = index + 1
        is_untranslated = token.kind == "start" and (token.is_untranslated or token.name in _UNTRANSLATED)
        if is_untranslated:
            # An element without an end tag has no content.
            after = ends.get(index, index) + 1
        is_inline = token.name in _INLINE | _INLINE_UNTRANSLATED | _CODES
        yield token._replace(is_untranslated=is_untranslated and is_inline), starts[after]
        index = after


def _end_tags(tokens: Sequence[_Token]) -> dict[int, int]:
    """Index of a start tag -> index of its end tag."""
    is_open: dict[str, list[int]] = {}
    ends = {}
    for index, token in enumerate(tokens):
        if token.kind == "start":
            is_open.setdefault(token.name, []).append(index)
        elif token.kind == "end" and is_open.get(token.name):
            ends[is_open[token.name].pop()] = index
    return ends
