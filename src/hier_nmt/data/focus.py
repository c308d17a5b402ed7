# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Focus on windows that need their context: those with a sentence whose translation sentences before it decide.

A file lists them as sentence pairs, for example that of `hier-nmt corpus make-pronouns --focus`. Pairs are compared by
hashes of their text, since cleaning changes the index of a sentence in its document.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np
from datasets import Dataset

from ..text.inline_terms import without_terms
from .corpora import read_documents
from .documents import SentencePair
from .pair_cleaning import PairCleaner
from .pair_halves import pair_halves
from .segment_marks import MARKS
from .text_hashes import text_hash
from .training_corpora import TrainingCorpora


@dataclass(frozen=True)
class Focus:
    """Training windows that are repeated.

    Args:
        path: file of sentence pairs whose translation is decided outside of them: source, tab, target.
        weight: how many times an epoch contains a window in which such a pair follows another sentence, at least 1; for
            a fraction an evenly spaced subset is added. The weight of the corpus multiplies it.
    """

    path: str
    weight: float

    def __post_init__(self) -> None:
        if not 1 <= self.weight < float("inf"):
            raise ValueError(f"weight={self.weight} must be at least 1, and finite")


def focus_sentences(text: Dataset, focus: Focus, corpora: TrainingCorpora) -> dict[tuple[int, str], list[int]]:
    """The sentences of the text table that the file lists: (corpus, document id) -> their ascending indices.

    Args:
        text: the table of `corpora_table`.
        focus: its file lists pairs as they are in the corpora before cleaning, or after it.
        corpora: the corpora of the table, whose cleaning and augmentation the pairs undergo, too.

    Raises:
        CorpusError: a line without a tab, or with an empty side.
        ValueError: the table has none of the sentences.
    """
    pairs = [
        pair
        for document in read_documents([focus.path], "tab-separated", "source", "target")
        for paragraph in document.paragraphs
        for pair in paragraph
    ]
    hashes = frozenset(text_hash(one.source, one.target) for pair in pairs for one in _versions(pair, corpora))
    listed = _listed_sentences(text, hashes)
    if not listed:
        raise ValueError(f"{focus.path}: none of its {len(pairs)} sentence pairs is in the training corpora")
    return listed


def needs_context(windows: Dataset, listed: Mapping[tuple[int, str], Sequence[int]]) -> np.ndarray:
    """Whether each window has a listed sentence with another sentence before it; bool [number of windows].

    Args:
        windows: a table with the columns `corpus`, `document_id`, `sentence_index` (of the last sentence) and
            `num_sentences`, see `window_table`.
        listed: (corpus, document id) -> ascending indices of its listed sentences. Documents of a corpus that have the
            same id count as one.
    """
    names = ["corpus", "document_id", "sentence_index", "num_sentences"]
    batches = windows.select_columns(names).with_format(None).iter(batch_size=10_000)
    rows = chain.from_iterable(zip(*(batch[name] for name in names), strict=True) for batch in batches)
    return np.fromiter(
        (
            _any_in_range(listed.get((corpus, document), ()), last - num_sentences + 2, last)
            for corpus, document, last, num_sentences in rows
        ),
        bool,
        len(windows),
    )


def _any_in_range(indices: Sequence[int], first: int, last: int) -> bool:
    """Whether one of the ascending indices is from `first` to `last`."""
    return bool(indices) and bisect_right(indices, last) > bisect_right(indices, first - 1)


def _versions(pair: SentencePair, corpora: TrainingCorpora) -> Iterator[SentencePair]:
    """The pair as it may be in the text table: with or without marks, with replacements, whole or its first half.

    The first half is enough: in a window, what decides the translation of a pair comes before both halves.
    """
    cleaner = PairCleaner(corpora.cleaning.without_dropping)
    kinds = list(MARKS) if corpora.cleaning.remove_marks else []
    versions = {pair}
    for removed in chain.from_iterable(combinations(kinds, number) for number in range(len(kinds) + 1)):
        cleaner.mark_kinds = frozenset(removed)
        versions.add(cleaner.changed(pair))
    for version in versions:
        yield version
        if corpora.augmentation.split_share:
            yield pair_halves(version)[0]


def _listed_sentences(text: Dataset, hashes: Set[int]) -> dict[tuple[int, str], list[int]]:
    listed: dict[tuple[int, str], list[int]] = {}
    for row in text.select_columns(["corpus", "document_id", "source", "target"]):
        pairs = zip(map(without_terms, row["source"]), row["target"], strict=True)
        found = [index for index, pair in enumerate(pairs) if text_hash(*pair) in hashes]
        if found:
            key = row["corpus"], row["document_id"]
            listed[key] = sorted({*listed.get(key, ()), *found})
    return listed
