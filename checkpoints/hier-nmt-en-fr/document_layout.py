# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Where the sentences of a document stand in its text, and the text with their translations in their places."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .placed_marks import Mark, with_marks
from .text_segmentation import segment_text


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
    """A sentence at [start, stop) of a text: its own text, without the markup inside, which is in `marks`."""

    start: int
    stop: int
    text: str
    paragraph: int
    marks: tuple[Mark, ...] = ()
    escape: Callable[[str], str] = str


class TextRun(NamedTuple):
    """Text of a document with markup, and for each of its characters where what it is written as begins and ends."""

    text: str
    starts: Sequence[int]
    stops: Sequence[int]
    marks: tuple[Mark, ...] = ()
    escape: Callable[[str], str] = str


@dataclass
class RunBuilder:
    """Collects a `TextRun`: white space as single spaces, newlines only where they are meant."""

    characters: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    stops: list[int] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)

    def add(self, text: str, start: int, stop: int) -> None:
        """Adds text that is written as [start, stop) of the document."""
        is_literal = stop - start == len(text)
        for index, character in enumerate(text):
            if character in " \t\n\r\f\v":
                character = " "
                self._note_space()
                if not self.characters or self.characters[-1] in " \n":
                    continue
            self._append(character, start + index if is_literal else start, start + index + 1 if is_literal else stop)

    def add_break(self, start: int, stop: int) -> None:
        """Adds the end of a line that counts."""
        self._append("\n", start, stop)

    def add_mark(self, text: str, kind: str) -> None:
        """Adds markup at the end of the text so far."""
        before = kind == "whole" and self.characters[-1:] == [" "]
        self.marks.append(Mark(len(self.characters), text, kind, before))  # type: ignore[arg-type]

    def _note_space(self) -> None:
        if self.marks and self.marks[-1].kind == "whole" and self.marks[-1].position == len(self.characters):
            self.marks[-1] = self.marks[-1]._replace(space_behind=True)

    def _append(self, character: str, start: int, stop: int) -> None:
        self.characters.append(character)
        self.starts.append(start)
        self.stops.append(stop)

    def run(self, escape: Callable[[str], str]) -> TextRun:
        """What was collected."""
        # What follows a word without a space belongs to it.
        marks = [
            mark._replace(kind="close") if mark.space_behind and not mark.space_before else mark for mark in self.marks
        ]
        return TextRun("".join(self.characters), self.starts, self.stops, tuple(marks), escape)


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
            yield PlacedSentence(slot.text, self._written(slot, translation), between, slot.paragraph)
            previous, was_copied = slot, is_copied
        if rest := self.source[previous.stop :]:
            yield PlacedSentence("", "", rest, previous.paragraph)

    def text(self, translations: Iterable[str]) -> str:
        """The translated text."""
        return "".join(one.white_space + one.translation for one in self.placed(translations))

    def _written(self, slot: SentenceSlot, translation: str) -> str:
        if translation == slot.text:
            return self.source[slot.start : slot.stop]
        return with_marks(slot.text, slot.marks, translation, slot.escape)


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
                slots.append(SentenceSlot(*place, segment.text, first + segment.paragraph, inside, run.escape))
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
