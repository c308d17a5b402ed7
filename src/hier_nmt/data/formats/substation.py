# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Advanced SubStation Alpha subtitles (.ass, .ssa). They are translated as SubRip is; styles, times, effects, comments,
drawings and karaoke stay."""

import re
from collections.abc import Sequence
from pathlib import Path

from ..corpus_files import CorpusError
from .subtitles import SrtFile, Subtitle, check_tags

_TIME = re.compile(r"\s*(\d{1,6}):([0-5]?\d):([0-5]?\d)(?:[.:](\d{1,3}))?\s*")
# Drawings are no text, and syllables with times of their own have none in another language.
_NO_TEXT = re.compile(r"\{[^{}]*\\(?:p[1-9]|[kK]\w?\d)")
_FIELDS = ("start", "end", "text")


class SubStationFile(SrtFile):
    """A file of subtitles with styles: one document with one paragraph, whose units are sentences."""

    @staticmethod
    def _parse(path: Path, lines: list[str]) -> list[Subtitle]:
        return _parse(path, lines)

    def _lines(self, subtitle: Subtitle, text: str) -> list[str]:
        # All of a subtitle is in one line, behind its fields.
        return [*subtitle.head[:-1], subtitle.head[-1] + text.replace("\n", "\\N"), *subtitle.tail]


def _parse(path: Path, lines: Sequence[str]) -> list[Subtitle]:
    """The subtitles; the last line of the head of each has its fields, and other lines are before or after it."""
    subtitles: list[Subtitle] = []
    names: list[str] = []
    before: list[str] = []
    is_event = False
    for number, line in enumerate(lines, start=1):
        kind, _, rest = line.partition(":")
        if line.lstrip().startswith("["):
            is_event = line.strip().lower() == "[events]"
        elif is_event and kind.strip() == "Format":
            names = [name.strip().lower() for name in rest.split(",")]
            if names[-1] != "text" or not set(_FIELDS) <= set(names):
                raise CorpusError(
                    path, number, "bad format of subtitles", f"{rest.strip():.60}; the last field is Text"
                )
        elif is_event and kind.strip() == "Dialogue":
            subtitle = _subtitle(path, number, line, names)
            if subtitle.text[0].strip() and not _NO_TEXT.search(subtitle.text[0]):
                check_tags(path, subtitle)
                subtitles.append(subtitle)
                subtitle.head[:0] = before
                before = []
                continue
        before.append(line)
    if not subtitles:
        raise CorpusError(path, None, "no subtitles", "no line in [Events] begins with Dialogue: and has text")
    subtitles[-1].tail = before
    return subtitles


def _subtitle(path: Path, number: int, line: str, names: Sequence[str]) -> Subtitle:
    if not names:
        raise CorpusError(path, number, "bad format of subtitles", "no line Format: is before the first Dialogue:")
    parts = line.split(",", len(names) - 1)
    if len(parts) < len(names):
        raise CorpusError(path, number, "bad fields of a subtitle", f"{len(parts)} in place of {len(names)}")
    start, stop = (_seconds(path, number, parts[names.index(name)]) for name in ("start", "end"))
    if stop < start:
        raise CorpusError(path, number, "bad times of a subtitle", "it ends before it starts")
    return Subtitle(number, [line.removesuffix(parts[-1])], start, stop, [parts[-1]])


def _seconds(path: Path, number: int, text: str) -> float:
    time = _TIME.fullmatch(text.partition(":")[2] if text.startswith("Dialogue:") else text)
    if time is None:
        raise CorpusError(path, number, "bad times of a subtitle", f"{text:.60}; a time is written 0:01:02.34")
    hours, minutes, seconds, fraction = time.groups()
    return 3600 * int(hours) + 60 * int(minutes) + float(f"{seconds}.{fraction or 0}")
