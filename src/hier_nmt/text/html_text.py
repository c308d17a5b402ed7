# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Finds the text in HTML, without changing anything around it."""

import html
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .document_layout import TextRun
from .html_tokens import HtmlToken, end_tags, html_tokens
from .protected_spans import OBJECT, mask_spans, template_spans
from .run_builder import RunBuilder

# Elements inside sentences; all others but custom elements start and end paragraphs.
_INLINE = frozenset(
    (
        "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "data", "del", "dfn", "em", "font", "i", "img", "ins",
        "label", "mark", "meter", "nobr", "output", "picture", "progress", "q", "ruby", "s", "slot", "small", "source",
        "span", "strike", "strong", "sub", "sup", "time", "u", "wbr"
    )
)  # fmt: skip
# Codes of XLIFF, which programs put into HTML for what must stay.
_CODES = frozenset(["bpt", "bx", "ept", "ex", "g", "it", "mrk", "ph", "x"])
# Elements whose content is not translated (`rt` is a pronunciation): those inside sentences, and all of them.
_INLINE_UNTRANSLATED = frozenset(["code", "kbd", "math", "rp", "rt", "samp", "svg", "tt", "var"])
_UNTRANSLATED = _INLINE_UNTRANSLATED | {"iframe", "object", "plaintext", "pre", "script", "style", "textarea"}
# Those of them in which nothing is text that could be marked as to be translated.
_NEVER_TRANSLATED = _UNTRANSLATED - {"code", "kbd", "rp", "rt", "samp", "tt", "var"}
_WHOLE = ("img", "source", "wbr")


class _Part(NamedTuple):
    """A token, or all tokens of an untranslated element: [start, stop) of the document."""

    token: HtmlToken
    start: int
    stop: int
    is_inline: bool
    is_untranslated: bool


def html_runs(source: str, is_untranslated: bool = False) -> list[TextRun]:
    """The text of each block; code, scripts and elements with translate="no" are excluded, but not elements with
    translate="yes" in these.

    Entities are decoded; in translations `&`, `<` and `>` are written as entities.

    Args:
        source: a document, or a piece of one.
        is_untranslated: whether the piece is inside an element with translate="no".
    """
    templates = template_spans(source)
    tokens = html_tokens(mask_spans(source, templates))
    runs = []
    builder = RunBuilder(source)
    for part in _parts(tokens, len(source), is_untranslated):
        token, start, stop = part.token, part.start, part.stop
        if token.kind == "text" and part.is_untranslated:
            _add_untranslated(builder, source, start, stop)
        elif token.kind == "text" and token.name:
            builder.add_source(start, start + len(token.name), templates)
        elif token.kind == "text":
            builder.add(html.unescape(source[start:stop]), start, stop)
        elif token.kind == "other":
            builder.add_mark(start, stop, "whole")
        elif not part.is_inline:
            runs.append(builder.run(_escape))
            builder = RunBuilder(source)
        elif token.name in _WHOLE:
            builder.add_mark(start, stop, "whole", separates_words=token.name == "img")
        elif part.is_untranslated or (source[start:stop].endswith("/>") and _may_be_empty(token.name)):
            builder.add_mark(start, stop, "whole", acts_as_word=True)
        else:
            builder.add_mark(start, stop, "open" if token.kind == "start" else "close")
    runs.append(builder.run(_escape))
    return [run for run in runs if run.text.replace(OBJECT, "").strip()]


def untranslated_element(tag: str) -> str | None:
    """The name of the untranslated element inside a sentence that this tag opens, or None."""
    token = next(iter(html_tokens(tag)), None)
    if token is None or token.kind != "start" or token.is_empty or not _is_untranslated(token, False):
        return None
    return token.name if _is_inline(token.name) or _is_custom(token.name) else None


def _escape(text: str) -> str:
    return html.escape(text, quote=False)


def _add_untranslated(builder: RunBuilder, source: str, start: int, stop: int) -> None:
    """Adds text that is not translated, [start, stop) of the document; the white space around it stays text."""
    raw = source[start:stop]
    first, last = start + len(raw) - len(raw.lstrip()), start + len(raw.rstrip())
    builder.add(source[start:first], start, first)
    if first < last:
        builder.add_mark(first, last, "whole", acts_as_word=True)
        builder.add(source[last:stop], last, stop)


def _is_inline(name: str) -> bool:
    return name in _INLINE or name in _INLINE_UNTRANSLATED or name in _CODES


def _is_custom(name: str) -> bool:
    """Whether this is the name of a custom element; browsers show these inside of lines."""
    return "-" in name


def _may_be_empty(name: str) -> bool:
    """Whether an element can be written as one tag ("<x/>")."""
    return name in _CODES or _is_custom(name)


def _is_untranslated(token: HtmlToken, inherited: bool) -> bool:
    """Whether the content of an element is not translated; `inherited` is that of the element around it."""
    if token.name in _NEVER_TRANSLATED:
        return True
    if token.translate is not None:
        return not token.translate
    return inherited or token.name in _UNTRANSLATED


def _parts(tokens: Sequence[HtmlToken], end: int, is_untranslated: bool) -> Iterator[_Part]:
    """The tokens of a document, untranslated elements as one part unless there is something to translate in them."""
    starts = [*(token.start for token in tokens), end]
    ends, separators = end_tags(tokens), _separators(tokens)
    translated = [index for index, token in enumerate(tokens) if token.translate]
    # The end of each open element, and whether it is not translated.
    opened = [(len(tokens), is_untranslated)]
    index = 0
    while index < len(tokens):
        while opened[-1][0] <= index:
            opened.pop()
        token, after, is_kept = tokens[index], index + 1, opened[-1][1]
        if token.kind == "start":
            is_kept = _is_untranslated(token, is_kept)
            # An element without an end tag has no content.
            stop = ends.get(index, index) + 1
            has_translated = bisect_right(translated, index) < bisect_right(translated, stop - 1)
            if is_kept and (token.name in _NEVER_TRANSLATED or not has_translated):
                after = stop
            else:
                opened.append((stop, is_kept))
                is_kept = False
        is_inline = _is_inline(token.name) or (_is_custom(token.name) and index not in separators)
        yield _Part(token, starts[index], starts[after], is_inline, is_kept and token.kind != "end")
        index = after


@dataclass
class _Row:
    """What is beside each other: the tags of custom elements, and whether there is text beside them."""

    tags: list[int] = field(default_factory=list)
    has_text: bool = False


def _separators(tokens: Sequence[HtmlToken]) -> set[int]:
    """The tags of custom elements that are blocks of a layout: without any text beside them."""
    ends = {start: stop for start, stop in end_tags(tokens).items() if _is_custom(tokens[start].name)}
    stops = set(ends.values())
    rows, finished = [_Row()], []
    for index, token in enumerate(tokens):
        if token.kind == "text":
            rows[-1].has_text = rows[-1].has_text or not token.name or bool(token.name.strip())
        elif index in ends:
            rows[-1].tags += [index, ends[index]]
            rows.append(_Row())
        elif index in stops:
            finished.append(rows.pop())
        elif token.kind != "other" and not _is_inline(token.name) and not _is_custom(token.name):
            finished.append(rows[-1])
            rows[-1] = _Row()
    return {tag for row in [*finished, *rows] if not row.has_text for tag in row.tags}
