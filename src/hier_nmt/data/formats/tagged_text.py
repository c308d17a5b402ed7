# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The text of an XML element with tags inside, and the same tags around a translation: segments of XLIFF and TMX.

The role of an element inside a segment:

* with `translate="no"` (XLIFF 2; ITS 2.0 in its own namespace) or `mtype="protected"` (XLIFF 1.2) it is kept with its
  content. So is everything between `<sm translate="no"/>` and its `<em/>`. What says "yes" in it is translated;
* a code for a line break (`ctype="lb"`, `type="lb"`, `subType="xlf:lb"`, or `<br>` or a newline inside) separates words
  and sentences;
* codes for opening and closing tags (`bpt`, `ept`, `bx`, `ex`, `sc`, `ec`, `sm`, `em`, `it` by its `pos`; others with
  such a tag inside or as `equiv-text` or `disp`, and with signs that occur in pairs, such as "[b]" and "[/b]") form
  pairs, and so do elements with text inside;
* every other code is whole; it acts as a word if no word touches it.

TMX cannot mark text as untranslatable; such text is in `<ph>` there.

In Android's messages quotation marks are such codes, and between them white space counts: a line break or tab is a
break, more than one space is a space and a code.
"""

import copy
import html
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lxml import etree

from ...text.document_layout import TextRun
from ...text.inline_markup import Mark, insert_marks
from ...text.protected_spans import LINE_BREAK, OBJECT
from ...text.run_builder import RunBuilder
from ...text.translation_memory import Tags
from ...text.untranslatable import extract_marks
from ...text.untranslatable_spans import UntranslatableSpan
from .xml_files import Element, local_name, valid_text

_XML_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_ITS_TRANSLATE = "{http://www.w3.org/2005/11/its}translate"
# Elements around text that can say whether it is translated.
_MARKERS = ("mrk", "g", "pc", "hi")
_OPENING = ("bpt", "bx", "sc", "sm")
_CLOSING = ("ept", "ex", "ec", "em")
_PARSER = etree.XMLParser(strip_cdata=False, resolve_entities=False, no_network=True)
_BREAK_TYPES = {"lb", "xlf:lb", "x-br", "x-html-br", "pb", "xlf:pb"}
_BREAK = re.compile(r"\s*<br\s*/?>\s*|\r?\n|\\n", re.IGNORECASE)
_TAG = re.compile(r"\s*<(/?)([A-Za-z][\w:.-]*)[^<>]*?(/?)>\s*")
# Of BBCode, memoQ, RTF and others.
_OPENING_SIGN = re.compile(
    r"\[(?=(?P<name>\w+))[^\[\]/]*\]|\{(?=(?P<name2>\w+))[^{}/<>\\]*\}|\{(?P<number>\d+)>|(?P<rtf>\{\\[^{}]*)"
)
_VOID = ("area", "br", "col", "hr", "img", "input", "link", "meta", "wbr")
_QUOTED_PARTS = re.compile(r'(?P<mark>(?<!\\)")|(?P<space>\s+)|(?:[^\s"]|(?<=\\)")+')
_OBJECTS = re.compile(f"[{OBJECT}{LINE_BREAK}]")


@dataclass(frozen=True)
class TaggedText:
    """The text of an element without the tags inside it, and these tags with their positions.

    Attributes:
        text: the text to translate. A code that acts as a word is an `OBJECT` in it, a code for a line break is a
            `LINE_BREAK`.
    """

    text: str
    _element: Element
    _run: TextRun
    _source: str
    _has_quotes: bool = False

    @classmethod
    def of(cls, element: Element, whole: Collection[str], has_quotes: bool = False) -> "TaggedText":
        """The content of an element.

        Args:
            element: for example a segment.
            whole: names of elements whose content is not text to translate.
            has_quotes: quotation marks are codes, between which white space counts.
        """
        collector = _Collector(whole, _keeps_space(element), has_quotes)
        collector.collect(element)
        run = collector.run()
        text = run.text if _keeps_space(element) else run.text.strip(" ")
        return cls(text, element, run, collector.source, has_quotes)

    @property
    def _objects(self) -> Iterator[str]:
        """The objects and line breaks of the text, as the file has them."""
        for at, character in enumerate(self._run.text):
            if _OBJECTS.match(character):
                yield self._source[self._run.starts[at] : self._run.stops[at]]

    @property
    def tags(self) -> Tags:
        """The position in `text` of each tag, object and line break, and what the file has there."""
        start = 0 if _keeps_space(self._element) else len(self._run.text) - len(self._run.text.lstrip(" "))
        places = (match.start() for match in _OBJECTS.finditer(self._run.text))
        found = [*((mark.position, mark.text) for mark in self._run.marks), *zip(places, self._objects, strict=True)]
        return tuple((position - start, tag) for position, tag in found)

    @property
    def has_text(self) -> bool:
        """Whether there is anything besides codes."""
        return bool(_OBJECTS.sub("", self.text).strip())

    def fill(self, element: Element, text: str) -> None:
        """Sets the text of an (empty) element, with all tags of this one.

        Args:
            element: to be filled.
            text: a translation of `text`. Its objects and line breaks must have the same order; missing ones are
                inserted at the proportional position.
        """
        filled = self._element if text == self.text else self._filled(valid_text(text))
        is_cdata = filled.text and _has_cdata(self._element) and "]]>" not in filled.text
        element.text = etree.CDATA(filled.text) if is_cdata else filled.text
        element.extend(copy.deepcopy(list(filled)))

    def _filled(self, text: str) -> Element:
        """The element with the text."""
        if _OBJECTS.findall(text) != _OBJECTS.findall(self._run.text):
            text = with_objects_of(self._run.text, text)
        if not _keeps_space(self._element):
            before, after = self._edges()
            text = f"{before}{text}{after}"
        written = self._written(text, self._run.marks)
        try:
            return etree.fromstring(written, _PARSER)
        except etree.XMLSyntaxError:
            # Overlapping codes: each is placed by itself, in the original order.
            apart = [Mark(mark.position, mark.text) for mark in self._run.marks]
            return etree.fromstring(self._written(text, apart), _PARSER)

    def _written(self, text: str, marks: Sequence[Mark]) -> str:
        opening, closing = _tags(self._element)
        objects = self._objects
        escape = _cdata if _has_cdata(self._element) else _escaped

        def write(piece: str) -> str:
            parts = re.split(f"({_OBJECTS.pattern})", piece)
            return "".join(next(objects) if _OBJECTS.match(part) else escape(part) for part in parts)

        return f"{opening}{insert_marks(self._run.text, marks, text, write)}{closing}"

    def _edges(self) -> tuple[str, str]:
        """The spaces at both ends of the content, unless they are line breaks of the file's layout."""
        run = self._run
        before, after = (run.text[: len(run.text) - len(run.text.lstrip(" "))], run.text[len(run.text.rstrip(" ")) :])
        if self._has_quotes:
            return before, after
        layout = ["\n" in self._source[run.starts[at] : run.stops[at]] for at in (0, -1) if run.text]
        return ("" if before and layout[0] else before, "" if after and layout[1] else after)


