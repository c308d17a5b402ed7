# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Excel workbooks (.xlsx; ECMA-376, SpreadsheetML): texts of cells. Formulas with their results, numbers, names of
sheets, comments and charts stay as they are, and so do texts by which a workbook finds something."""

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from lxml import etree

from .office_package import OfficeFile
from .package_file import Paragraph
from .run_paragraphs import Role, RunParagraph, RunSchema
from .xml_files import Element, descendants, local_name

_XML_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_QUOTED = re.compile(r'"((?:[^"]|"")*)"')
# Elements with formulas, and elements whose names are those of cells.
_FORMULAS = ("f", "formula", "formula1", "formula2", "definedName", "calculatedColumnFormula")
_NAMES = ("tableColumn", "cacheField")


class XlsxFile(OfficeFile):
    """A workbook: the texts that its cells share are a document, and so are those of each sheet that has its own."""

    format_name = "XLSX"
    main_types = ("spreadsheetml.sheet.main+xml", "spreadsheetml.template.main+xml", "ms-excel.sheet.macroEnabled",
                  "ms-excel.template.macroEnabled")  # fmt: skip

    def _members(self) -> Iterator[tuple[str, str]]:
        for name in self._names_of_type(".sharedStrings+xml"):
            yield name, "cells"
        for name in self._names_of_type(".worksheet+xml"):
            if b"inlineStr" in self._package.read(name):
                yield name, name.rpartition("/")[2]

    def _paragraphs(self, root: Element) -> Iterator[tuple[Element, Paragraph]]:
        schema = RunSchema(etree.QName(root).namespace or "", _role, last=("rPh", "phoneticPr"))
        for one in descendants(root, "si", "is"):
            text = "".join(inner.text or "" for inner in descendants(one, "t"))
            if text.strip().casefold() not in self._kept_texts:
                yield one, _CellText(one, schema)

    def _language_attributes(self, root: Element) -> Iterator[tuple[Element, str]]:
        return iter(())

    @cached_property
    def _kept_texts(self) -> set[str]:
        """Texts by which the workbook finds cells: headings of tables and fields, and what formulas and lists of
        allowed values compare with."""
        kept: set[str] = set()
        for name in self._types:
            if name.endswith(".xml") and name in self._package.names and "sharedStrings" not in name:
                kept.update(_texts_to_keep(self._package.parse(name).getroot()))
        return {text.strip().casefold() for text in kept}


def _texts_to_keep(root: Element) -> Iterator[str]:
    for one in descendants(root, *_NAMES):
        yield one.get("name", "")
    for one in descendants(root, *_FORMULAS):
        for match in _QUOTED.finditer(one.text or ""):
            text = match[1].replace('""', '"')
            # A list of allowed values has them in one text.
            yield from (text, *(text.split(",") if local_name(one) == "formula1" else ()))


class _CellText(RunParagraph):
    """The text of a cell, with formatting inside or without."""

    def __init__(self, element: Element, schema: RunSchema) -> None:
        super().__init__(element, schema)
        self._is_plain = not any(local_name(one) == "r" for one in element)

    def write(self, text: str) -> None:
        """Replaces the text; one without formatting stays without."""
        super().write(text)
        runs = [one for one in self._element if local_name(one) == "r"]
        if self._is_plain and len(runs) == 1:
            self._element.replace(runs[0], runs[0][-1])
        for one in descendants(self._element, "t"):
            if (one.text or "") != (one.text or "").strip():
                one.set(_XML_SPACE, "preserve")


def _role(element: Any) -> Role:
    """The role of an element in the text of a cell."""
    return "text" if local_name(element) == "t" else "invisible"
