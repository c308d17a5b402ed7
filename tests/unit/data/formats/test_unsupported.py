# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Files that are not certainly plain text are not translated as plain text."""

import gzip

import pytest

from hier_nmt.data.corpus_files import CorpusError
from hier_nmt.data.formats.registry import format_of


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("a.mo", r"a compiled gettext catalogue \(.mo\)"),
        ("a.en.XLSB", "spreadsheet"),
        ("a.sgm", "SGML"), ("a.resx", "message file of a program"), ("a.tex", "TeX"), ("a.doc", "word"),
        ("a.csv", "a table with commas"), ("a.rst", "markup of its own"), ("a.ts", "message file"), ("a.mo.gz", ".mo"),
        ("a.unheard", r"\.unheard is unknown"), ("a.b_c", r"\.b_c is unknown"),
    ],
)  # fmt: skip
def test_files_of_other_formats_are_refused_by_name(tmp_path, name, what) -> None:
    content = b"Hello there.\n"
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    with pytest.raises(CorpusError, match=f"unsupported format: .*{what}.*--format text"):
        format_of(tmp_path / name)


@pytest.mark.parametrize(
    "content",
    [
        b"PK\x03\x04",
        b"{\\rtf1 Hi}", b"\\documentclass{article}\n", b'msgid ""\nmsgstr ""\n',
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["a", "a.txt", "a.en"])
def test_files_of_other_formats_are_refused_whatever_their_name(tmp_path, name, content) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CorpusError, match="unsupported format"):
        format_of(tmp_path / name)


@pytest.mark.parametrize("content", ["<!DOCTYPE html>\n<p>a", "\n<HTML lang=en><p>a"])
def test_a_page_with_another_name_says_which_format_to_give(tmp_path, content) -> None:
    (tmp_path / "page").write_text(content)
    with pytest.raises(CorpusError, match="it is HTML: give --format html"):
        format_of(tmp_path / "page")


@pytest.mark.parametrize(
    "content", ["1\n00:00:01,000 --> 00:00:02,000\nA.\n", "\ufeff12 \r\n0:00:01.000 --> 0:00:02.000\r\n"]
)
def test_subtitles_are_known_by_their_first_lines(tmp_path, content) -> None:
    (tmp_path / "a.txt").write_text(content)
    assert format_of(tmp_path / "a.txt") == "srt"


@pytest.mark.parametrize(
    "name",
    [
        "a", "a.txt", "a.TXT", "corpus.en", "corpus.de", "corpus.en-fr", "corpus.pt_BR", "a.txt.gz", ".hidden",
        "notes.2024",
        "Chapter 1. The beginning", "report.v2 (final)", "train.tags.en-fr.en", "test.ref",
    ],
)  # fmt: skip
def test_plain_text_is_known_by_its_name(tmp_path, name) -> None:
    content = b"Hello there.\n"
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    assert format_of(tmp_path / name) == "text"
