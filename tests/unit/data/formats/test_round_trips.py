# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Every format: what is written can be read again, and a malformed file gives an error that says what is wrong."""

import contextlib
import gzip
from pathlib import Path

import pytest

from hier_nmt.data.corpora import FORMATS, ReadReport, read_documents
from hier_nmt.data.corpus_files import CorpusError
from hier_nmt.data.documents import ParallelDocument, SentencePair
from hier_nmt.data.formats.registry import (
    CORPUS_CLASSES,
    FILE_CLASSES,
    PAIRED_FORMATS,
    format_of,
    read_document_file,
    write_documents,
)


def document(name: str, *paragraphs: list[tuple[str, str]]) -> ParallelDocument:
    return ParallelDocument(name, tuple(tuple(SentencePair(*pair) for pair in paragraph) for paragraph in paragraphs))


DOCUMENTS = [
    document("one", [('It is < 5 & "late".', "Il est < 5 & « tard »."), ("Yes.", "Oui.")], [("A cat.", "Un chat.")]),
    document("two", [("The \u00c9lys\u00e9e \u2014 \U0001f600.", "L'\u00c9lys\u00e9e \u2014 \U0001f600.")]),
]
HAVE_PARAGRAPHS = ("json-lines", "xliff", "wmt-xml")
HAVE_NAMES = ("json-lines", "xliff", "wmt-xml", "tmx", "id-column", "iwslt")
CORPUS_FORMATS = [name for name in FORMATS if name in FILE_CLASSES]
ENDINGS = {
    "json-lines": ".jsonl", "tmx": ".tmx", "xliff": ".xlf", "wmt-xml": ".xml", "opus-xml": ".xml", "srt": ".srt",
    "id-column": ".tsv",
}  # fmt: skip


def paths_of(folder: Path, name: str) -> list[Path]:
    ending = ENDINGS.get(name, "")
    if name in (*PAIRED_FORMATS, "text"):
        return [folder / f"corpus.en{ending}", folder / f"corpus.fr{ending}"]
    return [folder / f"corpus{ending}"]


def written(folder: Path, name: str) -> list[Path]:
    """The documents, as many as the format has in a file, written."""
    paths = paths_of(folder, name)
    write_documents(paths, name, DOCUMENTS[:1] if name in ("srt", "text") else DOCUMENTS, "en", "fr")
    return paths


def test_every_format_of_files_but_the_oldest_can_be_written() -> None:
    assert set(FORMATS) - set(CORPUS_CLASSES) == {"tab-separated", "dataset"}
    assert set(CORPUS_CLASSES) - set(FORMATS) == {"text"}
    assert set(CORPUS_CLASSES) < set(FILE_CLASSES)


@pytest.mark.parametrize("name", CORPUS_FORMATS)
def test_what_is_written_is_read_again(tmp_path, name) -> None:
    paths = written(tmp_path, name)
    found = list(read_documents(paths, name, "en", "fr"))
    expected = DOCUMENTS[:1] if name == "srt" else DOCUMENTS
    assert [item.source_sentences for item in found] == [item.source_sentences for item in expected]
    assert [item.target_sentences for item in found] == [item.target_sentences for item in expected]
    if name in HAVE_PARAGRAPHS:
        assert [item.paragraphs for item in found] == [item.paragraphs for item in expected]
    if name in HAVE_NAMES:
        assert [item.id for item in found] == ["one", "two"]


@pytest.mark.parametrize("name", [*CORPUS_FORMATS, "text"])
def test_a_translated_file_reads_as_one_with_the_same_structure(tmp_path, name) -> None:
    path = written(tmp_path, name)[0]
    if name == "opus-xml":
        path = tmp_path / "en" / "000001.xml"
    file = read_document_file(path, "en", "fr", name)
    translations = [[f"{unit.source.lower()}!" for unit in item.units] for item in file.documents]
    again = tmp_path / f"again{path.suffix}"
    again.write_bytes(file.translated(translations))
    for ending, content in file.companions().items():
        Path(f"{again}{ending}").write_bytes(content)
    found = read_document_file(again, "en", "fr", name)
    assert [len(item.paragraphs) for item in found.documents] == [len(item.paragraphs) for item in file.documents]
    if name in (*PAIRED_FORMATS, "opus-xml", "text"):
        assert [[unit.source for unit in item.units] for item in found.documents] == translations
    elif name in ("tmx", "xliff"):
        # These keep their existing translation, unless it is to be replaced.
        assert [[unit.target for unit in item.units] for item in found.documents] == translations
        assert all(unit.is_translated for item in found.documents for unit in item.units)


@pytest.mark.parametrize("name", CORPUS_FORMATS)
def test_every_format_is_read_through_gzip(tmp_path, name) -> None:
    paths = written(tmp_path, name)
    plain = list(read_documents(paths, name, "en", "fr"))
    packed = []
    for path in paths:
        packed.append(path.with_name(f"{path.name}.gz"))
        packed[-1].write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    found = list(read_documents(packed, name, "en", "fr"))
    assert [item.source_sentences for item in found] == [item.source_sentences for item in plain]


@pytest.mark.parametrize("name", CORPUS_FORMATS)
@pytest.mark.parametrize("content", [b"", b" \n\n"])
def test_an_empty_file_is_reported(tmp_path, name, content) -> None:
    paths = written(tmp_path, name)
    paths[-1].write_bytes(content)
    with pytest.raises(CorpusError, match=r"empty|different number of lines"):
        list(read_documents(paths, name, "en", "fr"))


