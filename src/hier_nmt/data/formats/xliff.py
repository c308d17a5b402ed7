# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""XLIFF 1.2 and 2 (OASIS): each `<file>` is a document, each `<trans-unit>` or `<unit>` a paragraph, and each segment
in it a unit to translate. Content marked `translate="no"` is not changed."""

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from lxml import etree

from ..corpus_files import CorpusError, read_bytes
from ..documents import ParallelDocument
from .confidence_marks import set_its_confidence, set_metadata_confidence
from .document_file import CorpusFile, Translations, Unit, UnitDocument
from .tagged_text import TaggedText
from .workflow_states import SegmentState, UnitState
from .xml_files import (
    Element,
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

# Elements, of both versions, whose content is code of the original file, or empty.
_CODES = ("bpt", "ept", "ph", "it", "x", "bx", "ex", "sc", "ec", "sm", "em", "cp")
_NAMESPACE_1 = "urn:oasis:names:tc:xliff:document:1.2"


@dataclass(frozen=True)
class _Slot:
    """A segment: its source element, its target element if there is one, a function that creates one, and its state."""

    source: Element
    target: Element | None
    make_target: Callable[[], Element]
    state: UnitState | SegmentState

    def unit(self) -> Unit:
        tagged, target = TaggedText.of(self.source, _CODES), None if self.target is None else _text(self.target)
        source = tagged.text if tagged.has_text else ""
        is_translated = self.state.is_translated(source, target)
        return Unit(source, target, line_of(self.source), is_translated, tagged.tags)

    def write(self, text: str, confidence: float | None) -> None:
        target = self.make_target() if self.target is None else self.target
        clear(target)
        TaggedText.of(self.source, _CODES).fill(target, text)
        if isinstance(self.state, UnitState):
            set_its_confidence(target, confidence)
        else:
            set_metadata_confidence(self.state.segment, confidence)


class XliffFile(CorpusFile):
    """An XLIFF file of version 1.0 to 1.2, or 2."""

    def __init__(self, path: Path | None, tree: Any, target_language: str) -> None:
        self._tree = tree
        self._target_language = target_language
        root = tree.getroot()
        self._is_old = (root.get("version") or "").startswith("1")
        unit_name, find_slots = ("trans-unit", _old_slots) if self._is_old else ("unit", _new_slots)
        self._slots: list[list[_Slot]] = []
        documents = []
        for number, file in enumerate(children(root, "file"), start=1):
            paragraphs = []
            for unit in descendants(file, unit_name):
                slots = [slot for slot in find_slots(unit) if _is_wanted(slot) and _text(slot.source)]
                if slots:
                    paragraphs.append(slots)
            if paragraphs:
                self._slots.append([slot for slots in paragraphs for slot in slots])
                name = file.get("original") or file.get("id") or f"file {number}"
                units = tuple(tuple(slot.unit() for slot in slots) for slots in paragraphs)
                documents.append(UnitDocument(name, units))
        super().__init__(path, documents)

    @classmethod
    def read(cls, path: str | Path, source_language: str, target_language: str) -> "XliffFile":
        content = read_bytes(path)
        tree = parse_xml_content(content, path, "XLIFF", "xliff")
        root = tree.getroot()
        version = root.get("version") or ""
        if version.split(".")[0] not in ("1", "2"):
            raise CorpusError(path, line_of(root), "unknown version of XLIFF", f"{version!r}; known are 1.x and 2.x")
        elements = [root] if version.startswith("2") else list(children(root, "file"))
        attributes = ("srcLang", "trgLang") if version.startswith("2") else ("source-language", "target-language")
        for element in elements:
            for attribute, wanted in zip(attributes, (source_language, target_language), strict=True):
                found = element.get(attribute)
                if found is not None and not same_language(found, wanted):
                    raise CorpusError(
                        path, line_of(element), "other language", f"{attribute}={found!r}, not {wanted!r}"
                    )
        file = cls(Path(path), tree, target_language)
        file.original = content
        return file

    @classmethod
    def new(cls, documents: Sequence[ParallelDocument], source_language: str, target_language: str) -> "XliffFile":
        """A file of version 1.2, whose segments are marked in `<seg-source>`."""
        root = etree.Element("xliff", version="1.2", nsmap={None: _NAMESPACE_1})
        for document in documents:
            attributes = {"original": valid_text(document.id), "datatype": "plaintext"}
            languages = {"source-language": source_language, "target-language": target_language}
            file = etree.SubElement(root, _old("file"), attributes | languages)
            body = etree.SubElement(file, _old("body"))
            for number, sentences in enumerate(document.source_paragraphs, start=1):
                unit = etree.SubElement(body, _old("trans-unit"), id=str(number))
                etree.SubElement(unit, _old("source")).text = valid_text(" ".join(sentences))
                segmented = etree.SubElement(unit, _old("seg-source"))
                for index, sentence in enumerate(sentences, start=1):
                    mark = etree.SubElement(segmented, _old("mrk"), mtype="seg", mid=str(index))
                    mark.text = valid_text(sentence)
                    mark.tail = " " if index < len(sentences) else None
        indent(root, ["source", "seg-source"])
        return cls(None, etree.ElementTree(root), target_language)

    def translated(self, translations: Translations) -> bytes:
        for at, (document, slots, texts) in enumerate(zip(self.documents, self._slots, translations, strict=True)):
            for index, (unit, slot, text) in enumerate(zip(document.units, slots, texts, strict=True)):
                if text != unit.target or not unit.is_translated:
                    slot.write(text, self._confidence(at, index))
                    if self.path is not None:
                        slot.state.set_translated(self._is_from_memory(at, index))
        root = self._tree.getroot()
        if not self._is_old:
            root.set("trgLang", root.get("trgLang") or self._target_language)
        for file in children(root, "file") if self._is_old else ():
            file.set("target-language", file.get("target-language") or self._target_language)
        return xml_bytes(self._tree, self.original)


def _text(element: Element) -> str:
    """The text of a segment; empty if there are only codes."""
    tagged = TaggedText.of(element, _CODES)
    return tagged.text if tagged.has_text else ""


def _is_wanted(slot: _Slot) -> bool:
    if slot.state.is_locked():
        return False
    marks = (one.get("translate") for one in (slot.source, *slot.source.iterancestors()))
    return next((mark for mark in marks if mark is not None), "yes") != "no"


def _old(name: str) -> str:
    return f"{{{_NAMESPACE_1}}}{name}"


def _beside(element: Element, name: str) -> Element:
    """A new element after `element`, in its namespace."""
    namespace = etree.QName(element).namespace
    added = element.makeelement(name if namespace is None else f"{{{namespace}}}{name}")
    added.tail = element.tail
    element.addnext(added)
    element.tail = added.getparent().text
    return added


def _old_slots(unit: Element) -> Iterator[_Slot]:
    """The segments of a `<trans-unit>` of XLIFF 1: those that `<seg-source>` marks, or the whole source."""
    source, target = child(unit, "source"), child(unit, "target")
    if source is None:
        return
    segmented = child(unit, "seg-source")
    marks = [] if segmented is None else list(_segment_marks(segmented))
    known = {} if target is None else {mark.get("mid"): mark for mark in _segment_marks(target)}
    whole = _Slot(source, target, partial(_new_old_target, unit, source), UnitState(unit))
    # The unit may have been translated as a whole.
    if not _are_distinguishable(marks) or (not known and whole.unit().is_translated):
        yield whole
        return
    for mark in marks:
        name = mark.get("mid")
        yield _Slot(mark, known.get(name), partial(_target_mark, unit, segmented, mark), UnitState(unit, name))


def _are_distinguishable(marks: Sequence[Element]) -> bool:
    """Whether there are marks of segments, with unique names and none inside another."""
    names = {mark.get("mid") for mark in marks}
    is_nested = any(parent in marks for mark in marks for parent in mark.iterancestors())
    return bool(marks) and len(names) == len(marks) and None not in names and not is_nested


def _segment_marks(element: Element) -> Iterable[Element]:
    return (mark for mark in descendants(element, "mrk") if mark.get("mtype") == "seg")


def _new_old_target(unit: Element, after: Element) -> Element:
    segmented = child(unit, "seg-source")
    return _beside(after if segmented is None else segmented, "target")


def _target_mark(unit: Element, segmented: Element, mark: Element) -> Element:
    """The mark of a segment in the `<target>`, which gets the layout of the `<seg-source>` if it has no segments."""
    target = child(unit, "target")
    if target is None:
        target = _new_old_target(unit, segmented)
    if next(iter(_segment_marks(target)), None) is None:
        clear(target)
        target.text = segmented.text
        target.extend(copy.deepcopy(list(segmented)))
        for copied in _segment_marks(target):
            clear(copied)
    found = next((one for one in _segment_marks(target) if one.get("mid") == mark.get("mid")), None)
    return etree.SubElement(target, mark.tag, dict(mark.attrib)) if found is None else found


def _new_slots(unit: Element) -> Iterator[_Slot]:
    """The segments of a `<unit>` of XLIFF 2."""
    for segment in children(unit, "segment"):
        source = child(segment, "source")
        if source is not None:
            yield _Slot(source, child(segment, "target"), partial(_beside, source, "target"), SegmentState(segment))
