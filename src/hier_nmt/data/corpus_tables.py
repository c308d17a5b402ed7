# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The text and the token ids of corpora, as memory-mapped `datasets` tables that are cached on disk.

The text table has one row per document, the table of token ids has the same rows and serves windows of all sizes. Rows
are built as Arrow arrays, a few documents at a time, so that memory use does not grow with the corpus.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from datasets import Dataset, Features, List, Value
from datasets.exceptions import DatasetGenerationError
from datasets.fingerprint import Hasher
from transformers import PreTrainedTokenizerBase

from .corpus_files import CorpusError
from .documents import ParallelDocument
from .inline_terms import encode_with_terms
from .library_internals import dataset_fingerprint
from .tokenization import encode_sentences
from .training_corpora import CleaningReport, Corpus, CorpusReader, TrainingCorpora

# Part of every cache key: increment it when the same input gives other rows.
FEATURES_VERSION = 2
DOCUMENTS_PER_BATCH = 16

_TEXT_FEATURES = Features(
    {
        "document_id": Value("string"),
        "source": List(Value("string")),
        "target": List(Value("string")),
        "ends_paragraph": List(Value("bool")),
        "corpus": Value("int32"),
        "skipped": List({"kind": Value("string"), "message": Value("string")}),
        "dropped": List({"corpus": Value("int32"), "reason": Value("string"), "count": Value("int64")}),
    }
)
_TOKEN_FEATURES = Features(
    {
        "document_id": Value("string"),
        "source_ids": List(List(Value("int32"))),
        "target_ids": List(List(Value("int32"))),
        "ends_paragraph": List(Value("bool")),
        "corpus": Value("int32"),
    }
)


def text_table(
    paths: Sequence[str | Path],
    format: str,
    source_language: str,
    target_language: str,
    *,
    skip_bad: bool = False,
    columns: Mapping[str, str] | None = None,
    cache_dir: str | Path | None = None,
) -> Dataset:
    """The corpus as a table with one row per document; see `read_documents` for the arguments and errors.

    The corpus is read once for the same arguments and the same files (sizes and modification times).
    """
    reader = CorpusReader(
        format, source_language, target_language, None if columns is None else dict(columns), skip_bad
    )
    return corpora_table(TrainingCorpora((Corpus([str(path) for path in paths]),), reader), cache_dir)


def corpora_table(corpora: TrainingCorpora, cache_dir: str | Path | None = None) -> Dataset:
    """The text table of several corpora, cleaned; the column `corpus` is the index of a document's corpus.

    The table is made once for the same arguments and the same files (sizes and modification times).
    """
    cache_key = (FEATURES_VERSION, *(_file_stamps(Path(path)) for path in corpora.files))
    return _table_from(_rows_of_corpora, {"corpora": corpora, "cache_key": cache_key}, cache_dir)


def text_table_from_documents(documents: Iterable[ParallelDocument], cache_dir: str | Path | None = None) -> Dataset:
    """The text table of documents that are already in memory."""
    return _table_from(_rows_of_documents, {"documents": tuple(documents)}, cache_dir)


def read_report(text: Dataset) -> CleaningReport:
    """The report of reading and cleaning the corpora, also if the table came from the cache."""
    report = CleaningReport()
    for row in text.select_columns(["source", "skipped", "dropped"]):
        report.num_documents += 1
        report.num_sentences += len(row["source"])
        report.skipped += [(error["kind"], error["message"]) for error in row["skipped"]]
        for item in row["dropped"]:
            report.dropped[item["corpus"], item["reason"]] += item["count"]
    return report


def token_table(
    text: Dataset,
    tokenizer: PreTrainedTokenizerBase,
    target_tokenizer: PreTrainedTokenizerBase | None = None,
    *,
    start_ids: tuple[Sequence[int], Sequence[int]] = ((), ()),
    num_proc: int | None = None,
) -> Dataset:
    """The table of token ids: each sentence is tokenised once, whatever the windows are.

    Args:
        text: the table of sentences.
        tokenizer, target_tokenizer: of the two languages, or one of both.
        start_ids: tokens in front of each source sentence and of each target sentence: those of languages.
        num_proc: number of processes; None: the main process does it.
    """
    target_tokenizer = target_tokenizer or tokenizer
    key: tuple[Any, ...] = (dataset_fingerprint(text), _tokenizer_key(tokenizer), _tokenizer_key(target_tokenizer))
    key = (FEATURES_VERSION, *key, *([start_ids] if any(start_ids) else []))
    tokens = text.with_format("arrow").map(
        _tokenize,
        fn_kwargs={"tokenizer": tokenizer, "target_tokenizer": target_tokenizer, "start_ids": start_ids},
        features=_TOKEN_FEATURES,
        new_fingerprint=Hasher.hash(key),
        desc="tokenizing",
        **map_arguments(text, num_proc),
    )
    return tokens.with_format(None)


