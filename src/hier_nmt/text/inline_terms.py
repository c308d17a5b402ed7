# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Terms whose translation is written into the source sentence, `term <gloss> translation </gloss>`.

A model trained on such sentences uses the given translation (Dinu et al. 2019, section 3.1). In text the two tokens are
noncharacters, which Unicode reserves for internal use, so that user text cannot contain them; `encode_with_terms` turns
them into tokens.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

OPENING_TOKEN, CLOSING_TOKEN = "<gloss>", "</gloss>"
OPENING_MARK, CLOSING_MARK = "\ufdd1", "\ufdd2"
_MARKS = re.compile(f"([{OPENING_MARK}{CLOSING_MARK}])")


def with_terms(text: str, translations: Iterable[tuple[int, str]]) -> str:
    """The text with inline translations: each (position, translation) with the end of its term, in order."""
    parts, position = [], 0
    for stop, translation in translations:
        parts += [text[position:stop], f" {OPENING_MARK}{translation}{CLOSING_MARK}"]
        position = stop
    return "".join([*parts, text[position:]])


def without_terms(text: str) -> str:
    """The text without inline translations."""
    return re.sub(f" {OPENING_MARK}[^{CLOSING_MARK}]*{CLOSING_MARK}", "", text)


def encode_with_terms(
    encode: Callable[[list[str]], list[list[int]]], vocabulary: Mapping[str, int], sentences: Sequence[str]
) -> list[list[int]]:
    """The token ids of sentences that may have inline translations.

    Args:
        encode: gives the token ids of texts, without special tokens.
        vocabulary: token -> id.
        sentences: with marks where an inline translation begins and ends.

    Raises:
        ValueError: a sentence has an inline translation and the tokenizer does not have the tokens.
    """
    parts = [_MARKS.split(sentence) for sentence in sentences]
    encoded = iter(encode([text for sentence in parts for text in _texts(sentence)]))
    return [_joined(sentence, encoded, vocabulary) for sentence in parts]


def _texts(parts: Sequence[str]) -> list[str]:
    """The parts of a sentence that are text: all parts, or those between the marks."""
    return list(parts) if len(parts) == 1 else [part.strip() for part in parts[::2] if part.strip()]


def _joined(parts: Sequence[str], encoded: Iterator[list[int]], vocabulary: Mapping[str, int]) -> list[int]:
    if len(parts) == 1:
        return next(encoded)
    ids: list[int] = []
    for index, part in enumerate(parts):
        if index % 2:
            ids.append(_token_id(vocabulary, part))
        elif part.strip():
            ids += next(encoded)
    return ids


def _token_id(vocabulary: Mapping[str, int], mark: str) -> int:
    token = OPENING_TOKEN if mark == OPENING_MARK else CLOSING_TOKEN
    token_id = vocabulary.get(token)
    if token_id is None:
        raise ValueError(f"the tokenizer has no token {token}: set tokenizer.reserved_tokens to [<gloss>, </gloss>]")
    return int(token_id)
