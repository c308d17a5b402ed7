# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Files of messages, written by a test and read by their format."""

from pathlib import Path
from typing import Any

from hier_nmt.data.formats.registry import format_of, read_document_file


def read(folder: Path, content: str | bytes, name: str) -> Any:
    """The file of this name and content, from English to French."""
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_document_file(folder / name, "en", "fr", format_of(folder / name))


def sources(folder: Path, content: str | bytes, name: str) -> list[str]:
    """The texts of its units."""
    return [unit.source for item in read(folder, content, name).documents for unit in item.units]


def translated(folder: Path, content: str | bytes, name: str, texts: dict[str, str]) -> str:
    """The file with these translations of some texts; others stay."""
    file = read(folder, content, name)
    rows = [[texts.get(unit.source, unit.source) for unit in item.units] for item in file.documents]
    return str(file.translated(rows).decode())
