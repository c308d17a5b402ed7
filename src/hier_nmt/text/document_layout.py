# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Where the sentences of a document are in its text, and how their translations replace them."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .inline_markup import Mark, insert_marks
from .protected_spans import OBJECT
from .segmentation import segment_text
from .translation_memory import Tags


class PlacedSentence(NamedTuple):
    """A translated sentence and the text before it: `white_space` is what separates it from the sentence before (in a
    text format including markup), then comes `translation`.

    If the text goes on after the last sentence, a final entry has only `white_space`.
    """

    source: str
    translation: str
    white_space: str
    paragraph: int


class SentenceSlot(NamedTuple):
    """A sentence at [start, stop) of a document. `text` is the sentence without its inline markup, which is in `marks`.

    Markup that acts as a word, such as code, is an `OBJECT` in `text`, and is in `objects` as the document has it.
    """

    start: int
    stop: int
    text: str
    paragraph: int
    marks: tuple[Mark, ...] = ()
    escape: Callable[[str], str] = str
    objects: tuple[str, ...] = ()

    def tags(self) -> Tags:
        """The position in `text` of each piece of inline markup, and the markup."""
        words = zip((match.start() for match in re.finditer(OBJECT, self.text)), self.objects, strict=False)
        return (*((mark.position, mark.text) for mark in self.marks), *words)

    def with_objects(self, text: str) -> str:
        """The text of the sentence, or its translation, with each `OBJECT` replaced by the original markup."""
        return with_objects(text, iter(self.objects))


def with_objects(text: str, objects: Iterator[str]) -> str:
    """The text with each `OBJECT` replaced by the next of `objects`."""
    return re.sub(OBJECT, lambda match: next(objects, OBJECT), text)


class TextRun(NamedTuple):
    """Text of a document with markup, and for each of its characters the span [start, stop) of the document."""

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
        slots: the sentences, in order and without overlaps.
        joiner: separator of the target language for sentences with nothing between them in the source. It is not
            inserted between two sentences whose translations equal their sources.
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

    def translated_sentences(self, translations: Iterable[str]) -> Iterator[PlacedSentence]:
        """The translated sentences, each as soon as its translation is available; joined they are the translated
        text."""
        previous = SentenceSlot(0, 0, "", 0)
        was_copied = True
        for slot, translation in zip(self.slots, translations, strict=True):
            between = self.source[previous.stop : slot.start]
            is_copied = translation == slot.text
            if not between and previous.text and slot.text and not (was_copied and is_copied):
                between = self.joiner
            source = slot.with_objects(slot.text)
            yield PlacedSentence(source, self._rendered(slot, translation), between, slot.paragraph)
            previous, was_copied = slot, is_copied
        if rest := self.source[previous.stop :]:
            yield PlacedSentence("", "", rest, previous.paragraph)

    def text(self, translations: Iterable[str]) -> str:
        """The translated text."""
        return "".join(one.white_space + one.translation for one in self.translated_sentences(translations))

    def _rendered(self, slot: SentenceSlot, translation: str) -> str:
        if translation == slot.text:
            return self.source[slot.start : slot.stop]
        objects = iter(slot.objects)
        return insert_marks(slot.text, slot.marks, translation, lambda text: with_objects(slot.escape(text), objects))


def text_layout(text: str, language: str, joiner: str) -> DocumentLayout:
    """The layout of plain text, in which a newline ends a paragraph."""
    run = TextRun(text, range(len(text)), range(1, len(text) + 1))
    return run_layout(text, [run], language, joiner)


def run_layout(source: str, runs: Iterable[TextRun], language: str, joiner: str) -> DocumentLayout:
    """The layout of a document with markup: each run starts a paragraph; text outside of all runs stays as it is."""
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
    """The layout of given sentences: joined by `joiner` within a paragraph, with a blank line between paragraphs."""
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
