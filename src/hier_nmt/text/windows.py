# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Windows over a document: which sentences are read together, and how their token ids are joined and split again.

Every length in this file counts the token that closes the sentence (`<sep>`, `<par>` or `</s>`).
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple


class Window(NamedTuple):
    """Sentences [start, stop) of the flattened document; the last one, `stop - 1`, is the current sentence."""

    start: int
    stop: int


def sliding_windows(num_sentences: int, window_sentences: int) -> list[Window]:
    """One window per sentence: the sentence and up to `window_sentences - 1` sentences before it (sKtoK).

    A document with fewer sentences than `window_sentences` has shorter windows. Raises ValueError if `window_sentences`
    is below 1; `document_blocks` splits whole documents (K = 0).
    """
    if window_sentences < 1:
        raise ValueError(f"window_sentences must be at least 1 for sliding windows, got {window_sentences}")
    return [Window(max(0, stop - window_sentences), stop) for stop in range(1, num_sentences + 1)]


def document_blocks(
    source_lengths: Sequence[int],
    max_source_tokens: int | None,
    target_lengths: Sequence[int] | None = None,
    max_target_tokens: int | None = None,
) -> list[Window]:
    """Consecutive windows over the document (K = 0), each as long as the limits allow, split only between sentences.

    A sentence that exceeds a limit by itself is a window of its own; the caller decides what to do with it. None means
    no limit.
    """
    blocks = []
    start = 0
    for current in range(1, len(source_lengths)):
        window = Window(start, current + 1)
        if not _fits(window, source_lengths, max_source_tokens) or not _fits(window, target_lengths, max_target_tokens):
            blocks.append(Window(start, current))
            start = current
    if source_lengths:
        blocks.append(Window(start, len(source_lengths)))
    return blocks


def fit_window(
    window: Window,
    source_lengths: Sequence[int],
    target_lengths: Sequence[int] | None,
    max_source_tokens: int | None,
    max_target_tokens: int | None,
) -> Window:
    """The window without the farthest context sentences that exceed a limit; the current sentence always stays.

    `source_lengths` and `target_lengths` are those of the whole document. None means no limit, or no target side.
    """
    source_start = _earliest_start(window, source_lengths, max_source_tokens)
    target_start = _earliest_start(window, target_lengths, max_target_tokens)
    return Window(max(source_start, target_start), window.stop)


def _earliest_start(window: Window, lengths: Sequence[int] | None, max_tokens: int | None) -> int:
    if lengths is None or max_tokens is None:
        return window.start
    start = window.stop - 1
    num_tokens = lengths[start]
    while start > window.start and num_tokens + lengths[start - 1] <= max_tokens:
        start -= 1
        num_tokens += lengths[start]
    return start


def _fits(window: Window, lengths: Sequence[int] | None, max_tokens: int | None) -> bool:
    if lengths is None or max_tokens is None:
        return True
    return sum(lengths[window.start : window.stop]) <= max_tokens


def join_window(
    sentences: Sequence[Sequence[int]],
    ends_paragraph: Sequence[bool],
    sep_token_id: int,
    par_token_id: int,
    eos_token_id: int,
) -> list[int]:
    """The token ids of a window.

    Each sentence ends with `<sep>`, or with `<par>` if it ends its paragraph; the last sentence of the window ends with
    `</s>`. `ends_paragraph` has one entry per sentence; its last entry has no effect.
    """
    if len(sentences) != len(ends_paragraph):
        raise ValueError(f"{len(sentences)} sentences but {len(ends_paragraph)} entries in ends_paragraph")
    ids: list[int] = []
    for sentence, ends in zip(sentences, ends_paragraph, strict=True):
        ids.extend(sentence)
        ids.append(par_token_id if ends else sep_token_id)
    if ids:
        ids[-1] = eos_token_id
    return ids


def split_window(ids: Sequence[int], separators: Collection[int], ignored: Collection[int]) -> list[list[int]]:
    """The token ids of each sentence of a (translated) window: n separators give n + 1 sentences, which may be empty.

    `separators` are the ids of `<sep>` and `<par>`; `ignored` ids (padding, `<s>`, `</s>`) are dropped.
    """
    sentences: list[list[int]] = [[]]
    for token_id in ids:
        if token_id in separators:
            sentences.append([])
        elif token_id not in ignored:
            sentences[-1].append(token_id)
    return sentences


def closed_sentences(ids: Sequence[int], separators: Collection[int]) -> list[list[int]]:
    """The token ids of each sentence of a window with the token that closes it, as each has it alone."""
    sentences: list[list[int]] = [[]]
    for token_id in ids:
        sentences[-1].append(token_id)
        if token_id in separators:
            sentences.append([])
    return sentences
