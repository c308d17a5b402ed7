# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""A translation memory: sentences with translations that people made, found again for equal and for similar sentences.

An exact match has the same text, white space apart, and the same inline tags in the same places. A fuzzy match is the
most similar sentence of the memory, by the share of characters that need not be changed: rapidfuzz's normalised Indel
similarity, in percent. A text that differs only in its tags is a fuzzy match, too.
"""

import hashlib
import json
from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple

rapidfuzz: Any
try:
    import rapidfuzz
except ImportError:
    rapidfuzz = None

DEFAULT_THRESHOLD = 75.0
# Of a sentence that is not an exact match.
_MOST_FUZZY = 99.0

# Inline tags of a sentence: the position of each in the text, and the tag as the file has it.
Tags = tuple[tuple[int, str], ...]


class MemoryEntry(NamedTuple):
    """A sentence, its translation, and its inline tags."""

    source: str
    target: str
    tags: Tags = ()


class MemoryMatch(NamedTuple):
    """What a memory has for a sentence of a document, counted from 0: the similarity in percent (100: an exact match,
    whose target is the translation), the source and the target of the memory."""

    sentence: int
    score: float
    source: str
    target: str


class TranslationMemory:
    """Sentences and their translations. Of several translations of a sentence the last one counts.

    Args:
        entries: entries, or pairs of a sentence and its translation; those without text are ignored.
        threshold: the similarity in percent from which fuzzy matches are told; with 100 none are, and rapidfuzz is not
            needed.

    Raises:
        ValueError: no entry has text, or a threshold that is not above 0 and at most 100.
        TypeError: an entry that is no pair of strings.
        ImportError: fuzzy matches are wanted, and rapidfuzz is not installed.
    """

    def __init__(self, entries: Iterable[MemoryEntry | tuple[str, str]], threshold: float = DEFAULT_THRESHOLD) -> None:
        if not 0 < threshold <= 100:
            raise ValueError(f"the threshold of fuzzy matches is a percentage above 0 and up to 100, got {threshold}")
        if threshold < 100 and rapidfuzz is None:
            raise ImportError(
                "fuzzy matches of a translation memory need rapidfuzz: pip install 'hier_nmt[memory]', or set the "
                "threshold to 100 for exact matches alone"
            )
        self.threshold = threshold
        self._entries: dict[tuple[str, Tags], MemoryEntry] = {}
        for entry in map(_checked, entries):
            source = normalize_space(entry.source)
            if source and entry.target.strip():
                self._entries[source, entry.tags] = entry._replace(target=entry.target.strip())
        if not self._entries:
            raise ValueError("the translation memory is empty: it has no sentence with a translation")

    def __len__(self) -> int:
        return len(self._entries)

    def exact(self, text: str, tags: Tags = ()) -> MemoryEntry | None:
        """The entry with this text, white space apart, and these tags."""
        return self._entries.get((normalize_space(text), tags))

    def match(self, sentence: int, text: str, tags: Tags = ()) -> MemoryMatch | None:
        """The exact match of a sentence, or else the most similar entry if it reaches the threshold."""
        found = self.exact(text, tags)
        if found is not None:
            return MemoryMatch(sentence, 100.0, found.source, found.target)
        if self.threshold == 100:
            return None
        text, ratio = normalize_space(text), rapidfuzz.fuzz.ratio
        best = rapidfuzz.process.extractOne(text, self._sources, scorer=ratio, score_cutoff=self.threshold)
        if best is None:
            return None
        entry = self._all[best[2]]
        return MemoryMatch(sentence, min(_MOST_FUZZY, round(best[1], 1)), entry.source, entry.target)

    @cached_property
    def _all(self) -> list[MemoryEntry]:
        return list(self._entries.values())

    @cached_property
    def _sources(self) -> list[str]:
        return [source for source, _ in self._entries]

    @cached_property
    def digest(self) -> str:
        """A hash of all entries and the threshold."""
        content = json.dumps([self.threshold, *self._all])
        return hashlib.sha256(content.encode()).hexdigest()[:16]


def normalize_space(text: str) -> str:
    """The text with single spaces, and none at its ends."""
    return " ".join(text.split())


def _checked(entry: MemoryEntry | tuple[str, str]) -> MemoryEntry:
    if isinstance(entry, MemoryEntry):
        return entry
    if not isinstance(entry, tuple | list) or len(entry) != 2 or not all(isinstance(text, str) for text in entry):
        raise TypeError(f"an entry of a translation memory is a sentence and its translation, got {entry!r:.80}")
    return MemoryEntry(*entry)