@pytest.mark.parametrize("name", CORPUS_FORMATS)
def test_another_encoding_is_reported(tmp_path, name) -> None:
    paths = written(tmp_path, name)
    broken = paths[-1].read_bytes() if name != "opus-xml" else b"<cesAlign><linkGrp fromDoc='en/\xe9'/></cesAlign>"
    paths[-1].write_bytes(broken.replace(b"Un chat", b"Un \xe9l\xe9phant"))
    with pytest.raises(CorpusError, match=r"corpus.*: (not UTF-8|not well-formed XML)"):
        list(read_documents(paths, name, "en", "fr"))


@pytest.mark.parametrize("name", CORPUS_FORMATS)
def test_a_truncated_file_is_refused_or_read_up_to_where_it_ends(tmp_path, name) -> None:
    paths = written(tmp_path, name)
    whole = paths[-1].read_bytes()
    for length in range(1, len(whole), 7):
        paths[-1].write_bytes(whole[:length])
        with contextlib.suppress(CorpusError):
            documents = list(read_documents(paths, name, "en", "fr"))
            # A file that is truncated at the end of a line is shorter, but well-formed.
            assert name in ("json-lines", "id-column", "moses", "srt", "heads", "iwslt")
            assert documents


@pytest.mark.parametrize("name", ["moses", "heads", "iwslt", "srt"])
def test_files_out_of_step_are_refused(tmp_path, name) -> None:
    paths = written(tmp_path, name)
    lines = paths[1].read_text().splitlines(keepends=True)
    paths[1].write_text("".join(lines[:-4] if name == "srt" else lines[:-1]))
    with pytest.raises(CorpusError, match=r"different number of|past the end"):
        list(read_documents(paths, name, "en", "fr"))


@pytest.mark.parametrize("name", CORPUS_FORMATS)
def test_a_file_that_is_not_there_is_named(tmp_path, name) -> None:
    with pytest.raises(FileNotFoundError, match="corpus"):
        list(read_documents(paths_of(tmp_path, name), name, "en", "fr"))


def test_a_whole_malformed_file_can_be_skipped(tmp_path) -> None:
    paths = written(tmp_path, "tmx")
    (tmp_path / "bad.tmx").write_text("<tmx>")
    report = ReadReport()
    documents = list(read_documents([tmp_path / "bad.tmx", *paths], "tmx", "en", "fr", skip_bad=True, report=report))
    assert [item.id for item in documents] == ["one", "two"]
    assert report.counts == {"not well-formed XML": 1}


@pytest.mark.parametrize("name", [*CORPUS_FORMATS, "text"])
def test_formats_are_recognised(tmp_path, name) -> None:
    path = written(tmp_path, name)[0]
    if name == "opus-xml":
        path = tmp_path / "en" / "000001.xml"
    # A text file and one with one sentence per line look the same.
    assert format_of(path) == ("text" if name in ("moses", "heads") else name)


def test_unknown_xml_is_named(tmp_path) -> None:
    (tmp_path / "a.xml").write_text("<html/>")
    with pytest.raises(CorpusError, match=r"a.xml: unknown kind of XML: the root is <html>; known are <dataset>"):
        format_of(tmp_path / "a.xml")


def test_a_root_whose_name_is_none_is_named(tmp_path) -> None:
    path = tmp_path / "a.xml"
    path.write_text("<?xml version='1.0'?>\n<:::dataset/>")
    with pytest.raises(CorpusError, match="unknown kind of XML: the root is <:::dataset>"):
        format_of(path)


@pytest.mark.parametrize("name", ["tmx", "xliff", "wmt-xml", "opus-xml"])
def test_entities_are_not_expanded(tmp_path, name) -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;">]>'
    path = written(tmp_path, name)[0]
    root = path.read_text().partition("?>")[2]
    path.write_text(bomb + root)
    with pytest.raises(CorpusError, match=r"entity declarations: 'a', 'b': they are not expanded"):
        list(read_documents([path], name, "en", "fr"))


@pytest.mark.parametrize("name", ["tmx", "xliff", "wmt-xml", "opus-xml"])
def test_entities_of_a_dtd_are_not_lost_in_silence(tmp_path, name) -> None:
    path = written(tmp_path, name)[0]
    root = path.read_text().partition("?>")[2].replace(">", ">\n&nbsp;", 1)
    path.write_text('<!DOCTYPE x SYSTEM "x.dtd">' + root)
    with pytest.raises(CorpusError, match=r"corpus.*entity of a DTD: &nbsp; is not expanded: write the character"):
        list(read_documents([path], name, "en", "fr"))


@pytest.mark.parametrize("name", ["tmx", "xliff", "wmt-xml", "opus-xml"])
def test_another_root_is_named(tmp_path, name) -> None:
    path = tmp_path / "a.xml"
    path.write_text("<html/>")
    with pytest.raises(CorpusError, match=r"a.xml:1: .*the root is <html>"):
        list(read_documents([path], name, "en", "fr"))


def test_wrong_numbers_of_paths_are_refused(tmp_path) -> None:
    with pytest.raises(ValueError, match=r"srt takes 2 path\(s\), got 1"):
        write_documents([tmp_path / "a"], "srt", DOCUMENTS[:1], "en", "fr")
    with pytest.raises(ValueError, match="iwslt files come in pairs"):
        list(read_documents([tmp_path / "a"], "iwslt", "en", "fr"))
    with pytest.raises(ValueError, match="format must be one of"):
        write_documents([tmp_path / "a"], "docx", DOCUMENTS, "en", "fr")
