# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Translates the text of a file in any supported format, in parts that an interrupted run does not repeat."""

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..data.formats.document_file import DocumentFile, Unit
from ..text.glossary import UNUSED, Glossary
from ..text.long_sentences import sentence_joiner
from ..text.segmentation import Segment, replace_sentences, segment_text
from ..text.translation_memory import MemoryMatch, Tags, TranslationMemory
from ..translation.translation_documents import TranslatedDocument
from ..translation.translation_report import INCIDENT_KINDS
from .document_parts import Piece, document_parts, part_limit
from .saved_translations import Paragraphs
from .translate_corpus import translate_documents

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

# Endings of files whose translation is of another kind.
_OUTPUT_ENDINGS = {"pot": "po", "pdf": "html"}
_LINE_BREAK = re.compile(r"[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")


@dataclass(frozen=True, slots=True)
class TranslatedSentence:
    """A sentence of a file, its translation, and the index of its paragraph in the whole file."""

    source: str
    translation: str
    paragraph: int


def printed_lines(sentences: Sequence[TranslatedSentence], form: str, width: int) -> Iterator[str]:
    """Sentences and translations for a terminal, with a blank line between paragraphs.

    Args:
        sentences: the sentences to print.
        form: "pairs", the one below the other, or "columns", beside each other.
        width: characters of a line, for the columns.
    """
    column = (width - 3) // 2
    for number, (_, paragraph) in enumerate(groupby(sentences, key=lambda sentence: sentence.paragraph)):
        if number:
            yield ""
        for sentence in paragraph:
            if form == "pairs":
                yield from (sentence.source, f"    {sentence.translation}")
                continue
            columns = (textwrap.wrap(sentence.source, column), textwrap.wrap(sentence.translation, column))
            yield from (f"{left:<{column}} | {right}" for left, right in zip_longest(*columns, fillvalue=""))


def output_path(path: Path, source_language: str, target_language: str) -> Path:
    """The path of a file's translation: "film.en.srt" and "film.srt" become "film.fr.srt", "a.en" becomes "a.fr"; a
    template "a.pot" becomes "a.fr.po", and "a.pdf" becomes "a.fr.html".

    Raises:
        FileExistsError: that file exists.
    """
    name = path.name.removesuffix(".gz")
    parts = name.split(".")
    index = next((at for at in (-1, -2) if len(parts) > -at and parts[at] == source_language), None)
    if index is None:
        parts.insert(max(1, len(parts) - 1), target_language)
    else:
        parts[index] = target_language
    parts[-1] = _OUTPUT_ENDINGS.get(parts[-1].lower(), parts[-1])
    output = path.with_name(".".join(parts))
    if output.exists():
        raise FileExistsError(f"{output} exists; give --output with another name, or with this one to replace it")
    return output


class SentenceNotes(NamedTuple):
    """What a reader may want to know of a translated sentence: its confidence, what happened to it, and what the
    translation memory has for it."""

    confidence: float | None
    reasons: tuple[str, ...]
    match: MemoryMatch | None

    @property
    def is_exact(self) -> bool:
        """Whether the translation is that of the memory."""
        return self.match is not None and self.match.score == 100


# Of a sentence about which nothing is known: one object, since a corpus may have millions.
_NO_NOTES = SentenceNotes(None, (), None)


@dataclass(frozen=True)
class TranslatedFile:
    """Translations of a file.

    Attributes:
        translations: for `DocumentFile.translated`.
        sentences: the translated sentences.
        num_kept: units that kept an existing translation.
        notes: what is known of each of the sentences.
        confidences: of each unit, for `DocumentFile.confidences`, if they were asked for.
        from_memory: of each unit, for `DocumentFile.from_memory`.
    """

    translations: list[list[str]]
    sentences: list[TranslatedSentence]
    num_kept: int = 0
    notes: list[SentenceNotes] = field(default_factory=list)
    confidences: list[list[float | None]] | None = None
    from_memory: list[list[bool]] | None = None


