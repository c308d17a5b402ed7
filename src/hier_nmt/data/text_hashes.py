# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Hashes that find equal sentences and pairs without keeping their text."""

import hashlib
from collections.abc import Iterable

from .documents import ParallelDocument

# Shorter sentences ("Thank you.") occur in any two corpora.
MIN_SHARED_WORDS = 8


def normal_text(text: str) -> str:
    """The text in lower case with single spaces."""
    return " ".join(text.casefold().split())


def text_hash(*texts: str) -> int:
    """A 64-bit hash; texts that differ only in case and white space have the same one."""
    content = "\0".join(map(normal_text, texts)).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest())


class KnownTexts:
    """Hashes of all documents (by their sources), pairs and source sentences of a corpus."""

    def __init__(self, documents: Iterable[ParallelDocument] = ()) -> None:
        self.documents: set[int] = set()
        self.pairs: set[int] = set()
        self.sources: set[int] = set()
        for document in documents:
            self.documents.add(text_hash(*document.source_sentences))
            for source, target in zip(document.source_sentences, document.target_sentences, strict=True):
                self.pairs.add(text_hash(source, target))
                self.sources.add(text_hash(source))

    def shares_pair(self, source: str, target: str) -> bool:
        """Whether the pair is known, or its source sentence if that has at least `MIN_SHARED_WORDS` words."""
        if not self.pairs:
            return False
        is_long = len(source.split()) >= MIN_SHARED_WORDS
        return text_hash(source, target) in self.pairs or (is_long and text_hash(source) in self.sources)
