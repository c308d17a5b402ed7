# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Glossaries that clients made: terms and their translations, for pairs of languages."""

import csv
import io
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..data.text_files import write_text
from .failures import RequestError
from .scheduler import Glossary
from .service import base_language


class _TabSeparated(csv.excel_tab):
    quoting = csv.QUOTE_NONE


_DIALECTS: dict[str, type[csv.Dialect]] = {"tsv": _TabSeparated, "csv": csv.excel}
MAX_ENTRIES, MAX_GLOSSARIES = 10_000, 1_000


@dataclass
class StoredGlossary:
    """A glossary.

    Attributes:
        name: its name, by its owner.
        owner: whose it is: an API key, or nobody's in particular.
        dictionaries: (source language, target language) -> term -> translation.
        id: random.
        creation_time: in UTC.
    """

    name: str
    owner: str
    dictionaries: dict[tuple[str, str], dict[str, str]]
    id: str = field(default_factory=lambda: secrets.token_hex(16))
    creation_time: datetime = field(default_factory=lambda: datetime.now(UTC))

    def entries(self, source: str, target: str) -> dict[str, str]:
        """The entries for a pair; RequestError if there are none."""
        found = self.dictionaries.get((base_language(source), base_language(target)))
        if found is None:
            raise RequestError(404, f"the glossary has no dictionary from {source:.20} to {target:.20}")
        return found

    def terms(self, source: str, target: str) -> Glossary:
        """The entries for a pair, as the pipeline is given them."""
        return tuple(self.entries(source, target).items())


class GlossaryStore:
    """The glossaries of a server.

    Args:
        folder: where they are kept; None: in memory, until the server ends.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._glossaries: dict[str, StoredGlossary] = {}
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            for path in sorted(folder.glob("*.json")):
                glossary = _from_json(path)
                self._glossaries[glossary.id] = glossary

    def of(self, owner: str) -> list[StoredGlossary]:
        """The glossaries of an owner."""
        return [glossary for glossary in self._glossaries.values() if glossary.owner == owner]

    def find(self, id_: str, owner: str) -> StoredGlossary:
        """A glossary; RequestError if the owner has none of this id."""
        glossary = self._glossaries.get(id_)
        if glossary is None or glossary.owner != owner:
            raise RequestError(404, "no such glossary")
        return glossary

    def save(self, glossary: StoredGlossary) -> StoredGlossary:
        """Keeps a new or changed glossary."""
        if glossary.id not in self._glossaries and len(self._glossaries) >= MAX_GLOSSARIES:
            raise RequestError(413, f"the server has {MAX_GLOSSARIES} glossaries, which is its limit")
        self._glossaries[glossary.id] = glossary
        if self._folder is not None:
            write_text(self._folder / f"{glossary.id}.json", json.dumps(_as_json(glossary), ensure_ascii=False))
        return glossary

    def delete(self, glossary: StoredGlossary) -> None:
        """Forgets a glossary."""
        del self._glossaries[glossary.id]
        if self._folder is not None:
            (self._folder / f"{glossary.id}.json").unlink(missing_ok=True)


def parse_entries(text: str, format: str) -> dict[str, str]:
    """The terms and translations in the rows of a table.

    Args:
        text: the rows; further columns of CSV, which name languages, are ignored.
        format: `tsv` or `csv`.

    Raises:
        RequestError: a row without a term or translation, a term with two translations, or no row.
    """
    if format not in _DIALECTS:
        raise RequestError(400, f"entries_format must be tsv or csv, got {format:.20}")
    entries: dict[str, str] = {}
    try:
        rows = list(csv.reader(io.StringIO(text), _DIALECTS[format]))
    except csv.Error as error:
        raise RequestError(400, f"entries: {error}") from None
    for number, row in enumerate(rows, start=1):
        cells = [cell.strip() for cell in row]
        if not any(cells):
            continue
        is_pair = len(cells) == 2 or (format == "csv" and len(cells) > 2)
        if not is_pair or not all(any(map(str.isalnum, cell)) for cell in cells[:2]):
            raise RequestError(400, f"entries: row {number} is not a term and its translation")
        if entries.setdefault(cells[0], cells[1]) != cells[1]:
            raise RequestError(400, f"entries: row {number} has a term with two translations: {cells[0]:.80}")
    if not entries or len(entries) > MAX_ENTRIES:
        raise RequestError(400, f"entries: {len(entries)} terms, allowed are 1 to {MAX_ENTRIES}")
    return entries


def as_tsv(entries: Mapping[str, str]) -> str:
    """Terms and translations, separated by tabs, a line for each."""
    return "\n".join(f"{source}\t{target}" for source, target in entries.items())


def _as_json(glossary: StoredGlossary) -> dict[str, Any]:
    return {
        "id": glossary.id,
        "name": glossary.name,
        "owner": glossary.owner,
        "creation_time": glossary.creation_time.isoformat(),
        "dictionaries": [[*pair, entries] for pair, entries in glossary.dictionaries.items()],
    }


def _from_json(path: Path) -> StoredGlossary:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        dictionaries = {(source, target): dict(entries) for source, target, entries in content["dictionaries"]}
        created = datetime.fromisoformat(content["creation_time"])
        return StoredGlossary(content["name"], content["owner"], dictionaries, content["id"], created)
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not a glossary of this server: {error}") from error
