# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Plain text whose paragraphs are wrapped at some width, as in mail and in many old text files."""

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..corpus_files import read_bytes
from ..documents import ParallelDocument
from ..text_files import decode_text
from .document_file import DocumentFile, Translations, Unit, UnitDocument

# Text before that of a line: white space, and the marks of quoted mail.
_MARGIN = re.compile(r"[ \t]*(?:>[ \t]?)*[ \t]*")
_LIST_MARK = re.compile(r"(?:[-*+•]|\(?(?:\d{1,3}|[A-Za-z])[.)])[ \t]+")


@dataclass(frozen=True)
class _Block:
    """Lines [start, stop) that form one text, the margin of its first line, and that of further lines."""

    start: int
    stop: int
    text: str
    first_margin: str
    margin: str


class WrappedTextFile(DocumentFile):
    """A text whose lines are joined into paragraphs for translation, and wrapped again at the width of the longest
    line.

    A paragraph ends at a blank line, before the mark of a list item, and where the margin changes after its second
    line. A word that was hyphenated at the end of a line stays hyphenated.
    """

    def __init__(self, path: Path | None, text: str) -> None:
        self._newline = "\r\n" if "\r\n" in text else "\n"
        self._lines = text.replace("\r\n", "\n").split("\n")
        self._blocks = list(_blocks(self._lines))
        self._width = max(map(len, self._lines))
        paragraphs = tuple((Unit(block.text, None, block.start + 1),) for block in self._blocks)
        super().__init__(path, [UnitDocument(path.name if path else "text", paragraphs)] if paragraphs else [])

    @classmethod
    def read(cls, path: str | Path, source_language: str, target_language: str) -> "WrappedTextFile":
        content = read_bytes(path)
        file = cls(Path(path), decode_text(content, path))
        file.original = content
        return file

    @classmethod
    def new(
        cls, documents: Sequence[ParallelDocument], source_language: str, target_language: str
    ) -> "WrappedTextFile":
        """One document, one line per paragraph."""
        if len(documents) != 1:
            raise ValueError(f"a text file has one document, got {len(documents)}")
        return cls(None, "\n".join(f"{' '.join(sentences)}\n" for sentences in documents[0].source_paragraphs))

    def translated(self, translations: Translations) -> bytes:
        lines: list[str] = []
        position = 0
        for block, text in zip(self._blocks, translations[0] if translations else [], strict=True):
            lines += [*self._lines[position : block.start], *self._wrapped(block, text)]
            position = block.stop
        return self._encoded(self._newline.join([*lines, *self._lines[position:]]))

    def _wrapped(self, block: _Block, text: str) -> list[str]:
        return textwrap.wrap(
            text,
            max(self._width, len(block.first_margin) + 1, len(block.margin) + 1),
            initial_indent=block.first_margin,
            subsequent_indent=block.margin,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [block.first_margin]


def _blocks(lines: Sequence[str]) -> Iterator[_Block]:
    start = 0
    for stop in range(1, len(lines) + 1):
        if stop == len(lines) or _starts_paragraph(lines, start, stop):
            block = _block(lines, start, stop)
            if block.text:
                yield block
            start = stop


def _starts_paragraph(lines: Sequence[str], start: int, index: int) -> bool:
    """Whether the line at `index` starts a new paragraph after the lines from `start` on."""
    margin, text = _parts(lines[index])
    before, text_before = _parts(lines[index - 1])
    if not text or not text_before or _LIST_MARK.match(text) or margin.count(">") != before.count(">"):
        return True
    return index - start > 1 and margin != before


def _block(lines: Sequence[str], start: int, stop: int) -> _Block:
    parts = [_parts(line) for line in lines[start:stop]]
    margin, first = parts[0]
    mark = _LIST_MARK.match(first)
    first_margin = margin + (mark[0] if mark else "")
    texts = [first[mark.end() :] if mark else first, *(text for _, text in parts[1:])]
    further = parts[1][0] if len(parts) > 1 else margin + " " * (len(first_margin) - len(margin))
    return _Block(start, stop, " ".join(texts).strip(), first_margin, further)


def _parts(line: str) -> tuple[str, str]:
    """The margin of a line, and its text."""
    margin = _MARGIN.match(line)
    assert margin is not None
    return margin[0], line[margin.end() :].rstrip()
