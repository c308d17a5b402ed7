# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""JSON lines `{"id", "title", "paragraphs": [{"en": [...], "fr": [...]}, ...]}`, with or without the target."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..corpus_files import CorpusError, parse_json, read_bytes
from ..documents import ParallelDocument
from ..text_files import decode_text
from .document_file import DocumentFile, Translations, Unit, UnitDocument


class JsonLinesFile(DocumentFile):
    """Documents of lists of sentences; keys that are not known are kept."""

    def __init__(
        self, path: Path | None, contents: list[tuple[int, dict[str, Any]]], languages: tuple[str, str]
    ) -> None:
        self._contents = [content for _, content in contents]
        self._languages = languages
        documents = []
        for line, content in contents:
            paragraphs = []
            for paragraph in content["paragraphs"]:
                sentences = paragraph[languages[0]]
                paragraphs.append(tuple(Unit(text, None, line) for text in sentences if text.strip()))
            if any(paragraphs):
                documents.append(UnitDocument(str(content["id"]), tuple(filter(None, paragraphs))))
            else:
                raise CorpusError(path or "", line, "no sentences", f"document {content['id']!r}")
        super().__init__(path, documents)

    @classmethod
    def read(cls, path: str | Path, source_language: str, target_language: str) -> "JsonLinesFile":
        contents = []
        lines = decode_text(read_bytes(path), path).split("\n")
        for line, text in enumerate(lines, start=1):
            if text.strip():
                contents.append((line, _checked(path, line, text, source_language)))
        return cls(Path(path), contents, (source_language, target_language))

    @classmethod
    def new(cls, documents: Sequence[ParallelDocument], source_language: str, target_language: str) -> "JsonLinesFile":
        contents = [
            (
                line,
                {"id": item.id, "paragraphs": [{source_language: sentences} for sentences in item.source_paragraphs]},
            )
            for line, item in enumerate(documents, start=1)
        ]
        return cls(None, contents, (source_language, target_language))

    def translated(self, translations: Translations) -> bytes:
        lines = []
        source, target = self._languages
        for content, texts in zip(self._contents, translations, strict=True):
            rest = iter(texts)
            paragraphs = [
                paragraph | {target: [next(rest) if text.strip() else text for text in paragraph[source]]}
                for paragraph in content["paragraphs"]
            ]
            lines.append(json.dumps(content | {"paragraphs": paragraphs}, ensure_ascii=False))
        return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")


def _checked(path: str | Path, line: int, text: str, language: str) -> dict[str, Any]:
    content = parse_json(path, line, text)
    if not isinstance(content, dict) or "id" not in content or not isinstance(content.get("paragraphs"), list):
        raise CorpusError(path, line, "no document", 'a document is an object with "id" and a list "paragraphs"')
    for number, paragraph in enumerate(content["paragraphs"], start=1):
        sentences = paragraph.get(language) if isinstance(paragraph, dict) else None
        if not isinstance(sentences, list) or not all(isinstance(sentence, str) for sentence in sentences):
            raise CorpusError(path, line, "not a list of strings", f"{language!r} in paragraph {number}")
    return content
