# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The XML of the WMT shared tasks since 2021: `<doc>` with a `<src>`, and any number of `<ref>` by translators and
`<hyp>` by systems, each of them `<p>` of `<seg>`."""

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lxml import etree

from ..corpus_files import CorpusError, read_bytes
from ..documents import ParallelDocument
from .document_file import CorpusFile, Translations, Unit, UnitDocument
from .xml_files import (
    Element,
    append_aligned,
    child,
    children,
    clear,
    descendants,
    indent,
    line_of,
    local_name,
    parse_xml,
    parse_xml_content,
    same_language,
    valid_text,
    xml_bytes,
)

SYSTEM = "hier_nmt"
_TEXTS = ("src", "ref", "hyp")


class WmtXmlFile(CorpusFile):
    """A test set; the translation of a unit is that of the reference `reference`, by default the first."""

    def __init__(self, path: Path | None, tree: Any, target_language: str, reference: str | None = None) -> None:
        self._tree = tree
        self._target_language = target_language
        self._elements = [element for element in descendants(tree.getroot(), "doc") if _segments(child(element, "src"))]
        documents = []
        for number, element in enumerate(self._elements, start=1):
            translations = _reference(path, element, target_language, reference)
            groups: dict[Element, list[Unit]] = {}
            for segment in _segments(child(element, "src")):
                target = translations.get(segment.get("id"))
                groups.setdefault(segment.getparent(), []).append(Unit(_text(segment), target, line_of(segment)))
            paragraphs = tuple(map(tuple, groups.values()))
            documents.append(UnitDocument(element.get("id") or f"document {number}", paragraphs))
        super().__init__(path, documents)

    @classmethod
    def read(
        cls, path: str | Path, source_language: str, target_language: str, reference: str | None = None
    ) -> "WmtXmlFile":
        content = read_bytes(path)
        tree = parse_xml_content(content, path, "WMT XML", "dataset")
        root = tree.getroot()
        for source in descendants(root, "src"):
            code = source.get("lang")
            if code is not None and not same_language(code, source_language):
                raise CorpusError(path, line_of(source), "other language", f"lang={code!r}, not {source_language!r}")
        _check_texts_are_not_nested(Path(path), root)
        file = cls(Path(path), tree, target_language, reference)
        file.original = content
        return file

    @classmethod
    def new(cls, documents: Sequence[ParallelDocument], source_language: str, target_language: str) -> "WmtXmlFile":
        root = etree.Element("dataset", id="hier_nmt")
        for document in documents:
            element = etree.SubElement(root, "doc", id=valid_text(document.id), origlang=source_language)
            source = etree.SubElement(element, "src", lang=source_language)
            number = 0
            for sentences in document.source_paragraphs:
                paragraph = etree.SubElement(source, "p")
                for sentence in sentences:
                    number += 1
                    etree.SubElement(paragraph, "seg", id=str(number)).text = valid_text(sentence)
        indent(root, ["seg"])
        return cls(None, etree.ElementTree(root), target_language)

    def translated(self, translations: Translations) -> bytes:
        """The file with our `<hyp>` in each document; the references are kept."""
        for element, texts in zip(self._elements, translations, strict=True):
            for earlier in [one for one in children(element, "hyp") if one.get("system") == SYSTEM]:
                element.remove(earlier)
            self._add(element, texts, "hyp", "system", SYSTEM)
        return xml_bytes(self._tree, self.original)

    def with_reference(self, translations: Translations, translator: str = "A") -> bytes:
        """The file with an additional `<ref>` in each document."""
        for element, texts in zip(self._elements, translations, strict=True):
            self._add(element, texts, "ref", "translator", translator)
        return xml_bytes(self._tree, self.original)

    def _add(self, document: Element, texts: Sequence[str], kind: str, attribute: str, name: str) -> None:
        added: Element = copy.deepcopy(child(document, "src"))
        added.attrib.clear()
        added.tag = kind
        added.set("lang", self._target_language)
        added.set(attribute, name)
        for segment, text in zip(_segments(added), texts, strict=True):
            clear(segment)
            segment.text = valid_text(text)
        append_aligned(document, added)


def references(path: str | Path) -> list[str]:
    """The names of a file's translators, in order."""
    found = descendants(parse_xml(path).getroot(), "ref")
    return list(dict.fromkeys(_name(reference) for reference in found))


def _check_texts_are_not_nested(path: Path, root: Element) -> None:
    """Raises CorpusError for a document or text inside a text, as a lost end tag makes it: its segments would count as
    those of both."""
    for name in ("doc", *_TEXTS):
        for element in descendants(root, name):
            around = next((one for one in element.iterancestors() if local_name(one) in _TEXTS), None)
            if around is not None:
                raise CorpusError(path, line_of(element), "nested texts", f"<{name}> inside <{local_name(around)}>")


def _reference(path: Path | None, document: Element, target_language: str, wanted: str | None) -> dict[str, str]:
    """Segment id -> text of the wanted reference of a document; empty if it has no reference at all."""
    known = [
        one for one in children(document, "ref") if same_language(one.get("lang", target_language), target_language)
    ]
    chosen = next((one for one in known if wanted in (None, _name(one))), None)
    if chosen is not None:
        return {segment.get("id"): _text(segment) for segment in _segments(chosen)}
    if wanted is not None:
        detail = f"{wanted!r}; document {document.get('id')!r} has {', '.join(map(repr, map(_name, known))) or 'none'}"
        raise CorpusError(path or "", line_of(document), "no such reference", detail)
    return {}


def _name(reference: Element) -> str:
    return reference.get("translator") or ""


def _segments(element: Element | None) -> list[Element]:
    """The segments that have text."""
    return [] if element is None else [segment for segment in descendants(element, "seg") if _text(segment)]


def _text(segment: Element) -> str:
    return " ".join("".join(segment.itertext()).split())
