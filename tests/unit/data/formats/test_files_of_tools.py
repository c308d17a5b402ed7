# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Small files as other tools write them: a file that is not translated comes back, and a translated one is the same
file with other words."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from files_of_tools import FILES_OF_TOOLS
from lxml import etree
from office_files import members_of, zipped

from hier_nmt.data.formats.document_file import DocumentFile
from hier_nmt.data.formats.registry import FILE_CLASSES, format_of, read_document_file

pytest.importorskip("sentencex")
pytest.importorskip("markdown_it")
pytest.importorskip("yaml")
CASES = [pytest.param(kind, name, id=f"{kind}-{name}") for kind, files in FILES_OF_TOOLS.items() for name in files]
# Those of these are in test_lines_of_tools.py and in test_plain_files_of_tools.py.
ELSEWHERE = {"xliff", "tmx", "srt", "id-column", "json-lines", "moses", "text"}
ARCHIVES = ("docx", "pptx", "xlsx", "odt", "ods", "epub")


def written(folder: Path, kind: str, name: str) -> Path:
    """The file in this folder, with those beside it."""
    content = FILES_OF_TOOLS[kind][name]
    if isinstance(content, str):
        (folder / name).write_bytes(content.encode())
    elif kind in ARCHIVES:
        (folder / name).write_bytes(zipped(content))  # type: ignore[arg-type]
    else:
        for path, text in content.items():
            (folder / path).write_bytes(text.encode())  # type: ignore[union-attr]
    return folder / name


def read(path: Path, kind: str) -> DocumentFile:
    # A language that none of them names, so that no name of a language changes; where they have to name it, that one.
    return read_document_file(path, "en" if kind in ("wmt-xml", "xcstrings") else "de", "fr", kind)


def parts_of(kind: str, content: bytes) -> Any:
    """What must stay the same: bytes, or the elements of XML."""
    if kind in ARCHIVES:
        return {name: canonical(member) if _is_xml(name) else member for name, member in members_of(content).items()}
    if kind == "wmt-xml":
        content = re.sub(rb'<hyp [^<>]*system="hier_nmt".*?</hyp>\s*', b"", content, flags=re.DOTALL)
    return canonical(content) if kind.endswith("xml") or kind == "android" else content


def without_french(content: bytes) -> Any:
    """A string catalogue without the localizations into French, and without empty lists of them."""
    catalogue = json.loads(content)
    for entry in catalogue["strings"].values():
        entry.get("localizations", {}).pop("fr", None)
        if not entry.get("localizations", True):
            del entry["localizations"]
    return catalogue


def _is_xml(name: str) -> bool:
    return name.endswith((".xml", ".xhtml", ".opf", ".ncx", ".rels"))


def canonical(content: bytes) -> bytes:
    return re.sub(rb"\s+", b" ", etree.tostring(etree.fromstring(content), method="c14n")).replace(b"> <", b"><")


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_a_file_that_is_not_translated_comes_back(tmp_path, kind, name) -> None:
    path = written(tmp_path, kind, name)
    if kind not in ("heads", "iwslt"):
        assert format_of(path) == kind
    file = read(path, kind)
    texts = [[unit.target if unit.is_translated else unit.source for unit in one.units] for one in file.documents]
    content = file.translated(texts)
    if kind == "po" and not all(unit.is_translated for one in file.documents for unit in one.units):
        # A translation that is new must be checked.
        assert b"fuzzy" in content
    elif kind == "xcstrings":
        assert without_french(content) == without_french(path.read_bytes())
        assert content.count(b"needs_review") == len(texts[0])
    else:
        assert parts_of(kind, content) == parts_of(kind, path.read_bytes())


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_a_translated_file_has_the_same_texts_translated(tmp_path, kind, name) -> None:
    file = read(written(tmp_path, kind, name), kind)
    texts = [[f"Zz {unit.source}" for unit in one.units] for one in file.documents]
    (tmp_path / "again").mkdir()
    again = written(tmp_path / "again", kind, name)
    again.write_bytes(file.translated(texts))
    is_beside = kind in ("po", "wmt-xml", "xcstrings")
    if kind == "wmt-xml":
        again.write_bytes(
            re.sub(rb"<ref .*?</ref>|<hyp [^<>]*Online.*?</hyp>", b"", again.read_bytes(), flags=re.DOTALL)
        )
        again.write_bytes(again.read_bytes().replace(b"<hyp ", b"<ref ").replace(b"</hyp>", b"</ref>"))
    units = [unit for one in read(again, kind).documents for unit in one.units]
    found = [(unit.target or "") if is_beside else unit.source for unit in units]
    assert words(found) == words(text for row in texts for text in row)


def words(texts) -> list[str]:
    return " ".join(texts).split()


def test_there_are_five_files_of_each_format() -> None:
    assert set(FILES_OF_TOOLS) | ELSEWHERE == set(FILE_CLASSES)
    assert {len(files) for files in FILES_OF_TOOLS.values()} == {5}


def test_times_of_opus_subtitles_stay_around_the_translation(tmp_path) -> None:
    file = read(written(tmp_path, "opus-xml", "subtitles.xml"), "opus-xml")
    (sentence,) = etree.fromstring(file.translated([["Oui."]])).iter("s")
    assert [(one.tag, one.get("id"), (one.tail or "").strip()) for one in sentence] == [
        ("time", "T1S", "Oui."),
        ("time", "T1E", ""),
    ]
