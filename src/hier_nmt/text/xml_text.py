# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Finds the text in XML whose elements nobody knows, without changing anything around it."""

import html
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple

from .document_layout import TextRun
from .protected_spans import OBJECT, ProtectedSpan, template_spans
from .run_builder import RunBuilder

# What is not closed goes on to the end of the text.
_MARKUP = re.compile(
    r"<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<![^<>]*>"
    r"|<(?P<end>/?)(?P<name>[^\W\d][\w:.-]*)(?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*?(?P<empty>/?)>",
    re.DOTALL,
)
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_ENTITY = re.compile(r"&#?\w+;")


class _Tag(NamedTuple):
    """Markup [start, stop): a tag with a name; anything else has none."""

    start: int
    stop: int
    name: str | None
    is_end: bool
    is_empty: bool


def xml_runs(source: str, splitting: Collection[str] = (), untranslated: Collection[str] = ()) -> list[TextRun]:
    """The text of XML, well-formed or not, a run for each piece between splitting tags.

    Entities are decoded; in translations `&`, `<` and `>` are written as entities, except those that the source has as
    text although it has no entities at all. Comments, CDATA sections and other declarations are kept as they are.

    Args:
        source: the XML.
        splitting: names of elements that start and end paragraphs; all others stand inside sentences.
        untranslated: names of elements whose content is kept as it is.
    """
    templates = template_spans(source)
    runs = []
    builder = RunBuilder(source)
    position = 0
    tags = list(_elements(source, frozenset(untranslated)))
    escape = _escape_as_in("".join(_texts(source, tags)))
    for tag in tags:
        _add_text(builder, source, position, tag.start, templates)
        position = tag.stop
        if tag.name in splitting:
            runs.append(builder.run(escape))
            builder = RunBuilder(source)
        elif tag.name is None or tag.is_empty:
            builder.add_mark(tag.start, tag.stop, "whole", acts_as_word=tag.is_empty)
        else:
            builder.add_mark(tag.start, tag.stop, "close" if tag.is_end else "open")
    _add_text(builder, source, position, len(source), templates)
    runs.append(builder.run(escape))
    return [run for run in runs if run.text.replace(OBJECT, "").strip()]


def _elements(source: str, untranslated: frozenset[str]) -> Iterator[_Tag]:
    """The tags and other markup; an untranslated element is one, and empty."""
    tags = [
        _Tag(match.start(), match.end(), match["name"], bool(match["end"]), bool(match["empty"]))
        for match in _MARKUP.finditer(source)
    ]
    ends = _ends_of_elements(tags, untranslated)
    index = 0
    while index < len(tags):
        tag = tags[index]
        if index in ends:
            index = ends[index]
            tag = tag._replace(stop=tags[index].stop, is_empty=True)
        yield tag
        index += 1


def _ends_of_elements(tags: list[_Tag], names: frozenset[str]) -> dict[int, int]:
    """Index of the start tag -> index of the end tag, of the elements with these names."""
    is_open: dict[str, list[int]] = {}
    ends = {}
    for index, tag in enumerate(tags):
        if tag.name is None or tag.name not in names or tag.is_empty:
            continue
        if not tag.is_end:
            is_open.setdefault(tag.name, []).append(index)
        elif is_open.get(tag.name):
            ends[is_open[tag.name].pop()] = index
    return ends


def _add_text(builder: RunBuilder, source: str, start: int, stop: int, templates: list[ProtectedSpan]) -> None:
    for entity in _ENTITY.finditer(source, start, stop):
        builder.add_source(start, entity.start(), templates)
        builder.add(html.unescape(entity[0]), entity.start(), entity.end())
        start = entity.end()
    builder.add_source(start, stop, templates)


def _texts(source: str, tags: Iterable[_Tag]) -> Iterator[str]:
    """The text between tags, as it is written."""
    position = 0
    for tag in tags:
        yield source[position : tag.start]
        position = tag.stop
    yield source[position:]


def _escape_as_in(written: str) -> Callable[[str], str]:
    """How translations of a text are written: whoever sends it without any escapes reads none in the answer."""
    has_entities = any(html.unescape(entity[0]) != entity[0] for entity in _ENTITY.finditer(written))
    entities = {ord(sign): entity for sign, entity in _ENTITIES.items() if has_entities or sign not in written}
    return lambda text: text.translate(entities)
