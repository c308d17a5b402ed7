# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Parallel documents from the files of `data.formats`. A file that cannot be read yields its error."""

from collections.abc import Iterator
from pathlib import Path

from ..corpus_files import CorpusError
from ..documents import ParallelDocument
from .document_file import DocumentFile, aligned_documents, paired_documents
from .opus_xml import read_opus_alignment
from .registry import FILE_CLASSES
from .subtitles import SrtFile, paired_subtitles
from .wmt_xml import WmtXmlFile


def read_aligned_file(
    path: str | Path, format: str, source_language: str, target_language: str, reference: str | None = None
) -> Iterator[ParallelDocument | CorpusError]:
    """The documents of a file in both languages.

    Args:
        path: the file; for "opus-xml" the alignment file.
        format: "id-column", "tmx", "xliff", "wmt-xml" or "opus-xml".
        source_language, target_language: ISO 639 codes.
        reference: for "wmt-xml" the translator of the reference; default: the first.
    """
    try:
        if format == "opus-xml":
            yield from read_opus_alignment(path, source_language, target_language)
        elif format == "wmt-xml":
            yield from aligned_documents(WmtXmlFile.read(path, source_language, target_language, reference))
        else:
            yield from aligned_documents(FILE_CLASSES[format].read(path, source_language, target_language))
    except CorpusError as error:
        yield error


def read_paired_files(
    source_path: str | Path, target_path: str | Path, format: str, source_language: str, target_language: str
) -> Iterator[ParallelDocument | CorpusError]:
    """The documents of two files with one language each, in the format "heads", "iwslt" or "srt"."""
    try:
        source, target = (
            FILE_CLASSES[format].read(path, source_language, target_language) for path in (source_path, target_path)
        )
        yield from _paired(source, target)
    except CorpusError as error:
        yield error


def _paired(source: DocumentFile, target: DocumentFile) -> Iterator[ParallelDocument | CorpusError]:
    if isinstance(source, SrtFile) and isinstance(target, SrtFile):
        return paired_subtitles(source, target)
    return paired_documents(source, target)
