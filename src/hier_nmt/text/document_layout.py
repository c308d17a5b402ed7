# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Where the sentences of a document stand in its text, and the text with their translations in their places."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .inline_markup import Mark, with_marks
from .protected_spans import OBJECT
from .segmentation import segment_text


class PlacedSentence(NamedTuple):
    """A translated sentence as it goes into the text: `white_space`, which is what the text has between it and the
    sentence before (with a text format also markup), then `translation`.

    Behind the last sentence comes, if the text goes on, one with nothing but `white_space`.
    """

    source: str
    translation: str
    white_space: str
    paragraph: int


class SentenceSlot(NamedTuple):
    """A sentence at [start, stop) of a text: its own text, without the markup inside, which is in `marks`.

    What stands in the place of a word, such as code, is in the text as an `OBJECT`, and as it is written in `objects`.
    """

    start: int
    stop: int
    text: str
    paragraph: int
    marks: tuple[Mark, ...] = ()
    escape: Callable[[str], str] = str
    objects: tuple[str, ...] = ()

    def with_objects(self, text: str) -> str:
        """The text of the sentence, or its translation, with its objects as they are written."""
        return with_objects(text, iter(self.objects))


def with_objects(text: str, objects: Iterator[str]) -> str:
    """The text with the next of these in the place of each `OBJECT`."""
    return re.sub(OBJECT, lambda match: next(objects, OBJECT), text)


class TextRun(NamedTuple):
    """Text of a document with markup, and for each of its characters where what it is written as begins and ends."""

    text: str
    starts: Sequence[int]
    stops: Sequence[int]
    marks: tuple[Mark, ...] = ()
    escape: Callable[[str], str] = str


@dataclass(frozen=True)
class DocumentLayout:
    """A text and its sentences.

    Attributes:
        source: the text.
        slots: the sentences, in order, none over another.
        joiner: what the target language writes between sentences that have nothing between them in the source,
            unless both stay as they are.
    """

    source: str
    slots: Sequence[SentenceSlot]
    joiner: str

    def paragraphs(self) -> list[list[str]]:
        """The sentences of each paragraph."""
        found: dict[int, list[str]] = {}
        for slot in self.slots:
            found.setdefault(slot.paragraph, []).append(slot.text)
        return list(found.values())

    def placed(self, translations: Iterable[str]) -> Iterator[PlacedSentence]:
        """The translated sentences, each as soon as its translation is there; joined they are the translated text."""
        previous = SentenceSlot(0, 0, "", 0)
        was_copied = True
        for slot, translation in zip(self.slots, translations, strict=True):
            between = self.source[previous.stop : slot.start]
            is_copied = translation == slot.text
            if not between and previous.text and slot.text and not (was_copied and is_copied):
                between = self.joiner
            source = slot.with_objects(slot.text)
            yield PlacedSentence(source, self._written(slot, translation), between, slot.paragraph)
            previous, was_copied = slot, is_copied
        if rest := self.source[previous.stop :]:
            yield PlacedSentence("", "", rest, previous.paragraph)

    def text(self, translations: Iterable[str]) -> str:
        """The translated text."""
        return "".join(one.white_space + one.translation for one in self.placed(translations))

    def _written(self, slot: SentenceSlot, translation: str) -> str:
        if translation == slot.text:
            return self.source[slot.start : slot.stop]
        objects = iter(slot.objects)
        return with_marks(slot.text, slot.marks, translation, lambda text: with_objects(slot.escape(text), objects))


def text_layout(text: str, language: str, joiner: str) -> DocumentLayout:
    """The layout of plain text, of which a newline ends a paragraph."""
    run = TextRun(text, range(len(text)), range(1, len(text) + 1))
    return run_layout(text, [run], language, joiner)


def run_layout(source: str, runs: Iterable[TextRun], language: str, joiner: str) -> DocumentLayout:
    """The layout of a document with markup: each run begins a paragraph, and what is in none of them stays."""
    slots: list[SentenceSlot] = []
    for run in runs:
        first = slots[-1].paragraph + 1 if slots else 0
        position = 0
        for segment in segment_text(run.text, language):
            stop = position + len(segment.text)
            if segment.is_sentence:
                inside = tuple(
                    mark._replace(position=mark.position - position)
                    for mark in run.marks
                    if position < mark.position < stop
                )
                place = run.starts[position], run.stops[stop - 1]
                objects = tuple(
                    source[run.starts[at] : run.stops[at]]
                    for at, character in enumerate(segment.text, start=position)
                    if character == OBJECT
                )
                slots.append(SentenceSlot(*place, segment.text, first + segment.paragraph, inside, run.escape, objects))
            position = stop
    return DocumentLayout(source, slots, joiner)


def structured_layout(paragraphs: Iterable[Iterable[str]], joiner: str) -> DocumentLayout:
    """The layout of given sentences: they are joined, and paragraphs are parted by a blank line."""
    source = ""
    slots = []
    for index, paragraph in enumerate(paragraphs):
        source += "\n\n" if index else ""
        is_first = True
        for sentence in paragraph:
            if sentence and not is_first:
                source += joiner
            is_first = is_first and not sentence
            slots.append(SentenceSlot(len(source), len(source) + len(sentence), sentence, index))
            source += sentence
    return DocumentLayout(source, slots, joiner)
