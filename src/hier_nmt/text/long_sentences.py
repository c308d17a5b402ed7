# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Sentences that are too long for a model, split into pieces."""

import re
from collections.abc import Callable

_UNSPACED_LANGUAGES = ("zh", "ja", "th", "lo", "km", "my", "bo")
_CLAUSE_BREAK = re.compile(r"(?<=[,;:!?…—–)\]])\s+|(?<=[.])\s+|(?<=[，；：、。！？])")
_WHITESPACE = re.compile(r"\s+")


def split_long_sentence(text: str, count_tokens: Callable[[str], int], max_tokens: int) -> list[str]:
    """Pieces of the sentence of at most `max_tokens` tokens each, split between clauses, else between words, else
    anywhere.

    Each split is at the allowed position nearest to the middle, so that the pieces have similar lengths.
    """
    if len(text) < 2 or count_tokens(text) <= max_tokens:
        return [text]
    middle = _cut_position(text)
    left, right = text[:middle].rstrip(), text[middle:].lstrip()
    return [piece for part in (left, right) if part for piece in split_long_sentence(part, count_tokens, max_tokens)]


def _cut_position(text: str) -> int:
    """Where to split a text in two, never at its very start or end."""
    for pattern, margin in ((_CLAUSE_BREAK, len(text) // 4), (_WHITESPACE, 0)):
        ends = [match.end() for match in pattern.finditer(text)]
        inside = [end for end in ends if margin < end < len(text) - margin]
        if inside:
            return min(inside, key=lambda end: abs(end - len(text) / 2))
    return len(text) // 2


def sentence_joiner(language: str | None) -> str:
    """The separator between two sentences of a language (ISO 639 code): a space, or nothing if it writes none."""
    return "" if language is not None and language.lower().split("-")[0] in _UNSPACED_LANGUAGES else " "
