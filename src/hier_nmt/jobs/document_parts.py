# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Documents in parts, the units of decoding and of what is saved for a later run."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..text.translation_memory import Tags
from ..translation.translation_documents import SourceDocument

if TYPE_CHECKING:
    from transformers import PreTrainedModel

# Maximum sentences of a part: the unit of decoding, and of what is saved for a later run.
PART_SENTENCES = 200
# Sentences before a part that serve as its context; a window reads as many as fit.
CONTEXT_SENTENCES = 32
# The index of a paragraph, a sentence of it, and its inline tags.
_Row = tuple[int, str, Tags]


class Piece(NamedTuple):
    """Sentences of one paragraph of a document, the inline tags of each, and whether they are to be translated."""

    is_wanted: bool
    paragraph: int
    sentences: Sequence[str]
    tags: Sequence[Tags]


def part_limit(model: "PreTrainedModel") -> int | None:
    """The maximum number of sentences of a part; None for a model of whole documents, which are not divided."""
    return None if getattr(model.config, "window_sentences", 1) == 0 else PART_SENTENCES


def document_parts(
    pieces: Iterable[Piece], context: Sequence[Sequence[str]], limit: int | None
) -> Iterator[SourceDocument]:
    """The wanted sentences of a document in parts, each with the sentences before it as context.

    Args:
        pieces: the document.
        context: paragraphs of sentences before the document.
        limit: the maximum number of sentences of a part, or None.
    """
    row: list[_Row] = [(-index, one, ()) for index, paragraph in enumerate(context, start=1) for one in paragraph]
    start = len(row)
    for piece in pieces:
        if not piece.is_wanted:
            yield from _part(row, start, limit)
            start = len(row) + len(piece.sentences)
        for sentence, tags in zip(piece.sentences, piece.tags, strict=True):
            row.append((piece.paragraph, sentence, tags))
            if len(row) - start == limit:
                yield from _part(row, start, limit)
                start = len(row)
    yield from _part(row, start, limit)


def _part(row: Sequence[_Row], start: int, limit: int | None) -> Iterator[SourceDocument]:
    """A part with the sentences from `start` on, if there are any, and those before them as context."""
    if start < len(row):
        before = row[:start] if limit is None else row[max(0, start - CONTEXT_SENTENCES) : start]
        tags = {number: tags for number, (_, _, tags) in enumerate(row[start:]) if tags}
        yield SourceDocument(_in_paragraphs(row[start:]), _in_paragraphs(before), tags=tags)


def _in_paragraphs(sentences: Sequence[_Row]) -> list[list[str]]:
    """The sentences, given with the index of their paragraph, grouped by paragraph."""
    paragraphs: dict[int, list[str]] = {}
    for paragraph, sentence, _ in sentences:
        paragraphs.setdefault(paragraph, []).append(sentence)
    return list(paragraphs.values())