@dataclass(frozen=True, slots=True)
class _SplitUnit:
    unit: Unit
    segments: list[Segment]
    paragraph: int

    @property
    def has_letters(self) -> bool:
        """Whether there is anything to translate: a number or a dash alone is the same in every language."""
        return any(character.isalpha() for character in self.unit.source)

    @property
    def sentences(self) -> list[str]:
        return [segment.text for segment in self.segments if segment.is_sentence]

    def tags(self) -> list[Tags]:
        """The inline tags of each sentence; one between two sentences is of both."""
        found, start = [], 0
        for segment in self.segments:
            stop = start + len(segment.text)
            if segment.is_sentence:
                inside = [(at - start, tag) for at, tag in self.unit.tags if start <= at <= stop]
                found.append(tuple(inside))
            start = stop
        return found


def translate_file(
    model: "PreTrainedModel",
    tokenizer: "PreTrainedTokenizerBase",
    file: DocumentFile,
    *,
    source_language: str,
    target_language: str | None = None,
    context: Sequence[Sequence[str]] = (),
    glossary: Glossary | None = None,
    do_not_translate: tuple[str, ...] = (),
    memory: TranslationMemory | None = None,
    retranslate: bool = False,
    output_file: str | Path | None = None,
    **options: Any,
) -> TranslatedFile:
    """The translation of every unit of a file. Each unit is split into sentences; units of a document are its context.

    Args:
        model: an encoder-decoder model.
        tokenizer: of the source language, or of both.
        file: the file. Units with a translation keep it, and units without a letter are copied.
        source_language: ISO 639 code, by whose rules units are split into sentences.
        target_language: ISO 639 code.
        context: paragraphs of sentences before each document, read but not translated.
        glossary: terms with prescribed translations.
        do_not_translate: terms that stay as they are.
        memory: sentences with translations, which are taken for equal ones.
        retranslate: whether to translate units again that have a translation.
        output_file: stores finished parts, see `translate_documents`; an interrupted run continues from it.
        options: of `translate_documents`.

    Raises:
        ResumeError: `output_file` belongs to another model, other settings or another text.
    """
    work = FileTranslation(file, source_language, target_language, part_limit(model), context, retranslate, memory)
    known: dict[str, Any] = {"glossary": glossary, "do_not_translate": do_not_translate, "memory": memory}
    parts = [replace(part, **known) for part in work.parts]
    results: list[TranslatedDocument] = []
    translated = translate_documents(
        model,
        tokenizer,
        parts,
        output_file=output_file,
        source_language=source_language,
        target_language=target_language,
        results=results,
        **options,
    )
    return work.finish(translated, notes_of(results))


def notes_of(results: Iterable[TranslatedDocument]) -> list[SentenceNotes]:
    """What is known of each sentence of translated documents, in order."""
    return [note for document in results for note in _notes(document)]


def _notes(document: TranslatedDocument) -> list[SentenceNotes]:
    num_sentences = sum(map(len, document.paragraphs))
    confidences = [None] * num_sentences if document.confidences is None else document.confidences
    reasons: list[list[str]] = [[] for _ in range(num_sentences)]
    for event in sorted(document.events, key=lambda event: INCIDENT_KINDS.index(event.kind)):
        reasons[event.sentence].append(f"{event.kind.replace('_', ' ')}: {event.reason}")
    for use in document.terms:
        if use.use == UNUSED:
            reasons[use.sentence].append(f"term not used: {use.source} = {use.target}")
    matches = {match.sentence: match for match in document.memory}
    return [
        SentenceNotes(None if one is None else one.confidence, tuple(reasons[index]), matches.get(index))
        if one is not None or reasons[index] or index in matches
        else _NO_NOTES
        for index, one in enumerate(confidences)
    ]


