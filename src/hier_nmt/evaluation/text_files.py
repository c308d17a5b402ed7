# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Whole text files: read with errors that say where they are wrong, written completely or not at all."""

import codecs
import os
from pathlib import Path

_OTHER_ENCODINGS = {codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16"}


class EncodingError(ValueError):
    """A file that is not UTF-8; the message names file and byte."""


def read_text(path: str | Path) -> str:
    """The text of a UTF-8 file, line ends as they are; a byte order mark in front is left out.

    Raises:
        EncodingError: the file is not UTF-8.
        OSError: the file cannot be read.
    """
    content = Path(path).read_bytes()
    for mark, encoding in _OTHER_ENCODINGS.items():
        if content.startswith(mark):
            raise EncodingError(f"{path} is {encoding}, not UTF-8: convert it with iconv -f {encoding} -t UTF-8")
    try:
        return content.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise EncodingError(
            f"{path} is not UTF-8: byte {error.start} (0x{content[error.start]:02x}, line {line}): {error.reason}; "
            f"if it is Latin-1, convert it with iconv -f LATIN1 -t UTF-8"
        ) from error


def write_text(path: str | Path, text: str) -> None:
    """Writes a UTF-8 file, which at no time is there half."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(text.encode("utf-8", "replace"))
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