def _file_stamps(path: Path) -> list[tuple[str, int, int]]:
    """(name, size, modification time) of the file, or of the files of the folder; empty for a name on the Hub."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    stats = [(file.name, file.stat()) for file in files if file.is_file()]
    return [(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats]


def _table_from(rows: Any, arguments: dict[str, Any], cache_dir: str | Path | None) -> Dataset:
    try:
        return Dataset.from_generator(
            rows,
            features=_TEXT_FEATURES,
            gen_kwargs=arguments,
            cache_dir=None if cache_dir is None else str(cache_dir),
            writer_batch_size=100,
        )
    except DatasetGenerationError as error:
        if isinstance(error.__cause__, CorpusError):
            raise error.__cause__ from None
        raise


def _rows_of_corpora(corpora: TrainingCorpora, cache_key: tuple[Any, ...]) -> Iterator[dict[str, Any]]:
    """The rows of the text table; `cache_key` only serves to be hashed with the corpora."""
    report = CleaningReport()
    previous: dict[str, Any] | None = None
    for corpus, document in corpora.documents(report):
        if previous is not None:
            yield previous
        previous = _text_row(document, corpus, report)
    if previous is None:
        raise _nothing_left(corpora, report)
    rest = _take_skipped(report)
    yield {**previous, **{name: previous[name] + rest[name] for name in rest}}


def _nothing_left(corpora: TrainingCorpora, report: CleaningReport) -> CorpusError:
    """The error of corpora whose pairs were all dropped, with the reasons."""
    reasons: Counter[str] = Counter()
    for (_, reason), count in report.dropped.items():
        reasons[reason] += count
    reasons.update(kind for kind, _ in report.skipped)
    files = ", ".join(str(path) for corpus in corpora.corpora for path in corpus.path)
    return CorpusError(files, None, "no sentence pair is left", ", ".join(f"{n} {why}" for why, n in reasons.items()))


def _rows_of_documents(documents: tuple[ParallelDocument, ...]) -> Iterator[dict[str, Any]]:
    return (_text_row(document, 0, CleaningReport()) for document in documents)


def _text_row(document: ParallelDocument, corpus: int, report: CleaningReport) -> dict[str, Any]:
    return {
        "document_id": document.id,
        "source": document.source_sentences,
        "target": document.target_sentences,
        "ends_paragraph": document.ends_paragraph,
        "corpus": corpus,
        **_take_skipped(report),
    }


def _take_skipped(report: CleaningReport) -> dict[str, list[dict[str, Any]]]:
    """What was skipped or dropped since the last call."""
    skipped = [{"kind": kind, "message": message} for kind, message in report.skipped]
    dropped = [
        {"corpus": corpus, "reason": reason, "count": count} for (corpus, reason), count in report.dropped.items()
    ]
    report.skipped.clear()
    report.dropped.clear()
    return {"skipped": skipped, "dropped": dropped}


def map_arguments(dataset: Dataset, num_proc: int | None) -> dict[str, Any]:
    """The arguments of `Dataset.map` for a function that makes other rows of a few documents."""
    if num_proc is not None:
        num_proc = min(num_proc, max(1, len(dataset) // DOCUMENTS_PER_BATCH))
    return {
        "batched": True,
        "batch_size": DOCUMENTS_PER_BATCH,
        "remove_columns": dataset.column_names,
        "num_proc": num_proc if num_proc is not None and num_proc > 1 else None,
    }


# Characters of many kinds, for a slow tokenizer to show what it does.
_SAMPLE = "It's 3,5 % of the naïve ÉLÈVES' l'œuvre: Привет, 日本, ½ ﬁ…"


def _tokenizer_key(tokenizer: PreTrainedTokenizerBase) -> str:
    """A hash of everything that decides the ids; padding and truncation settings are excluded."""
    if not tokenizer.is_fast:
        # Its files are not read again, but they decide its vocabulary and its ids of a text in every script.
        sample = tokenizer(_SAMPLE, add_special_tokens=False)["input_ids"]
        return Hasher.hash((type(tokenizer).__name__, tokenizer.get_vocab(), sample))
    content = json.loads(tokenizer.backend_tokenizer.to_str())
    content.update(padding=None, truncation=None)
    return Hasher.hash((json.dumps(content), tokenizer.split_special_tokens))


def _tokenize(
    table: pa.Table,
    tokenizer: PreTrainedTokenizerBase,
    target_tokenizer: PreTrainedTokenizerBase,
    start_ids: tuple[Sequence[int], Sequence[int]],
) -> pa.Table:
    columns = {"document_id": table["document_id"].combine_chunks()}
    sides = zip(("source", "target"), (tokenizer, target_tokenizer), start_ids, strict=True)
    for side, side_tokenizer, first_ids in sides:
        sentences = table[side].combine_chunks()
        encode = encode_with_terms if side == "source" else encode_sentences
        ids = encode(side_tokenizer, sentences.flatten().to_pylist())
        if first_ids:
            ids = [[*first_ids, *row] for row in ids]
        columns[f"{side}_ids"] = _list_array(sentences.value_lengths().to_numpy(), ids_array(ids))
    for name in ("ends_paragraph", "corpus"):
        columns[name] = table[name].combine_chunks()
    return pa.table(columns)


def ids_array(rows: Sequence[Sequence[int]]) -> pa.ListArray:
    """Rows of token ids as an array of lists of int32."""
    lengths = np.fromiter(map(len, rows), np.int32, len(rows))
    values = np.fromiter(chain.from_iterable(rows), np.int32, int(lengths.sum()))
    return _list_array(lengths, pa.array(values))


def _list_array(lengths: np.ndarray, values: pa.Array) -> pa.ListArray:
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), values)
