# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Readers of JSON lines, Moses files, tab-separated lines and data sets; `data.formats` reads all other files.

Each is a generator of documents; in the place of a malformed one it yields the `CorpusError`.

Lines end at "\\n" (or "\\r\\n") only: sentences may contain other line separators of Unicode. Files whose name ends in
".gz" are read through gzip.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import datasets

from .corpus_files import CorpusError, parse_json, read_lines
from .documents import ParallelDocument, SentencePair

DOCUMENT_MARK = "<d>"


def read_json_lines(
    path: str | Path, source_language: str, target_language: str
) -> Iterator[ParallelDocument | CorpusError]:
    """The documents of a JSON-lines file; a line is `{"id", "title", "paragraphs": [{"en": [...], "fr": [...]}, ...]}`.

    A paragraph has aligned lists of sentences under the two language codes; other keys (a speaker) are ignored. The
    title is optional: two strings in the order of the languages in the paragraphs, or a string under each language.
    """
    for line, text in read_lines(path):
        if isinstance(text, CorpusError):
            yield text
        elif text.strip():
            try:
                yield _json_document(parse_json(path, line, text), source_language, target_language)
            except CorpusError as error:
                yield error
            except _BadDocument as error:
                yield CorpusError(path, line, *error.args)


class _BadDocument(Exception):
    """(kind, detail) of a malformed document."""


def _json_document(content: Any, source_language: str, target_language: str) -> ParallelDocument:
    if not isinstance(content, dict):
        raise _BadDocument("not a JSON object", f"got {type(content).__name__}")
    for key in ("id", "paragraphs"):
        if key not in content:
            raise _BadDocument("missing key", repr(key))
    if not isinstance(content["paragraphs"], list) or not content["paragraphs"]:
        raise _BadDocument("no paragraphs", f"document {content['id']!r}")
    paragraphs = [
        _json_paragraph(paragraph, index, source_language, target_language)
        for index, paragraph in enumerate(content["paragraphs"], start=1)
    ]
    title = _json_title(content, source_language, target_language)
    return ParallelDocument(str(content["id"]), tuple(paragraphs), title)


def _json_paragraph(paragraph: Any, index: int, source_language: str, target_language: str) -> tuple[SentencePair, ...]:
    place = f"in paragraph {index}"
    sides = []
    for language in (source_language, target_language):
        if not isinstance(paragraph, dict) or language not in paragraph:
            raise _BadDocument("missing key", f"{language!r} {place}")
        sides.append(paragraph[language])
        if not isinstance(sides[-1], list) or not all(isinstance(sentence, str) for sentence in sides[-1]):
            raise _BadDocument("not a list of strings", f"{language!r} {place}")
    source, target = sides
    if len(source) != len(target):
        counts = f"{len(source)} {source_language} and {len(target)} {target_language} sentences"
        raise _BadDocument("uneven sentence lists", f"{counts} {place}")
    if not source:
        raise _BadDocument("empty paragraph", place)
    return tuple(
        _pair(*pair, f"sentence {number} {place}")
        for number, pair in enumerate(zip(source, target, strict=True), start=1)
    )


def _json_title(content: dict[str, Any], source_language: str, target_language: str) -> tuple[str, str] | None:
    title = content.get("title")
    if isinstance(title, list):
        languages = [key for key in content["paragraphs"][0] if key in (source_language, target_language)]
        title = dict(zip(languages, title, strict=False))
    if not isinstance(title, dict) or source_language not in title or target_language not in title:
        return None
    return str(title[source_language]), str(title[target_language])


def _pair(source: str, target: str, place: str = "") -> SentencePair:
    """The pair without surrounding white space; neither side may be empty."""
    source, target = source.strip(), target.strip()
    if not source or not target:
        side = "both sides" if not source and not target else "source" if not source else "target"
        raise _BadDocument("empty sentence", f"{side}, {place}" if place else side)
    return SentencePair(source, target)


def read_moses(source_path: str | Path, target_path: str | Path) -> Iterator[ParallelDocument | CorpusError]:
    """The documents of two text files with one sentence per line; line n of one translates line n of the other.

    A blank line, or a line `<d>`, in both files ends a document; each document is one paragraph. The id is the name of
    the source file and the line on which the document starts. A malformed line makes its document malformed.
    """
    source_path, target_path = Path(source_path), Path(target_path)
    mismatch = _line_count_mismatch(source_path, target_path)
    if mismatch:
        yield mismatch
        return
    pairs: list[SentencePair] = []
    error: CorpusError | None = None
    first_line = 1
    for line, source, target in _moses_lines(source_path, target_path):
        if source == target == "":
            yield from _moses_document(source_path, first_line, pairs, error)
            pairs, error, first_line = [], None, line + 1
            continue
        item = _moses_pair(source_path, target_path, line, source, target)
        if isinstance(item, CorpusError):
            error = error or item
        else:
            pairs.append(item)
    yield from _moses_document(source_path, first_line, pairs, error)


def _line_count_mismatch(source_path: Path, target_path: Path) -> CorpusError | None:
    """Files of unequal length are misaligned somewhere, so none of their lines can be trusted."""
    num_source = sum(1 for _ in read_lines(source_path))
    num_target = sum(1 for _ in read_lines(target_path))
    if num_source == num_target:
        return None
    shorter = source_path if num_source < num_target else target_path
    detail = f"{num_source} in {source_path.name}, {num_target} in {target_path.name}"
    return CorpusError(shorter, min(num_source, num_target) + 1, "different number of lines", detail)


def _moses_lines(source_path: Path, target_path: Path) -> Iterator[tuple[int, str | CorpusError, str | CorpusError]]:
    """(line number, source, target); a document boundary is an empty string."""
    for (line, source), (_, target) in zip(read_lines(source_path), read_lines(target_path), strict=True):
        yield line, _boundary_as_empty(source), _boundary_as_empty(target)


