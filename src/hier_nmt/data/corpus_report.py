# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Statistics of a corpus: sizes, lengths, duplicates, suspicious pairs, and the overlap with another corpus."""

import heapq
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .documents import ParallelDocument
from .text_hashes import MIN_SHARED_WORDS, KnownTexts, normal_text, text_hash

QUANTILES = (0, 5, 25, 50, 75, 95, 100)
# A pair is suspicious if its ratio of target to source characters differs from the usual one by this factor.
OUTLIER_FACTOR = 3.0
# Up to this many characters on both sides any ratio is usual.
MIN_OUTLIER_CHARACTERS = 20


class Outlier(NamedTuple):
    """A pair with an unusual length ratio: `factor` is its ratio of characters divided by the usual one."""

    factor: float
    document: str
    source: str
    target: str


class Overlap(NamedTuple):
    """How much of a corpus is also in another: documents (by their sources), pairs, and source sentences of at least
    `MIN_SHARED_WORDS` words, of which there are `num_long`."""

    num_documents: int
    num_pairs: int
    num_long_sources: int
    total_documents: int
    total_pairs: int
    num_long: int

    def __str__(self) -> str:
        parts = (
            (self.num_documents, self.total_documents, "documents"),
            (self.num_pairs, self.total_pairs, "pairs"),
            (self.num_long_sources, self.num_long, f"source sentences of {MIN_SHARED_WORDS} words or more"),
        )
        shares = [
            f"{count:,} of {total:,} {what} ({100 * count / max(1, total):.2f} %)" for count, total, what in parts
        ]
        return f"also in the other corpus: {', '.join(shares)}"


@dataclass
class CorpusReport:
    """Counts and lengths of a corpus; lengths are arrays with one entry per document or sentence pair.

    Words are separated by white space, which means little for languages that write none. Duplicates do not include the
    first of their kind, and are compared without case and white space.
    """

    num_documents: int = 0
    num_paragraphs: int = 0
    num_duplicate_documents: int = 0
    num_duplicate_pairs: int = 0
    num_several_translations: int = 0
    num_copies: int = 0
    num_outliers: int = 0
    usual_ratio: float = 1.0
    outliers: list[Outlier] = field(default_factory=list)
    sentences_of_documents: np.ndarray = field(default_factory=lambda: np.zeros(0))
    source_words: np.ndarray = field(default_factory=lambda: np.zeros(0))
    target_words: np.ndarray = field(default_factory=lambda: np.zeros(0))
    source_characters: np.ndarray = field(default_factory=lambda: np.zeros(0))
    target_characters: np.ndarray = field(default_factory=lambda: np.zeros(0))
    overlap: Overlap | None = None

    @property
    def num_pairs(self) -> int:
        """Sentence pairs."""
        return len(self.source_words)

    def as_json(self) -> dict[str, Any]:
        """The report as JSON, with quantiles in place of the arrays."""
        counts = {name: value for name, value in vars(self).items() if isinstance(value, int | float)}
        quantiles = {name: _quantiles(values) for name, values in self._lengths().items()}
        overlap = None if self.overlap is None else self.overlap._asdict()
        outliers = [outlier._asdict() for outlier in self.outliers]
        return {"num_pairs": self.num_pairs, **counts, "quantiles": quantiles, "outliers": outliers, "overlap": overlap}

    def _lengths(self) -> dict[str, np.ndarray]:
        return {
            "sentences of a document": self.sentences_of_documents,
            "words of a source sentence": self.source_words,
            "words of a target sentence": self.target_words,
            "characters of a source sentence": self.source_characters,
            "characters of a target sentence": self.target_characters,
        }

    def __str__(self) -> str:
        pairs = max(1, self.num_pairs)
        lines = [
            f"{self.num_documents:,} documents, {self.num_paragraphs:,} paragraphs, {self.num_pairs:,} sentence pairs, "
            f"{int(self.source_words.sum()):,} source and {int(self.target_words.sum()):,} target words",
            "",
            f"| quantile | {' | '.join(f'{quantile} %' for quantile in QUANTILES)} |",
            f"|---|{'---|' * len(QUANTILES)}",
        ]
        for name, values in self._lengths().items():
            lines.append(f"| {name} | {' | '.join(f'{value:g}' for value in _quantiles(values))} |")
        counts = {
            "duplicate documents": (self.num_duplicate_documents, max(1, self.num_documents)),
            "duplicate pairs": (self.num_duplicate_pairs, pairs),
            "further translations of an earlier source sentence": (self.num_several_translations, pairs),
            "targets that copy the source": (self.num_copies, pairs),
            "ratio outliers": (self.num_outliers, pairs),
        }
        lines += ["", *(f"{name}: {count:,} ({100 * count / of:.2f} %)" for name, (count, of) in counts.items())]
        lines += [
            f"(outliers: {OUTLIER_FACTOR:g} times more or fewer target characters than the usual "
            f"{self.usual_ratio:.2f} per source character)",
            *(f"  {item.factor:.2f}  {item.document}: {item.source:.70} | {item.target:.70}" for item in self.outliers),
        ]
        return "\n".join([*lines, *([] if self.overlap is None else ["", str(self.overlap)])])