class _Collector:
    """Collects the text and the tags of an element; `source` is its content as written in the file."""

    def __init__(self, whole: Collection[str], keeps_space: bool, has_quotes: bool = False) -> None:
        self.whole, self.has_quotes = whole, has_quotes
        self.is_quoted = False
        self.source = ""
        self.builder = RunBuilder(keeps_space=keeps_space, keeps_edges=True)

    def collect(self, element: Element, is_protected: bool = False) -> None:
        """Adds the content of an element, which is protected or not."""
        self._text(element.text, is_protected)
        # The ends of the markers around an element, and whether they protect it.
        opened: list[tuple[Any, bool]] = [(None, False)]
        protected = ""
        for inner in element:
            opened += _marker(inner)
            if opened[-1][1]:
                protected += etree.tostring(inner, encoding="unicode", with_tail=inner is not opened[-1][0])
            else:
                protected = self._flush(protected)
                self._add(inner, is_protected)
            if inner is opened[-1][0]:
                opened.pop()
                if opened[-1][1]:
                    protected += inner.tail or ""
                    continue
                protected = self._flush(protected)
            if not opened[-1][1]:
                self._text(inner.tail, is_protected)

    def _flush(self, protected: str) -> str:
        """Adds protected content as a word, and returns what is left of it: nothing."""
        if protected:
            self._mark(protected, "whole", True)
        return ""

    def _add(self, element: Element, is_protected: bool) -> None:
        says = _says_translate(element)
        is_protected = is_protected if says is None else not says
        role = _role(element, self.whole)
        if role == "pair" and (not is_protected or any(map(_says_translate, element.iterdescendants()))):
            opening, closing = _tags(element)
            self._mark(opening, "open")
            self.collect(element, is_protected)
            self._mark(closing, "close")
            return
        raw = etree.tostring(element, encoding="unicode", with_tail=False)
        if role == "break" and not is_protected:
            self._add_break(raw, LINE_BREAK)
        elif role in ("open", "close"):
            self._mark(raw, role)
        else:
            self._mark(raw, "whole", role != "other")

    def _text(self, text: str | None, is_protected: bool = False) -> None:
        if not text:
            return
        if is_protected and (inside := text.strip()):
            before, after = text.split(inside, 1)
            self._text(before)
            self._mark(_escaped(inside), "whole", True)
            self._text(after)
            return
        if self.has_quotes:
            self._add_quoted(text)
            return
        self._add_text(text)

    def _add_quoted(self, text: str) -> None:
        """Adds text with quotation marks that are codes."""
        for part in _QUOTED_PARTS.finditer(text):
            if part["mark"]:
                self.is_quoted = not self.is_quoted
                self._mark(part[0], "open" if self.is_quoted else "close")
            elif not part["space"] or not self.is_quoted:
                self._add_text(part[0])
            elif part[0].strip(" "):
                self._add_break(part[0], LINE_BREAK)
            else:
                self._add_break(" ", " ")
                if len(part[0]) > 1:
                    self._mark(part[0][1:], "whole")

    def _add_break(self, raw: str, character: str) -> None:
        self.source += raw
        self.builder.add_break(len(self.source) - len(raw), len(self.source), character)

    def _add_text(self, text: str) -> None:
        self.source += text
        self.builder.add(text, len(self.source) - len(text), len(self.source))

    def _mark(self, raw: str, kind: Literal["open", "close", "whole"], acts_as_word: bool = False) -> None:
        self.source += raw
        self.builder.add_mark(len(self.source) - len(raw), len(self.source), kind, acts_as_word)

    def run(self) -> TextRun:
        """The collected run."""
        self.builder.source = self.source
        return self.builder.run(_escaped)


