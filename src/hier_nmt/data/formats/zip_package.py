# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Documents that are zip archives of members, as office programs and publishers write them."""

import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..corpus_files import CorpusError, read_bytes
from .xml_files import parse_xml_content

# What a package may expand to, all members together, and a member that is parsed. The text of a long book has a few MB.
MAX_PACKAGE_BYTES = 1 << 30
MAX_PARSED_BYTES = 1 << 26
MAX_MEMBERS = 1 << 16
# Of a package that expands to more than `_SMALL_BYTES`. XML of spreadsheets reaches a ratio of a hundred.
MAX_RATIO = 250
_SMALL_BYTES = 1 << 24
_BROKEN = (
    zipfile.BadZipFile, RuntimeError, EOFError, OSError, ValueError, struct.error, zlib.error, lzma.LZMAError,
    NotImplementedError, IndexError,
)  # fmt: skip


class ZipPackage:
    """The members of a zip archive in memory.

    Args:
        path: the file.

    Raises:
        CorpusError: it is no archive, is broken or encrypted, or expands to more than the limits.
        OSError: it cannot be read.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.original = read_bytes(path)
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(self.original))
            self._members = self._archive.infolist()
        except _BROKEN as error:
            raise CorpusError(path, None, "broken zip archive", str(error)) from error
        self._check_sizes()
        # A broken member would otherwise be noticed after the translation, when everything is written.
        for member in self._members:
            self._content(member)

    def _check_sizes(self) -> None:
        total = sum(member.file_size for member in self._members)
        ratio = total / max(1, len(self.original))
        if (
            total > MAX_PACKAGE_BYTES
            or (total > _SMALL_BYTES and ratio > MAX_RATIO)
            or len(self._members) > MAX_MEMBERS
        ):
            detail = f"{len(self.original)} bytes expand to {total} in {len(self._members)} members"
            raise CorpusError(self.path, None, "archive expands too far", detail)

    @property
    def names(self) -> list[str]:
        """The names of the members, in order."""
        return [member.filename for member in self._members]

    def read(self, name: str) -> bytes:
        """The content of a member.

        Raises:
            CorpusError: there is no such member, or it is broken.
        """
        member = next((one for one in reversed(self._members) if one.filename == name), None)
        if member is None:
            raise CorpusError(self.path, None, "missing member", f"{name} is not in the archive")
        return self._content(member)

    def parse(self, name: str) -> Any:
        """The element tree of a member, see `parse_xml_content`."""
        return parse_xml_content(self.read_limited(name), self.location(name))

    def read_limited(self, name: str) -> bytes:
        """The content of a member that is to be parsed.

        Raises:
            CorpusError: it is too long, broken or not there.
        """
        content = self.read(name)
        if len(content) > MAX_PARSED_BYTES:
            raise CorpusError(self.location(name), None, "text too long", f"{len(content)} bytes")
        if not content.strip():
            raise CorpusError(self.location(name), None, "empty file")
        return content

    def location(self, name: str) -> str:
        """A member as errors name it."""
        return f"{self.path}!{name}"

    def replaced(self, contents: Mapping[str, bytes]) -> bytes:
        """The archive with other contents of some members; every other member, and their order, stay as they are."""
        written = io.BytesIO()
        with zipfile.ZipFile(written, "w") as archive:
            archive.comment = self._archive.comment
            for member in self._members:
                content = contents.get(member.filename)
                archive.writestr(_header_of(member), self._content(member) if content is None else content)
        return written.getvalue()

    def _content(self, member: zipfile.ZipInfo) -> bytes:
        try:
            return self._archive.read(member)
        except _BROKEN as error:
            raise CorpusError(self.path, None, "broken zip archive", f"{member.filename}: {error}") from error


def _header_of(member: zipfile.ZipInfo) -> zipfile.ZipInfo:
    """A header like that of the member: its name, date, compression and attributes."""
    header = zipfile.ZipInfo(member.filename, member.date_time)
    is_writable = member.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    header.compress_type = member.compress_type if is_writable else zipfile.ZIP_DEFLATED
    header.external_attr, header.internal_attr = member.external_attr, member.internal_attr
    header.create_system, header.comment = member.create_system, member.comment
    return header
