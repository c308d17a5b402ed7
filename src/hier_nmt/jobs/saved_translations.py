# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Finished translations of a corpus in a file, from which a later run continues."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ..data.documents import ParallelDocument
from ..data.text_files import locked
from ..text.glossary import TermUse
from ..text.translation_memory import MemoryMatch
from ..translation.document_translator import DocumentTranslator
from ..translation.translation_documents import SourceDocument, TranslatedDocument
from ..translation.translation_report import DecodingStatistics, SentenceConfidence, SentenceEvent
from .saved_outputs import SavedOutputs, saved_outputs_path

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

Paragraphs = list[list[str]]
FILE_FORMAT = "hier_nmt translations 1"


class ResumeError(ValueError):
    """A file of translations that belongs to another model, other settings or other documents."""


class TranslationFile:
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
        then = {"engine": "torch", **header["settings"]}
        differing = [name for name in {**then, **settings} if then.get(name) != settings.get(name)]
        if differing:
            changes = "; ".join(f"{name}: then {then.get(name)!r}, now {settings.get(name)!r}" for name in differing)
            advice = "choose another output file"
            if "engine" in differing:
                advice += f", or continue with engine {then['engine']!r}"
            raise ResumeError(f"{self.path} was made with other settings ({changes}); {advice}")


@contextmanager
def opened_translations(path: str | Path | None, translator: DocumentTranslator) -> Iterator[TranslationFile]:
    """The file of translations, locked against other processes, with the documents of an earlier run."""
    if path is None:
        yield TranslationFile()
        return
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    settings = json.loads(json.dumps(_settings(translator)))
    with locked(path), path.open("r+b" if path.exists() else "w+b") as content:
        file = TranslationFile(path, content, settings)
        assert file.outputs is not None
        translator.generator.memory = file.outputs
        is_finished = False
        try:
            yield file
            is_finished = True
        finally:
            file.outputs.close(is_finished)


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


def _source_hash(source: SourceDocument) -> str:
    """A hash of everything that the translation of a document depends on."""
    parts: list[Any] = [source.context, source.context_translation] if source.context else []
    if source.glossary is not None or source.do_not_translate:
        parts += [None if source.glossary is None else source.glossary.terms, source.do_not_translate]
    if source.memory is not None:
        parts.append([source.memory.digest, sorted(source.tags.items())])
    return _text_hash([source.paragraphs, *parts] if parts else source.paragraphs)


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
        **({} if translator.policy.keep_numbers else {"keep_numbers": False}),
        "dtype": str(model.dtype),
        "engine": getattr(model, "engine", "torch"),
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


def _vocabulary_hash(tokenizer: "PreTrainedTokenizerBase") -> str:
    return _text_hash(sorted(tokenizer.get_vocab().items()))


def _model_hash(model: "PreTrainedModel") -> str:
    """A hash of 1,024 evenly spaced values of each tensor of the weights; any training step changes all of them. Of a
    model run by another engine, that of what the engine runs."""
    if isinstance(known := getattr(model, "weights_digest", None), str):
        return known
    import torch

    digest = hashlib.sha256(type(model).__name__.encode())
    for name, tensor in sorted(model.state_dict().items()):
        values = tensor.detach().flatten()
        sample = values[:: max(1, values.numel() // 1024)].to(device="cpu", dtype=torch.float64)
        digest.update(f"{name} {tuple(tensor.shape)}".encode() + sample.numpy().tobytes())
    return digest.hexdigest()[:16]
