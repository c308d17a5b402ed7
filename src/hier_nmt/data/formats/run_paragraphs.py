# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Paragraphs of Office Open XML (ECMA-376): runs of text, each with its formatting, and the same with a translation.

The format that most of the text has is that of the translation; every other format is a pair of tags around its words,
as in HTML. Runs that differ only in what an editor notes (language, revision, spelling) are one. A field whose result
is text (a hyperlink, an entry of a table of contents) is a pair of tags, any other field acts as a word.
"""

import copy
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from lxml import etree

from ...text.document_layout import DocumentLayout
from .coded_text import Code, CodedText
from .xml_files import Element, child, local_name

Role = Literal["text", "hyphen", "break", "word", "invisible", "pair", "dropped", "field"]
_XML_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
# Notes of an editor in the properties of a run, as elements and as attributes.
_NOTES = ("lang", "noProof", "lastRenderedPageBreak")
_NOTE_ATTRIBUTES = ("lang", "altLang", "dirty", "err", "smtClean", "smtId", "bmk")
# Properties with which white space is visible.
_LINES = ("u", "strike", "dstrike", "highlight", "shd", "bdr")
_TEXT_FIELDS = ("HYPERLINK", "TOC", "INDEX", "TOA")


class RunSchema(NamedTuple):
    """The vocabulary of one kind of paragraph.

    Attributes:
        namespace: of the elements below.
        role: the role of an element in a paragraph or run, except runs themselves and properties.
        last: the names of elements that stay at the end of a paragraph.
        is_word: it is that of Word, in which a line break in a text is a space, and a space at its ends needs an
            attribute.
    """

    namespace: str
    role: Callable[[Element], Role]
    last: tuple[str, ...] = ()
    is_word: bool = False

    def name(self, local: str) -> str:
        """The tag with this local name."""
        return f"{{{self.namespace}}}{local}"


class _Format(NamedTuple):
    """The start of text with other properties."""

    properties: Element | None


class _Shell(NamedTuple):
    """The start of an element around runs, and the properties that most text in it has."""

    element: Element
    properties: Element | None


class _Elements(NamedTuple):
    """Elements, each with the properties of its run; `_OUTSIDE` if it is outside of runs."""

    elements: list[tuple[Any, Element]]


_OUTSIDE = object()


@dataclass
class _Field:
    """A field that is being read: its elements so far, how many fields are open, and whether it has a result."""

    elements: list[tuple[Any, Element]]
    depth: int = 0
    has_result: bool = False

    @property
    def is_text(self) -> bool:
        """Whether the result is text of the document."""
        return is_text_field("".join(one.text or "" for _, one in self.elements if local_name(one) == "instrText"))


class RunParagraph:
    """A paragraph, or another element that contains runs.

    Args:
        element: the paragraph.
        schema: its vocabulary.
    """

    def __init__(self, element: Element, schema: RunSchema) -> None:
        self._element, self._schema = element, schema
        self._coded = CodedText(keeps_space=True)
        self._field: _Field | None = None
        self._properties = self._usual_properties(element)
        self._format = self._base = _key(self._properties)
        self._is_in_index = False
        self._read(element)
        self._end_field()

    def layout(self, language: str, joiner: str) -> DocumentLayout:
        """The layout of its text, see `CodedText.layout`."""
        return self._coded.layout(language, joiner)

    def write(self, text: str) -> None:
        """Replaces the content of the paragraph by a translated text of its layout."""
        last = [one for one in self._element if local_name(one) in self._schema.last]
        _empty(self._element)
        writer = _Writer(self._schema, self._element, self._properties)
        for piece in self._coded.pieces(text):
            writer.add(piece)
        self._element.extend(last)

    def _usual_properties(self, parent: Element) -> Element | None:
        """The properties that most of the text directly in an element has."""
        counts: Counter[str] = Counter()
        found: dict[str, Element | None] = {}
        for run in _content(parent):
            if run.tag == self._schema.name("r"):
                properties = _properties(run)
                key = _key(properties)
                found.setdefault(key, properties)
                texts = ["" if _is_index(properties) else one.text or "" for one in run if self._role(one) == "text"]
                counts[key] += sum(len(text.strip()) for text in texts)
        return found[counts.most_common(1)[0][0]] if counts else None

    def _role(self, element: Element) -> Role:
        return self._schema.role(element) if isinstance(element.tag, str) else "invisible"

    def _read(self, parent: Element) -> None:
        for one in _content(parent):
            if one.tag == self._schema.name("r"):
                properties = _properties(one)
                for inner in one:
                    if inner is not properties:
                        self._read_one(inner, properties)
            elif local_name(one) not in self._schema.last:
                self._read_one(one, _OUTSIDE)
        self._set_format(None, self._base)

    def _read_one(self, element: Element, properties: Any) -> None:
        """Reads an element of a paragraph or run, except a run."""
        role = self._role(element)
        if role == "field" or self._field is not None:
            self._read_field(element, properties)
        elif role in ("text", "hyphen"):
            self._read_text(element, None if properties is _OUTSIDE else properties, role)
        elif role == "pair":
            self._read_pair(element)
        elif role == "break":
            self._coded.add_break(_Elements([(properties, element)]))
        elif role != "dropped":
            is_word = role == "word"
            self._coded.add_mark("whole", _Elements([(properties, element)]), is_word, is_word)

    def _read_text(self, element: Element, properties: Element | None, role: Role) -> None:
        # A no-break hyphen is the only character that is an element.
        text = "\u2011" if role == "hyphen" else element.text or ""
        if self._schema.is_word:
            text = re.sub(r"[\t\r\n]", " ", text)
        if text.strip() or _has_lines(properties) or self._is_in_index:
            self._set_format(properties, _key(properties))
        self._coded.add_text(text)

    def _read_pair(self, element: Element) -> None:
        before = self._base
        self._set_format(None, before)
        inside = _inside(element)
        properties = self._usual_properties(inside)
        self._coded.add_mark("open", _Shell(element, properties))
        self._format = self._base = _key(properties)
        self._read(inside)
        self._coded.add_mark("close", element)
        self._format = self._base = before

    def _read_field(self, element: Element, properties: Any) -> None:
        """Reads an element that starts or ends a field, or is inside of one that acts as a word."""
        kind = next((value for name, value in element.attrib.items() if name.endswith("fldCharType")), "")
        if self._field is None and kind != "begin":
            self._set_format(None, self._base)
            self._coded.add_mark("close" if kind == "end" else "whole", _Elements([(properties, element)]))
            return
        if self._field is None:
            self._field = _Field([])
        field = self._field
        field.elements.append((properties, element))
        field.depth += (kind == "begin") - (kind == "end")
        if kind == "separate" and field.depth == 1:
            field.has_result = True
            if field.is_text:
                self._set_format(None, self._base)
                self._coded.add_mark("open", _Elements(field.elements))
                self._field = None
        elif field.depth <= 0:
            self._end_field()

    def _end_field(self) -> None:
        if self._field is not None:
            is_word = self._field.has_result and self._field.depth <= 0
            self._coded.add_mark("whole", _Elements(self._field.elements), is_word, is_word)
            self._field = None

    def _set_format(self, properties: Element | None, key: str) -> None:
        if key == self._format:
            return
        if self._format != self._base:
            self._coded.add_mark("close", _Format(None))
        self._is_in_index = key != self._base and _is_index(properties)
        if key != self._base:
            self._coded.add_mark("open", _Format(properties), is_index=self._is_in_index)
        self._format = key


class _Writer:
    """Writes pieces of a text as runs."""

    def __init__(self, schema: RunSchema, element: Element, properties: Element | None) -> None:
        self._schema = schema
        # The elements that are open, with the properties that most text in each has.
        self._open: list[tuple[Element, Element, Element | None]] = [(element, element, properties)]
        self._properties = properties

    def add(self, piece: str | Code) -> None:
        """Adds a piece of text, or markup."""
        if isinstance(piece, str):
            self._add_text(piece)
        elif isinstance(piece.content, _Elements):
            for properties, element in piece.content.elements:
                self._add_element(properties, element)
        elif isinstance(piece.content, _Format):
            self._properties = piece.content.properties if piece.kind == "open" else self._open[-1][2]
        elif isinstance(piece.content, _Shell):
            self._add_shell(piece.content)
        else:
            self._close(piece.content)

    def _add_text(self, text: str) -> None:
        element = etree.Element(self._schema.name("t"))
        element.text = text
        if self._schema.is_word and text != text.strip():
            element.set(_XML_SPACE, "preserve")
        self._add_element(self._properties, element)

    def _add_element(self, properties: Any, element: Element) -> None:
        parent = self._open[-1][1]
        element.tail = None
        if properties is _OUTSIDE:
            parent.append(element)
            return
        run = etree.SubElement(parent, self._schema.name("r"))
        if properties is not None:
            run.append(copy.deepcopy(properties))
        run.append(element)

    def _add_shell(self, shell: _Shell) -> None:
        shell.element.tail = None
        self._open[-1][1].append(shell.element)
        inside = _inside(shell.element)
        _empty(inside)
        self._open.append((shell.element, inside, shell.properties))
        self._properties = shell.properties

    def _close(self, element: Element) -> None:
        """Closes an element, and whatever is open inside of it."""
        while len(self._open) > 1 and any(one[0] is element for one in self._open):
            self._open.pop()
        self._properties = self._open[-1][2]


def is_text_field(instruction: str) -> bool:
    """Whether the result of a field with this instruction is text of the document."""
    words = instruction.split()
    return bool(words) and words[0].upper() in _TEXT_FIELDS


def _properties(run: Element) -> Element | None:
    return child(run, "rPr")


def _content(parent: Element) -> Iterator[Element]:
    """The children of an element, except its properties."""
    return (one for one in parent if not local_name(one).endswith("Pr"))


def _empty(parent: Element) -> None:
    for one in list(_content(parent)):
        parent.remove(one)


def _inside(element: Element) -> Element:
    """The element that contains the runs of a pair: the element itself, or the content of a content control."""
    content = child(element, "sdtContent")
    return element if content is None else content


def _key(properties: Element | None) -> str:
    """What is formatting in the properties of a run, to compare it."""
    if properties is None:
        return ""
    plain = copy.deepcopy(properties)
    plain.tail = None
    for name in _NOTE_ATTRIBUTES:
        plain.attrib.pop(name, None)
    for one in list(plain):
        if local_name(one) in _NOTES:
            plain.remove(one)
    return etree.tostring(plain, method="c14n").decode() if len(plain) or plain.attrib else ""


def _is_index(properties: Element | None) -> bool:
    """Whether text with these properties is a subscript or superscript."""
    if properties is None:
        return False
    place = child(properties, "vertAlign")
    kinds = () if place is None else place.attrib.values()
    return any(kind in ("subscript", "superscript") for kind in kinds) or properties.get("baseline", "0") != "0"


def _has_lines(properties: Element | None) -> bool:
    """Whether white space with these properties is visible."""
    if properties is None:
        return False
    return any(name in properties.attrib or child(properties, name) is not None for name in _LINES)
