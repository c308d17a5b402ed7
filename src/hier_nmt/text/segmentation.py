# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Raw text as sentences and the white space between them; the segments joined give the text again."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from .protected_spans import ProtectedSpan, protected_spans
from .sentence_abbreviations import rejoin_abbreviations

try:
    import sentencex
except ImportError:
    sentencex = None

_NEWLINES = r"\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
_LINES = re.compile(f"[^{_NEWLINES}]+|[{_NEWLINES}]+")
# Fields of a line are separated by tabs, or by spaces that align them in columns.
_FIELDS = re.compile(r"(\s*\t\s*|\s{4,})")
# Escaped line breaks and tabs in text (before letters, `\t` and `\r` are often something else), and bars.
_SEPARATORS = re.compile(r"\s*(?:\\n|\\[rt](?![a-z]{2}))(?:\s|\\n|\\[rt](?![a-z]{2}))*|\s+\|+\s+")
# Bars without spaces between the cases of a message ("one apple|Many apples", "{0} none|[1,*] some").
_CASE_BAR = re.compile(r"(?<=[\w.!?…})\]])\|(?=[A-Z]|[{\[]\d)")
_SURROGATE = re.compile("[\ud800-\udfff]")
_WHITE_SPACE = re.compile(r"\s")
_LANGUAGE_CODE = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*")


class Segment(NamedTuple):
    """A sentence without surrounding white space, or the white space between sentences including escaped line breaks
    and bars.

    `paragraph` counts from 0; white space belongs to the paragraph before it.
    """

    text: str
    is_sentence: bool
    paragraph: int


def segment_text(text: str, language: str) -> list[Segment]:
    """The segments of a text; their texts joined give exactly the text.

    A newline of any kind ends a paragraph, and so a sentence. Tabs, four spaces in a row, escaped line breaks and tabs
    (`\\n`), and bars between spaces or between the cases of a message (`|`) separate the fields of a line, which are
    sentences of one paragraph. Inside a field sentencex splits sentences, except after further abbreviations
    (`sentence_abbreviations`) and inside untranslatable spans.

    Args:
        text: any text, which may be empty.
        language: a code such as "en" or "pt-BR". For a code that it does not know sentencex uses the rules of a related
            language, or else of English.

    Raises:
        ImportError: sentencex is not installed.
        ValueError: `language` is not a language code ("english", "").
    """
    if sentencex is None:
        raise ImportError("splitting text into sentences needs the sentencex package: pip install sentencex")
    if not _LANGUAGE_CODE.fullmatch(language):
        raise ValueError(f"unknown language {language!r}: give a code of two or three letters such as 'en' or 'pt-BR'")
    segments: list[Segment] = []
    paragraph = -1
    for line in _LINES.findall(text):
        paragraph += bool(line.strip())
        for piece in _pieces(line, language):
            is_between = piece.isspace() or piece == "|" or _SEPARATORS.fullmatch(piece) is not None
            segments.append(Segment(piece, not is_between, max(0, paragraph)))
    return _merge_white_space(segments)


def sentences_by_paragraph(segments: Iterable[Segment]) -> list[list[str]]:
    """The sentences of a text by paragraph; paragraphs without a sentence are dropped."""
    paragraphs: dict[int, list[str]] = {}
    for segment in segments:
        if segment.is_sentence:
            paragraphs.setdefault(segment.paragraph, []).append(segment.text)
    return list(paragraphs.values())


def replace_sentences(segments: Iterable[Segment], translations: Iterable[str], joiner: str) -> str:
    """The text of the segments with each sentence replaced by its translation.

    Args:
        segments: of the source text.
        translations: one per sentence.
        joiner: separator of the target language between sentences with nothing between them in the source, as in
            Chinese.
    """
    remaining = iter(translations)
    parts: list[str] = []
    is_after_text = False
    for segment in segments:
        if segment.is_sentence and is_after_text:
            parts.append(joiner)
        parts.append(next(remaining) if segment.is_sentence else segment.text)
        is_after_text = segment.is_sentence and not parts[-1][-1:].isspace() and bool(parts[-1])
    return "".join(parts)


def _pieces(line: str, language: str) -> Iterator[str]:
    """The sentences of a line, and the white space around them and between its fields."""
    for part in filter(None, _FIELDS.split(line)):
        if part.isspace():
            yield part
        else:
            yield from _parts_of_field(part, language)


def _parts_of_field(field: str, language: str) -> Iterator[str]:
    """The sentences of a field, the white space around them, and the escaped line breaks and bars between them."""
    spans = protected_spans(field)
    # Escapes are protected spans too, and are not excluded here.
    inside = [span for span in spans if not _SEPARATORS.fullmatch(field, span.start, span.stop)]
    position = 0
    for match in _separators(field):
        if any(span.start < match.end() and match.start() < span.stop for span in inside):
            continue
        if position < match.start():
            yield from _sentences_and_white_space(field[position : match.start()], language)
        yield match[0]
        position = match.end()
    if position < len(field):
        yield from _sentences_and_white_space(field[position:], language)


def _separators(field: str) -> list[re.Match[str]]:
    """What separates the sentences of a field, in order."""
    cases = [match for match in _CASE_BAR.finditer(field) if _is_case(field[: match.start()])]
    return sorted([*_SEPARATORS.finditer(field), *cases], key=lambda match: match.start())


def _is_case(text: str) -> bool:
    """Whether the text before a bar is language: several words, and no bracket that is still open ("[[A page|The")."""
    are_closed = text.count("[") == text.count("]") and text.count("(") == text.count(")")
    return " " in text.strip() and are_closed


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
    """The stripped sentences of a line, in order; together they contain everything except white space.

    sentencex 1.0 panics on some multi-byte white space ("A\\u00a0.") and refuses lone surrogates. It gets plain spaces
    for the former, one for one, the replacement character for the latter, and words for protected spans.
    """
    spans = protected_spans(line)
    plain = _SURROGATE.sub("\ufffd", _WHITE_SPACE.sub(" ", _with_words(line, spans)))
    closing = {span.start: span.stop for span in spans if span.kind == "close"}
    position = begin = 0
    for piece in rejoin_abbreviations(sentencex.segment(language, plain), language):
        start = plain.find(piece, position)
        # Text that sentencex drops or changes stays with the next sentence.
        if start < 0:
            continue
        position = stop = start + len(piece)
        # A closing tag stays with the text that it closes.
        while stop in closing:
            stop = closing[stop]
        if sentence := line[begin:stop].strip():
            yield sentence
        begin = max(begin, stop)
    if rest := line[begin:].strip():
        yield rest


def _with_words(line: str, spans: Sequence[ProtectedSpan]) -> str:
    """The line with these spans replaced by a word, except tags and addresses."""
    characters = list(line)
    for span in spans:
        if span.kind not in ("open", "close", "address"):
            # A single letter would look like an initial.
            length = span.stop - span.start
            characters[span.start : span.stop] = "X" * length if length > 1 else "9"
    return "".join(characters)


def _merge_white_space(segments: list[Segment]) -> list[Segment]:
    """The segments with adjacent white space merged; it belongs to the paragraph before it."""
    merged: list[Segment] = []
    for segment in segments:
        if merged and not segment.is_sentence and not merged[-1].is_sentence:
            merged[-1] = merged[-1]._replace(text=merged[-1].text + segment.text)
        elif not segment.is_sentence and merged:
            merged.append(segment._replace(paragraph=merged[-1].paragraph))
        else:
            merged.append(segment)
    return merged
