# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""SubRip subtitles (.srt). Each subtitle keeps its times. A sentence that certainly continues in the next subtitle is
translated as a whole, and its translation is divided over the same subtitles."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from ...text.segmentation import segment_text
from ..corpus_files import CorpusError, read_bytes
from ..documents import ParallelDocument, SentencePair
from ..text_files import decode_text, lines_of
from .document_file import CorpusFile, Translations, Unit, UnitDocument
from .subtitle_text import (
    TAG,
    Block,
    begins_in_lower_case,
    blocks,
    ends_sentence,
    is_caption,
    split_by_weights,
    wrapped_lines,
)

_TIMES = re.compile(
    r"\s*(\d{1,6}):([0-5]?\d):([0-5]?\d)[,.](\d{1,3})\s*-->\s*"
    r"(\d{1,6}):([0-5]?\d):([0-5]?\d)[,.](\d{1,3})(?:\s.*)?\s*"
)
MAX_JOINED_SUBTITLES = 6
# Maximum seconds between two subtitles of one sentence.
MAX_PAUSE = 1.0
# The same for subtitles whose text is only paired with another language, where nothing can get lost.
_MAX_PAUSE_OF_PAIRS = 3.0


@dataclass
class Subtitle:
    """A subtitle: the lines before its text (number and times), its text, and the lines after it."""

    line: int
    head: list[str]
    start: float
    stop: float
    text: list[str]
    tail: list[str] = field(default_factory=list)


class _Share(NamedTuple):
    """The part of a sentence that is in one block of a subtitle."""

    block: int
    text: str


class SrtFile(CorpusFile):
    """A subtitle file: one document with one paragraph, whose units are sentences.

    Args:
        path: where it was read, or None.
        subtitles: in order.
        newline: line end of the file.
        language: by whose rules the text is split into sentences, which may continue in the next subtitle. None: the
            text of each subtitle is one sentence.
    """

    def __init__(
        self, path: Path | None, subtitles: list[Subtitle], newline: str = "\n", language: str | None = None
    ) -> None:
        self.subtitles = subtitles
        self._newline = newline
        self.blocks = [block for index, one in enumerate(subtitles) for block in blocks(index, one.text)]
        self._sentences = _sentences(self.blocks, subtitles, language)
        units = tuple(
            Unit(" ".join(share.text for share in shares), None, subtitles[self.blocks[shares[0].block].subtitle].line)
            for shares in self._sentences
        )
        super().__init__(path, [UnitDocument(path.name if path else "subtitles", (units,))] if units else [])

    @classmethod
    def read(cls, path: str | Path, source_language: str, target_language: str) -> "SrtFile":
        content = read_bytes(path)
        lines, newline = lines_of(decode_text(content, path))
        file = cls(Path(path), cls._parse(Path(path), lines), newline, source_language)
        file.original = content
        return file

    @staticmethod
    def _parse(path: Path, lines: list[str]) -> list[Subtitle]:
        """The subtitles of the lines of a file."""
        return _parse(path, lines)

    @classmethod
    def new(cls, documents: Sequence[ParallelDocument], source_language: str, target_language: str) -> "SrtFile":
        """Subtitles of one document, three seconds per sentence: SRT needs times, and a document has none."""
        if len(documents) != 1:
            raise ValueError(f"a subtitle file has one document, got {len(documents)}")
        subtitles = []
        for number, sentence in enumerate(documents[0].source_sentences):
            start, stop = 3 * number, 3 * number + 3
            head = [str(number + 1), f"{_clock(start)} --> {_clock(stop)}"]
            subtitles.append(Subtitle(4 * number + 1, head, start, stop, wrapped_lines(sentence), [""]))
        return cls(None, subtitles)

    def translated(self, translations: Translations) -> bytes:
        parts: dict[int, list[str]] = {}
        units = self.documents[0].units if self.documents else ()
        for unit, shares, translation in zip(
            units, self._sentences, translations[0] if translations else [], strict=True
        ):
            # No-break spaces, as before a French question mark, are kept.
            words = re.sub(r"[ \t\r\n]+", " ", translation).strip()
            # An arrow is allowed only between times.
            words = self._escaped(re.sub(r"-{2,}>", "->", words), unit.source)
            for share, text in zip(shares, split_by_weights(words, self._weights(shares)), strict=True):
                parts.setdefault(share.block, []).append(text)
        texts = ["" for _ in self.subtitles]
        for index, block in enumerate(self.blocks):
            found = block.with_text(" ".join(parts[index])) if index in parts else block.original()
            texts[block.subtitle] += found + block.lines[-1].end
        lines: list[str] = []
        for subtitle, text in zip(self.subtitles, texts, strict=True):
            lines += self._lines(subtitle, text)
        return self._encoded(self._newline.join(lines))

    def _lines(self, subtitle: Subtitle, text: str) -> list[str]:
        """The lines of a subtitle with this text."""
        return [*subtitle.head, *(text.split("\n") if subtitle.text else []), *subtitle.tail]

    def _escaped(self, text: str, source: str) -> str:
        """A translation of `source` as the format writes it."""
        return text

    def _weights(self, shares: Sequence[_Share]) -> list[float]:
        """Weights for dividing a translation: length of the source and display time of each share."""
        shown = [self.subtitles[self.blocks[share.block].subtitle] for share in shares]
        seconds = [one.stop - one.start for one in shown]
        lengths = [len(share.text) for share in shares]
        return [
            length / (sum(lengths) or 1) + second / (sum(seconds) or 1)
            for length, second in zip(lengths, seconds, strict=True)
        ]


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
                raise CorpusError(path, index + 1, "no subtitles", f"{line.strip():.60} is before any time")
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
        check_tags(path, subtitle)
        while subtitle.text and not subtitle.text[-1].strip():
            subtitle.tail.insert(0, subtitle.text.pop())
    if not subtitles:
        raise CorpusError(path, None, "no subtitles", "no line has times such as 00:00:01,000 --> 00:00:02,000")
    return subtitles


