# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""JSON lines `{"id", "title", "paragraphs": [{"en": [...], "fr": [...]}, ...]}`, with or without the target."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..corpus_files import CorpusError, parse_json, read_bytes
from ..documents import ParallelDocument
from ..text_files import byte_order_mark, decode_text
from .document_file import CorpusFile, Translations, Unit, UnitDocument


class JsonLinesFile(CorpusFile):
    """Documents as lists of sentences; unknown keys are kept, and so are translations in the file.

    Args:
        path: where it was read, or None.
        lines: the lines of the file without their documents: what stands behind each, and lines without one.
        contents: index of the line -> the document on it.
        languages: source and target language.
    """

    def __init__(
        self, path: Path | None, lines: Sequence[str], contents: dict[int, dict[str, Any]], languages: tuple[str, str]
    ) -> None:
        self._lines, self._contents, self._languages = lines, contents, languages
        documents = []
        for index, content in contents.items():
            paragraphs = [_units(paragraph, languages, index + 1) for paragraph in content["paragraphs"]]
            if not any(paragraphs):
                raise CorpusError(path or "", index + 1, "no sentences", f"document {content['id']!r}")
            documents.append(UnitDocument(str(content["id"]), tuple(filter(None, paragraphs))))
        super().__init__(path, documents)

    @classmethod
    def read(cls, path: str | Path, source_language: str, target_language: str) -> "JsonLinesFile":
        content = read_bytes(path)
        lines = decode_text(content, path).split("\n")
        languages = (source_language, target_language)
        contents = {
            index: _checked(path, index + 1, text, languages) for index, text in enumerate(lines) if text.strip()
        }
        ends = [line[len(line.rstrip()) :] if line.strip() else line for line in lines]
        file = cls(Path(path), ends, contents, languages)
        file.original = content
        return file

    @classmethod
    def new(cls, documents: Sequence[ParallelDocument], source_language: str, target_language: str) -> "JsonLinesFile":
        contents: dict[int, dict[str, Any]] = {}
        for index, item in enumerate(documents):
            paragraphs = [{source_language: sentences} for sentences in item.source_paragraphs]
            contents[index] = {"id": item.id, "paragraphs": paragraphs}
        return cls(None, [""] * (len(contents) + 1), contents, (source_language, target_language))

    def translated(self, translations: Translations) -> bytes:
        # Encoded line by line: a corpus of millions of sentences takes much of the memory.
        lines = [line.encode("utf-8", "replace") for line in self._lines]
        source, target = self._languages
        for (index, content), texts in zip(self._contents.items(), translations, strict=True):
            rest = iter(texts)
            paragraphs = [
                paragraph | {target: [next(rest) if text.strip() else text for text in paragraph[source]]}
                for paragraph in content["paragraphs"]
            ]
            written = json.dumps(content | {"paragraphs": paragraphs}, ensure_ascii=False)
            lines[index] = written.encode("utf-8", "replace") + lines[index]
        return byte_order_mark(self.original) + b"\n".join(lines)


def _units(paragraph: dict[str, Any], languages: tuple[str, str], line: int) -> tuple[Unit, ...]:
    """The sentences of a paragraph that have text."""
    sources = paragraph[languages[0]]
    # A missing or empty list means that the paragraph is not translated.
    targets = paragraph.get(languages[1]) or [None] * len(sources)
    pairs = zip(sources, targets, strict=True)
    return tuple(
        Unit(source, target, line, is_translated=bool(target and target.strip()))
        for source, target in pairs
        if source.strip()
    )


def _checked(path: str | Path, line: int, text: str, languages: tuple[str, str]) -> dict[str, Any]:
    content = parse_json(path, line, text)
    if not isinstance(content, dict) or "id" not in content or not isinstance(content.get("paragraphs"), list):
        raise CorpusError(path, line, "not a document", 'a document is an object with "id" and a list "paragraphs"')
    for number, paragraph in enumerate(content["paragraphs"], start=1):
        _check_paragraph(path, line, number, paragraph, languages)
    return content


def _check_paragraph(path: str | Path, line: int, number: int, paragraph: Any, languages: tuple[str, str]) -> None:
    source, target = languages
    sentences = paragraph.get(source) if isinstance(paragraph, dict) else None
    if not isinstance(sentences, list) or not all(isinstance(sentence, str) for sentence in sentences):
        raise CorpusError(path, line, "not a list of strings", f"{source!r} in paragraph {number}")
    translations = paragraph.get(target) or []
    if not isinstance(translations, list) or not all(isinstance(one, str | None) for one in translations):
        raise CorpusError(path, line, "not a list of strings", f"{target!r} in paragraph {number}")
    if translations and len(translations) != len(sentences):
        detail = f"paragraph {number} has {len(sentences)} in {source!r} and {len(translations)} in {target!r}"
        raise CorpusError(path, line, "uneven sentence lists", detail)
