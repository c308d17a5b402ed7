# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""TMX 1.4 (Translation Memory eXchange, LISA OSCAR / GALA): `<tu>` with one `<tuv>` per language.

TMX has no element for documents. Consecutive units with the same property for a document or file (`x-document`, and
others that tools write) form a document; without such a property the whole file is one.
"""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from lxml import etree

from ..corpus_files import CorpusError, read_bytes
from ..documents import ParallelDocument
from .confidence_marks import set_property_confidence
from .document_file import CorpusFile, Translations, Unit, UnitDocument
from .tagged_text import TaggedText
from .workflow_states import set_translated_variant
from .xml_files import (
    XML_LANGUAGE,
    Element,
    append_aligned,
    child,
    children,
    clear,
    descendants,
    indent,
    line_of,
    parse_xml_content,
    same_language,
    valid_text,
    xml_bytes,
)

# Elements whose content is code of the original file, not text.
_CODES = ("bpt", "ept", "ph", "it", "ut")
_DOCUMENT_PROPERTIES = ("document", "x-document", "x-doc", "x-docid", "file", "x-file", "x-filename", "x-source-file")


class TmxFile(CorpusFile):
    """A translation memory."""

    def __init__(self, path: Path | None, tree: Any, source_language: str, target_language: str) -> None:
        self._tree = tree
        self._languages = (source_language, target_language)
        units = [unit for unit in descendants(tree.getroot(), "tu") if self._source(unit)]
        self._units: list[list[Element]] = []
        documents = []
        for name, group in groupby(units, key=_document_name):
            self._units.append(list(group))
            paragraph = tuple(map(self._unit, self._units[-1]))
            documents.append(UnitDocument(name or (path.name if path else "memory"), (paragraph,)))
        if path is not None and not documents:
            detail = f"no unit in {source_language!r}; languages: {', '.join(self.languages()) or 'none'}"
            raise CorpusError(path, None, "empty corpus", detail)
        super().__init__(path, documents)

    @classmethod
    def read(cls, path: str | Path, source_language: str, target_language: str) -> "TmxFile":
        content = read_bytes(path)
        tree = parse_xml_content(content, path, "TMX", "tmx")
        file = cls(Path(path), tree, source_language, target_language)
        file.original = content
        return file

    @classmethod
    def new(cls, documents: Sequence[ParallelDocument], source_language: str, target_language: str) -> "TmxFile":
        root = etree.Element("tmx", version="1.4")
        etree.SubElement(
            root,
            "header",
            {
                "creationtool": "hier_nmt",
                "creationtoolversion": "1",
                "segtype": "sentence",
                "o-tmf": "hier_nmt",
                "adminlang": "en",
                "srclang": source_language,
                "datatype": "plaintext",
            },
        )
        body = etree.SubElement(root, "body")
        for document in documents:
            for sentence in document.source_sentences:
                unit = etree.SubElement(body, "tu")
                etree.SubElement(unit, "prop", type="x-document").text = valid_text(document.id)
                variant = etree.SubElement(unit, "tuv", {XML_LANGUAGE: source_language})
                etree.SubElement(variant, "seg").text = valid_text(sentence)
        indent(root, ["tuv"])
        return cls(None, etree.ElementTree(root), source_language, target_language)

    def translated(self, translations: Translations) -> bytes:
        for at, (document, elements, texts) in enumerate(zip(self.documents, self._units, translations, strict=True)):
            for index, (unit, element, text) in enumerate(zip(document.units, elements, texts, strict=True)):
                if text != unit.target:
                    self._set_target(element, text, self._confidence(at, index), self._is_from_memory(at, index))
        return xml_bytes(self._tree, self.original)

    def languages(self) -> list[str]:
        """The languages of the file, sorted, as it has them."""
        return sorted({_language(variant) or "?" for variant in descendants(self._tree.getroot(), "tuv")})

    def _unit(self, element: Element) -> Unit:
        target = self._segment(element, 1)
        text = None if target is None else _text(target)
        # Only units with a source are read.
        source = TaggedText.of(self._segment(element, 0), _CODES)
        return Unit(source.text, text, line_of(element), is_translated=bool(text), tags=source.tags)

    def _source(self, unit: Element) -> str:
        segment = self._segment(unit, 0)
        return "" if segment is None else _text(segment)

    def _variants(self, unit: Element, side: int) -> list[Element]:
        variants = children(unit, "tuv")
        return [variant for variant in variants if same_language(_language(variant), self._languages[side])]

    def _segment(self, unit: Element, side: int) -> Element | None:
        segments = (child(variant, "seg") for variant in self._variants(unit, side))
        return next((segment for segment in segments if segment is not None), None)

    def _set_target(self, unit: Element, text: str, confidence: float | None, from_memory: bool) -> None:
        segment = self._segment(unit, 1)
        if segment is None:
            empty = self._variants(unit, 1)
            variant = empty[0] if empty else unit.makeelement("tuv", {XML_LANGUAGE: self._languages[1]})
            if not empty:
                append_aligned(unit, variant)
            segment = etree.SubElement(variant, "seg")
        source = self._segment(unit, 0)
        assert source is not None
        clear(segment)
        TaggedText.of(source, _CODES).fill(segment, text)
        if self.path is not None:
            set_translated_variant(segment.getparent(), from_memory)
        set_property_confidence(segment.getparent(), confidence)


def _text(segment: Element) -> str:
    """The text of a segment; empty if there are only codes."""
    tagged = TaggedText.of(segment, _CODES)
    return tagged.text if tagged.has_text else ""


def _language(variant: Element) -> str | None:
    # Before TMX 1.4 the attribute had no namespace.
    return variant.get(XML_LANGUAGE) or variant.get("lang")


def _document_name(unit: Element) -> str:
    names = (prop.text for prop in children(unit, "prop") if (prop.get("type") or "").lower() in _DOCUMENT_PROPERTIES)
    return next((name.strip() for name in names if name), "")
