# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""PowerPoint presentations (.pptx; ECMA-376, PresentationML and DrawingML): slides in order with tables and groups,
then diagrams, titles of charts, and notes. Comments, masters and layouts stay as they are."""

from collections.abc import Iterator
from posixpath import join, normpath
from typing import Any

from lxml import etree

from .office_package import OfficeFile
from .package_file import Paragraph
from .run_paragraphs import Role, RunParagraph, RunSchema
from .xml_files import Element, children, descendants, local_name

_DRAWING = ("http://schemas.openxmlformats.org/drawingml/2006/main", "http://purl.oclc.org/ooxml/drawingml/main")
# Endings of content types of parts other than slides, and the documents of these.
_OTHERS = {
    ".diagramData+xml": "diagrams", ".diagramDrawing+xml": "diagrams", ".chart+xml": "charts",
    ".notesSlide+xml": "notes",
}  # fmt: skip
_ROLES: dict[str, Role] = {"t": "text", "br": "break", "fld": "word", "AlternateContent": "word", "m": "word"}


class PptxFile(OfficeFile):
    """A presentation: its slides are a document, and so are its diagrams, its charts and its notes."""

    format_name = "PPTX"
    main_types = (
        "presentationml.presentation.main+xml", "presentationml.slideshow.main+xml",
        "presentationml.template.main+xml", "powerpoint.presentation.macro", "powerpoint.slideshow.macro",
    )  # fmt: skip

    def _members(self) -> Iterator[tuple[str, str]]:
        for name in self._slides_in_order():
            yield name, "slides"
        for ending, document in _OTHERS.items():
            for name in self._names_of_type(ending):
                yield name, document

    def _paragraphs(self, root: Element) -> Iterator[tuple[Element, Paragraph]]:
        for one in descendants(root, "p"):
            namespace = etree.QName(one).namespace or ""
            if namespace in _DRAWING:
                yield one, RunParagraph(one, RunSchema(namespace, _role, last=("endParaRPr",)))

    def _language_attributes(self, root: Element) -> Iterator[tuple[Element, str]]:
        return ((one, "lang") for one in descendants(root, "rPr", "endParaRPr", "defRPr"))

    def _slides_in_order(self) -> list[str]:
        """The names of the slides as they are shown; those that the presentation does not list come last."""
        known = self._names_of_type(".slide+xml")
        main = self._main_part() or ""
        folder, _, name = main.rpartition("/")
        relations = join(folder, "_rels", f"{name}.rels")
        if not {main, relations} <= set(self._package.names):
            return known
        targets = {
            one.get("Id"): normpath(join("/", folder, one.get("Target", ""))).lstrip("/")
            for one in children(self._package.parse(relations).getroot(), "Relationship")
        }
        slides = descendants(self._package.parse(main).getroot(), "sldId")
        ids = (value for one in slides for key, value in one.attrib.items() if key.endswith("}id"))
        listed = [targets[one] for one in ids if targets.get(one) in known]
        return list(dict.fromkeys([*listed, *known]))


def _role(element: Any) -> Role:
    """The role of an element in a paragraph or run."""
    return _ROLES.get(local_name(element), "invisible")
