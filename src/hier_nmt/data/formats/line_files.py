# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Files with one text per line: plain text, Moses, documents marked by a `.heads` file, an id column or IWSLT's tags.

Lines end at "\\n" (or "\\r\\n") only.
"""

import re
from abc import abstractmethod
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Self

from ..corpus_files import CorpusError, read_bytes
from ..documents import ParallelDocument
from ..text_files import decode_text
from .document_file import CorpusFile, Translations, Unit, UnitDocument

DOCUMENT_MARK = "<d>"


@dataclass(frozen=True)
class Line:
    """A line with a text, and its index in the file."""

    index: int
    text: str
    target: str | None = None


class LineFile(CorpusFile):
    """A file whose texts are lines; subclasses decide which lines, and how they form documents."""

    def __init__(self, path: Path | None, text: str) -> None:
        lines = text.split("\n")
        # What follows the last newline is a line only if it is not empty.
        self._end = "\n" if lines[-1] == "" else ""
        self._lines = lines[: len(lines) - len(self._end)]
        self._path = path
        documents = list(self._documents())
        self._indices = [[line.index for group in groups for line in group] for _, groups in documents]
        super().__init__(path, [UnitDocument(name, _units(groups)) for name, groups in documents])

    @classmethod
    def read(cls, path: str | Path, source_language: str, target_language: str) -> Self:
        content = read_bytes(path)
        file = cls._of(Path(path), decode_text(content, path), source_language, target_language)
        file.original = content
        return file

    @classmethod
    def _of(cls, path: Path, text: str, source_language: str, target_language: str) -> Self:
        return cls(path, text)

    @abstractmethod
    def _documents(self) -> Iterator[tuple[str, list[list[Line]]]]:
        """(id, paragraphs of lines) of each document."""

    def translated(self, translations: Translations) -> bytes:
        lines = list(self._lines)
        for indices, texts in zip(self._indices, translations, strict=True):
            for index, text in zip(indices, texts, strict=True):
                lines[index] = self._translated_line(lines[index], text.replace("\n", " "))
        return self._encoded("\n".join(lines) + self._end)

    def _translated_line(self, line: str, translation: str) -> str:
        """The line with its text replaced by the translation."""
        start = len(line) - len(line.lstrip())
        return f"{line[:start]}{translation}{line[len(line.rstrip()) :]}"

    def _name(self, index: int) -> str:
        return f"{self._path.name if self._path else 'text'}:{index + 1}"

    def _texts(self, start: int, stop: int) -> list[Line]:
        lines = enumerate(self._lines[start:stop], start=start)
        return [Line(index, line.strip()) for index, line in lines if line.strip()]


def _units(groups: Sequence[Sequence[Line]]) -> tuple[tuple[Unit, ...], ...]:
    return tuple(
        tuple(Unit(line.text, line.target, line.index + 1, is_translated=bool(line.target)) for line in group)
        for group in groups
    )


class TextFile(LineFile):
    """Plain text: one document, in which each line that is not blank is a paragraph."""

    @classmethod
    def new(cls, documents: Sequence[ParallelDocument], source_language: str, target_language: str) -> "TextFile":
        """One document: one sentence per line, a blank line between paragraphs."""
        if len(documents) != 1:
            raise ValueError(f"a text file has one document, got {len(documents)}")
        return cls(None, "\n".join("".join(f"{text}\n" for text in group) for group in documents[0].source_paragraphs))

    def _documents(self) -> Iterator[tuple[str, list[list[Line]]]]:
        lines = self._texts(0, len(self._lines))
        if lines:
            yield self._name(0), [[line] for line in lines]


class MosesFile(LineFile):
    """One sentence per line; blank lines, or lines `<d>`, separate documents."""

    @classmethod
    def new(cls, documents: Sequence[ParallelDocument], source_language: str, target_language: str) -> "MosesFile":
        return cls(None, "\n".join("".join(f"{line}\n" for line in item.source_sentences) for item in documents))

    def _documents(self) -> Iterator[tuple[str, list[list[Line]]]]:
        numbered = enumerate(self._lines)
        for is_text, group in groupby(numbered, key=lambda item: item[1].strip() not in ("", DOCUMENT_MARK)):
            if is_text:
                lines = [Line(index, line.strip()) for index, line in group]
                yield self._name(lines[0].index), [lines]


class HeadsFile(LineFile):
    """One sentence per line, and a `.heads` file with the first line of each document.

    The heads are integers, one per line, counted from 0 or (if the first is 1) from 1. The file has the same name with
    ".heads" appended, or in place of its ending.
    """

    def __init__(self, path: Path | None, text: str, heads: Sequence[int] = (0,)) -> None:
        num_lines = text.count("\n") + (not text.endswith("\n"))
        self.heads = list(heads) if path is None else _read_heads(path, num_lines)
        super().__init__(path, text)

    @classmethod
    def new(cls, documents: Sequence[ParallelDocument], source_language: str, target_language: str) -> "HeadsFile":
        lines: list[str] = []
        heads = []
        for document in documents:
            heads.append(len(lines))
            lines += document.source_sentences
        return cls(None, "".join(f"{line}\n" for line in lines), heads)

    def companions(self) -> dict[str, bytes]:
        return {".heads": "".join(f"{head}\n" for head in self.heads).encode()}

    def _documents(self) -> Iterator[tuple[str, list[list[Line]]]]:
        for start, stop in zip(self.heads, [*self.heads[1:], len(self._lines)], strict=True):
            lines = self._texts(start, stop)
            if len(lines) < stop - start:
                blank = next(index for index in range(start, stop) if not self._lines[index].strip())
                raise CorpusError(self._path or "", blank + 1, "empty sentence")
            yield self._name(start), [lines]


def _read_heads(path: Path, num_lines: int) -> list[int]:
    """The indices of the first lines of the documents, from 0."""
    plain = path.with_name(path.name.removesuffix(".gz"))
    candidates = [plain.with_name(f"{plain.name}.heads"), plain.with_suffix(".heads")]
    heads_path = next((one for one in candidates if one.is_file()), None)
    if heads_path is None:
        names = " or ".join(one.name for one in candidates)
        raise CorpusError(path, None, "no .heads file", f"there is no {names} beside it")
    heads: list[int] = []
    for number, line in enumerate(decode_text(read_bytes(heads_path), heads_path).splitlines(), start=1):
        # Python refuses integers of thousands of digits.
        if not line.strip().isdecimal() or len(line) > 20:
            raise CorpusError(heads_path, number, "not a line number", repr(line))
        heads.append(int(line))
        if len(heads) > 1 and heads[-1] <= heads[-2]:
            raise CorpusError(
                heads_path, number, "line numbers not in increasing order", f"{heads[-1]} after {heads[-2]}"
            )
    if not heads or heads[0] > 1:
        found = f"it starts with {heads[0]}" if heads else "it is empty"
        raise CorpusError(heads_path, 1, "no head for the first line", f"0 or 1; {found}")
    heads = [head - heads[0] for head in heads]
    if heads[-1] >= num_lines:
        detail = f"{path.name} has {num_lines} lines"
        raise CorpusError(heads_path, len(heads), "a line number past the end", detail)
    return heads


# Names of the columns of document and source in the first line of a table.
_DOCUMENT_COLUMNS = {"id", "doc", "docid", "doc_id", "document", "document_id", "documentid", "file", "filename"}
_SOURCE_COLUMNS = {"source", "src", "source_text", "sourcetext", "source_sentence", "sentence", "text", "segment"}


class IdColumnFile(LineFile):
    """Lines `document id TAB source [TAB target]`; consecutive lines with the same id form a document.

    A first line with column names belongs to no document and is copied.
    """

    def __init__(self, path: Path | None, text: str, languages: Collection[str] = ()) -> None:
        self._languages = {language.lower() for language in languages}
        super().__init__(path, text)

    @classmethod
    def _of(cls, path: Path, text: str, source_language: str, target_language: str) -> Self:
        return cls(path, text, [source_language])

    @classmethod
    def new(cls, documents: Sequence[ParallelDocument], source_language: str, target_language: str) -> "IdColumnFile":
        rows = [(item.id, sentence) for item in documents for sentence in item.source_sentences]
        return cls(None, "".join(f"{_without_tabs(name)}\t{_without_tabs(sentence)}\n" for name, sentence in rows))

    def _documents(self) -> Iterator[tuple[str, list[list[Line]]]]:
        seen: set[str] = set()
        filled = [(index, line) for index, line in enumerate(self._lines) if line.strip()]
        if filled and self._is_header(filled[0][1]):
            del filled[0]
        rows = [self._row(index, line) for index, line in filled]
        for name, group in groupby(rows, key=lambda row: row[0]):
            lines = [line for _, line in group]
            if name in seen:
                detail = f"{name!r}: sort the lines by document"
                raise CorpusError(self._path or "", lines[0].index + 1, "document in several places", detail)
            seen.add(name)
            yield name, [lines]

    def _is_header(self, line: str) -> bool:
        names = [re.sub(r"[\s-]+", "_", field.strip(' "\r').lower()) for field in line.split("\t")]
        return len(names) > 1 and names[0] in _DOCUMENT_COLUMNS and names[1] in _SOURCE_COLUMNS | self._languages

    def _row(self, index: int, line: str) -> tuple[str, Line]:
        fields = [field.strip() for field in line.split("\t")]
        if len(fields) < 2:
            raise CorpusError(self._path or "", index + 1, "no tab between document id and source")
        if not fields[0] or not fields[1]:
            missing = "document id" if not fields[0] else "source"
            raise CorpusError(self._path or "", index + 1, "empty column", missing)
        return fields[0], Line(index, fields[1], fields[2] if len(fields) > 2 else None)

    def _translated_line(self, line: str, translation: str) -> str:
        text = line.removesuffix("\r")
        fields = text.split("\t")
        is_kept = len(fields) > 2 and fields[2].strip() == translation
        written = fields[2] if is_kept else _without_tabs(translation)
        return "\t".join([*fields[:2], written, *fields[3:]]) + line[len(text) :]


def _without_tabs(text: str) -> str:
    return re.sub(r"[\t\r\n]+", " ", text).strip()


_IWSLT_TAG = re.compile(
    r"\s*</?(url|keywords|speaker|talkid|title|description|reviewer|translator|doc|content|file|head|transcript|"
    r"translation|mtsource|dtd|wordnum|videopath|date)\b[^>]*>",
    re.IGNORECASE,
)
_IWSLT_ID = re.compile(r"<talkid>\s*(.*?)\s*</talkid>|<doc\b[^>]*\bdocid\s*=\s*\"([^\"]*)\"", re.IGNORECASE)


class IwsltFile(LineFile):
    """The training files of IWSLT: one sentence per line, with tags such as `<talkid>` between documents.

    They are not XML. The text inside tags, such as the title, belongs to no document and is copied.
    """

    @classmethod
    def new(cls, documents: Sequence[ParallelDocument], source_language: str, target_language: str) -> "IwsltFile":
        lines = []
        for document in documents:
            lines += [f"<talkid>{document.id}</talkid>", *document.source_sentences]
        return cls(None, "".join(f"{line}\n" for line in lines))

    def _documents(self) -> Iterator[tuple[str, list[list[Line]]]]:
        name = None
        seen: set[str] = set()
        numbered = enumerate(self._lines)
        for is_tag, group in groupby(numbered, key=lambda item: bool(_IWSLT_TAG.match(item[1]))):
            lines = [Line(index, line.strip()) for index, line in group if line.strip()]
            if is_tag:
                ids = [match[1] or match[2] for line in lines for match in _IWSLT_ID.finditer(line.text)]
                name = ids[-1] if ids else None
            elif lines:
                number = self._name(lines[0].index)
                # Two parts of one talk, and talks without id, are distinguished by the line.
                unique = number if not name or name in seen else name
                seen.add(unique)
                yield unique, [lines]
