# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Window features of documents, as memory-mapped `datasets` tables that are cached on disk.

Three tables are derived from each other: text (one row per document), token ids (the same rows; shared by all window
sizes) and windows (one row per window). Rows are built as Arrow arrays, a few documents at a time, so that memory use
does not grow with the corpus.
"""

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from datasets import Dataset, Features, List, Value
from datasets.exceptions import DatasetGenerationError
from datasets.fingerprint import Hasher
from transformers import PreTrainedTokenizerBase

from ..text.windows import Window, document_blocks, fit_window, join_window, sliding_windows
from .corpus_files import CorpusError
from .documents import ParallelDocument
from .inline_terms import encode_with_terms
from .library_internals import dataset_fingerprint
from .tokenization import encode_sentences
from .training_corpora import CleaningReport, Corpus, CorpusReader, TrainingCorpora

logger = logging.getLogger(__name__)

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
_WINDOW_FEATURES = Features(
    {
        "input_ids": List(Value("int32")),
        "labels": List(Value("int32")),
        "length": Value("int32"),
        "document_id": Value("string"),
        "sentence_index": Value("int32"),
        "num_sentences": Value("int32"),
        "corpus": Value("int32"),
    }
)


class OverlongSentence(NamedTuple):
    """A sentence that exceeds a limit by itself; `num_tokens` includes the token that closes it."""

    document_id: str
    sentence_index: int
    side: Literal["source", "target"]
    num_tokens: int


class OverlongSentenceError(ValueError):
    """Raised for sentences that do not fit into any window; `sentences` lists all of them."""

    def __init__(self, sentences: Sequence[OverlongSentence]) -> None:
        self.sentences = list(sentences)
        shown = ", ".join(
            f"{item.document_id}[{item.sentence_index}] ({item.num_tokens} {item.side} tokens)"
            for item in self.sentences[:20]
        )
        more = f" and {len(self.sentences) - 20} more" if len(self.sentences) > 20 else ""
        super().__init__(
            f"{len(self.sentences)} sentences are longer than the limit: {shown}{more}; "
            f"raise max_source_tokens / max_target_tokens, or skip them with overlong='skip'"
        )


class ClosingTokens(NamedTuple):
    """The ids of the tokens that close the sentences of a window."""

    sep: int
    par: int
    eos: int


def closing_tokens(tokenizer: PreTrainedTokenizerBase) -> ClosingTokens:
    """The closing tokens of a tokenizer; ValueError if one is missing."""
    names = ("sep_token_id", "par_token_id", "eos_token_id")
    ids = [getattr(tokenizer, name, None) for name in names]
    missing = [name for name, token_id in zip(names, ids, strict=True) if token_id is None]
    if missing:
        raise ValueError(f"the tokenizer has no {', '.join(missing)} (was it trained by `hier-nmt tokenizer`?)")
    return ClosingTokens(*(int(token_id) for token_id in ids if token_id is not None))


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
    num_proc: int | None = None,
) -> Dataset:
    """The table of token ids: each sentence is tokenised once, whatever the windows are."""
    target_tokenizer = target_tokenizer or tokenizer
    key = (FEATURES_VERSION, dataset_fingerprint(text), _tokenizer_key(tokenizer), _tokenizer_key(target_tokenizer))
    tokens = text.with_format("arrow").map(
        _tokenize,
        fn_kwargs={"tokenizer": tokenizer, "target_tokenizer": target_tokenizer},
        features=_TOKEN_FEATURES,
        new_fingerprint=Hasher.hash(key),
        desc="tokenizing",
        **_map_arguments(text, num_proc),
    )
    return tokens.with_format(None)


def overlong_sentences(
    tokens: Dataset, max_source_tokens: int | None, max_target_tokens: int | None
) -> list[OverlongSentence]:
    """All sentences that exceed a limit by themselves; None means no limit."""
    found = []
    for table in tokens.with_format("arrow").iter(batch_size=1000):
        if max_source_tokens is not None:
            found += _overlong_in(table, "source", max_source_tokens)
        if max_target_tokens is not None:
            found += _overlong_in(table, "target", max_target_tokens)
    return sorted(found)


def window_table(
    tokens: Dataset,
    closing: ClosingTokens,
    window_sentences: int,
    *,
    max_source_tokens: int | None = None,
    max_target_tokens: int | None = None,
    overlong: Literal["error", "skip"] = "error",
    num_proc: int | None = None,
) -> Dataset:
    """The window features, one row per window, in the order of the documents.

    Columns: `input_ids` and `labels` (with closing tokens as in `join_window`), `length` (the larger of the two),
        `document_id`, `sentence_index` (index within the document of the current sentence, the last of the window),
        `num_sentences` and `corpus`.

    A window that exceeds a limit drops its farthest context first. A sentence that exceeds a limit by itself raises
    OverlongSentenceError. With overlong="skip" it is logged, and is the current sentence of no window (K = 0: in no
    window); other windows are unaffected.

    Args:
        window_sentences: K; 0 divides the whole document, at sentence boundaries only, into windows that fit.
        max_source_tokens, max_target_tokens: limits of `input_ids` and of `labels`; None means no limit.
    """
    if overlong not in ("error", "skip"):
        raise ValueError(f"overlong must be 'error' or 'skip', got {overlong!r}")
    if window_sentences < 0:
        raise ValueError(f"window_sentences must not be negative, got {window_sentences}")
    too_long = overlong_sentences(tokens, max_source_tokens, max_target_tokens)
    if too_long and overlong == "error":
        raise OverlongSentenceError(too_long)
    if too_long:
        logger.warning("%s", OverlongSentenceError(too_long))
    options = {
        "closing": closing,
        "window_sentences": window_sentences,
        "max_source_tokens": max_source_tokens,
        "max_target_tokens": max_target_tokens,
    }
    windows = tokens.with_format("arrow").map(
        _make_windows,
        fn_kwargs=options,
        features=_WINDOW_FEATURES,
        new_fingerprint=Hasher.hash((FEATURES_VERSION, dataset_fingerprint(tokens), sorted(options.items()))),
        desc="making windows",
        **_map_arguments(tokens, num_proc),
    )
    return windows.with_format(None)


def weighted_windows(windows: Dataset, weights: Sequence[float]) -> Dataset:
    """The windows of each corpus repeated by its weight; for a fraction an evenly spaced subset is added.

    Args:
        windows: a table with the column `corpus`.
        weights: one per corpus, by its index.
    """
    if all(weight == 1 for weight in weights):
        return windows
    corpora = np.asarray(windows.with_format("numpy")["corpus"][:])
    chosen = []
    for corpus, weight in enumerate(weights):
        rows = np.flatnonzero(corpora == corpus)
        num_more = round((weight - int(weight)) * len(rows))
        chosen += [np.tile(rows, int(weight)), rows[np.linspace(0, len(rows) - 1, num_more).astype(int)]]
    return windows.select(np.sort(np.concatenate(chosen)))


def document_windows(
    source_lengths: Sequence[int],
    target_lengths: Sequence[int],
    window_sentences: int,
    max_source_tokens: int | None,
    max_target_tokens: int | None,
) -> list[Window]:
    """The windows of one document that fit the limits; lengths include the closing tokens."""
    if window_sentences == 0:
        windows = document_blocks(source_lengths, max_source_tokens, target_lengths, max_target_tokens)
    else:
        windows = [
            fit_window(window, source_lengths, target_lengths, max_source_tokens, max_target_tokens)
            for window in sliding_windows(len(source_lengths), window_sentences)
        ]
    return [
        window
        for window in windows
        if not _exceeds(source_lengths[window.stop - 1], max_source_tokens)
        and not _exceeds(target_lengths[window.stop - 1], max_target_tokens)
    ]


def _exceeds(length: int, limit: int | None) -> bool:
    return limit is not None and length > limit


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
    if previous is not None:
        rest = _take_skipped(report)
        yield {**previous, **{name: previous[name] + rest[name] for name in rest}}


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


def _map_arguments(dataset: Dataset, num_proc: int | None) -> dict[str, Any]:
    if num_proc is not None:
        num_proc = min(num_proc, max(1, len(dataset) // DOCUMENTS_PER_BATCH))
    return {
        "batched": True,
        "batch_size": DOCUMENTS_PER_BATCH,
        "remove_columns": dataset.column_names,
        "num_proc": num_proc if num_proc is not None and num_proc > 1 else None,
    }


def _tokenizer_key(tokenizer: PreTrainedTokenizerBase) -> str:
    """A hash of everything that decides the ids; padding and truncation settings are excluded."""
    content = json.loads(tokenizer.backend_tokenizer.to_str())
    content.update(padding=None, truncation=None)
    return Hasher.hash((json.dumps(content), tokenizer.split_special_tokens))


def _tokenize(
    table: pa.Table, tokenizer: PreTrainedTokenizerBase, target_tokenizer: PreTrainedTokenizerBase
) -> pa.Table:
    columns = {"document_id": table["document_id"].combine_chunks()}
    for side, side_tokenizer in (("source", tokenizer), ("target", target_tokenizer)):
        sentences = table[side].combine_chunks()
        encode = encode_with_terms if side == "source" else encode_sentences
        ids = encode(side_tokenizer, sentences.flatten().to_pylist())
        columns[f"{side}_ids"] = _list_array(sentences.value_lengths().to_numpy(), _ids_array(ids))
    for name in ("ends_paragraph", "corpus"):
        columns[name] = table[name].combine_chunks()
    return pa.table(columns)


def _overlong_in(table: pa.Table, side: Literal["source", "target"], limit: int) -> list[OverlongSentence]:
    column = table[f"{side}_ids"].combine_chunks()
    num_tokens = column.flatten().value_lengths().to_numpy() + 1
    first_sentences = np.concatenate([[0], np.cumsum(column.value_lengths().to_numpy())])
    found = []
    for sentence in np.flatnonzero(num_tokens > limit):
        document = int(np.searchsorted(first_sentences, sentence, side="right")) - 1
        document_id = table["document_id"][document].as_py()
        index = int(sentence - first_sentences[document])
        found.append(OverlongSentence(document_id, index, side, int(num_tokens[sentence])))
    return found


def _make_windows(
    table: pa.Table,
    closing: ClosingTokens,
    window_sentences: int,
    max_source_tokens: int | None,
    max_target_tokens: int | None,
) -> pa.Table:
    rows: dict[str, list[Any]] = {name: [] for name in _WINDOW_FEATURES if name != "length"}
    for document in table.to_pylist():
        source_ids, target_ids, ends = document["source_ids"], document["target_ids"], document["ends_paragraph"]
        source_lengths = [len(ids) + 1 for ids in source_ids]
        target_lengths = [len(ids) + 1 for ids in target_ids]
        for start, stop in document_windows(
            source_lengths, target_lengths, window_sentences, max_source_tokens, max_target_tokens
        ):
            rows["input_ids"].append(join_window(source_ids[start:stop], ends[start:stop], *closing))
            rows["labels"].append(join_window(target_ids[start:stop], ends[start:stop], *closing))
            rows["document_id"].append(document["document_id"])
            rows["sentence_index"].append(stop - 1)
            rows["num_sentences"].append(stop - start)
            rows["corpus"].append(document["corpus"])
    lengths = [max(len(source), len(target)) for source, target in zip(rows["input_ids"], rows["labels"], strict=True)]
    arrays = {
        "input_ids": _ids_array(rows["input_ids"]),
        "labels": _ids_array(rows["labels"]),
        "length": pa.array(lengths, pa.int32()),
        "document_id": pa.array(rows["document_id"], pa.string()),
        "sentence_index": pa.array(rows["sentence_index"], pa.int32()),
        "num_sentences": pa.array(rows["num_sentences"], pa.int32()),
        "corpus": pa.array(rows["corpus"], pa.int32()),
    }
    return pa.table(arrays)


def _ids_array(rows: Sequence[Sequence[int]]) -> pa.ListArray:
    lengths = np.fromiter(map(len, rows), np.int32, len(rows))
    values = np.fromiter(chain.from_iterable(rows), np.int32, int(lengths.sum()))
    return _list_array(lengths, pa.array(values))


def _list_array(lengths: np.ndarray, values: pa.Array) -> pa.ListArray:
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), values)
