# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which spans of a sentence are kept from the model: those that are not language, and what its tokenizer does not know.

What touches is one span, and so is a pair of tags around nothing else.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Literal, NamedTuple

from .protected_spans import ProtectedSpan, protected_spans

_TAG_NAME = re.compile(r"</?([\w:.-]+)")


class KeptSpan(NamedTuple):
    """A span [start, stop) of a sentence that is kept: an address or symbols, one that stands in the place of a word, a
    tag, or another."""

    start: int
    stop: int
    kind: Literal["address", "symbols", "word", "open", "close", "other"]

    @property
    def is_tag(self) -> bool:
        return self.kind in ("open", "close")


def kept_spans(text: str, unknown: str) -> list[KeptSpan]:
    """The spans of a sentence that are kept, in order, none over another.

    Args:
        text: a sentence.
        unknown: a regular expression for what the tokenizer does not know; empty if it knows everything.
    """
    protected = protected_spans(text)
    unpaired = _unpaired_tags(text, protected)
    spans = [_kept(text, span, span.start in unpaired) for span in protected]
    if unknown:
        positions = {position for span in spans for position in range(span.start, span.stop)}
        found = (match.span() for match in re.finditer(unknown, text))
        # Symbols may run into what is protected.
        parts = (part for span in found for part in _outside(*span, positions))
        spans = sorted([*spans, *(KeptSpan(start, stop, "symbols") for start, stop in parts)])
    return _merged(text, spans)


def stands_for_word(text: str, span: KeptSpan) -> bool:
    """Whether a span stands in the place of a word: nothing of a word touches it and, of an address, words are on both
    sides."""
    if span.kind not in ("word", "address") or not _is_apart(text, span.start, span.stop):
        return False
    sides = (text[: span.start], text[span.stop :]) if span.kind == "address" else ()
    return all(any(map(str.isalpha, side)) for side in sides)


def _is_apart(text: str, start: int, stop: int) -> bool:
    before, behind = text[max(0, start - 1) : start], text[stop : stop + 1]
    return not (before.isalnum() or before in {*"_.!?"} or behind.isalnum() or behind == "_")


def _kept(text: str, span: ProtectedSpan, is_unpaired: bool) -> KeptSpan:
    if span.kind == "message":
        return KeptSpan(span.start, span.stop, "other")
    # A tag alone between spaces is a placeholder ("cp <source> <target>").
    if is_unpaired and _is_apart(text, span.start, span.stop):
        return KeptSpan(span.start, span.stop, "word")
    return KeptSpan(span.start, span.stop, span.kind)


def _unpaired_tags(text: str, spans: Iterable[ProtectedSpan]) -> set[int]:
    """Where the tags begin that have no partner in the text."""
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
    """The parts of a span without any of the positions."""
    positions = [position for position in range(start, stop) if position not in protected]
    for _, group in groupby(enumerate(positions), key=lambda pair: pair[1] - pair[0]):
        places = [position for _, position in group]
        yield places[0], places[-1] + 1


def _merged(text: str, spans: Iterable[KeptSpan]) -> list[KeptSpan]:
    merged: list[KeptSpan] = []
    for span in spans:
        merged.append(span)
        while (size := _num_neighbours(text, merged)) > 1:
            kinds = {one.kind for one in merged[-size:]}
            kind = next((one for one in ("word", "address", "symbols") if one in kinds), "other")
            merged[-size:] = [KeptSpan(merged[-size].start, merged[-1].stop, kind)]  # type: ignore[arg-type]
    return merged


def _num_neighbours(text: str, spans: Sequence[KeptSpan]) -> int:
    """How many of the last spans are to be one: what touches, a pair of tags around nothing else, and symbols and
    addresses with white space between them."""
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
