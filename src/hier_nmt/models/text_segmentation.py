# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Raw text as sentences and the white space between them, such that the segments joined are the text again."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from .sentence_abbreviations import rejoined

try:
    import sentencex
except ImportError:
    sentencex = None

_NEWLINES = r"\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
_LINES = re.compile(f"[^{_NEWLINES}]+|[{_NEWLINES}]+")
# Between the fields of a line: tabs, or spaces that put them below each other.
_FIELDS = re.compile(r"(\s*\t\s*|\s{4,})")
_SURROGATE = re.compile("[\ud800-\udfff]")
_WHITE_SPACE = re.compile(r"\s")
_LANGUAGE_CODE = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*")


class Segment(NamedTuple):
    """A sentence without white space at its ends, or white space between sentences.

    `paragraph` counts from 0; white space belongs to the paragraph before it.
    """

    text: str
    is_sentence: bool
    paragraph: int


def segment_text(text: str, language: str) -> list[Segment]:
    """The segments of a text; joining their texts gives exactly the text.

    A newline, of whatever kind, ends a paragraph, and so a sentence. A tab or four spaces in a row part the fields of a
    line, which are sentences of one paragraph. Inside a field the rules that sentencex has for the language decide,
    but for abbreviations that it does not know (`sentence_abbreviations`).

    Args:
        text: any text, also empty.
        language: a code such as "en" or "pt-BR". For a code that sentencex does not know it takes those of a related
            language, or else of English.

    Raises:
        ImportError: sentencex is not installed.
        ValueError: `language` is not a language code ("english", "").
    """
    if sentencex is None:
        raise ImportError("cutting text into sentences needs the sentencex package: pip install sentencex")
    if not _LANGUAGE_CODE.fullmatch(language):
        raise ValueError(f"unknown language {language!r}: give a code of two or three letters such as 'en' or 'pt-BR'")
    segments: list[Segment] = []
    paragraph = -1
    for line in _LINES.findall(text):
        paragraph += bool(line.strip())
        for piece in _pieces(line, language):
            segments.append(Segment(piece, not piece.isspace(), max(0, paragraph)))
    return _merge_white_space(segments)


def sentences_by_paragraph(segments: Iterable[Segment]) -> list[list[str]]:
    """The sentences of a text in their paragraphs; those without a sentence are left out."""
    paragraphs: dict[int, list[str]] = {}
    for segment in segments:
        if segment.is_sentence:
            paragraphs.setdefault(segment.paragraph, []).append(segment.text)
    return list(paragraphs.values())


def replace_sentences(segments: Iterable[Segment], translations: Iterable[str], joiner: str) -> str:
    """The text of segments with a translation in the place of each sentence, and its white space.

    Args:
        segments: of the source text.
        translations: one for each sentence.
        joiner: what the target language writes between sentences that have nothing between them in the source, as in
            Chinese.
    """
    remaining = iter(translations)
    parts: list[str] = []
    for segment in segments:
        if segment.is_sentence and parts and parts[-1] and not parts[-1][-1].isspace():
            parts.append(joiner)
        parts.append(next(remaining) if segment.is_sentence else segment.text)
    return "".join(parts)


def _pieces(line: str, language: str) -> Iterator[str]:
    """The sentences of a line, and the white space around them and between fields."""
    for part in filter(None, _FIELDS.split(line)):
        if part.isspace():
            yield part
        else:
            yield from _sentences_and_white_space(part, language)


def _sentences_and_white_space(line: str, language: str) -> Iterator[str]:
    position = 0
    for sentence in _sentences(line, language):
        start = line.index(sentence, position)
        if start > position:
            yield line[position:start]
        yield sentence
        position = start + len(sentence)
    if position < len(line):
        yield line[position:]


def _sentences(line: str, language: str) -> Iterator[str]:
    """The stripped sentences of a line, in order; together they hold all that is not white space.

    sentencex 1.0 panics on some white space of several bytes ("A\\u00a0."), so it gets plain spaces, one for one, and
    the replacement character for lone surrogates, which it refuses.
    """
    plain = _SURROGATE.sub("\ufffd", _WHITE_SPACE.sub(" ", line))
    position = 0
    for piece in rejoined(sentencex.segment(language, plain), language):
        start = plain.find(piece, position)
        # What sentencex might leave out, or change, stays with the sentence after it.
        if start < 0:
            continue
        stop = start + len(piece)
        if sentence := line[position:stop].strip():
            yield sentence
        position = stop
    if rest := line[position:].strip():
        yield rest


def _merge_white_space(segments: list[Segment]) -> list[Segment]:
    """The segments with neighbouring white space as one segment, of the paragraph before it."""
    merged: list[Segment] = []
    for segment in segments:
        if merged and not segment.is_sentence and not merged[-1].is_sentence:
            merged[-1] = merged[-1]._replace(text=merged[-1].text + segment.text)
        elif not segment.is_sentence and merged:
            merged.append(segment._replace(paragraph=merged[-1].paragraph))
        else:
            merged.append(segment)
    return merged
