# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Several corpora as one: each has its own format and weight, and they are cleaned together."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from .augmentation import Augmentation, PairAugmenter
from .corpora import ReadReport, read_documents
from .documents import ParallelDocument
from .pair_cleaning import Cleaning, CorpusSurvey, PairCleaner
from .text_hashes import KnownTexts

Format = Literal[
    "json-lines", "tab-separated", "dataset", "id-column", "tmx", "xliff", "wmt-xml", "opus-xml",
    "moses", "heads", "iwslt", "srt",
]  # fmt: skip


@dataclass(frozen=True)
class Corpus:
    """One of several corpora.

    Args:
        path: its files (or dataset names), in the form that the format requires.
        format: the format; None: that of `data.format`.
        columns: names of the columns, for formats that have them; None: those of `data.columns`.
        weight: how many times an epoch contains its windows; for a fraction an evenly spaced subset is added.
        name: for a validation corpus, whose loss is then also logged as `eval_loss_<name>`.
    """

    path: list[str]
    format: Format | None = None
    columns: dict[str, Any] | None = None
    weight: float = 1.0
    name: str | None = None

    def __post_init__(self) -> None:
        if not self.path:
            raise ValueError("path is empty")
        if not 0 < self.weight < float("inf"):
            raise ValueError(f"weight={self.weight} must be more than 0")

    @property
    def label(self) -> str:
        """The name, or the name of the first file."""
        return self.name or Path(self.path[0]).name


@dataclass(frozen=True)
class CorpusReader:
    """How corpora are read: the settings that they share.

    Args:
        format, columns: for corpora that do not have their own.
        source_language, target_language: ISO 639 codes.
        skip_bad: whether to skip malformed documents.
    """

    format: str
    source_language: str
    target_language: str
    columns: dict[str, Any] | None = None
    skip_bad: bool = False

    def read(self, corpus: Corpus, report: ReadReport | None = None) -> Iterator[ParallelDocument]:
        """The documents of a corpus, see `read_documents`."""
        return read_documents(
            corpus.path,
            corpus.format or self.format,
            self.source_language,
            self.target_language,
            skip_bad=self.skip_bad,
            columns=self.columns if corpus.format is None and corpus.columns is None else corpus.columns,
            report=report,
        )


@dataclass
class CleaningReport(ReadReport):
    """What was read and skipped, and how many pairs were dropped, by index of the corpus and reason."""

    dropped: Counter[tuple[int, str]] = field(default_factory=Counter)


@dataclass(frozen=True)
class TrainingCorpora:
    """Corpora that are read one after another and cleaned together.

    Args:
        corpora: the corpora.
        reader: how they are read.
        cleaning: how they are cleaned.
        excluded: corpora whose pairs are dropped, and with them other pairs with their longer source sentences.
        augmentation: how the cleaned pairs are augmented.
    """

    corpora: tuple[Corpus, ...]
    reader: CorpusReader
    cleaning: Cleaning = field(default_factory=Cleaning)
    excluded: tuple[Corpus, ...] = ()
    augmentation: Augmentation = field(default_factory=Augmentation)

    @property
    def files(self) -> list[str]:
        """All paths to read."""
        glossary = self.augmentation.glossary
        terms = [] if glossary is None else [glossary]
        return [*terms, *(path for corpus in (*self.corpora, *self.excluded) for path in corpus.path)]

    def documents(self, report: CleaningReport) -> Iterator[tuple[int, ParallelDocument]]:
        """The cleaned documents, each with the index of its corpus; fills `report`."""
        excluded = KnownTexts(chain.from_iterable(map(self.reader.read, self.excluded)))
        cleaner = PairCleaner(self.cleaning, excluded)
        augmenter = PairAugmenter(self.augmentation, self.reader.source_language, self.reader.target_language)
        for index, corpus in enumerate(self.corpora):
            if self.cleaning.needs_survey:
                cleaner.start_corpus(self.survey(corpus))
            for document in self.reader.read(corpus, report):
                cleaned, dropped = cleaner.clean(document)
                report.dropped.update({(index, reason): count for reason, count in dropped.items()})
                if cleaned is not None:
                    yield index, augmenter.augmented(cleaned)

    def survey(self, corpus: Corpus) -> CorpusSurvey:
        """The counts of a corpus that its cleaning needs."""
        survey = CorpusSurvey()
        for document in self.reader.read(corpus):
            survey.add(document)
        return survey


def as_corpora(entries: Sequence[str | Corpus]) -> tuple[Corpus, ...]:
    """The corpora of a list; its plain paths form one corpus, the first."""
    paths = [entry for entry in entries if not isinstance(entry, Corpus)]
    plain = [Corpus(paths)] if paths else []
    return (*plain, *(entry for entry in entries if isinstance(entry, Corpus)))
