# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""WebVTT subtitles (.vtt; W3C). They are translated as SubRip is; the header, notes, styles, regions, identifiers and
settings stay."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from ..corpus_files import CorpusError, read_bytes
from ..text_files import decode_text, lines_of
from .subtitles import SrtFile, Subtitle, check_tags
from .xml_files import names_source

_TIME = r"(?:(\d{1,6}):)?([0-5]?\d):([0-5]?\d)\.(\d{1,3})"
_TIMES = re.compile(rf"\s*{_TIME}\s*-->\s*{_TIME}(?:\s.*)?")
_LANGUAGE = re.compile(r"(Language:\s*)([\w-]+)(\s*)")
_AMPERSAND = re.compile(r"&(?!#?\w{1,10};)")


class VttFile(SrtFile):
    """A file of subtitles for the web: one document with one paragraph, whose units are sentences."""

    @classmethod
    def read(cls, path: str | Path, source_language: str, target_language: str) -> "VttFile":
        content = read_bytes(path)
        lines, newline = lines_of(decode_text(content, path))
        if not re.fullmatch(r"WEBVTT(?:[ \t].*)?", lines[0]):
            raise CorpusError(path, 1, "not WebVTT", f"the first line is {lines[0]:.60}")
        for index, line in enumerate(lines[1 : lines.index("") if "" in lines else None], start=1):
            match = _LANGUAGE.fullmatch(line)
            if match and names_source(match[2], source_language, target_language):
                lines[index] = f"{match[1]}{target_language}{match[3]}"
        file = cls(Path(path), _parse(Path(path), lines), newline, source_language)
        file.original = content
        return file

    def _escaped(self, text: str, source: str) -> str:
        # What the source has unescaped is displayed nevertheless.
        text = text if _AMPERSAND.search(source) else _AMPERSAND.sub("&amp;", text)
        return text if "<" in source else text.replace("<", "&lt;")


def _parse(path: Path, lines: Sequence[str]) -> list[Subtitle]:
    """The subtitles; lines before the first one belong to its head, those after another one to the tail of that."""
    subtitles: list[Subtitle] = []
    before: list[str] = []
    for start, block in _blocks(lines):
        # The line with the times starts a subtitle, perhaps after an identifier; without a blank line before it, too.
        places = [at for at, line in enumerate(block) if "-->" in line]
        if not places or places[0] > 1 or block[0].startswith(("NOTE", "STYLE")):
            (subtitles[-1].tail if subtitles else before).extend(block)
            continue
        for at, stop in zip(places, [*places[1:], len(block)], strict=True):
            head = [*before, *block[: at + 1]] if at == places[0] else [block[at]]
            before = []
            line = start + at + 1
            subtitles.append(Subtitle(line, head, *_times(path, line, block[at]), block[at + 1 : stop]))
            check_tags(path, subtitles[-1])
    if not subtitles:
        raise CorpusError(path, None, "no subtitles", "no line has times such as 00:00:01.000 --> 00:00:02.000")
    return subtitles


def _times(path: Path, line: int, text: str) -> tuple[float, float]:
    """The start and the end of a subtitle, in seconds."""
    times = _TIMES.fullmatch(text)
    if times is None:
        detail = f"{text.strip():.60}; a time is written 00:01:02.345"
        raise CorpusError(path, line, "bad times of a subtitle", detail)
    start, stop = (
        3600 * int(row[0] or 0) + 60 * int(row[1]) + float(f"{row[2]}.{row[3]}")
        for row in (times.groups()[:4], times.groups()[4:])
    )
    return start, stop


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """The blocks of lines between blank lines, and blank lines, each with the index of its first line."""
    for _, group in groupby(enumerate(lines), key=lambda item: not item[1].strip()):
        rows = list(group)
        yield rows[0][0], [line for _, line in rows]
