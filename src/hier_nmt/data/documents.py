# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The parallel document, which all corpus readers produce."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SentencePair:
    """A source sentence and its translation."""

    source: str
    target: str


@dataclass(frozen=True)
class ParallelDocument:
    """A document as paragraphs of aligned sentence pairs; `title` is (source title, target title)."""

    id: str
    paragraphs: tuple[tuple[SentencePair, ...], ...]
    title: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        if not self.paragraphs or not all(self.paragraphs):
            raise ValueError(f"document {self.id!r} has no paragraph, or one without sentences")

    @property
    def num_sentences(self) -> int:
        """The number of sentence pairs."""
        return sum(len(paragraph) for paragraph in self.paragraphs)

    @property
    def source_sentences(self) -> list[str]:
        """All source sentences in order, over all paragraphs."""
        return [pair.source for paragraph in self.paragraphs for pair in paragraph]

    @property
    def target_sentences(self) -> list[str]:
        """All target sentences in order, over all paragraphs."""
        return [pair.target for paragraph in self.paragraphs for pair in paragraph]

    @property
    def ends_paragraph(self) -> list[bool]:
        """For each sentence, whether it is the last of its paragraph."""
        return [index == len(paragraph) - 1 for paragraph in self.paragraphs for index in range(len(paragraph))]

    @property
    def source_paragraphs(self) -> list[list[str]]:
        """The source sentences of each paragraph."""
        return [[pair.source for pair in paragraph] for paragraph in self.paragraphs]
