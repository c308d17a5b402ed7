# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Translates a corpus, and writes each finished document to a file from which a later run continues."""

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

import torch
from tqdm.auto import tqdm
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from ..data.documents import ParallelDocument
from ..data.text_files import locked
from ..text.glossary import TermUse
from ..text.translation_memory import MemoryMatch
from ..translation.batched_generation import check_positive
from ..translation.document_translator import DocumentTranslator
from ..translation.translation_report import DecodingStatistics, SentenceConfidence, SentenceEvent
from ..translation.translation_state import SourceDocument, TranslatedDocument
from .saved_outputs import SavedOutputs, saved_outputs_path
from .shared_translation import GROUP_SENTENCES, PREFIX_GROUP_SENTENCES, Workers, group_file, groups_of, work_through

logger = logging.getLogger(__name__)

Paragraphs = list[list[str]]
Document = ParallelDocument | SourceDocument | Sequence[Sequence[str]]
FILE_FORMAT = "hier_nmt translations 1"


class ResumeError(ValueError):
    """A file of translations that belongs to another model, other settings or other documents."""


def translate_documents(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    documents: Iterable[Document],
    strategy: str | None = None,
    *,
    target_tokenizer: PreTrainedTokenizerBase | None = None,
    source_language: str | None = None,
    target_language: str | None = None,
    window_sentences: int | None = None,
    batch_size: int = 32,
    max_batch_tokens: int | None = None,
    max_source_tokens: int | None = None,
    max_target_tokens: int | None = None,
    glossary_method: str = "auto",
    confidence: bool = False,
    group_sentences: int | None = None,
    output_file: str | Path | None = None,
    progress: bool = True,
    statistics: DecodingStatistics | None = None,
    terms: list[TermUse] | None = None,
    results: list[TranslatedDocument] | None = None,
    workers: Workers | None = None,
    waits: bool = True,
    **generate_kwargs: Any,
) -> list[Paragraphs]:
    """The translation of each document: paragraphs with one translated sentence per source sentence, in order.

    Args:
        model: an encoder-decoder model.
        tokenizer: of the source language, or of both.
        documents: parallel documents, whose source is read, or paragraphs of source sentences, or `SourceDocument`s
            with a context or terms.
        source_language, target_language: see `DocumentTranslator`.
        strategy: `sentence`, `current`, `prefix` or `document`; default: the one that suits the model's windows.
        target_tokenizer: of the target language, if it has its own.
        window_sentences: K; default: the one the model was trained with.
        batch_size: windows in a batch.
        max_batch_tokens: padded source tokens in a batch.
        max_source_tokens, max_target_tokens: limits of a window; default: the model's.
        glossary_method: of the documents' glossaries, see `DocumentTranslator`.
        confidence: whether each sentence gets a confidence, see `DocumentTranslator`.
        group_sentences: documents are decoded in groups of about this many sentences. Batches are filled from all
            documents of a group, which are written when the group is finished. Default: 1,024, and 16,384 for `prefix`,
            whose batches hold one sentence of each document.
        output_file: JSON lines, written as documents are finished; other processes cannot write it meanwhile. An
            existing file is continued: its documents are not translated again, and an incomplete last line is dropped.
            The decoded batches of unfinished documents are in a second file with the suffix ".decoded.jsonl", so that
            an interrupted run loses at most one batch.
        progress: shows a progress bar of sentences.
        statistics: the run's counts are added to it, including those of documents from an earlier run.
        terms: what became of the terms of glossaries is added to it, sentences counted in each document.
        results: the translated documents are added to it, with what happened to their sentences and their confidences.
        workers: this process and others that translate the same documents at the same time with the same arguments;
            `output_file` is then a folder, which exists.
        waits: wait for what the others are translating.
        generate_kwargs: options of `generate`, such as `num_beams`.

    Raises:
        ResumeError: `output_file` belongs to another model, other settings or other documents.
        BlockingIOError: another process is writing `output_file`.
        UnfinishedWork: other workers are still translating, and `waits` is False.
    """
    check_positive(group_sentences=group_sentences)
    options: dict[str, Any] = {
        "target_tokenizer": target_tokenizer,
        "source_language": source_language,
        "target_language": target_language,
        "strategy": strategy,
        "window_sentences": window_sentences,
        "batch_size": batch_size,
        "max_batch_tokens": max_batch_tokens,
        "max_source_tokens": max_source_tokens,
        "max_target_tokens": max_target_tokens,
        "glossary_method": glossary_method,
        "confidence": confidence,
        "generate_kwargs": generate_kwargs,
    }

    def translator(bar: tqdm) -> DocumentTranslator:
        return DocumentTranslator(model, tokenizer, **options, on_progress=bar.update)

    if workers is not None and workers.count > 1:
        finished = _translate_together(translator, list(documents), output_file, workers, waits, progress)
    else:
        finished = _translate_alone(translator, documents, output_file, group_sentences, progress)
    total = DecodingStatistics()
    for document in finished:
        total.add(document.statistics)
    for problem in total.problems():
        logger.warning(problem)
    if statistics is not None:
        statistics.add(total)
    if terms is not None:
        terms.extend(use for document in finished for use in document.terms)
    if results is not None:
        results.extend(finished)
    return [document.paragraphs for document in finished]


