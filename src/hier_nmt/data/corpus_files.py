# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Corpus files as bytes or lines, and the error for malformed ones.

Lines end at "\\n" (or "\\r\\n") only: sentences may contain other line separators of Unicode. Files whose name ends in
".gz" are read through gzip.
"""

import gzip
import json
import sys
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

MAX_DETAIL = 1000
STANDARD_INPUT = Path("/dev/stdin")


class CorpusError(ValueError):
    """A corpus that cannot be read; the message is "file:line: reason", with lines counted from 1.

    `kind` is the general reason, by which `ReadReport` counts.
    """

    def __init__(self, file: str | Path, line: int | None, kind: str, detail: str = "") -> None:
        # The detail may quote the file, whose lines can be arbitrarily long.
        detail = detail if len(detail) <= MAX_DETAIL else f"{detail[:MAX_DETAIL]}..."
        self.file, self.line, self.kind, self.detail = str(file), line, kind, detail
        location = self.file if line is None else f"{self.file}:{line}"
        super().__init__(f"{location}: {kind}" + (f": {detail}" if detail else ""))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.file, self.line, self.kind, self.detail)


def read_bytes(path: str | Path) -> bytes:
    """The content of a file. That of a pipe, which can be read only once, is kept for later calls.

    Raises:
        CorpusError: an empty file, or broken compression.
        OSError: the file cannot be read.
    """
    path = Path(path)
    try:
        content = _from_pipe(path) if is_pipe(path) else path.read_bytes()
        if path.suffix == ".gz":
            content = gzip.decompress(content)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise CorpusError(path, None, "broken gzip file", str(error)) from error
    if not content.strip():
        raise CorpusError(path, None, "empty file")
    return content


def is_pipe(path: str | Path) -> bool:
    """Whether a path is a pipe, a terminal or similar, which can be read only once."""
    path = Path(path)
    return path == STANDARD_INPUT or path.is_fifo() or path.is_char_device() or path.is_socket()


@cache
def _from_pipe(path: Path) -> bytes:
    return sys.stdin.buffer.read() if path == STANDARD_INPUT else path.read_bytes()


def read_lines(path: str | Path) -> Iterator[tuple[int, str | CorpusError]]:
    """(line number, line without its end) of a file; for a line that is not UTF-8 the error takes its place."""
    path = Path(path)
    line = 0
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            for line, content in enumerate(file, start=1):
                yield line, _decode(path, line, content)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise CorpusError(path, line + 1, "broken gzip file", str(error)) from error


def parse_json(path: str | Path, line: int | None, text: str) -> Any:
    """The value of a JSON text; `line` is its line in the file, None if it is the whole file.

    Raises:
        CorpusError: invalid JSON, or JSON that Python would not read without loss: a duplicate key, an unpaired
            surrogate, or nesting or numbers beyond its limits.
    """
    try:
        content = json.loads(text, object_pairs_hook=_object_without_duplicates)
        if "\\u" in text:
            json.dumps(content, ensure_ascii=False).encode("utf-8")
    except json.JSONDecodeError as error:
        location = error.lineno if line is None else line
        raise CorpusError(path, location, "not JSON", f"{error.msg} at column {error.colno}") from error
    except UnicodeEncodeError as error:
        detail = f"\\u{ord(error.object[error.start]):04x} has no other half"
        raise CorpusError(path, line, "unpaired surrogate", detail) from error
    except (RecursionError, ValueError) as error:
        raise CorpusError(path, line, "unreadable JSON", str(error)) from error
    return content


def _object_without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} occurs twice")
    return content


def _decode(path: Path, line: int, content: bytes) -> str | CorpusError:
    content = content.removesuffix(b"\n").removesuffix(b"\r")
    if line == 1:
        content = content.removeprefix(b"\xef\xbb\xbf")
    if b"\0" in content:
        return CorpusError(path, line, "not text", f"byte {content.index(0)} of the line is NUL")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        return CorpusError(path, line, "not UTF-8", f"{error.reason} at byte {error.start} of the line")
