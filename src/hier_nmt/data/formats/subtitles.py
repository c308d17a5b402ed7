# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""SubRip subtitles (.srt). A sentence often runs over several subtitles, so what is translated as one is the sentence;
its translation is spread over the same subtitles, whose times never change."""

import math
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from ...models.placed_marks import tag_places
from ..corpus_files import CorpusError, read_bytes
from ..documents import ParallelDocument, SentencePair
from ..text_files import decode_text
from .document_file import DocumentFile, Translations, Unit, UnitDocument

_TIMES = re.compile(
    r"\s*(\d{1,6}):([0-5]?\d):([0-5]?\d)[,.](\d{1,3})\s*-->\s*"
    r"(\d{1,6}):([0-5]?\d):([0-5]?\d)[,.](\d{1,3})(?:\s.*)?\s*"
)
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>|\{\\[^{}]*\}")
_NEW_SPEAKER = re.compile(r"\s*[-–—]\s*")
_SENTENCE_ENDS = ".?!…♪。？！:])"
_CLOSING_MARKS = "'\"”’»]）"
# A line of a subtitle is read in time up to about so many characters (Netflix and BBC style guides: 37 to 42).
MAX_LINE_CHARACTERS = 42
MAX_JOINED_SUBTITLES = 6
# Seconds without subtitles after which a new sentence begins, whatever the punctuation.
MAX_PAUSE = 3.0


@dataclass
class Subtitle:
    """A subtitle: the lines before its text (number and times), its text, and the lines behind it."""

    line: int
    head: list[str]
    start: float
    stop: float
    text: list[str]
    tail: list[str] = field(default_factory=list)


class _Piece(NamedTuple):
    """What one speaker says in one subtitle: without tags, which stand as (place in the text, tag)."""

    subtitle: int
    dash: str
    text: str
    tags: tuple[tuple[int, str], ...]


class SrtFile(DocumentFile):
    """A file of subtitles: one document, one paragraph, whose units are sentences."""

    def __init__(self, path: Path | None, subtitles: list[Subtitle], newline: str = "\n") -> None:
        self.subtitles = subtitles
        self._newline = newline
        pieces = [piece for index, one in enumerate(subtitles) for piece in _pieces(index, one.text)]
        self._sentences = list(_join_pieces(pieces, subtitles))
        units = tuple(
            Unit(" ".join(piece.text for piece in sentence), None, subtitles[sentence[0].subtitle].line)
            for sentence in self._sentences
        )
        super().__init__(path, [UnitDocument(path.name if path else "subtitles", (units,))] if units else [])

    @classmethod
    def read(cls, path: str | Path, source_language: str, target_language: str) -> "SrtFile":
        content = read_bytes(path)
        text = decode_text(content, path)
        subtitles = _parse(Path(path), [line.removesuffix("\r") for line in text.split("\n")])
        file = cls(Path(path), subtitles, "\r\n" if "\r\n" in text else "\n")
        file.original = content
        return file

    @classmethod
    def new(cls, documents: Sequence[ParallelDocument], source_language: str, target_language: str) -> "SrtFile":
        """Subtitles of one document, three seconds for each sentence: SRT needs times, and a document has none."""
        if len(documents) != 1:
            raise ValueError(f"a file of subtitles holds one document, got {len(documents)}")
        subtitles = []
        for number, sentence in enumerate(documents[0].source_sentences):
            start, stop = 3 * number, 3 * number + 3
            head = [str(number + 1), f"{_clock(start)} --> {_clock(stop)}"]
            subtitles.append(Subtitle(4 * number + 1, head, start, stop, _wrapped(sentence, 1), [""]))
        return cls(None, subtitles)

    def translated(self, translations: Translations) -> bytes:
        texts: list[list[str]] = [[] for _ in self.subtitles]
        for sentence, translation in zip(self._sentences, translations[0], strict=True):
            # Spaces that keep words together, as before a French question mark, stay what they are.
            words = re.sub(r"[ \t\r\n]+", " ", translation).strip()
            # Only between times may an arrow stand in such a file.
            words = re.sub(r"-{2,}>", "->", words)
            shares = _spread(words, [len(piece.text) for piece in sentence])
            for piece, share in zip(sentence, shares, strict=True):
                texts[piece.subtitle].append(f"{piece.dash}{_with_tags(share, piece)}")
        lines: list[str] = []
        for subtitle, parts in zip(self.subtitles, texts, strict=True):
            text = _wrapped(parts[0], len(subtitle.text)) if len(parts) == 1 else parts or subtitle.text
            lines += [*subtitle.head, *text, *subtitle.tail]
        return self._encoded(self._newline.join(lines))


def _parse(path: Path, lines: list[str]) -> list[Subtitle]:
    subtitles: list[Subtitle] = []
    for index, line in enumerate(lines):
        times = _TIMES.fullmatch(line)
        if times is None:
            if "-->" in line:
                detail = f"{line.strip():.60}; a time is written 00:01:02,345"
                raise CorpusError(path, index + 1, "bad times of a subtitle", detail)
            if subtitles:
                subtitles[-1].text.append(line)
            elif line.strip() and not line.strip().isdecimal():
                raise CorpusError(path, index + 1, "no subtitles", f"{line.strip():.60} stands before any time")
            continue
        numbers = [int(group) for group in times.groups()]
        # "1,5" is half a second, as in any decimal fraction.
        scale = [10 ** len(times[group]) for group in (4, 8)]
        start, stop = (
            3600 * numbers[at] + 60 * numbers[at + 1] + numbers[at + 2] + numbers[at + 3] / scale[at // 4]
            for at in (0, 4)
        )
        if stop < start:
            raise CorpusError(path, index + 1, "bad times of a subtitle", f"it ends before it starts: {line.strip()}")
        subtitles.append(Subtitle(index + 1, [*_number_before(lines, index, subtitles), line], start, stop, []))
    for subtitle in subtitles:
        plain = _TAG.sub("", " ".join(line.strip() for line in subtitle.text))
        if "-->" in plain or _TAG.search(plain):
            raise CorpusError(path, subtitle.line, "tags inside of other marks", f"{' '.join(subtitle.text):.60}")
        while subtitle.text and not subtitle.text[-1].strip():
            subtitle.tail.insert(0, subtitle.text.pop())
    if not subtitles:
        raise CorpusError(path, None, "no subtitles", "no line has times such as 00:00:01,000 --> 00:00:02,000")
    return subtitles


def _number_before(lines: list[str], index: int, subtitles: list[Subtitle]) -> list[str]:
    """The line with the number of a subtitle, taken back from the text of the one before."""
    if index == 0 or not lines[index - 1].strip().isdecimal():
        return []
    if subtitles:
        subtitles[-1].text.pop()
    return [lines[index - 1]]


def _pieces(index: int, lines: Sequence[str]) -> Iterator[_Piece]:
    """The text of a subtitle, or of each speaker where lines begin with dashes."""
    if not lines:
        return
    plain = [_TAG.sub("", line) for line in lines]
    starts = [at for at, line in enumerate(plain) if at == 0 or _NEW_SPEAKER.match(line)]
    for start, stop in zip(starts, [*starts[1:], len(lines)], strict=True):
        piece = _piece(index, " ".join(line.strip() for line in lines[start:stop]))
        if piece.text:
            yield piece


def _piece(index: int, text: str) -> _Piece:
    tags: list[tuple[int, str]] = []
    plain = ""
    end = 0
    for match in _TAG.finditer(text):
        plain += text[end : match.start()]
        tags.append((len(plain), match[0]))
        end = match.end()
    plain += text[end:]
    dash = _NEW_SPEAKER.match(plain)
    cut = dash.end() if dash else 0
    left = len(plain[cut:]) - len(plain[cut:].lstrip())
    places = tuple((max(0, place - cut - left), tag) for place, tag in tags)
    return _Piece(index, plain[:cut], plain[cut:].strip(), places)


def _join_pieces(pieces: Sequence[_Piece], subtitles: Sequence[Subtitle]) -> Iterator[list[_Piece]]:
    """The pieces of each sentence."""
    sentence: list[_Piece] = []
    for piece in pieces:
        if sentence:
            pause = subtitles[piece.subtitle].start - subtitles[sentence[-1].subtitle].stop
            is_full = len(sentence) == MAX_JOINED_SUBTITLES
            if is_full or piece.dash or pause > MAX_PAUSE or _ends_sentence(sentence[-1].text):
                yield sentence
                sentence = []
        sentence.append(piece)
    if sentence:
        yield sentence


def _ends_sentence(text: str) -> bool:
    """Whether behind one of the marks that end a sentence nothing comes but marks that close one."""
    text = text.rstrip()
    closed = text.rstrip(_CLOSING_MARKS)
    return any(mark in _SENTENCE_ENDS for mark in closed[-1:] + text[len(closed) :])


def _spread(text: str, weights: Sequence[int]) -> list[str]:
    """The text in as many parts as there are weights, cut between words where the weights ask for it.

    A subtitle gets at least a word as long as there are enough of them.
    """
    words = text.split(" ")
    if len(weights) == 1:
        return [text]
    ends = [0, *accumulate(len(word) + 1 for word in words)]
    whole = max(1, sum(weights))
    parts = []
    first = 0
    for number, weight in enumerate(accumulate(weights), start=1):
        wanted = ends[-1] * weight / whole
        low = min(len(words), first + 1)
        high = max(low, len(words) - (len(weights) - number))
        last = len(words) if number == len(weights) else _nearest(ends, wanted, low, high)
        parts.append(" ".join(words[first:last]))
        first = last
    return parts


def _nearest(ends: Sequence[int], wanted: float, low: int, high: int) -> int:
    """The place in [low, high] of the number nearest to the wanted one, of two equally near ones the first."""
    above = bisect_left(ends, wanted, low, high)
    return above - 1 if above > low and wanted - ends[above - 1] <= ends[above] - wanted else above


def _with_tags(text: str, piece: _Piece) -> str:
    result = ""
    end = 0
    tags = [(place, tag.startswith("</")) for place, tag in piece.tags]
    for (_, tag), at in zip(piece.tags, tag_places(piece.text, tags, text), strict=True):
        result += text[end:at] + tag
        end = at
    return result + text[end:]


def _wrapped(text: str, num_lines: int) -> list[str]:
    """The text in about equal lines: as many as it had before, or more where they would be too long."""
    length = len(_TAG.sub("", text))
    num_lines = max(1, min(num_lines, len(text.split())), math.ceil(length / MAX_LINE_CHARACTERS))
    if num_lines == 1 or length <= MAX_LINE_CHARACTERS // 2:
        return [text]
    return [line for line in _spread(text, [1] * num_lines) if line]


def _clock(seconds: int) -> str:
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02},000"


def paired_subtitles(source: SrtFile, target: SrtFile) -> Iterator[ParallelDocument | CorpusError]:
    """The document of two files with the same subtitles in two languages: same number, times that overlap.

    Sentences end where they end in both.
    """
    path = target.path or ""
    if len(source.subtitles) != len(target.subtitles):
        detail = f"{len(source.subtitles)} in {source.path}, {len(target.subtitles)} in {path}"
        yield CorpusError(path, None, "different number of subtitles", detail)
        return
    for one, other in zip(source.subtitles, target.subtitles, strict=True):
        if other.start > one.stop or one.start > other.stop:
            yield CorpusError(path, other.line, "subtitles at other times", f"than line {one.line} of {source.path}")
            return
    texts = [_texts_of_subtitles(file) for file in (source, target)]
    ends = [{sentence[-1].subtitle for sentence in file._sentences} for file in (source, target)]
    pairs: list[SentencePair] = []
    collected: tuple[list[str], list[str]] = ([], [])
    for index in range(len(source.subtitles)):
        for side in (0, 1):
            collected[side].extend(filter(None, [texts[side][index]]))
        if all(collected) and index in ends[0] and index in ends[1]:
            pairs.append(SentencePair(" ".join(collected[0]), " ".join(collected[1])))
            collected = ([], [])
    if any(collected):
        # The last sentence may end in one language only.
        last = pairs.pop() if pairs and not all(collected) else SentencePair("", "")
        rest = [
            " ".join(filter(None, [text, *more]))
            for text, more in zip((last.source, last.target), collected, strict=True)
        ]
        pairs.append(SentencePair(*rest))
    if pairs and pairs[-1].source and pairs[-1].target:
        yield ParallelDocument(source.path.name if source.path else "subtitles", (tuple(pairs),))


def _texts_of_subtitles(file: SrtFile) -> list[str]:
    return [" ".join(piece.text for piece in _pieces(0, one.text)) for one in file.subtitles]
