# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What of a sentence is not for the model: list marks, addresses, program text, emoji, scripts that its tokenizer does
not know.

A sentence is parted into what stands before and behind its text, which comes back as it is, and the text. Spans inside
of the text that are not language, and symbols, are kept in one of two ways:

* A span that stands in the place of a word is replaced by a stand-in, a number of three digits that the model copies
  ("The file {name} is empty." is read as "The file 417 is empty."). So the sentence stays whole, and the model says
  where the span goes.
* Everything else is taken out, and put back at the border of words that is as far into the translation. So is a
  stand-in that did not come back, when the sentence is decoded again.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from .inline_markup import CLOSING_PUNCTUATION, Mark, with_marks
from .kept_spans import KeptSpan, kept_spans, stands_for_word
from .protected_spans import protected_spans, protected_texts

NO_LETTERS = "no letters"
UNKNOWN_SCRIPT = "letters that the tokenizer does not know"
HAS_MESSAGE = "a plural or select message"
# Numbers that are copied whole: those of one or two digits become words, those of more than three get separators.
STAND_INS = ("417", "583", "629", "346", "752", "871", "938", "264", "395", "716", "854", "527")

_LIST_MARK = re.compile(r"(?:[-*+>|=~#_•·◦‣▪■●○–—―]+|\(?\d{1,3}[.)]|\(?[A-Za-z]\)|\[[ xX]?\])\s+")
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
    """A sentence in parts: `before`, the text to translate without `marks`, and `behind`.

    Attributes:
        protected: what of the sentence is not language and must be in its translation, in this order.
        stood_for: (stand-in, span) for the spans that have one.
        without_stand_ins: the same sentence without any; None if there are none here.
    """

    before: str
    core: str
    behind: str
    marks: tuple[Mark, ...] = ()
    protected: tuple[str, ...] = ()
    stood_for: tuple[tuple[str, str], ...] = ()
    without_stand_ins: "SentenceParts | None" = None

    def around(self, translation: str) -> str:
        """The translation of the core, with everything that is not for the model."""
        text = f"{self.before}{with_marks(self.core, self.marks, translation)}{self.behind}"
        if not self.stood_for:
            return text
        spans = dict(self.stood_for)
        return re.sub(rf"(?<!\d)(?:{'|'.join(spans)})(?!\d)", lambda match: spans[match[0]], text)

    def keeps_protected(self, translation: str) -> bool:
        """Whether what is not language is in the sentence made of a translation as often as in the source, and in
        the same order."""
        if not self.protected:
            return True
        # Digits of a stand-in inside of other numbers are what is left of one that was not copied.
        are_copied = all(translation.count(stand_in) == 1 for stand_in, _ in self.stood_for)
        return are_copied and tuple(protected_texts(self.around(translation))) == self.protected


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


def part_sentence(text: str, characters: Characters, stand_ins: Sequence[str] = ()) -> SentenceParts:
    """The parts of a sentence.

    Args:
        text: a sentence.
        characters: what the tokenizer does not know of it.
        stand_ins: those of `STAND_INS` that the tokenizer knows.
    """
    spans = _kept_spans(text, characters)
    protected = tuple(protected_texts(text))
    taken_out = _taken_out(text, spans)._replace(protected=protected)
    read, stood_for = _with_stand_ins(text, spans, stand_ins)
    if not stood_for:
        return taken_out
    parts = _taken_out(read, _kept_spans(read, characters))
    return parts._replace(protected=protected, stood_for=stood_for, without_stand_ins=taken_out)


def has_message(text: str) -> bool:
    """Whether there is a message of ICU in it, whose cases differ by language: none of it can be translated alone."""
    return any(span.kind == "message" for span in protected_spans(text))


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


def _taken_out(text: str, spans: Sequence[KeptSpan]) -> SentenceParts:
    """The parts of a sentence from which all spans are taken out."""
    start = _end_of_beginning(text, spans)
    stop = _start_of_end(text, spans, start)
    core, marks = without_spans(text, spans, start, stop)
    return SentenceParts(text[:start], core, text[stop:], tuple(marks))


def _with_stand_ins(
    text: str, spans: Sequence[KeptSpan], stand_ins: Sequence[str]
) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The sentence with a stand-in for each span that stands in the place of a word, and which stands for which."""
    free = [number for number in stand_ins if number not in text]
    words = islice((span for span in spans if stands_for_word(text, span)), len(free))
    read, position = "", 0
    stood_for = []
    for stand_in, span in zip(free, words, strict=False):
        read += text[position : span.start] + stand_in
        position = span.stop
        stood_for.append((stand_in, text[span.start : span.stop]))
    return read + text[position:], tuple(stood_for)


def _kept_spans(text: str, characters: Characters) -> list[KeptSpan]:
    patterns = []
    if not characters.symbols.isdisjoint(text):
        patterns.append(_class(characters.symbols))
    if not characters.letters.isdisjoint(text):
        patterns.append(rf"(?<!\w){_class(characters.letters)}(?!\w)")
    return kept_spans(text, "|".join(patterns))


def _class(characters: Iterable[str]) -> str:
    return f"[{re.escape(''.join(sorted(characters)))}]+"


def _end_of_beginning(text: str, spans: Sequence[KeptSpan]) -> int:
    """Where the text to translate begins."""
    ends = {span.start: span.stop for span in spans}
    start = 0
    while start < len(text):
        mark = _LIST_MARK.match(text, start)
        end = mark.end() if mark else ends.get(start, start + text[start].isspace())
        if end == start:
            break
        start = end
    return start


def _start_of_end(text: str, spans: Sequence[KeptSpan], start: int) -> int:
    """Where the text to translate ends; it begins at `start`."""
    starts = {span.stop: span.start for span in spans}
    stop = len(text)
    while stop > start:
        begin = starts.get(stop, stop - text[stop - 1].isspace())
        if begin == stop or begin < start:
            break
        stop = begin
    return stop


def without_spans(text: str, spans: Sequence[KeptSpan], start: int, stop: int) -> tuple[str, list[Mark]]:
    """The text from `start` to `stop` without the spans inside, and these as marks in it."""
    core, position = "", start
    marks = []
    for span in spans:
        begin, end = span.start, span.stop
        if begin < start or end > stop:
            continue
        core += text[position:begin]
        position = end
        if _is_spelling(text, begin, end):
            continue
        before, behind = core[-1:].isspace(), text[end : end + 1].isspace()
        if span.is_tag:
            position += before and behind
            spaces = (before and behind,) * 2
            marks.append(Mark(len(core), text[begin:end], span.kind, *spaces))  # type: ignore[arg-type]
            continue
        parts_words = core[-1:].isalnum() and text[end : end + 1].isalnum()
        if before and behind:
            position += 1
        elif before and text[end : end + 1] in {*CLOSING_PUNCTUATION}:
            core = core.rstrip()
        elif parts_words:
            core += " "
        marks.append(Mark(len(core), text[begin:end], "whole", before, behind, parts_words))
    return core + text[position:stop], marks


def _is_spelling(text: str, begin: int, end: int) -> bool:
    """Whether this is something invisible inside of a word, such as a soft hyphen: it goes with the word."""
    is_invisible = all(unicodedata.category(character) in ("Cf", "Cc") for character in text[begin:end])
    return is_invisible and text[begin - 1 : begin].isalnum() and text[end : end + 1].isalnum()