def check_tags(path: Path, subtitle: Subtitle) -> None:
    """Raises CorpusError for tags inside tags."""
    plain = TAG.sub("", " ".join(line.strip() for line in subtitle.text))
    if "-->" in plain or TAG.search(plain):
        raise CorpusError(path, subtitle.line, "nested tags", f"{' '.join(subtitle.text):.60}")


def _number_before(lines: list[str], index: int, subtitles: list[Subtitle]) -> list[str]:
    """The line with the number of a subtitle, removed from the text of the subtitle before it.

    It follows a blank line. In files without blank lines it must be the number after that of the subtitle before; any
    other number is text.
    """
    if index == 0 or not lines[index - 1].strip().isdecimal():
        return []
    number = lines[index - 1]
    if subtitles:
        before = subtitles[-1]
        is_next = len(before.head) == 2 and _is_next(before.head[0], number)
        if lines[index - 2].strip() and not is_next:
            return []
        before.text.pop()
    return [number]


def _is_next(number: str, following: str) -> bool:
    # Python refuses integers of thousands of digits.
    return max(len(number), len(following)) < 20 and int(number) + 1 == int(following)


def _sentences(all_blocks: Sequence[Block], subtitles: Sequence[Subtitle], language: str | None) -> list[list[_Share]]:
    """The sentences, in order, each with its shares in one or more blocks."""
    sentences: list[list[_Share]] = []
    # In files without any letters, blocks without letters are sentences, too.
    has_letters = any(block.has_letters for block in all_blocks)
    previous: int | None = None
    for index, block in enumerate(all_blocks):
        if not (block.has_letters if has_letters else block.text):
            continue
        segments = [] if language is None else segment_text(block.text, language)
        texts = [segment.text for segment in segments if segment.is_sentence] or [block.text]
        is_joined = language is not None and previous == index - 1 and len(sentences[-1]) < MAX_JOINED_SUBTITLES
        if is_joined and _continues(all_blocks[index - 1], block, subtitles):
            sentences[-1].append(_Share(index, texts.pop(0)))
        sentences += [[_Share(index, text)] for text in texts]
        previous = index
    return sentences


def _continues(block: Block, following: Block, subtitles: Sequence[Subtitle]) -> bool:
    """Whether a sentence certainly continues in the next block: in the next subtitle, soon, in lower case, and not
    after a caption in capitals."""
    pause = subtitles[following.subtitle].start - subtitles[block.subtitle].stop
    is_next = following.subtitle == block.subtitle + 1 and pause <= MAX_PAUSE
    is_open = not following.dash and not ends_sentence(block.text) and not is_caption(block.text)
    return is_next and is_open and begins_in_lower_case(following.text)


def _clock(seconds: int) -> str:
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02},000"


def paired_subtitles(source: SrtFile, target: SrtFile) -> Iterator[ParallelDocument | CorpusError]:
    """The document of two files with the same subtitles in two languages: equal number, overlapping times.

    A sentence ends where both languages end one.
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
    ends = [set(_ends_of_sentences(file)) for file in (source, target)]
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
    texts: list[list[str]] = [[] for _ in file.subtitles]
    for block in file.blocks:
        texts[block.subtitle].append(block.text)
    return [" ".join(filter(None, one)) for one in texts]


def _ends_of_sentences(file: SrtFile) -> Iterator[int]:
    """The subtitles at which a sentence ends, judged by punctuation, dashes and pauses."""
    filled = [block for block in file.blocks if block.text]
    num_joined = 1
    for block, following in pairwise(filled):
        pause = file.subtitles[following.subtitle].start - file.subtitles[block.subtitle].stop
        is_full = num_joined == MAX_JOINED_SUBTITLES
        if is_full or following.dash or pause > _MAX_PAUSE_OF_PAIRS or ends_sentence(block.text):
            yield block.subtitle
            num_joined = 0
        num_joined += 1
    yield from (block.subtitle for block in filled[-1:])
