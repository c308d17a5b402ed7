# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Documents as token ids: one row of sentences, without those that have nothing to translate."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..text.glossary import TermUse
from ..text.translation_memory import MemoryMatch
from ..text.untranslatable import (
    HAS_MESSAGE,
    NO_LETTERS,
    UNKNOWN_SCRIPT,
    SentenceParts,
    UnknownCharacters,
    has_letters,
    has_message,
    num_letters,
    split_sentence,
)
from .glossary_options import TermPolicy
from .translation_documents import SourceDocument, all_places
from .translation_report import COPIED, DecodingStatistics, SentenceEvent, term_uses
from .translation_state import TranslationState
from .translation_vocabulary import TranslationVocabulary


class _Encoded(NamedTuple):
    """A sentence, its parts, the token ids of its core, and why there is nothing to translate, if so."""

    text: str
    parts: SentenceParts
    ids: list[int]
    reason: str | None


class _Sentence(NamedTuple):
    """A sentence with something to translate; its place is (paragraph, sentence), its number is its index in the
    document."""

    parts: SentenceParts
    ids: list[int]
    place: tuple[int, int]
    number: int


def encode_documents(
    documents: Sequence[SourceDocument],
    vocabulary: TranslationVocabulary,
    num_context: int | None,
    policy: TermPolicy,
) -> list[TranslationState]:
    """The documents, encoded, with at most `num_context` sentences of the context before each (None: all of it).

    The policy decides whether the translations of terms of their glossaries are written into them.
    """
    sides = [(document, side) for document in documents for side in (document.context, document.paragraphs)]
    rows = [(document.do_not_translate, text) for document, side in sides for row in side for text in row]
    texts = [text for _, text in rows]
    unknown = vocabulary.classify_characters(texts)
    parts = [split_sentence(text, unknown, vocabulary.stand_ins, terms) for terms, text in rows]
    ids = vocabulary.encode([part.core for part in parts])
    encoded = (
        _Encoded(text, part, row, _nothing_to_translate(text, part.core, row, unknown, vocabulary))
        for text, part, row in zip(texts, parts, ids, strict=True)
    )
    return [_encode_document(document, vocabulary, encoded, num_context, policy) for document in documents]


def _encode_document(
    document: SourceDocument,
    vocabulary: TranslationVocabulary,
    encoded: Iterator[_Encoded],
    num_context: int | None,
    policy: TermPolicy,
) -> TranslationState:
    """The document as one row of sentences, without those that have nothing to translate: these stay as they are."""
    context, _ = _sentences(document.context, encoded)
    context = context[len(context) - min(num_context, len(context)) :] if num_context is not None else context
    sentences, copied = _sentences(document.paragraphs, encoded)
    memory = list(_memory_matches(document))
    from_memory = {one.sentence for one in memory if one.score == 100}
    copied = [one for one in copied if one.sentence not in from_memory]
    row = [*context, *sentences]
    working = TranslationState(
        texts=[sentence.parts.core for sentence in row],
        ids=[sentence.ids for sentence in row],
        ends_paragraph=_paragraph_ends(context) + _paragraph_ends(sentences),
        first=len(context),
        vocabulary=vocabulary,
        places=[sentence.place for sentence in sentences],
        numbers=[sentence.number for sentence in sentences],
        parts=[sentence.parts for sentence in sentences],
        result=[list(paragraph) for paragraph in document.paragraphs],
        statistics=DecodingStatistics(
            num_copied=len(copied),
            num_messages=sum(one.reason == HAS_MESSAGE for one in copied),
            num_protected=sum(one.parts.num_protected for one in sentences if one.number not in from_memory),
            num_untranslated_terms=sum(len(one.parts.terms) for one in sentences if one.number not in from_memory),
        ),
        copied=copied,
        glossary=document.glossary,
        policy=policy,
        other_terms=list(_other_terms(document, copied)),
        memory=memory,
    )
    working.use_memory()
    if document.context_translation is not None:
        working.add_known([document.context_translation[sentence.number] for sentence in context])
    return working


def _memory_matches(document: SourceDocument) -> Iterator[MemoryMatch]:
    """The matches of the translation memory for sentences with letters."""
    if document.memory is not None:
        texts = (text for paragraph in document.paragraphs for text in paragraph)
        for number, text in enumerate(texts):
            match = document.memory.match(number, text, document.tags.get(number, ())) if has_letters(text) else None
            if match is not None:
                yield match


def _other_terms(document: SourceDocument, copied: Sequence[SentenceEvent]) -> Iterator[TermUse]:
    """What became of the terms of sentences that are copied."""
    if document.glossary is not None and copied:
        texts = [text for paragraph in document.paragraphs for text in paragraph]
        for number in (one.sentence for one in copied):
            yield from term_uses(document.glossary, document.glossary.find(texts[number]), number, texts[number])


def _sentences(
    paragraphs: Sequence[Sequence[str]], encoded: Iterator[_Encoded]
) -> tuple[list[_Sentence], list[SentenceEvent]]:
    """The sentences with something to translate, and events for the others, except empty ones."""
    sentences, copied = [], []
    for number, place in enumerate(all_places(paragraphs)):
        text, parts, ids, reason = next(encoded)
        if reason is None:
            sentences.append(_Sentence(parts, list(ids), place, number))
        elif text.strip():
            copied.append(SentenceEvent(number, COPIED, reason))
    return sentences, copied


def _nothing_to_translate(
    text: str, core: str, ids: Sequence[int], unknown: UnknownCharacters, vocabulary: TranslationVocabulary
) -> str | None:
    """Why a sentence is not translated, or None: it has no letters, most of them are of a script that the model cannot
    read, or it is a message whose cases depend on the language."""
    if has_message(text):
        return HAS_MESSAGE
    num_unknown = sum(character in unknown.letters for character in text) if unknown.letters else 0
    if 2 * vocabulary.num_known_letters(ids) < num_letters(core) + num_unknown:
        return UNKNOWN_SCRIPT
    return None if has_letters(core) else NO_LETTERS


def _paragraph_ends(sentences: Sequence[_Sentence]) -> list[bool]:
    """For each sentence, whether the next one is in another paragraph or there is none."""
    rows = [sentence.place[0] for sentence in sentences]
    return [row != following for row, following in zip(rows, [*rows[1:], -1], strict=False)]