def _role(element: Element, whole: Collection[str]) -> Literal["pair", "open", "close", "break", "word", "other"]:
    """The role of an element inside a segment."""
    name = local_name(element)
    if not name:
        return "other"
    if name not in whole:
        return "pair"
    content = "".join(element.itertext())
    types = {element.get("ctype"), element.get("type"), element.get("subType")}
    if types & _BREAK_TYPES or _BREAK.fullmatch(content or element.get("equiv-text") or element.get("equiv") or ""):
        return "break"
    if name in _OPENING or element.get("pos") in ("begin", "open"):
        return "open"
    if name in _CLOSING or element.get("pos") in ("end", "close"):
        return "close"
    return _role_of_content(element, whole)


def _role_of_content(element: Element, whole: Collection[str]) -> Literal["open", "close", "word"]:
    """The role of a code by what it stands for: a tag, or a sign that has a partner in the segment."""
    content = _content(element)
    tag = _TAG.fullmatch(content)
    if tag is not None:
        return "word" if tag[3] or tag[2].lower() in _VOID else "close" if tag[1] else "open"
    partner = _closing_sign(content)
    codes = [_content(one) for one in element.itersiblings() if local_name(one) in whole]
    if partner is not None and partner in codes:
        return "open"
    before = [_content(one) for one in element.itersiblings(preceding=True) if local_name(one) in whole]
    return "close" if content and content in map(_closing_sign, before) else "word"


def _content(element: Element) -> str:
    """What a code stands for in the original document."""
    attributes = ("equiv-text", "disp", "equiv")
    found = ("".join(element.itertext()), *(element.get(name) for name in attributes))
    return next((text for text in found if text and text.strip()), "").strip()


def _closing_sign(content: str) -> str | None:
    """The code that would close this one, if it can be one of a pair: "[/b]" of "[b]", "<1}" of "{1>"."""
    found = _OPENING_SIGN.fullmatch(content)
    if found is None:
        return None
    if found["number"]:
        return f"<{found['number']}}}"
    return "}" if found["rtf"] else f"{content[0]}/{found['name'] or found['name2']}{content[-1]}"


def _says_translate(element: Element) -> bool | None:
    """Whether a marker says that its content is translated; None if it says nothing."""
    if local_name(element) not in _MARKERS:
        return None
    if element.get("mtype") == "protected":
        return False
    said = element.get("translate") or element.get(_ITS_TRANSLATE)
    return {"no": False, "yes": True}.get(said or "")


def _marker(element: Element) -> list[tuple[Element, bool]]:
    """The `<em/>` that ends a marker, and whether that protects text, if this is a `<sm/>` that says so."""
    said = element.get("translate") if local_name(element) == "sm" else None
    ends = [one for one in element.itersiblings() if local_name(one) == "em"] if said in ("no", "yes") else []
    return [(one, said == "no") for one in ends if one.get("startRef") == element.get("id")][:1]


def _tags(element: Element) -> tuple[str, str]:
    """The opening and the closing tag of an element, as written in the file."""
    bare = element.makeelement(element.tag, dict(element.attrib), nsmap=element.nsmap)
    raw = etree.tostring(bare, encoding="unicode")
    name = re.match(r"<([^\s/>]+)", raw)
    assert name is not None
    return f"{raw[:-2]}>", f"</{name[1]}>"


def with_objects_of(source: str, text: str) -> str:
    """The text, a translation of `source`, with the objects and line breaks of `source`."""
    spans = [UntranslatableSpan(*match.span(), "other") for match in _OBJECTS.finditer(source)]
    core, marks = extract_marks(source, spans, 0, len(source))
    return insert_marks(core, marks, _OBJECTS.sub("", text.replace(LINE_BREAK, " ")))


def _keeps_space(element: Element) -> bool:
    """Whether white space is significant, and not the layout of the file."""
    keeps = next((one.get(_XML_SPACE) for one in (element, *element.iterancestors()) if one.get(_XML_SPACE)), None)
    return keeps == "preserve"


def _has_cdata(element: Element) -> bool:
    return "<![CDATA[" in etree.tostring(element, encoding="unicode", with_tail=False)


def _cdata(text: str) -> str:
    """The text as a CDATA section, in as many parts as needed."""
    ends = text.replace("]]>", "]]]]><![CDATA[>")
    return f"<![CDATA[{ends}]]>" if text else ""


def _escaped(text: str) -> str:
    return html.escape(text, quote=False)