def describe_corpus(
    documents: Iterable[ParallelDocument],
    other: Iterable[ParallelDocument] | KnownTexts | None = None,
    num_examples: int = 5,
) -> CorpusReport:
    """The report of a corpus, which is read once and not kept in memory.

    Args:
        documents: the corpus.
        other: documents of another corpus, for example the test set of a planned training, or their `KnownTexts`.
        num_examples: number of outliers to show.
    """
    known = other if other is None or isinstance(other, KnownTexts) else KnownTexts(other)
    report = CorpusReport()
    counted = _CorpusCounts(known, num_examples)
    for document in documents:
        counted.add(document, report)
    counted.finish(report)
    return report


# Ratio of characters or its inverse, negated index of the pair, document, source, target.
_Extreme = tuple[float, int, str, str, str]


class _CorpusCounts:
    """State of the statistics while a corpus is read."""

    def __init__(self, known: KnownTexts | None, num_examples: int) -> None:
        self.known, self.num_examples = known, num_examples
        self.seen = KnownTexts()
        self.lengths = {
            name: array("I") for name in ("documents", "words_0", "words_1", "characters_0", "characters_1")
        }
        # The pairs with the largest and the smallest ratio of characters.
        self.extremes: tuple[list[_Extreme], list[_Extreme]] = ([], [])
        self.shared = {"documents": 0, "pairs": 0, "sources": 0}
        self.num_long = 0

    def add(self, document: ParallelDocument, report: CorpusReport) -> None:
        report.num_documents += 1
        report.num_paragraphs += len(document.paragraphs)
        self.lengths["documents"].append(document.num_sentences)
        digest = text_hash(*document.source_sentences)
        report.num_duplicate_documents += digest in self.seen.documents
        self.seen.documents.add(digest)
        self.shared["documents"] += self.known is not None and digest in self.known.documents
        for source, target in zip(document.source_sentences, document.target_sentences, strict=True):
            self._add_pair(document.id, source, target, report)

    def _add_pair(self, name: str, source: str, target: str, report: CorpusReport) -> None:
        for side, text in enumerate((source, target)):
            self.lengths[f"words_{side}"].append(len(text.split()))
            self.lengths[f"characters_{side}"].append(len(text))
        self._keep_extreme(name, source, target)
        pair, alone = text_hash(source, target), text_hash(source)
        report.num_copies += normal_text(source) == normal_text(target)
        if pair in self.seen.pairs:
            report.num_duplicate_pairs += 1
        else:
            report.num_several_translations += alone in self.seen.sources
        self.seen.pairs.add(pair)
        self.seen.sources.add(alone)
        is_long = self.lengths["words_0"][-1] >= MIN_SHARED_WORDS
        self.num_long += is_long
        if self.known is not None:
            self.shared["pairs"] += pair in self.known.pairs
            self.shared["sources"] += is_long and alone in self.known.sources

    def _keep_extreme(self, name: str, source: str, target: str) -> None:
        if max(len(source), len(target)) < MIN_OUTLIER_CHARACTERS:
            return
        ratio = _ratio(source, target)
        for heap, value in zip(self.extremes, (ratio, 1 / ratio), strict=True):
            heapq.heappush(heap, (value, -len(self.lengths["words_0"]), name, source, target))
            if len(heap) > self.num_examples:
                heapq.heappop(heap)

    def finish(self, report: CorpusReport) -> None:
        arrays = {name: np.frombuffer(values, dtype=np.uint32) for name, values in self.lengths.items() if len(values)}
        if not arrays:
            return
        report.sentences_of_documents = arrays["documents"]
        report.source_words, report.target_words = arrays["words_0"], arrays["words_1"]
        report.source_characters, report.target_characters = arrays["characters_0"], arrays["characters_1"]
        ratios = np.maximum(report.target_characters, 1) / np.maximum(report.source_characters, 1)
        report.usual_ratio = float(np.median(ratios))
        factors = ratios / report.usual_ratio
        long_enough = np.maximum(report.source_characters, report.target_characters) >= MIN_OUTLIER_CHARACTERS
        strange = (np.abs(np.log(factors)) > np.log(OUTLIER_FACTOR)) & long_enough
        report.num_outliers = int(strange.sum())
        kept = {item[2:] for heap in self.extremes for item in heap}
        worst = [Outlier(_ratio(*item[1:]) / report.usual_ratio, *item) for item in kept]
        worst = [item for item in worst if abs(np.log(item.factor)) > np.log(OUTLIER_FACTOR)]
        report.outliers = sorted(worst, key=lambda item: (-abs(np.log(item.factor)), item))[: self.num_examples]
        if self.known is not None:
            shared = self.shared
            totals = (report.num_documents, report.num_pairs, self.num_long)
            report.overlap = Overlap(shared["documents"], shared["pairs"], shared["sources"], *totals)


def _ratio(source: str, target: str) -> float:
    """Target characters per source character."""
    return max(1, len(target)) / max(1, len(source))


def _quantiles(values: np.ndarray) -> list[float]:
    return [float(value) for value in np.percentile(values, QUANTILES)] if len(values) else [0.0] * len(QUANTILES)
