# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The translation memory, in any of the forms in which it may be given, checked. The package reads files."""

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from ..text.translation_memory import DEFAULT_THRESHOLD, TranslationMemory

MemoryReader = Callable[[Path, str, str, float], TranslationMemory]
_reader: list[MemoryReader] = []


def register_memory_reader(reader: MemoryReader) -> None:
    """Makes `memory_of` read files with this function, which gets the source and target language."""
    _reader[:] = [reader]


def memory_of(
    value: Any, source_language: str | None, target_language: str | None, threshold: float | None = None
) -> TranslationMemory | None:
    """The memory that was given: None, a `TranslationMemory`, the path of a TMX file, a mapping, or pairs of sentences.

    Args:
        value: one of these.
        source_language, target_language: ISO 639 codes, for a file.
        threshold: similarity in percent from which fuzzy matches are reported; default: 75. A `TranslationMemory` has
            its own.

    Raises:
        TypeError: anything else.
        ValueError: a broken or empty memory, or a file and no languages.
        ImportError: fuzzy matches without rapidfuzz, or a path without the package hier_nmt.
    """
    if value is None or isinstance(value, TranslationMemory):
        return value
    threshold = DEFAULT_THRESHOLD if threshold is None else threshold
    if isinstance(value, str | os.PathLike):
        if not _reader:
            raise ImportError("memory of a file needs the package hier_nmt, and `import hier_nmt`")
        if not source_language or not target_language:
            raise ValueError(f"{value} has several languages: give source_language and target_language")
        return _reader[0](Path(value), source_language, target_language, threshold)
    if isinstance(value, Mapping):
        return TranslationMemory(value.items(), threshold)
    if isinstance(value, Iterable):
        return TranslationMemory(value, threshold)
    raise TypeError(f"memory must be a path, a mapping or pairs of sentences, got {type(value).__name__}")