def _boundary_as_empty(text: str | CorpusError) -> str | CorpusError:
    if isinstance(text, CorpusError):
        return text
    return "" if text.strip() in ("", DOCUMENT_MARK) else text


def _moses_pair(
    source_path: Path, target_path: Path, line: int, source: str | CorpusError, target: str | CorpusError
) -> SentencePair | CorpusError:
    if isinstance(source, CorpusError):
        return source
    if isinstance(target, CorpusError):
        return target
    if not source or not target:
        path, other = (target_path, source_path) if not target else (source_path, target_path)
        detail = f"a document boundary must be in both files, but {other.name} has text here"
        return CorpusError(path, line, "one side empty", detail)
    return SentencePair(source.strip(), target.strip())


def _moses_document(
    path: Path, first_line: int, pairs: list[SentencePair], error: CorpusError | None
) -> Iterator[ParallelDocument | CorpusError]:
    if error is not None:
        yield error
    elif pairs:
        yield ParallelDocument(f"{path.name}:{first_line}", (tuple(pairs),))


def read_tab_separated(path: str | Path) -> Iterator[ParallelDocument | CorpusError]:
    """One document of one sentence per line `source TAB target [TAB anything]`; blank lines are skipped.

    The id is the file name and the line number.
    """
    path = Path(path)
    for line, text in read_lines(path):
        if isinstance(text, CorpusError):
            yield text
        elif text.strip():
            yield _tab_separated_document(path, line, text)


def _tab_separated_document(path: Path, line: int, text: str) -> ParallelDocument | CorpusError:
    fields = text.split("\t")
    if len(fields) < 2:
        return CorpusError(path, line, "no tab between source and target")
    try:
        return ParallelDocument(f"{path.name}:{line}", ((_pair(fields[0], fields[1]),),))
    except _BadDocument as error:
        return CorpusError(path, line, *error.args)


def read_dataset(
    rows: Iterable[Mapping[str, Any]],
    name: str,
    source_column: str,
    target_column: str,
    document_column: str | None = None,
    paragraph_column: str | None = None,
) -> Iterator[ParallelDocument | CorpusError]:
    """The documents of the rows of a `datasets` dataset, which may be streaming; each row is a sentence pair.

    Consecutive rows with the same value in `document_column` form a document, and within it those with the same value
    in `paragraph_column` form a paragraph. Without a document column each row is a document; without a paragraph column
    each document is one paragraph.

    Args:
        rows: the dataset.
        name: its name, for ids and errors; "lines" in errors are rows, counted from 1.
        source_column, target_column: a column, or with a dot a key in a column of dictionaries ("translation.en").
    """
    seen: set[str] = set()
    numbered = enumerate(rows, start=1)
    for document_id, group in groupby(numbered, key=lambda item: _document_id(item, name, document_column)):
        try:
            paragraphs = [
                tuple(_row_pair(row, name, number, source_column, target_column) for number, row in paragraph)
                for _, paragraph in groupby(group, key=lambda item: _paragraph_value(item, name, paragraph_column))
            ]
        except CorpusError as error:
            yield error
            continue
        if document_id in seen:
            yield CorpusError(name, None, "document in several places", f"{document_id!r}: sort the rows by document")
            continue
        if document_column is not None:
            seen.add(document_id)
        yield ParallelDocument(document_id, tuple(paragraphs))


Numbered = tuple[int, Mapping[str, Any]]


def _document_id(numbered: Numbered, name: str, column: str | None) -> str:
    number, row = numbered
    return f"{name}:{number}" if column is None else str(_value(row, name, number, column))


def _paragraph_value(numbered: Numbered, name: str, column: str | None) -> Any:
    number, row = numbered
    return None if column is None else _value(row, name, number, column)


def _row_pair(row: Mapping[str, Any], name: str, number: int, source_column: str, target_column: str) -> SentencePair:
    sides = []
    for column in (source_column, target_column):
        sides.append(_value(row, name, number, column))
        if not isinstance(sides[-1], str):
            raise CorpusError(name, number, "not a string", f"column {column!r} holds {type(sides[-1]).__name__}")
    try:
        return _pair(*sides)
    except _BadDocument as error:
        raise CorpusError(name, number, *error.args) from None


def _value(row: Mapping[str, Any], name: str, number: int, column: str) -> Any:
    """The row's value of a column; "a.b" is the key "b" of the dictionaries in column "a"."""
    value: Any = row
    for key in [column] if column in row else column.split("."):
        if not isinstance(value, Mapping) or key not in value:
            raise CorpusError(name, number, "missing column", f"{column!r}; there are {sorted(row)}")
        value = value[key]
    return value


def load_rows(
    name: str | Path, config: str | None = None, split: str = "train", streaming: bool = False
) -> Iterable[Mapping[str, Any]]:
    """The rows of a dataset: a name on the Hub, a folder (also of `save_to_disk`), or a data file."""
    path = Path(name)
    if (path / "state.json").is_file():
        return datasets.load_from_disk(path)
    if (path / "dataset_dict.json").is_file():
        return datasets.load_from_disk(path)[split]
    if path.is_file():
        builder = _BUILDERS.get(path.name.removesuffix(".gz").rpartition(".")[2])
        if builder is None:
            raise CorpusError(path, None, "unknown kind of data file", f"known endings: {', '.join(sorted(_BUILDERS))}")
        return datasets.load_dataset(builder, data_files={split: str(path)}, split=split, streaming=streaming)
    return datasets.load_dataset(str(name), config, split=split, streaming=streaming)


_BUILDERS = {"json": "json", "jsonl": "json", "csv": "csv", "parquet": "parquet"}
