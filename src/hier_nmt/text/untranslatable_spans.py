# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The spans of a sentence that the model does not see: what is not language, and what its tokenizer does not know.

Adjacent spans are merged, and so is a pair of tags with only such spans inside.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Literal, NamedTuple

from .protected_spans import ProtectedSpan, protected_spans

_TAG_NAME = re.compile(r"</?([\w:.-]+)")


class UntranslatableSpan(NamedTuple):
    """An untranslatable span [start, stop) of a sentence. `kind` is "address", "symbols", "word" for a span that acts
    as a word, "open" or "close" for a tag, or "other"."""

    start: int
    stop: int
    kind: Literal["address", "symbols", "word", "open", "close", "other"]

    @property
    def is_tag(self) -> bool:
        return self.kind in ("open", "close")


def untranslatable_spans(text: str, unknown: str, terms: Sequence[str] = ()) -> list[UntranslatableSpan]:
    """The untranslatable spans of a sentence, in order and without overlaps.

    Args:
        text: a sentence.
        unknown: a regular expression that matches what the tokenizer does not know; empty if it knows everything.
        terms: terms that stay as they are; in other spans they have no effect.
    """
    protected = protected_spans(text)
    unpaired = _unpaired_tags(text, protected)
    spans = [_from_protected(text, span, span.start in unpaired) for span in protected]
    spans = sorted([*spans, *_term_spans(text, spans, terms)])
    if unknown:
        positions = {position for span in spans for position in range(span.start, span.stop)}
        found = (match.span() for match in re.finditer(unknown, text))
        # Symbols may overlap protected spans.
        parts = (part for span in found for part in _outside(*span, positions))
        spans = sorted([*spans, *(UntranslatableSpan(start, stop, "symbols") for start, stop in parts)])
    return _merge_adjacent(text, spans)


def find_terms(text: str, terms: Sequence[str]) -> list[tuple[int, int]]:
    """Where these terms stand in a text [start, stop), exactly as they are written, at each place the longest."""
    return [match.span() for match in _term_pattern(tuple(terms)).finditer(text)] if terms else []


@lru_cache(maxsize=64)
def _term_pattern(terms: tuple[str, ...]) -> re.Pattern[str]:
    longest_first = sorted(terms, key=len, reverse=True)
    return re.compile("|".join(rf"(?<!\w){re.escape(term)}(?!\w)" for term in longest_first))


def _term_spans(text: str, spans: Sequence[UntranslatableSpan], terms: Sequence[str]) -> Iterator[UntranslatableSpan]:
    for start, stop in find_terms(text, terms):
        if all(stop <= span.start or span.stop <= start for span in spans):
            yield UntranslatableSpan(start, stop, "word")


def acts_as_word(text: str, span: UntranslatableSpan) -> bool:
    """Whether a span acts as a word in its sentence: no letter or digit touches it, and an address has words on both
    sides."""
    if span.kind not in ("word", "address") or not _is_standalone(text, span.start, span.stop):
        return False
    sides = (text[: span.start], text[span.stop :]) if span.kind == "address" else ()
    return all(any(map(str.isalpha, side)) for side in sides)


def _is_standalone(text: str, start: int, stop: int) -> bool:
    before, after = text[max(0, start - 1) : start], text[stop : stop + 1]
    return not (before.isalnum() or before in {*"_.!?"} or after.isalnum() or after == "_")


def _from_protected(text: str, span: ProtectedSpan, is_unpaired: bool) -> UntranslatableSpan:
    if span.kind == "message" or span.kind == "break":
        return UntranslatableSpan(span.start, span.stop, "other")
    # A tag between spaces without a partner is a placeholder ("cp <source> <target>").
    if is_unpaired and _is_standalone(text, span.start, span.stop):
        return UntranslatableSpan(span.start, span.stop, "word")
    return UntranslatableSpan(span.start, span.stop, span.kind)


def _unpaired_tags(text: str, spans: Iterable[ProtectedSpan]) -> set[int]:
    """The start positions of tags that have no partner in the text."""
    unpaired: set[int] = set()
    opened: dict[str, list[int]] = {}
    for span in spans:
        name = _TAG_NAME.match(text, span.start)
        if name is None or span.kind not in ("open", "close"):
            continue
        if span.kind == "open":
            opened.setdefault(name[1], []).append(span.start)
        elif opened.get(name[1]):
            opened[name[1]].pop()
        else:
            unpaired.add(span.start)
    return unpaired.union(*opened.values())


def _outside(start: int, stop: int, protected: set[int]) -> Iterator[tuple[int, int]]:
    """The parts of a span outside of the protected positions."""
    positions = [position for position in range(start, stop) if position not in protected]
    for _, group in groupby(enumerate(positions), key=lambda pair: pair[1] - pair[0]):
        run = [position for _, position in group]
        yield run[0], run[-1] + 1


def _merge_adjacent(text: str, spans: Iterable[UntranslatableSpan]) -> list[UntranslatableSpan]:
    merged: list[UntranslatableSpan] = []
    for span in spans:
        merged.append(span)
        while (size := _num_neighbours(text, merged)) > 1:
            kinds = {one.kind for one in merged[-size:]}
            kind = next((one for one in ("word", "address", "symbols") if one in kinds), "other")
            merged[-size:] = [UntranslatableSpan(merged[-size].start, merged[-1].stop, kind)]  # type: ignore[arg-type]
    return merged


def _num_neighbours(text: str, spans: Sequence[UntranslatableSpan]) -> int:
    """How many of the last spans are to be merged: adjacent spans, a pair of tags with only such spans inside, and
    symbols and addresses separated by white space."""
    if len(spans) < 2:
        return 1
    before, last = spans[-2:]
    between = text[before.stop : last.start]
    if not before.is_tag and not last.is_tag:
        is_plain = {before.kind, last.kind} <= {"address", "symbols"}
        return 2 if not between or (is_plain and not between.strip()) else 1
    if between or last.kind != "close":
        return 1
    if before.kind == "open":
        return 2
    is_pair = len(spans) > 2 and spans[-3].kind == "open" and spans[-3].stop == before.start and not before.is_tag
    return 3 if is_pair else 1