def read_translations(path: str | Path, documents: Sequence[ParallelDocument]) -> list[Paragraphs]:
    """The translations of these documents in a finished `output_file` of `translate_documents`.

    Raises:
        ResumeError: the file has another format, is not finished, or belongs to other documents.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"no such file of translations: {path}")
    try:
        # Split at newlines only: translations may contain other line separators of Unicode.
        lines = [json.loads(line) for line in Path(path).read_bytes().split(b"\n") if line.strip()]
    except (ValueError, RecursionError) as error:
        raise ResumeError(f"{path} is not a file of translations ({error})") from error
    if not lines or not isinstance(lines[0], dict) or lines[0].get("format") != FILE_FORMAT:
        raise ResumeError(f"{path} is not a file of translations")
    if len(lines) - 1 != len(documents):
        raise ResumeError(f"{path} holds {len(lines) - 1} documents, the corpus {len(documents)}")
    for line, document in zip(lines[1:], documents, strict=True):
        if line["source"] != _text_hash(document.source_paragraphs):
            raise ResumeError(f"{path} holds the translation of another text as document {line['document']}")
    return [line["paragraphs"] for line in lines[1:]]


def _translate_alone(
    make_translator: Callable[[tqdm], DocumentTranslator],
    documents: Iterable[Document],
    output_file: str | Path | None,
    group_sentences: int | None,
    progress: bool,
) -> list[TranslatedDocument]:
    """The documents, translated by this process."""
    num_total = sum(map(_num_sentences, documents)) if isinstance(documents, Sequence) else None
    with tqdm(total=num_total, unit=" sentences", disable=not progress) as bar:
        translator = make_translator(bar)
        with _opened(output_file, translator) as file:
            group_sentences = group_sentences or (16384 if translator.strategy == "prefix" else 1024)
            return _translate_in_groups(translator, documents, group_sentences, file, bar)


def _translate_together(
    make_translator: Callable[[tqdm], DocumentTranslator],
    documents: Sequence[Document],
    folder: str | Path | None,
    workers: Workers,
    waits: bool,
    progress: bool,
) -> list[TranslatedDocument]:
    """The documents, translated by several processes; the files of their groups are in the folder."""
    if folder is None:
        raise ValueError("several workers need output_file, the folder in which they share their work")
    prefixes = make_translator(tqdm(disable=True)).strategy == "prefix"
    sizes = list(map(_num_sentences, documents))
    groups = groups_of(sizes, PREFIX_GROUP_SENTENCES if prefixes else GROUP_SENTENCES)
    found: dict[int, list[TranslatedDocument]] = {}

    def translate(index: int, path: Path) -> None:
        group = [documents[place] for place in groups[index]]
        found[index] = _translate_alone(make_translator, group, path, None, progress=False)

    work_through(
        [sum(sizes[place] for place in group) for group in groups], Path(folder), translate, workers, waits, progress
    )
    for index in set(range(len(groups))) - set(found):
        # Reads what another process has translated.
        translate(index, group_file(Path(folder), index))
    return [document for index in range(len(groups)) for document in found[index]]


def _translate_in_groups(
    translator: DocumentTranslator,
    documents: Iterable[Document],
    group_sentences: int,
    file: "_TranslationFile",
    bar: tqdm,
) -> list[TranslatedDocument]:
    """All documents; those that are in the file already are taken from it."""
    finished: list[TranslatedDocument] = []
    group: list[tuple[str | None, SourceDocument]] = []
    num_waiting = 0
    for index, document in enumerate(documents):
        name, source = _name_and_source(document)
        known = file.known(index, name, source)
        if known is not None:
            finished.append(known)
            bar.update(_num_sentences(document))
            continue
        group.append((name, source))
        num_waiting += _num_sentences(document)
        if num_waiting >= group_sentences:
            finished += _translate_group(translator, group, file)
            group, num_waiting = [], 0
    return finished + _translate_group(translator, group, file)


def _translate_group(
    translator: DocumentTranslator, group: list[tuple[str | None, SourceDocument]], file: "_TranslationFile"
) -> list[TranslatedDocument]:
    translated = translator.translate([source for _, source in group])
    for (name, source), document in zip(group, translated, strict=True):
        file.append(name, source, document)
    if file.outputs is not None:
        file.outputs.clear()
    return translated


@contextmanager
def _opened(path: str | Path | None, translator: DocumentTranslator) -> Iterator["_TranslationFile"]:
    """The file of translations, locked against other processes, with the documents of an earlier run."""
    if path is None:
        yield _TranslationFile()
        return
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    settings = json.loads(json.dumps(_settings(translator)))
    with locked(path), path.open("r+b" if path.exists() else "w+b") as content:
        file = _TranslationFile(path, content, settings)
        assert file.outputs is not None
        translator.generator.memory = file.outputs
        is_finished = False
        try:
            yield file
            is_finished = True
        finally:
            file.outputs.close(is_finished)


def _name_and_source(document: Document) -> tuple[str | None, SourceDocument]:
    if isinstance(document, ParallelDocument):
        return document.id, SourceDocument(document.source_paragraphs)
    if isinstance(document, SourceDocument):
        return None, document
    if isinstance(document, str) or any(isinstance(paragraph, str) for paragraph in document):
        raise TypeError(f"a document is a list of paragraphs, each a list of sentences; got {document!r:.80}")
    return None, SourceDocument([list(paragraph) for paragraph in document])


def _num_sentences(document: Document) -> int:
    if isinstance(document, ParallelDocument):
        return document.num_sentences
    paragraphs = document.paragraphs if isinstance(document, SourceDocument) else document
    return sum(len(paragraph) for paragraph in paragraphs)


def _source_hash(source: SourceDocument) -> str:
    """A hash of everything that the translation of a document depends on."""
    parts: list[Any] = [source.context, source.context_translation] if source.context else []
    if source.glossary is not None or source.do_not_translate:
        parts += [None if source.glossary is None else source.glossary.terms, source.do_not_translate]
    if source.memory is not None:
        parts.append([source.memory.digest, sorted(source.tags.items())])
    return _text_hash([source.paragraphs, *parts] if parts else source.paragraphs)


class _TranslationFile:
    """The finished documents of this and earlier runs, one per line after a header; without a path it stores nothing.

    The header has the settings that translations depend on; each line has a hash of its source, so that a translation
    is never used for another text. `outputs` are the decoder's outputs for unfinished documents.
    """

    def __init__(self, path: str | Path | None = None, file: BinaryIO | None = None, settings: Any = None) -> None:
        self.path, self._file = path, file
        self._finished: list[dict[str, Any]] = []
        self._num_written = 0
        self.outputs: SavedOutputs | None = None
        if path is not None:
            self._read(settings)
            self.outputs = SavedOutputs(saved_outputs_path(Path(path)), settings)

    def known(self, index: int, name: str | None, source: SourceDocument) -> TranslatedDocument | None:
        """The document from an earlier run, or None."""
        if index >= len(self._finished):
            return None
        line = self._finished[index]
        if line["source"] != _source_hash(source):
            raise ResumeError(
                f"{self.path} holds the translation of another text as document {index} "
                f"(there {line['id']!r}, now {name!r}); give another output file, or delete this one"
            )
        confidences: list[tuple[int, float | None, list[float | None]]] | None = line.get("confidences")
        return TranslatedDocument(
            line["paragraphs"],
            DecodingStatistics(**line["statistics"]),
            [SentenceEvent(*event) for event in line.get("events", ())],
            [TermUse(*use) for use in line.get("terms", ())],
            None
            if confidences is None
            else [SentenceConfidence(at, value, tuple(words)) for at, value, words in confidences],
            [MemoryMatch(*match) for match in line.get("memory", ())],
        )

    def append(self, name: str | None, source: SourceDocument, document: TranslatedDocument) -> None:
        """Writes a finished document and flushes."""
        index = len(self._finished) + self._num_written
        self._num_written += 1
        self._write(
            {
                "document": index,
                "id": name,
                "source": _source_hash(source),
                "paragraphs": document.paragraphs,
                "statistics": asdict(document.statistics),
                **{name: found for name in ("events", "terms", "memory") if (found := getattr(document, name))},
                **({} if document.confidences is None else {"confidences": document.confidences}),
            }
        )

    def _write(self, content: dict[str, Any]) -> None:
        if self._file is not None:
            self._file.write(json.dumps(content, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n")
            self._file.flush()

    def _read(self, settings: dict[str, Any]) -> None:
        """Reads the finished documents, and drops an incomplete last line."""
        assert self._file is not None
        content = self._file.read()
        complete = content[: content.rfind(b"\n") + 1]
        lines = [self._parsed(number, line) for number, line in enumerate(complete.splitlines(), start=1)]
        if content and not complete and not b'{"format": "hier_nmt'.startswith(content[:19]):
            raise ResumeError(f"{self.path} exists and is not a file of translations; it is not overwritten")
        if lines:
            self._check_header(lines[0], settings)
            self._finished = lines[1:]
        self._file.seek(len(complete))
        self._file.truncate()
        if not lines:
            self._write({"format": FILE_FORMAT, "settings": settings})

    def _parsed(self, number: int, line: bytes) -> dict[str, Any]:
        try:
            return json.loads(line)
        except ValueError as error:
            raise ResumeError(f"{self.path}:{number}: no line of a file of translations ({error})") from error

    def _check_header(self, header: Any, settings: dict[str, Any]) -> None:
        if not isinstance(header, dict) or header.get("format") != FILE_FORMAT:
            raise ResumeError(f"{self.path} exists and is not a file of translations; it is not overwritten")
        then = header["settings"]
        differing = [name for name in {**then, **settings} if then.get(name) != settings.get(name)]
        if differing:
            changes = "; ".join(f"{name}: then {then.get(name)!r}, now {settings.get(name)!r}" for name in differing)
            raise ResumeError(f"{self.path} was made with other settings ({changes}); choose another output file")


def _settings(translator: DocumentTranslator) -> dict[str, Any]:
    """Everything that the translations depend on, except rounding."""
    model, vocabulary = translator.model, translator.vocabulary
    generator = translator.generator
    generation = generator.generation_config.to_diff_dict()
    generation.pop("transformers_version", None)
    return {
        "strategy": translator.strategy,
        "window_sentences": translator.window_sentences,
        "max_source_tokens": translator.max_source_tokens,
        "max_target_tokens": translator.max_target_tokens,
        "max_new_tokens": generator.max_new_tokens,
        "generation": {name: _as_json(value) for name, value in generation.items()},
        "other_options": {name: _as_json(value) for name, value in generator.generate_kwargs.items()},
        **({} if translator.scorer is None else {"confidence": True}),
        **({} if translator.glossary_method == "auto" else {"glossary_method": translator.glossary_method}),
        "dtype": str(model.dtype),
        "model": _model_hash(model),
        "tokenizers": [_vocabulary_hash(tokenizer) for tokenizer in (vocabulary.source, vocabulary.target)],
    }


def _as_json(value: Any) -> Any:
    """The value, or the name of its class if JSON cannot represent it."""
    try:
        return json.loads(json.dumps(value))
    except TypeError:
        return type(value).__name__


def _text_hash(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _vocabulary_hash(tokenizer: PreTrainedTokenizerBase) -> str:
    return _text_hash(sorted(tokenizer.get_vocab().items()))


def _model_hash(model: PreTrainedModel) -> str:
    """A hash of 1,024 evenly spaced values of each tensor of the weights; any training step changes all of them. Of a
    model run by another engine, that of what the engine runs."""
    if isinstance(known := getattr(model, "weights_digest", None), str):
        return known
    digest = hashlib.sha256(type(model).__name__.encode())
    for name, tensor in sorted(model.state_dict().items()):
        values = tensor.detach().flatten()
        sample = values[:: max(1, values.numel() // 1024)].to(device="cpu", dtype=torch.float64)
        digest.update(f"{name} {tuple(tensor.shape)}".encode() + sample.numpy().tobytes())
    return digest.hexdigest()[:16]
