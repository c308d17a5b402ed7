# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Tokens as labels of a plot: short, and with characters that an installed font has."""

import logging
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from .attention_records import SENTENCE_MARKS, WORD_START

try:
    from matplotlib import font_manager
    from matplotlib.ft2font import FT2Font
except ImportError:
    font_manager = None  # type: ignore[assignment]

logger = logging.getLogger(__name__)

# Prefix of a piece that continues a word, in languages that write spaces.
CONTINUATION = "\u00b7"
# Label of a word-start mark that is a token by itself.
_ALONE = "\u2423"
_FIRST_FAMILIES = ("DejaVu Sans", "DejaVu Sans Mono")


def display_width(text: str) -> int:
    """Display width of a text: a Chinese character counts 2, a combining mark 0."""
    return sum(_width(character) for character in text)


def shorten(text: str, width: int) -> str:
    """The text, or as much of its start as fits into `width` with "…" appended."""
    if display_width(text) <= width:
        return text
    places = 0
    for index, character in enumerate(text):
        places += _width(character)
        if places > width - 1:
            return f"{text[:index].rstrip()}…"
    return text


def word_labels(tokens: Sequence[str]) -> list[str]:
    """Readable tokens: pieces inside a word start with a dot; line ends and similar characters are named.

    Args:
        tokens: as the tokenizer represents them; marks of word starts are removed.
    """
    has_marks = any(WORD_START in token for token in tokens)
    return [_word_label(token, has_marks) for token in tokens]


def whole_words(labels: Sequence[str]) -> list[str]:
    """For each of the labels from `word_labels` the word that it is a piece of."""
    words: list[str] = []
    word_indices = []
    for label in labels:
        continues_word = label.startswith(CONTINUATION) and words and words[-1] not in SENTENCE_MARKS
        if continues_word:
            words[-1] = words[-1].removeprefix(_ALONE) + label.removeprefix(CONTINUATION)
        else:
            words.append(label)
        word_indices.append(len(words) - 1)
    return [words[index] for index in word_indices]


class Lettering:
    """Fonts for some texts.

    Args:
        texts: all texts to display.
        monospaced: prefer fonts with letters of equal width.

    Attributes:
        families: for matplotlib's `family`.
    """

    def __init__(self, texts: Iterable[str], monospaced: bool = False) -> None:
        characters = {character for text in texts for character in text if not character.isspace()}
        self.families = [_FIRST_FAMILIES[monospaced]]
        self._missing = characters
        if font_manager is not None:
            self._missing = characters - _characters(font_manager.findfont(self.families[0]))
        for family, has in _fonts() if self._missing else ():
            if self._missing & has:
                self.families.append(family)
                self._missing = self._missing - has
        if self._missing:
            _warn_once()

    def label(self, text: str, width: int) -> str:
        """The text in a display width of about `width`; characters that no font has become \\uXXXX."""
        if not self._missing & set(text):
            return shorten(text, width)
        label = ""
        for character in text:
            piece = character.encode("ascii", "backslashreplace").decode() if character in self._missing else character
            if label and display_width(label + piece) > width:
                return f"{label}…"
            label += piece
        return label


def add_font(path: str | Path) -> None:
    """Makes plots use a font file that is not installed.

    Raises:
        ImportError: matplotlib is not installed.
        ValueError: the file does not exist, or is not a font.
    """
    if font_manager is None:
        raise ImportError("plots need matplotlib: pip install 'hier_nmt[plot]'")
    try:
        font_manager.fontManager.addfont(path)
    except (OSError, RuntimeError) as error:
        raise ValueError(f"{path} is not a font ({error})") from None
    _fonts.cache_clear()


def _width(character: str) -> int:
    return 0 if unicodedata.combining(character) else 1 + (unicodedata.east_asian_width(character) in "WF")


def _word_label(token: str, has_marks: bool) -> str:
    if token.startswith(WORD_START):
        return token[1:] or _ALONE
    if not has_marks or not token[:1].isalnum() or unicodedata.east_asian_width(token[0]) in "WF":
        return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in token)
    return CONTINUATION + token


@lru_cache(maxsize=512)
def _characters(path: str) -> frozenset[str]:
    """The characters of a font file."""
    try:
        return frozenset(map(chr, FT2Font(path).get_charmap()))
    except (OSError, RuntimeError):
        return frozenset()


@lru_cache(maxsize=1)
def _fonts() -> list[tuple[str, frozenset[str]]]:
    """The upright fonts of this machine and their characters: sans serif first, then by number of characters."""
    paths: dict[str, str] = {}
    entries: list[Any] = font_manager.fontManager.ttflist if font_manager is not None else []
    for entry in entries:
        if entry.style == "normal" and entry.weight in (400, "normal", "regular", "book"):
            paths.setdefault(entry.name, entry.fname)
    fonts = [(family, _characters(path)) for family, path in paths.items() if "LastResort" not in family]
    return sorted(fonts, key=lambda font: ("Sans" not in font[0] and "Gothic" not in font[0], -len(font[1]), font[0]))


@lru_cache(maxsize=1)
def _warn_once() -> None:
    logger.warning(
        "no font of this machine has all characters of the text; those without are written as \\uXXXX. Install a font "
        "that has them, for example Noto Sans CJK, or name a font file."
    )
