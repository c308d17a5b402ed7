# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import pytest

from hier_nmt.data.corpus_files import CorpusError
from hier_nmt.data.text_files import read_text, write_text


def test_text_comes_back_exactly(tmp_path) -> None:
    text = "Élève\r\n\u00a0\u2028 fin"
    write_text(tmp_path / "new" / "a.txt", text)
    assert read_text(tmp_path / "new" / "a.txt") == text
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["a.txt"]


def test_a_byte_order_mark_is_no_text(tmp_path) -> None:
    (tmp_path / "a.txt").write_bytes(2 * b"\xef\xbb\xbf" + b"abc")
    assert read_text(tmp_path / "a.txt") == "abc"


def test_the_byte_is_counted_from_the_start_of_the_file(tmp_path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfab\xff")
    with pytest.raises(CorpusError, match=r"a.txt:1: not UTF-8: byte 5 of the file \(0xff\)"):
        read_text(tmp_path / "a.txt")


def test_a_binary_file_is_no_text(tmp_path) -> None:
    (tmp_path / "a.txt").write_bytes(b"a\nb\0")
    with pytest.raises(CorpusError, match=r"a.txt:2: not text: byte 3 of the file is NUL"):
        read_text(tmp_path / "a.txt")


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch) -> None:
    write_text(tmp_path / "a.txt", "old")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_text(tmp_path / "a.txt", "new")
    assert read_text(tmp_path / "a.txt") == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
