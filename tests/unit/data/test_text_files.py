# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import gzip
import io
import multiprocessing
import os
from pathlib import Path
from typing import Any

import pytest

from hier_nmt.data.corpus_files import CorpusError, is_pipe, read_bytes
from hier_nmt.data.text_files import escape_unknown_characters, locked, read_text, write_text


def test_text_comes_back_exactly(tmp_path) -> None:
    text = "Élève\r\n\u00a0\u2028 fin"
    write_text(tmp_path / "new" / "a.txt", text)
    assert read_text(tmp_path / "new" / "a.txt") == text
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["a.txt"]


def test_a_byte_order_mark_is_not_text(tmp_path) -> None:
    (tmp_path / "a.txt").write_bytes(2 * b"\xef\xbb\xbf" + b"abc")
    assert read_text(tmp_path / "a.txt") == "abc"


def test_the_byte_is_counted_from_the_start_of_the_file(tmp_path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfab\xff")
    with pytest.raises(CorpusError, match=r"a.txt:1: not UTF-8: byte 5 of the file \(0xff\)"):
        read_text(tmp_path / "a.txt")


def test_a_binary_file_is_not_text(tmp_path) -> None:
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


def test_what_is_named_gz_is_compressed(tmp_path) -> None:
    write_text(tmp_path / "a.txt.gz", "Élève")
    assert gzip.decompress((tmp_path / "a.txt.gz").read_bytes()).decode() == "Élève"


def _hold(path: Path, is_held: Any, may_end: Any) -> None:
    with locked(path):
        is_held.set()
        may_end.wait(60)


def test_a_file_that_another_process_writes_is_locked_until_it_ends(tmp_path) -> None:
    path = tmp_path / "a.txt"
    fork = multiprocessing.get_context("fork")
    is_held, may_end = fork.Event(), fork.Event()
    other = fork.Process(target=_hold, args=(path, is_held, may_end))
    other.start()
    assert is_held.wait(60)
    with pytest.raises(BlockingIOError, match=r"a.txt is being written by another process"), locked(path):
        pass
    with locked(tmp_path / "b.txt"):
        pass
    may_end.set()
    other.join()
    with locked(path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_the_lock_of_a_process_that_was_killed_is_free(tmp_path) -> None:
    path = tmp_path / "a.txt"
    fork = multiprocessing.get_context("fork")
    is_held, may_end = fork.Event(), fork.Event()
    other = fork.Process(target=_hold, args=(path, is_held, may_end))
    other.start()
    assert is_held.wait(60)
    other.kill()
    other.join()
    with locked(path):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_lock_is_released_after_an_error(tmp_path, error) -> None:
    with pytest.raises(error), locked(tmp_path / "a.txt"):
        raise error
    with locked(tmp_path / "a.txt"):
        pass


def test_what_comes_through_a_pipe_can_be_read_again(tmp_path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    fork = multiprocessing.get_context("fork")
    writer = fork.Process(target=path.write_bytes, args=(b"abc",))
    writer.start()
    assert [read_bytes(path), read_bytes(path)] == [b"abc", b"abc"]
    writer.join()
    assert is_pipe(path)
    assert not is_pipe(tmp_path)
    assert not is_pipe(tmp_path / "absent")


def test_what_a_terminal_lacks_is_shown_as_an_escape(monkeypatch) -> None:
    shown = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(shown, encoding="ascii"))
    escape_unknown_characters()
    print("\u00e9 \u00b1 a", flush=True)
    assert shown.getvalue() == b"\\xe9 \\xb1 a\n"
