# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Messages of programs for macOS and iOS (.strings): "key" = "value"; keys, order and comments stay.

Files are in UTF-8, or in UTF-16 with a byte order mark, as older tools write them; a translation is in the same.
"""

import codecs
import re
from collections.abc import Sequence
from pathlib import Path

from ..corpus_files import CorpusError
from ..text_files import decode_text
from .string_table import Change, StringSlot, StringTableFile

_GAP = r"(?:\s|/\*(?:(?!\*/)[\s\S])*\*/|//[^\r\n]*)*"
_STRING = r'"(?:[^"\\]|\\[\s\S])*"|[\w.$/:-]+'
_ENTRY = re.compile(rf"{_GAP}(?:{_STRING}){_GAP}(?:={_GAP}(?P<value>{_STRING}){_GAP})?;")
_REST = re.compile(rf"{_GAP}\Z")
_ESCAPE = re.compile(r"\\(?:[Uu]([0-9A-Fa-f]{4})|([0-7]{1,3})|([\s\S]))")
_SIGNS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "a": "\a", "b": "\b", "v": "\v"}
_UTF_16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_WRITTEN = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


class AppleStringsFile(StringTableFile):
    """A table of messages in a strings file."""

    @staticmethod
    def _decoded(content: bytes, path: str | Path) -> str:
        if content.startswith(b"bplist00"):
            raise CorpusError(path, None, "compiled strings file", "translate the one that it was made of")
        encoding = _UTF_16.get(content[:2])
        try:
            return decode_text(content, path) if encoding is None else content[2:].decode(encoding)
        except UnicodeDecodeError as error:
            raise CorpusError(path, None, "not UTF-16 as its first bytes say", f"{error}") from error

    def _find(
        self, path: Path, text: str, source_language: str, target_language: str
    ) -> tuple[Sequence[StringSlot], Sequence[Change]]:
        slots, position = [], 0
        while (entry := _ENTRY.match(text, position)) is not None:
            position = entry.end()
            if entry["value"] is not None:
                slots.append(StringSlot(*entry.span("value"), _read(entry["value"]), _written))
        if _REST.match(text, position) is None:
            start = position + len(text[position:]) - len(text[position:].lstrip())
            detail = f'{text[start : start + 60]!r} is not an entry "key" = "value";'
            raise CorpusError(path, 1 + text.count("\n", 0, start), "not a strings file", detail)
        return slots, []

    def _encoded(self, text: str) -> bytes:
        mark = self.original[:2]
        return mark + text.encode(_UTF_16[mark], "replace") if mark in _UTF_16 else super()._encoded(text)


def _read(written: str) -> str:
    """The value that is written so."""
    if not written.startswith('"'):
        return written
    found = _ESCAPE.sub(_sign, written[1:-1])
    return found.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _sign(escape: re.Match[str]) -> str:
    if escape[1] is not None:
        return chr(int(escape[1], 16))
    return chr(int(escape[2], 8)) if escape[2] is not None else _SIGNS.get(escape[3], escape[3])


def _written(value: str) -> str:
    """How a value is written."""
    return '"' + "".join(_WRITTEN.get(sign, sign) for sign in value) + '"'