class FileTranslation:
    """The sentences of a file that are to be translated, in parts, and the file's translations made of theirs.

    Args:
        file: the file. Units with a translation keep it, and units without a letter are copied.
        source_language, target_language: ISO 639 codes.
        limit: the maximum number of sentences of a part; None: documents are not divided.
        context: paragraphs of sentences before each document, read but not translated.
        retranslate: whether to translate units again that have a translation.
        memory: a unit that it has as a whole is not divided into sentences.

    Attributes:
        parts: to translate, by whatever means.
    """

    def __init__(
        self,
        file: DocumentFile,
        source_language: str,
        target_language: str | None,
        limit: int | None,
        context: Sequence[Sequence[str]] = (),
        retranslate: bool = False,
        memory: TranslationMemory | None = None,
    ) -> None:
        self._documents = _split_units(file, source_language, memory)
        self._joiner, self._retranslate = sentence_joiner(target_language), retranslate
        self._wanted = [
            [unit for unit in units if unit.has_letters and (retranslate or not unit.unit.is_translated)]
            for units in self._documents
        ]
        self.parts = [
            part
            for units, wanted in zip(self._documents, self._wanted, strict=True)
            for part in document_parts(_pieces(units, wanted), context, limit)
        ]

    def finish(self, translated: Iterable[Paragraphs], notes: Sequence[SentenceNotes] = ()) -> TranslatedFile:
        """The file's translations, given the paragraphs of translated sentences of each part, and notes on them."""
        sentences = iter(
            [_LINE_BREAK.sub(" ", text) for part in translated for paragraph in part for text in paragraph]
        )
        pairs: list[TranslatedSentence] = []
        translations = []
        for units, wanted in zip(self._documents, self._wanted, strict=True):
            chosen = set(map(id, wanted))
            translations.append([_translation(one, id(one) in chosen, sentences, self._joiner, pairs) for one in units])
        num_kept = sum(one.unit.is_translated for units in self._documents for one in units)
        file = TranslatedFile(translations, pairs, 0 if self._retranslate else num_kept, list(notes))
        if not notes:
            return file
        of_units = self._notes_of_units(notes)
        confidences = [list(map(_lowest_confidence, units)) for units in of_units]
        has_confidence = any(note.confidence is not None for note in notes)
        from_memory = [[bool(unit) and all(note.is_exact for note in unit) for unit in units] for units in of_units]
        return replace(file, confidences=confidences if has_confidence else None, from_memory=from_memory)

    def _notes_of_units(self, notes: Sequence[SentenceNotes]) -> list[list[list[SentenceNotes]]]:
        """The notes on the sentences of each unit of each document; none for units that are not translated."""
        rest = iter(notes)
        found = []
        for units, wanted in zip(self._documents, self._wanted, strict=True):
            chosen = set(map(id, wanted))
            found.append([[next(rest) for _ in one.sentences] if id(one) in chosen else [] for one in units])
        return found


def _lowest_confidence(notes: Sequence[SentenceNotes]) -> float | None:
    """The lowest confidence of the sentences of a unit; None if the model has not translated all of them."""
    known = [note.confidence for note in notes if note.confidence is not None]
    return min(known) if known and len(known) == len(notes) else None


def _split_units(file: DocumentFile, language: str, memory: TranslationMemory | None = None) -> list[list[_SplitUnit]]:
    """The units of each document, split into sentences, unless the memory has the whole unit."""
    paragraph = -1
    documents = []
    for document in file.documents:
        units = []
        for group in document.paragraphs:
            paragraph += 1
            for unit in group:
                is_known = memory is not None and memory.exact(unit.source, unit.tags) is not None
                segments = _undivided(unit.source) if is_known else segment_text(unit.source, language)
                units.append(_SplitUnit(unit, segments, paragraph))
        documents.append(units)
    return documents


def _undivided(text: str) -> list[Segment]:
    """The text as one sentence, with the white space around it."""
    inside = text.strip()
    before, _, after = text.partition(inside)
    parts = ((before, False), (inside, True), (after, False))
    return [Segment(part, is_sentence, 0) for part, is_sentence in parts if part]


def _translation(
    one: _SplitUnit, is_wanted: bool, sentences: Iterator[str], joiner: str, pairs: list[TranslatedSentence]
) -> str:
    """The translation of a unit, from the iterator over all translated sentences; its sentence pairs go to `pairs`."""
    if not is_wanted:
        return one.unit.target or one.unit.source
    found = [next(sentences) for _ in one.sentences]
    pairs += [TranslatedSentence(*pair, one.paragraph) for pair in zip(one.sentences, found, strict=True)]
    return replace_sentences(one.segments, found, joiner)


def _pieces(units: Sequence[_SplitUnit], wanted: Sequence[_SplitUnit]) -> Iterator[Piece]:
    chosen = set(map(id, wanted))
    return (Piece(id(one) in chosen, one.paragraph, one.sentences, one.tags()) for one in units)
