# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Untranslatable text of a sentence: list marks, addresses, code, emoji, and scripts that the tokenizer does not know.

A sentence is split into a prefix and a suffix, which are copied unchanged, and the core between them, which is
translated. Untranslatable spans and symbols inside the core are preserved in one of two ways:

* A span that acts as a word is replaced by a stand-in, a three-digit number that the model copies ("The file {name} is
  empty." is read as "The file 417 is empty."). The sentence stays complete, and the model decides where the span goes.
* Every other span is removed and inserted into the translation afterwards, at the word boundary that corresponds to its
  position. The same happens to the spans of a sentence whose stand-ins the model did not copy; it is decoded again.

Signs that the tokenizer knows (a pound sign) are read by the model, but are removed, too, if it loses one of them.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from .inline_markup import CLOSING_PUNCTUATION, Mark, insert_marks
from .protected_spans import protected_spans, protected_texts
from .rare_signs import has_signs, rare_signs
from .untranslatable_spans import UntranslatableSpan, acts_as_word, find_terms, untranslatable_spans

NO_LETTERS = "no letters"
UNKNOWN_SCRIPT = "letters that the tokenizer does not know"
HAS_MESSAGE = "a plural or select message"
# Numbers that models copy whole: those of one or two digits become words, longer ones get separators.
STAND_INS = ("417", "583", "629", "346", "752", "871", "938", "264", "395", "716", "854", "527")

_LIST_MARK = re.compile(r"(?:[-*+>|=~#_•·◦‣▪■●○–—―]+|\(?\d{1,3}[.)]|\(?[A-Za-z]\)|\[[ xX]?\])\s+")
_WHITE_SPACE = re.compile(r"\s+")
_SURROGATE = re.compile("[\ud800-\udfff]")
# Typographic characters and their plain forms, for tokenizers that only know the latter.
_PLAIN_FORMS = {
    **dict.fromkeys("“”„‟«»″", '"'),
    **dict.fromkeys("‘’‚‛ʼ′‹›", "'"),
    **dict.fromkeys("‐‑‒–—―−", "-"),
    "…": "...",
    **dict(zip("。．！？，、：；（）", "..!?,,:;()", strict=True)),
}
# These belong to the emoji before them.
_JOINERS = "\u200d\ufe0e\ufe0f\u20e3"


class UnknownCharacters(NamedTuple):
    """Characters of some texts that are not in the tokenizer's vocabulary.

    Attributes:
        symbols: characters that are removed.
        plain_forms: characters with a plain form that the tokenizer knows, and that form.
        letters: letters and accents; words that consist only of these are removed.
    """

    symbols: frozenset[str]
    plain_forms: dict[str, str]
    letters: frozenset[str] = frozenset()


class SentenceParts(NamedTuple):
    """A sentence split into `before`, the core to translate with its `marks` removed, and `after`.

    Attributes:
        protected: the untranslatable spans that the translation must contain, in this order.
        replaced_spans: (stand-in, span) for each span that was replaced by a stand-in.
        fallback: the same sentence split without stand-ins and signs; None if this one has none.
        terms: those of the terms that stay as they are that the sentence has, each as often as it has it.
        signs: the signs that the translation must contain, see `rare_signs`.
    """

    before: str
    core: str
    after: str
    marks: tuple[Mark, ...] = ()
    protected: tuple[str, ...] = ()
    replaced_spans: tuple[tuple[str, str], ...] = ()
    fallback: "SentenceParts | None" = None
    terms: tuple[str, ...] = ()
    signs: tuple[str, ...] = ()

    @property
    def num_protected(self) -> int:
        """The number of untranslatable spans and signs that the translation must contain."""
        return len(self.protected) + len(self.signs)

    def restore(self, translation: str) -> str:
        """The translated sentence: the translation of the core with all untranslatable text inserted."""
        text = f"{self.before}{insert_marks(self.core, self.marks, translation)}{self.after}"
        if not self.replaced_spans:
            return text
        spans = dict(self.replaced_spans)
        return re.sub(rf"(?<!\d)(?:{'|'.join(spans)})(?!\d)", lambda match: spans[match[0]], text)

    def keeps_protected(self, translation: str) -> bool:
        """Whether the restored translation contains the protected spans of the source, equally often and in the same
        order, and no others; and the signs and the terms that stay as they are, at least as often."""
        if not self.protected and not self.terms and not self.signs:
            return not protected_texts(translation)
        # Digits of a stand-in inside another number mean that the stand-in was not copied.
        are_copied = all(translation.count(stand_in) == 1 for stand_in, _ in self.replaced_spans)
        restored = self.restore(translation)
        if not are_copied or tuple(protected_texts(restored)) != self.protected:
            return False
        found = [restored[start:stop] for start, stop in find_terms(restored, self.terms)]
        return not Counter(self.terms) - Counter(found) and has_signs(restored, self.signs, self.core)


def candidate_characters(texts: Iterable[str], with_letters: bool = False) -> set[str]:
    """The characters of texts that are neither letters, digits nor white space, and plain forms of some of them.

    Args:
        texts: some texts.
        with_letters: also include letters and accents outside of ASCII.
    """
    characters = set().union(*texts)
    found = {character for character in characters if _is_symbol(character)}
    letters = {character for character in characters if with_letters and character > "\x7f" and _is_letter(character)}
    return found | letters | {plain for character in found for plain in _PLAIN_FORMS.get(character, "")}


def classify_characters(unknown: Iterable[str]) -> UnknownCharacters:
    """Decides how to treat each of these characters (a subset of `candidate_characters`)."""
    unknown = set(unknown)
    letters = frozenset(character for character in unknown if not _is_symbol(character))
    plain_forms = {
        character: plain for character, plain in _PLAIN_FORMS.items() if character in unknown and not unknown & {*plain}
    }
    return UnknownCharacters(frozenset(unknown - letters - set(plain_forms)), plain_forms, letters)


def split_sentence(
    text: str, characters: UnknownCharacters, stand_ins: Sequence[str] = (), terms: Sequence[str] = ()
) -> SentenceParts:
    """The sentence split into untranslatable text and the core to translate.

    Args:
        text: a sentence.
        characters: those that the tokenizer does not know.
        stand_ins: those of `STAND_INS` that the tokenizer knows.
        terms: terms that stay as they are.
    """
    spans = _find_spans(text, characters, terms)
    protected = tuple(protected_texts(text))
    found = tuple(text[start:stop] for start, stop in find_terms(text, terms))
    signs = rare_signs(text)
    read, replaced_spans = _with_stand_ins(text, spans, stand_ins)
    parts = _extract(read, _find_spans(read, characters, terms) if replaced_spans else spans)
    parts = parts._replace(protected=protected, replaced_spans=replaced_spans, terms=found, signs=signs)
    if not replaced_spans and characters.symbols.issuperset(signs):
        return parts
    without = characters._replace(symbols=characters.symbols.union(signs))
    fallback = _extract(text, _find_spans(text, without, terms))
    return parts._replace(fallback=fallback._replace(protected=protected, terms=found, signs=signs))


def has_message(text: str) -> bool:
    """Whether the text has an ICU message. Its cases differ by language, so the text cannot be translated by itself."""
    return any(span.kind == "message" for span in protected_spans(text))


def has_letters(text: str) -> bool:
    """Whether there is anything to translate: a number or a dash alone is the same in every language."""
    return any(map(str.isalpha, text))


def num_letters(text: str) -> int:
    """The number of letters in the text."""
    return sum(map(str.isalpha, text))


def normalize_for_tokenizer(text: str, plain_forms: dict[str, str]) -> str:
    """The text in a form that a tokenizer can read: NFC, plain forms, single spaces, no lone surrogates."""
    text = replace_surrogates(unicodedata.normalize("NFC", text))
    if plain_forms:
        text = text.translate({ord(character): plain for character, plain in plain_forms.items()})
    return _WHITE_SPACE.sub(" ", text).strip()


def replace_surrogates(text: str) -> str:
    """The text with lone surrogates, which tokenizers refuse, replaced by the replacement character."""
    return _SURROGATE.sub("\ufffd", text)


def _is_symbol(character: str) -> bool:
    # Marks (category M) are accents of the letters before them.
    return character in _JOINERS or (unicodedata.category(character)[0] in "SCP" and not character.isspace())


def _is_letter(character: str) -> bool:
    return unicodedata.category(character)[0] in "LM"


def _extract(text: str, spans: Sequence[UntranslatableSpan]) -> SentenceParts:
    """The sentence split with all spans removed from the core."""
    start = _core_start(text, spans)
    stop = _core_stop(text, spans, start)
    core, marks = extract_marks(text, spans, start, stop)
    return SentenceParts(text[:start], core, text[stop:], tuple(marks))


def _with_stand_ins(
    text: str, spans: Sequence[UntranslatableSpan], stand_ins: Sequence[str]
) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The sentence with a stand-in for each span that acts as a word, and the pairs (stand-in, span)."""
    free = [number for number in stand_ins if number not in text]
    words = islice((span for span in spans if acts_as_word(text, span)), len(free))
    read, position = "", 0
    replaced_spans = []
    for stand_in, span in zip(free, words, strict=False):
        read += text[position : span.start] + stand_in
        position = span.stop
        replaced_spans.append((stand_in, text[span.start : span.stop]))
    return read + text[position:], tuple(replaced_spans)


def _find_spans(text: str, characters: UnknownCharacters, terms: Sequence[str] = ()) -> list[UntranslatableSpan]:
    patterns = []
    if not characters.symbols.isdisjoint(text):
        patterns.append(_class(characters.symbols))
    if not characters.letters.isdisjoint(text):
        patterns.append(rf"(?<!\w){_class(characters.letters)}(?!\w)")
    return untranslatable_spans(text, "|".join(patterns), terms)


def _class(characters: Iterable[str]) -> str:
    return f"[{re.escape(''.join(sorted(characters)))}]+"


def _core_start(text: str, spans: Sequence[UntranslatableSpan]) -> int:
    """The start of the text to translate."""
    ends = {span.start: span.stop for span in spans}
    start = 0
    while start < len(text):
        mark = _LIST_MARK.match(text, start)
        end = mark.end() if mark else ends.get(start, start + text[start].isspace())
        if end == start:
            break
        start = end
    return start


def _core_stop(text: str, spans: Sequence[UntranslatableSpan], start: int) -> int:
    """The end of the text to translate, which starts at `start`."""
    starts = {span.stop: span.start for span in spans}
    stop = len(text)
    while stop > start:
        begin = starts.get(stop, stop - text[stop - 1].isspace())
        if begin == stop or begin < start:
            break
        stop = begin
    return stop


def extract_marks(text: str, spans: Sequence[UntranslatableSpan], start: int, stop: int) -> tuple[str, list[Mark]]:
    """The text from `start` to `stop` without the spans inside, and these spans as marks."""
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
        before, after = core[-1:].isspace(), text[end : end + 1].isspace()
        if span.is_tag:
            position += before and after
            spaces = (before and after,) * 2
            marks.append(Mark(len(core), text[begin:end], span.kind, *spaces))  # type: ignore[arg-type]
            continue
        separates_words = core[-1:].isalnum() and text[end : end + 1].isalnum()
        if before and after:
            position += 1
        elif before and text[end : end + 1] in {*CLOSING_PUNCTUATION}:
            core = core.rstrip()
        elif separates_words:
            core += " "
        marks.append(Mark(len(core), text[begin:end], "whole", before, after, separates_words))
    return core + text[position:stop], marks


def _is_spelling(text: str, begin: int, end: int) -> bool:
    """Whether the span is invisible and inside a word, such as a soft hyphen; such spans are dropped."""
    is_invisible = all(unicodedata.category(character) in ("Cf", "Cc") for character in text[begin:end])
    return is_invisible and text[begin - 1 : begin].isalnum() and text[end : end + 1].isalnum()
