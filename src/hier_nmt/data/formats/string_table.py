# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables of a program's messages: keys with strings, of which only the strings change."""

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Self

from ..corpus_files import read_bytes
from ..text_files import decode_text
from .document_file import DocumentFile, Translations, Unit, UnitDocument
from .xml_files import names_source, same_language


class StringSlot(NamedTuple):
    """A string at [start, stop) of a file, and how another one is written there."""

    start: int
    stop: int
    text: str
    write: Callable[[str], str]


class Change(NamedTuple):
    """Something else than a message that is replaced: [start, stop) of the file, and what it becomes."""

    start: int
    stop: int
    text: str


class StringTableFile(DocumentFile):
    """A file of messages: one document, each message a paragraph.

    Args:
        path: where it was read.
        text: its content.
        source_language, target_language: ISO 639 codes.
    """

    def __init__(self, path: Path, text: str, source_language: str, target_language: str) -> None:
        self._text = text
        slots, self._changes = self._find(path, text, source_language, target_language)
        self._slots = [slot for slot in slots if slot.text.strip()]
        paragraphs = tuple((Unit(slot.text),) for slot in self._slots)
        super().__init__(path, [UnitDocument(path.name, paragraphs)] if paragraphs else [])

    @classmethod
    def read(cls, path: str | Path, source_language: str, target_language: str) -> Self:
        content = read_bytes(path)
        file = cls(Path(path), cls._decoded(content, path), source_language, target_language)
        file.original = content
        return file

    @staticmethod
    def _decoded(content: bytes, path: str | Path) -> str:
        """The text of a file."""
        return decode_text(content, path)

    def translated(self, translations: Translations) -> bytes:
        changes = list(self._changes)
        for slot, text in zip(self._slots, translations[0], strict=True):
            if text != slot.text:
                changes.append(Change(slot.start, slot.stop, slot.write(text)))
        parts, position = [], 0
        for change in sorted(changes):
            parts += [self._text[position : change.start], change.text]
            position = change.stop
        return self._encoded("".join([*parts, self._text[position:]]))

    @abstractmethod
    def _find(
        self, path: Path, text: str, source_language: str, target_language: str
    ) -> tuple[Sequence[StringSlot], Sequence[Change]]:
        """The messages in a text, in order, and what else changes: names of the language.

        Raises:
            CorpusError: the file is malformed.
        """


# Keys at the top of a table whose value is its language.
LANGUAGE_KEYS = ("@@locale", "locale", "lang", "language")
# Keys of lists of names that a program knows: Rails' order of a date, and the plural forms of a language.
_LISTS_OF_NAMES = (("date", "order"), ("plural", "keys"))
# Keys of a message among others that describe it.
_MESSAGE_KEYS = ("message", "defaultMessage")


def is_message(path: tuple[str | int, ...], keys: Mapping[tuple[str | int, ...], Collection[str | int]]) -> bool:
    """Whether the string at a path is a message, and not a description of one or a name.

    Descriptions are what a key that begins with "@" leads to (application resource bundles), and what is beside a
    string with the key "message" (browser extensions) or "defaultMessage" (FormatJS). Names are lists that Rails reads.

    Args:
        path: the keys and indices that lead to the string.
        keys: for the path of each mapping its keys with strings.
    """
    if path[-3:-1] in _LISTS_OF_NAMES and isinstance(path[-1], int):
        return False
    for index, key in enumerate(path):
        if isinstance(key, str) and key.startswith("@"):
            return False
        found = {one for one in _MESSAGE_KEYS if one in keys.get(path[:index], ())}
        if found and key not in found:
            return False
    return True


def translated_language(value: str, source_language: str, target_language: str) -> str | None:
    """What a table names as its language after translation; None if the value names neither of these languages."""
    if names_source(value, source_language, target_language):
        return target_language
    return value if same_language(value, target_language) else None
