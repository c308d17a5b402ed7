# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Jupyter notebooks (.ipynb; nbformat 3 and 4): the Markdown cells are one document. Code, outputs, raw cells and
metadata stay as they are."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...text.document_layout import DocumentLayout, run_layout
from ...text.long_sentences import sentence_joiner
from ...text.markdown_text import markdown_runs
from ..corpus_files import CorpusError, parse_json, read_bytes
from ..text_files import decode_text
from .document_file import Translations
from .json_strings import JsonPath, JsonString, json_strings, writes_ascii, written_json
from .layout_file import LayoutDocument, LayoutFile

_TEXT_CELLS = ("markdown", "heading")
_LINES = re.compile(r"[^\n]*\n|[^\n]+")


class _Cell(NamedTuple):
    """The source of a cell: its strings, one or a list of lines, and the layout of its text."""

    strings: Sequence[JsonString]
    is_list: bool
    layout: DocumentLayout


class NotebookFile(LayoutFile):
    """A notebook.

    Args:
        path: where it was read.
        text: its content.
        source_language, target_language: ISO 639 codes.

    Raises:
        ImportError: markdown-it-py is not installed.
    """

    def __init__(self, path: Path, text: str, source_language: str, target_language: str) -> None:
        self._text = text
        root = parse_json(path, None, text)
        sources: dict[JsonPath, list[JsonString]] = defaultdict(list)
        paths = {(*where, "source") for where, cell in _cells(root, path) if cell.get("cell_type") in _TEXT_CELLS}
        for one in json_strings(text):
            where = one.path if one.path in paths else one.path[:-1]
            if where in paths and not one.is_key:
                sources[where].append(one)
        self._cells = []
        for strings in sources.values():
            source = "".join(one.value for one in strings)
            layout = run_layout(source, markdown_runs(source), source_language, sentence_joiner(target_language))
            self._cells.append(_Cell(strings, strings[0].path not in paths, layout))
        super().__init__(path, [LayoutDocument(path.name, [cell.layout for cell in self._cells])])

    @classmethod
    def read(cls, path: str | Path, source_language: str, target_language: str) -> "NotebookFile":
        content = read_bytes(path)
        file = cls(Path(path), decode_text(content, path), source_language, target_language)
        file.original = content
        return file

    def translated(self, translations: Translations) -> bytes:
        texts = {id(layout): text for layout, text in self._translated_layouts(translations)}
        parts, position = [], 0
        for cell in self._cells:
            text = texts.get(id(cell.layout), cell.layout.source)
            if text != cell.layout.source:
                parts += [self._text[position : cell.strings[0].start], self._written(cell, text)]
                position = cell.strings[-1].stop
        return self._encoded("".join([*parts, self._text[position:]]))

    def _written(self, cell: _Cell, text: str) -> str:
        """The source of a cell in JSON: a string, or a list of lines as they were separated."""
        is_ascii = writes_ascii(self._text)
        if not cell.is_list:
            return written_json(text, is_ascii)
        before = self._text[: cell.strings[0].start]
        separator = f",{before[len(before.rstrip()) :]}"
        return separator.join(written_json(line, is_ascii) for line in _LINES.findall(text))


def _cells(root: Any, path: Path) -> Iterator[tuple[JsonPath, dict[str, Any]]]:
    """The place and the content of each cell.

    Raises:
        CorpusError: the file is not a notebook.
    """
    sheets = root.get("worksheets") if isinstance(root, dict) and "cells" not in root else [root]
    if not isinstance(sheets, list):
        raise CorpusError(path, None, "not a notebook", "it has no list of cells")
    for number, sheet in enumerate(sheets):
        cells = sheet.get("cells") if isinstance(sheet, dict) else None
        if not isinstance(cells, list):
            raise CorpusError(path, None, "not a notebook", "it has no list of cells")
        start = ("cells",) if sheet is root else ("worksheets", number, "cells")
        for index, cell in enumerate(cells):
            source = cell.get("source", "") if isinstance(cell, dict) else None
            lines = [source] if isinstance(source, str) else source
            if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
                raise CorpusError(path, None, "not a notebook", f"cell {index + 1} has no source of text")
            yield (*start, index), cell
