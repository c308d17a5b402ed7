# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Messages of Java programs (.properties; java.util.Properties): keys, order, comments and layout stay."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..corpus_files import CorpusError
from .string_table import Change, StringSlot, StringTableFile

_CONTINUATION = r"\\(?:\r\n|\n|\r)"
_LINE = re.compile(
    r"(?P<nothing>[ \t\f]*(?:[#!][^\r\n]*)?(?:\r\n|\n|\r|\Z))"
    r"|[ \t\f]*(?:\\(?:\r\n|[\s\S])|[^\\:= \t\f\r\n])*"
    rf"(?:[ \t\f]|{_CONTINUATION})*(?:[:=](?:[ \t\f]|{_CONTINUATION})*)?"
    r"(?P<value>(?:\\(?:\r\n|[\s\S])|[^\\\r\n])*\\?)(?:\r\n|\n|\r|\Z)"
)
_CONTINUED = re.compile(rf"{_CONTINUATION}[ \t\f]*")
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|([\s\S])|\Z)")
_SIGNS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_WRITTEN = {"\\": "\\\\", **{sign: f"\\{letter}" for letter, sign in _SIGNS.items()}}
# An argument of java.text.MessageFormat, in whose patterns an apostrophe is written twice.
_ARGUMENT = re.compile(r"\{\d+(?:,[^{}]*)?\}")
_LONE_APOSTROPHE = re.compile("(?<!')'(?!')")


class PropertiesFile(StringTableFile):
    """A table of messages in a properties file."""

    def _find(
        self, path: Path, text: str, source_language: str, target_language: str
    ) -> tuple[Sequence[StringSlot], Sequence[Change]]:
        values = list(_values(path, text))
        patterns = [value for _, _, value in values if _ARGUMENT.search(value)]
        doubles = not any(_LONE_APOSTROPHE.search(one) for one in patterns)
        # A program that reads files in Latin-1 reads one in ASCII, too.
        is_ascii = text.isascii()

        def write(value: str) -> str:
            return written_value(value, is_ascii)

        def write_pattern(value: str) -> str:
            return write(value.replace("'", "''"))

        slots = []
        for start, stop, value in values:
            is_pattern = doubles and _ARGUMENT.search(value)
            shown = value.replace("''", "'") if is_pattern else value
            slots.append(StringSlot(start, stop, shown, write_pattern if is_pattern else write))
        return slots, []


def _values(path: Path, text: str) -> Iterator[tuple[int, int, str]]:
    """The place of each value in the text, and the value."""
    position = 0
    while position < len(text):
        line = _LINE.match(text, position)
        # Any line is one or the other.
        assert line is not None
        if line["nothing"] is None:
            try:
                yield *line.span("value"), read_value(line["value"])
            except ValueError as error:
                number = 1 + text.count("\n", 0, line.start("value"))
                raise CorpusError(path, number, "bad escape", str(error)) from None
        position = line.end()


def read_value(written: str) -> str:
    """The value that is written so; ValueError for an escape that is none."""

    def sign(match: re.Match[str]) -> str:
        if match[1] is not None:
            return chr(int(match[1], 16))
        if match[2] == "u":
            raise ValueError(f"{written[match.start() : match.start() + 6]!r}: four hexadecimal digits follow \\u")
        return _SIGNS.get(match[2], match[2] or "")

    found = _ESCAPE.sub(sign, _CONTINUED.sub("", written))
    # A character beyond the first 65,536 is written as two.
    return found.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def written_value(value: str, is_ascii: bool) -> str:
    """How a value is written, with escapes for other characters than ASCII or without."""
    written = "".join(_WRITTEN.get(sign, sign) for sign in value)
    if written.startswith(" "):
        written = f"\\{written}"
    if not is_ascii:
        return written
    units = written.encode("utf-16-be", "replace")
    codes = (int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2))
    return "".join(chr(code) if code < 128 else f"\\u{code:04x}" for code in codes)
