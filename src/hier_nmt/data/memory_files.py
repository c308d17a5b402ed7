# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Translation memories in TMX files."""

from pathlib import Path

from ..text.translation_memory import DEFAULT_THRESHOLD, MemoryEntry, TranslationMemory
from .corpus_files import CorpusError
from .formats.tmx import TmxFile


def read_memory(
    path: str | Path, source_language: str, target_language: str, threshold: float = DEFAULT_THRESHOLD
) -> TranslationMemory:
    """The units of a TMX file that have a text in both languages, see `TranslationMemory`.

    Args:
        path: the file, which may be compressed (".gz").
        source_language, target_language: ISO 639 codes; "en" also reads variants such as "en-GB".
        threshold: similarity in percent from which fuzzy matches are told.

    Raises:
        CorpusError: a broken file, one that is not TMX, or one without any unit in both languages.
        OSError: the file cannot be read.
        ValueError, ImportError: see `TranslationMemory`.
    """
    file = TmxFile.read(path, source_language, target_language)
    units = [unit for document in file.documents for unit in document.units]
    entries = [MemoryEntry(unit.source, unit.target, unit.tags) for unit in units if unit.target]
    if not entries:
        found = ", ".join(file.languages()) or "none"
        detail = f"no unit in {source_language!r} has a text in {target_language!r}; languages: {found}"
        raise CorpusError(path, None, "a language is missing", detail)
    return TranslationMemory(entries, threshold)
