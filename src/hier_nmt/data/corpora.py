# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The documents of a corpus, whatever its format is.

A malformed corpus raises `CorpusError`, which names file, line and reason. With `skip_bad=True` the malformed document
(or line, where every line is a document) is skipped, logged, and listed in the `ReadReport`.
"""

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from .corpus_files import CorpusError
from .corpus_readers import load_rows, read_dataset, read_json_lines, read_moses, read_tab_separated
from .documents import ParallelDocument
from .formats.reading import read_aligned_file, read_paired_files
from .formats.registry import PAIRED_FORMATS

logger = logging.getLogger(__name__)

FORMATS = (
    *("json-lines", "tab-separated", "dataset", "id-column", "tmx", "xliff", "wmt-xml", "opus-xml"),
    *PAIRED_FORMATS,
)


@dataclass
class ReadReport:
    """What a reader returned; `skipped` has (kind, message) of everything that it skipped."""

    num_documents: int = 0
    num_sentences: int = 0
    skipped: list[tuple[str, str]] = field(default_factory=list)

    @property
    def counts(self) -> dict[str, int]:
        """The number of skipped documents (or lines) for each kind of reason."""
        return dict(Counter(kind for kind, _ in self.skipped))

    def __str__(self) -> str:
        lines = [f"read {self.num_documents} documents with {self.num_sentences} sentence pairs"]
        lines += [f"skipped {count}: {kind}" for kind, count in sorted(self.counts.items())]
        return "\n".join(lines)


def read_documents(
    paths: Sequence[str | Path],
    format: str,
    source_language: str,
    target_language: str,
    *,
    skip_bad: bool = False,
    columns: Mapping[str, Any] | None = None,
    report: ReadReport | None = None,
) -> Iterator[ParallelDocument]:
    """The documents of a corpus, file by file.

    Args:
        paths: files; for `PAIRED_FORMATS` source and target files in turn; for "opus-xml" alignment files; for
            "dataset" see `load_rows`.
        format: one of `FORMATS`; further formats are described in `data.formats`.
        source_language, target_language: ISO 639 codes, which formats use as language names.
        skip_bad: skips malformed documents instead of raising CorpusError.
        columns: for "wmt-xml" `reference`, the translator (default: the first); for "dataset" `source` and `target`
            (default: "translation.<language>"), `document` and `paragraph` (see `read_dataset`), and `config`, `split`
            and `streaming` (see `load_rows`).
        report: filled while the documents are read.

    Raises:
        CorpusError: a malformed file, or no document at all.
    """
    report = report if report is not None else ReadReport()
    num_before = report.num_documents
    for item in _read_items(list(paths), format, source_language, target_language, columns):
        if isinstance(item, ParallelDocument):
            report.num_documents += 1
            report.num_sentences += item.num_sentences
            yield item
        elif not skip_bad:
            raise item
        else:
            report.skipped.append((item.kind, str(item)))
            logger.warning("skipped: %s", item)
    if report.num_documents == num_before:
        raise CorpusError(", ".join(map(str, paths)), None, "empty corpus", "it has no document")


def _read_items(
    paths: Sequence[str | Path],
    format: str,
    source_language: str,
    target_language: str,
    columns: Mapping[str, Any] | None,
) -> Iterator[ParallelDocument | CorpusError]:
    if columns and format not in ("dataset", "wmt-xml"):
        raise ValueError(f"columns are for the formats 'dataset' and 'wmt-xml', not for {format!r}")
    if format in PAIRED_FORMATS and len(paths) % 2:
        raise ValueError(f"{format} files come in pairs (source, target), got {len(paths)}: {list(map(str, paths))}")
    languages = (source_language, target_language)
    if format == "json-lines":
        return chain.from_iterable(read_json_lines(path, *languages) for path in paths)
    if format == "tab-separated":
        return chain.from_iterable(read_tab_separated(path) for path in paths)
    if format == "dataset":
        options = _dataset_options(columns, *languages)
        return chain.from_iterable(_read_named_dataset(name, options) for name in paths)
    if format == "moses":
        return chain.from_iterable(read_moses(*pair) for pair in zip(paths[::2], paths[1::2], strict=True))
    if format in PAIRED_FORMATS:
        pairs = zip(paths[::2], paths[1::2], strict=True)
        return chain.from_iterable(read_paired_files(*pair, format, *languages) for pair in pairs)
    if format in FORMATS:
        reference = _reference(columns)
        return chain.from_iterable(read_aligned_file(path, format, *languages, reference) for path in paths)
    raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {format!r}")


def _reference(columns: Mapping[str, Any] | None) -> str | None:
    unknown = sorted(set(columns or {}) - {"reference"})
    if unknown:
        raise ValueError(f"unknown keys in columns: {', '.join(unknown)}; wmt-xml knows 'reference' (a translator)")
    return (columns or {}).get("reference")


def _dataset_options(columns: Mapping[str, Any] | None, source_language: str, target_language: str) -> dict[str, Any]:
    options = {
        "source": f"translation.{source_language}",
        "target": f"translation.{target_language}",
        "document": None,
        "paragraph": None,
        "config": None,
        "split": "train",
        "streaming": False,
    }
    unknown = sorted(set(columns or {}) - set(options))
    if unknown:
        raise ValueError(f"unknown keys in columns: {', '.join(unknown)}; known are {', '.join(options)}")
    return {**options, **(columns or {})}


def _read_named_dataset(name: str | Path, options: Mapping[str, Any]) -> Iterator[ParallelDocument | CorpusError]:
    rows = load_rows(name, options["config"], options["split"], options["streaming"])
    columns = (options[key] for key in ("source", "target", "document", "paragraph"))
    return read_dataset(rows, Path(name).name, *columns)
