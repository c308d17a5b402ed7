# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Word documents (.docx; ECMA-376, WordprocessingML): body with tables and text boxes, footnotes, endnotes, headers and
footers. Comments and deleted text stay as they are; inserted text is text."""

from collections.abc import Iterator
from typing import Any

from lxml import etree

from .office_package import OfficeFile
from .package_file import Paragraph
from .run_paragraphs import Role, RunParagraph, RunSchema, is_text_field
from .xml_files import Element, local_name

# Endings of content types, in the order of their translation.
_PARTS = (".main+xml", ".footnotes+xml", ".endnotes+xml", ".header+xml", ".footer+xml", ".styles+xml")
_ROLES: dict[str, Role] = {
    "t": "text", "noBreakHyphen": "hyphen", "tab": "break", "ptab": "break", "br": "break", "cr": "break",
    "lastRenderedPageBreak": "dropped", "proofErr": "dropped", "fldChar": "field",
    **dict.fromkeys(("hyperlink", "ins", "moveTo", "smartTag", "customXml", "sdt", "dir", "bdo"), "pair"),
    **dict.fromkeys(("oMath", "oMathPara", "sym", "object", "ruby", "pgNum"), "word"),
}  # fmt: skip


class DocxFile(OfficeFile):
    """A Word document: its body is a document, and so is every other part with text."""

    format_name = "DOCX"
    main_types = ("wordprocessingml.document.main+xml", "wordprocessingml.template.main+xml", "ms-word.document.macro",
                  "ms-word.template.macro")  # fmt: skip

    def _members(self) -> Iterator[tuple[str, str]]:
        for ending in _PARTS:
            for name in self._names_of_type(ending):
                yield name, name.rpartition("/")[2]

    def _paragraphs(self, root: Element) -> Iterator[tuple[Element, Paragraph]]:
        schema = RunSchema(etree.QName(root).namespace or "", _role, is_word=True)
        return ((one, RunParagraph(one, schema)) for one in root.iter(schema.name("p")))

    def _language_attributes(self, root: Element) -> Iterator[tuple[Element, str]]:
        name = etree.QName(root).namespace or ""
        return ((one, f"{{{name}}}val") for one in root.iter(f"{{{name}}}lang"))


def _role(element: Any) -> Role:
    """The role of an element in a paragraph or run."""
    name = local_name(element)
    if name == "fldSimple":
        instruction = next((value for key, value in element.attrib.items() if key.endswith("instr")), "")
        return "pair" if is_text_field(instruction) else "word"
    if name in ("drawing", "AlternateContent", "pict"):
        return "word" if _is_inline(element) else "invisible"
    return _ROLES.get(name, "invisible")


def _is_inline(picture: Element) -> bool:
    """Whether a picture stands in the line like a word."""
    if any(local_name(one) == "anchor" for one in picture.iter()):
        return False
    return not any("position:absolute" in (one.get("style") or "").replace(" ", "") for one in picture.iter())
