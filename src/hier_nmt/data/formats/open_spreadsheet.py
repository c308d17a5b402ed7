# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""OpenDocument spreadsheets (.ods; OASIS, ISO/IEC 26300): texts of cells, text boxes, headers and footers. Numbers,
dates and formulas with their results stay, and so do texts by which a file finds something."""

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from .open_document import OpenDocumentFile
from .package_file import Paragraph
from .xml_files import Element, children, local_name

_QUOTED = re.compile(r'"((?:[^"]|"")*)"')
# Attributes with formulas and conditions, and those that name a field of a table.
_FORMULAS = ("formula", "condition", "expression")
_FIELD = "source-field-name"


class OpenSpreadsheetFile(OpenDocumentFile):
    """A spreadsheet: its cells are a document, and so are its headers and footers."""

    format_name = "ODS"
    types = ("application/vnd.oasis.opendocument.spreadsheet",)

    def _paragraphs(self, root: Element) -> Iterator[tuple[Element, Paragraph]]:
        for element, paragraph in super()._paragraphs(root):
            cell = next((one for one in element.iterancestors() if local_name(one).endswith("table-cell")), None)
            if cell is None or self._is_text(cell, element):
                yield element, paragraph

    def _is_text(self, cell: Element, paragraph: Element) -> bool:
        """Whether a paragraph in a cell is text of its own: not a result, and not what other parts refer to."""
        if paragraph.getparent() is not cell:
            # A text box that is anchored to the cell.
            return True
        attributes = {name.rpartition("}")[2]: value for name, value in cell.attrib.items()}
        is_string = attributes.get("value-type") == "string"
        if not is_string or "formula" in attributes or "string-value" in attributes:
            return False
        text = "\n".join("".join(one.itertext()) for one in children(cell, "p"))
        return text.strip().casefold() not in self._kept_texts

    @cached_property
    def _kept_texts(self) -> set[str]:
        """Texts that formulas and conditions compare with, and names of fields."""
        kept: set[str] = set()
        for name in ("content.xml", "styles.xml"):
            if name in self._package.names:
                kept.update(_texts_to_keep(self._package.parse(name).getroot()))
        return {text.strip().casefold() for text in kept}


def _texts_to_keep(root: Any) -> Iterator[str]:
    for one in root.iter("*"):
        for name, value in one.attrib.items():
            local = name.rpartition("}")[2]
            if local in _FORMULAS:
                yield from (match[1].replace('""', '"') for match in _QUOTED.finditer(value))
            elif local == _FIELD:
                yield value
