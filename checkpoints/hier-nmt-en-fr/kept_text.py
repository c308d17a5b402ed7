# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What of a sentence is not for the model: list marks, addresses, emoji, scripts that its tokenizer does not know.

A sentence is parted into what stands before and behind its text, which comes back as it is, and the text. Addresses and
symbols inside of the text are taken out and put back into the translation.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .placed_marks import Mark, with_marks

NO_LETTERS = "no letters"
UNKNOWN_SCRIPT = "letters that the tokenizer does not know"

_LIST_MARK = re.compile(r"(?:[-*+>|=~#_•·◦‣▪■●○–—―]+|\(?\d{1,3}[.)]|\(?[A-Za-z]\)|\[[ xX]?\])\s+")
_ADDRESS = re.compile(
    r"(?<![\w@])(?:(?:https?|ftp)://|www\.)[^\s<>\"“”«»]*[^\s<>\"“”«».,;:!?'’)\]}]"
    r"|(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|(?<!\w)[A-Za-z]:\\\S*\w"
)
_WHITE_SPACE = re.compile(r"\s+")
_SURROGATE = re.compile("[\ud800-\udfff]")
# Typographic characters and how they are written without them, for tokenizers that only know the latter.
_PLAIN_FORMS = {
    **dict.fromkeys("“”„‟«»″", '"'),
    **dict.fromkeys("‘’‚‛ʼ′‹›", "'"),
    **dict.fromkeys("‐‑‒–—―−", "-"),
    "…": "...",
    **dict(zip("。．！？，、：；（）", "..!?,,:;()", strict=True)),
}
_CLOSING = ".,;:!?)]}"
# Belong to the emoji before them.
_JOINERS = "\u200d\ufe0e\ufe0f\u20e3"


class Characters(NamedTuple):
    """Characters of some texts that the tokenizer does not know.

    Attributes:
        symbols: those that are taken out.
        plain_forms: those that have a known form, and this form.
        letters: letters and their accents; words of nothing else are taken out.
    """

    symbols: frozenset[str]
    plain_forms: dict[str, str]
    letters: frozenset[str] = frozenset()


class SentenceParts(NamedTuple):
    """A sentence in parts: `before`, the text to translate without `marks`, and `behind`."""

    before: str
    core: str
    behind: str
    marks: tuple[Mark, ...] = ()

    def around(self, translation: str) -> str:
        """The translation of the core, with everything that is not for the model."""
        return f"{self.before}{with_marks(self.core, self.marks, translation)}{self.behind}"


def candidates(texts: Iterable[str], with_letters: bool = False) -> set[str]:
    """The characters of texts that are no letters, digits or white space, and the plain forms of some.

    Args:
        texts: some texts.
        with_letters: letters and accents, too, but for those of ASCII.
    """
    characters = set().union(*texts)
    found = {character for character in characters if _may_be_symbol(character)}
    letters = {character for character in characters if with_letters and character > "\x7f" and _is_letter(character)}
    return found | letters | {plain for character in found for plain in _PLAIN_FORMS.get(character, "")}


def unknown_characters(unknown: Iterable[str]) -> Characters:
    """What is done with characters (some of `candidates`) that a tokenizer does not know."""
    unknown = set(unknown)
    letters = frozenset(character for character in unknown if not _may_be_symbol(character))
    plain_forms = {
        character: plain for character, plain in _PLAIN_FORMS.items() if character in unknown and not unknown & {*plain}
    }
    return Characters(frozenset(unknown - letters - set(plain_forms)), plain_forms, letters)


def part_sentence(text: str, characters: Characters) -> SentenceParts:
    """The parts of a sentence.

    Args:
        text: a sentence.
        characters: what the tokenizer does not know of it.
    """
    spans = _kept_spans(text, characters)
    start = _end_of_beginning(text, spans)
    stop = _start_of_end(text, spans, start)
    core, marks = _without(text, start, stop, spans)
    return SentenceParts(text[:start], core, text[stop:], tuple(marks))


