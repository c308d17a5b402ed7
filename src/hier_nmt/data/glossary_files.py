# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Glossaries in files: CSV, tab-separated values, and TBX.

A table has a source term and a target term in each line. With a first line that names its columns (`source`, `target`,
and any of `case`, `pos`) they may be in any order; without one the first two columns count and others are ignored.

TBX is ISO 30042, of 2008 (`<martif>`, `<termEntry>`) or 2019 (`<tbx>`, `<conceptEntry>`), as TBX-Basic has it: a
concept has terms in several languages. Deprecated and superseded terms are found in a source, and never translated to.
"""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from ..text.glossary import Glossary, Term, has_words
from .corpus_files import CorpusError, read_bytes, read_lines
from .formats.xml_files import (
    XML_LANGUAGE,
    Element,
    descendants,
    line_of,
    local_name,
    parse_xml,
    same_language,
)
from .text_files import decode_text

_COLUMNS = {
    "source": ("source", "source term", "source_term", "term"),
    "target": ("target", "target term", "target_term", "translation"),
    "case": ("case", "case sensitive", "case_sensitive", "match case", "match_case"),
    "pos": ("pos", "part of speech", "part_of_speech", "partofspeech"),
}
_CASES = {
    "": None,
    **dict.fromkeys(("yes", "true", "1", "sensitive", "y", "x"), True),
    **dict.fromkeys(("no", "false", "0", "insensitive", "n", "-"), False),
}
_ENTRIES, _LANGUAGES = ("termEntry", "conceptEntry"), ("langSet", "langSec")
_TERM_GROUPS = ("tig", "ntig", "termSec")
_REFUSED_STATUSES = ("deprecated", "superseded", "obsolete")
Row = tuple[int, Sequence[str]]


def read_glossary(path: str | Path, source_language: str | None = None, target_language: str | None = None) -> Glossary:
    """The glossary in a file: TBX if its name ends in ".tbx" or ".xml", CSV in ".csv", else tab-separated.

    Args:
        path: the file, which may be compressed (".gz") if it is tab-separated.
        source_language, target_language: ISO 639 codes. TBX is read in these; a table has no languages.

    Raises:
        CorpusError: a file without terms, a line without a translation, an unknown value, broken CSV or XML.
        OSError: the file cannot be read.
        ValueError: TBX, and no languages.
    """
    path = Path(path)
    ending = path.with_name(path.name.removesuffix(".gz")).suffix.lower()
    if ending in (".tbx", ".xml"):
        terms = list(_tbx_terms(path, source_language, target_language))
    else:
        rows = _comma_separated(path) if ending == ".csv" else _tab_separated(path)
        terms = list(_table_terms(path, rows, "separator" if ending == ".csv" else "tab"))
    if not terms:
        raise CorpusError(path, None, "no terms", "it has no term")
    return Glossary(terms, source_language, target_language)


def read_terms(path: str | Path) -> list[str]:
    """The terms of a file with one in each line; blank lines and those that begin with "#" are skipped.

    Raises:
        CorpusError: a line that is not UTF-8, or a file without terms.
        OSError: the file cannot be read.
    """
    terms = []
    for _, text in read_lines(path):
        if isinstance(text, CorpusError):
            raise text
        if text.strip() and not text.startswith("#"):
            terms.append(text.strip())
    if not terms:
        raise CorpusError(path, None, "no terms", "it has no term")
    return terms


def _tab_separated(path: Path) -> Iterator[Row]:
    for line, text in read_lines(path):
        if isinstance(text, CorpusError):
            raise text
        yield line, [cell.strip() for cell in text.split("\t")]


def _comma_separated(path: Path) -> Iterator[Row]:
    """The rows of a CSV file, whose separator is a comma, or a semicolon if its first line has one and no comma."""
    text = decode_text(read_bytes(path), path)
    first = text.partition("\n")[0]
    reader = csv.reader(
        text.splitlines(keepends=True), delimiter=";" if ";" in first and "," not in first else ",", strict=True
    )
    line = 1
    try:
        for cells in reader:
            yield line, [" ".join(cell.split()) for cell in cells]
            line = reader.line_num + 1
    except csv.Error as error:
        raise CorpusError(path, reader.line_num, "broken CSV", str(error)) from error


def _table_terms(path: Path, rows: Iterable[Row], separator: str) -> Iterator[Term]:
    columns: Mapping[str, int] | None = None
    for line, cells in rows:
        if columns is None and any(cells):
            named = _named_columns(cells)
            columns = named or {"source": 0, "target": 1}
            if named:
                continue
        if any(cells):
            assert columns is not None
            yield _table_term(path, line, cells, columns, separator)


def _named_columns(cells: Sequence[str]) -> dict[str, int] | None:
    """The columns that the first line names; None if it is a term."""
    found: dict[str, int] = {}
    for index, cell in enumerate(cells):
        name = next((name for name, names in _COLUMNS.items() if cell.casefold() in names), None)
        if name is not None:
            found.setdefault(name, index)
    return found if {"source", "target"} <= set(found) else None


def _table_term(path: Path, line: int, cells: Sequence[str], columns: Mapping[str, int], separator: str) -> Term:
    values = {name: cells[index] if index < len(cells) else "" for name, index in columns.items()}
    source, target = values["source"], values["target"]
    if len(cells) < 2:
        raise CorpusError(path, line, f"no {separator} between term and translation", repr(source or cells[0]))
    for name, text in (("term", source), ("translation", target)):
        if not has_words(text):
            raise CorpusError(path, line, f"no {name}", repr("\t".join(cells)))
    case = values.get("case", "").casefold()
    if case not in _CASES:
        raise CorpusError(path, line, "unknown case sensitivity", f"{case!r} is neither yes nor no")
    return Term(source, (target,), _CASES[case], values.get("pos") or None)


def _tbx_terms(path: Path, source_language: str | None, target_language: str | None) -> Iterator[Term]:
    """The terms of the source language with those of the target language of the same concept."""
    if not source_language or not target_language:
        raise ValueError(f"{path} has terms of several languages: give the source and target language")
    root = parse_xml(path, "TBX", "tbx", "martif").getroot()
    languages: set[str] = set()
    for entry in descendants(root, *_ENTRIES):
        sides: dict[str, list[Element]] = {"source": [], "target": []}
        for section in descendants(entry, *_LANGUAGES):
            code = section.get(XML_LANGUAGE)
            languages.add(str(code))
            for side, language in (("source", source_language), ("target", target_language)):
                if same_language(code, language):
                    sides[side] += descendants(section, *_TERM_GROUPS)
        yield from _concept_terms(path, sides["source"], sides["target"])
    for language in (source_language, target_language):
        if not any(same_language(code, language) for code in languages):
            has = ", ".join(sorted(languages)) or "none"
            raise CorpusError(path, None, "a language is missing", f"it has no terms in {language}, but in: {has}")


def _concept_terms(path: Path, sources: Sequence[Element], targets: Sequence[Element]) -> Iterator[Term]:
    allowed = [group for group in targets if not _is_refused(group)]
    translations = tuple(dict.fromkeys(_term_text(path, group) for group in allowed))
    for group in sources if translations else ():
        yield Term(_term_text(path, group), translations, None, _note(group, "partOfSpeech"))


def _term_text(path: Path, group: Element) -> str:
    term = next(descendants(group, "term"), None)
    text = "" if term is None else " ".join("".join(term.itertext()).split())
    if not has_words(text):
        raise CorpusError(path, line_of(group), "no term", f"<{local_name(group)}> has no <term> with a word")
    return text


def _is_refused(group: Element) -> bool:
    status = _note(group, "administrativeStatus") or ""
    return any(status.lower().startswith(refused) for refused in _REFUSED_STATUSES)


def _note(group: Element, name: str) -> str | None:
    """A note on a term: `<termNote type="name">`, or `<name>` in a namespace of its own."""
    for one in group.iter():
        if local_name(one) == name or (local_name(one) == "termNote" and one.get("type") == name):
            return (one.text or "").strip() or None
    return None
