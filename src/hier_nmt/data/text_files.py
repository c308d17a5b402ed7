# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Whole text files: decoding with errors that name the position, and atomic writing."""

import codecs
import gzip
import io
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from .corpus_files import CorpusError

_OTHER_ENCODINGS = {codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16"}


def read_text(path: str | Path) -> str:
    """The text of a UTF-8 file with its original line ends, without byte order marks at its start.

    Raises:
        CorpusError: the file is not UTF-8.
        OSError: the file cannot be read.
    """
    return decode_text(Path(path).read_bytes(), path)


def decode_text(content: bytes, path: str | Path) -> str:
    """The text of the content of a file; `path` names it in errors, see `read_text`."""
    for mark, encoding in _OTHER_ENCODINGS.items():
        if content.startswith(mark):
            detail = f"it is {encoding}: convert it with iconv -f {encoding} -t UTF-8"
            raise CorpusError(path, None, "not UTF-8", detail)
    if (nul := content.find(b"\0")) >= 0:
        raise CorpusError(path, content.count(b"\n", 0, nul) + 1, "not text", f"byte {nul} of the file is NUL")
    try:
        return content.decode("utf-8").lstrip("\ufeff")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        detail = f"byte {error.start} of the file (0x{content[error.start]:02x}): {error.reason}"
        hint = "if it is Latin-1, convert it with iconv -f LATIN1 -t UTF-8"
        raise CorpusError(path, line, "not UTF-8", f"{detail}; {hint}") from error


def lines_of(text: str) -> tuple[list[str], str]:
    """The lines of a text and their line end: "\\n", "\\r\\n", or in a text without either "\\r"."""
    if "\n" not in text and "\r" in text:
        return text.split("\r"), "\r"
    return [line.removesuffix("\r") for line in text.split("\n")], "\r\n" if "\r\n" in text else "\n"


def byte_order_mark(content: bytes) -> bytes:
    """The UTF-8 byte order mark at the start of the content of a file, or nothing."""
    return codecs.BOM_UTF8 if content.startswith(codecs.BOM_UTF8) else b""


def check_writable(path: str | Path) -> None:
    """Creates the folder of a file that is written later; OSError if the file could not be written there."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, so no file can be written there")
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"{path} cannot be written: its folder is read-only")


def escape_unknown_characters() -> None:
    """Makes `print` escape characters that the terminal's encoding lacks ("\\xe9") instead of raising an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def locked(path: str | Path) -> Iterator[None]:
    """Locks a file against other processes, by a hidden file beside it.

    Raises:
        BlockingIOError: another process has locked it.
    """
    path = Path(path)
    place = path.with_name(f".{path.name}.lock")
    lock = FileLock(place)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise BlockingIOError(f"{path} is being written by another process: wait, or choose another file") from None
    try:
        yield
    finally:
        # Removed while it is still locked, so that whoever waits for it notices. Windows removes it itself.
        with suppress(PermissionError):
            place.unlink(missing_ok=True)
        lock.release()


@contextmanager
def new_folder(path: str | Path) -> Iterator[Path]:
    """A folder to write files into, which appears under its own name when it is complete.

    Raises:
        ValueError: there is something of that name that is no empty folder.
    """
    path = Path(path)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise ValueError(f"{path} is not empty; choose another folder")
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}-") as folder:
        yield Path(folder)
        if path.exists():
            path.rmdir()
        os.chmod(folder, 0o755)
        os.rename(folder, path)
        # What the context manager removes at its end.
        os.mkdir(folder)


def write_text(path: str | Path, text: str) -> None:
    """Writes a UTF-8 file atomically."""
    write_bytes(path, text.encode("utf-8", "replace"))


def write_bytes(path: str | Path, content: bytes) -> None:
    """Writes a file atomically, through gzip if its name ends in ".gz"."""
    path = Path(path)
    if path.suffix == ".gz":
        content = gzip.compress(content, mtime=0)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(content)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