def has_letters(text: str) -> bool:
    """Whether there is anything to translate: a number or a dash alone is the same in every language."""
    return any(map(str.isalpha, text))


def num_letters(text: str) -> int:
    """How many of its characters are letters."""
    return sum(map(str.isalpha, text))


def for_tokenizer(text: str, plain_forms: dict[str, str]) -> str:
    """The text as a tokenizer can read it: composed characters, plain forms, single spaces, no lone surrogates."""
    text = without_surrogates(unicodedata.normalize("NFC", text))
    if plain_forms:
        text = text.translate({ord(character): plain for character, plain in plain_forms.items()})
    return _WHITE_SPACE.sub(" ", text).strip()


def without_surrogates(text: str) -> str:
    """The text with the replacement character for each lone surrogate, which tokenizers refuse."""
    return _SURROGATE.sub("\ufffd", text)


def _may_be_symbol(character: str) -> bool:
    # Marks (M) are accents of the letters before them.
    return character in _JOINERS or (unicodedata.category(character)[0] in "SCP" and not character.isspace())


def _is_letter(character: str) -> bool:
    return unicodedata.category(character)[0] in "LM"


def _kept_spans(text: str, characters: Characters) -> list[tuple[int, int]]:
    """Addresses, runs of unknown symbols and words of unknown letters, in order; neighbours are one."""
    spans = [match.span() for match in _ADDRESS.finditer(text)]
    patterns = []
    if not characters.symbols.isdisjoint(text):
        patterns.append(_class(characters.symbols))
    if not characters.letters.isdisjoint(text):
        patterns.append(rf"(?<!\w){_class(characters.letters)}(?!\w)")
    if patterns:
        in_address = {position for span in spans for position in range(*span)}
        found = (match.span() for match in re.finditer("|".join(patterns), text))
        spans = sorted([*spans, *(span for span in found if span[0] not in in_address)])
    merged: list[tuple[int, int]] = []
    for start, stop in spans:
        if merged and not text[merged[-1][1] : start].strip():
            merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
        else:
            merged.append((start, stop))
    return merged


def _class(characters: Iterable[str]) -> str:
    return f"[{re.escape(''.join(sorted(characters)))}]+"


def _end_of_beginning(text: str, spans: Sequence[tuple[int, int]]) -> int:
    """Where the text to translate begins."""
    ends = dict(spans)
    start = 0
    while start < len(text):
        mark = _LIST_MARK.match(text, start)
        end = mark.end() if mark else ends.get(start, start + text[start].isspace())
        if end == start:
            break
        start = end
    return start


def _start_of_end(text: str, spans: Sequence[tuple[int, int]], start: int) -> int:
    """Where the text to translate ends; it begins at `start`."""
    starts = {stop: begin for begin, stop in spans}
    stop = len(text)
    while stop > start:
        begin = starts.get(stop, stop - text[stop - 1].isspace())
        if begin == stop or begin < start:
            break
        stop = begin
    return stop


def _without(text: str, start: int, stop: int, spans: Sequence[tuple[int, int]]) -> tuple[str, list[Mark]]:
    """The text from `start` to `stop` without the spans inside, and these as marks in it."""
    core, position = "", start
    marks = []
    for begin, end in spans:
        if begin < start or end > stop:
            continue
        core += text[position:begin]
        position = end
        if not _is_spelling(text, begin, end):
            before, behind = core[-1:].isspace(), text[end : end + 1].isspace()
            if before and behind:
                position += 1
            elif before and text[end] in _CLOSING:
                core = core.rstrip()
            stands_behind = behind if not before else not behind and text[end] in _CLOSING
            marks.append(Mark(len(core), text[begin:end], "close" if stands_behind else "whole", before, behind))
    return core + text[position:stop], marks


def _is_spelling(text: str, begin: int, end: int) -> bool:
    """Whether this is something invisible inside of a word, such as a soft hyphen: it goes with the word."""
    is_invisible = all(unicodedata.category(character) in ("Cf", "Cc") for character in text[begin:end])
    return is_invisible and text[begin - 1 : begin].isalnum() and text[end : end + 1].isalnum()
