# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The inputs of the translation pipeline: documents and contexts in any of their forms, checked."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..text.document_layout import DocumentLayout, run_layout, structured_layout, text_layout
from ..text.html_text import html_runs
from ..text.markdown_text import markdown_runs
from ..text.segmentation import segment_text, sentences_by_paragraph

TEXT_FORMATS = ("plain", "html", "markdown")
_DOCUMENT_KEYS = ("text", "paragraphs", "context", "context_translation", "glossary", "do_not_translate")


def documents_of(inputs: Any) -> Iterable[Any]:
    """The documents of a dataset, list or generator, one after the other."""
    import torch

    if isinstance(inputs, torch.utils.data.Dataset) and not isinstance(inputs, torch.utils.data.IterableDataset):
        return (inputs[index] for index in range(len(inputs)))  # type: ignore[arg-type]
    if isinstance(inputs, (bytes, bytearray)) or not isinstance(inputs, Iterable):
        raise _wrong_type(inputs)
    return inputs


def _wrong_type(document: Any) -> TypeError:
    hint = ""
    if isinstance(document, (list, tuple)):
        hint = '; sentences are given as {"paragraphs": [[sentence, ...], ...]}'
    elif isinstance(document, bytes):
        hint = '; decode it first, for example with .decode("utf-8")'
    return TypeError(f"a document must be a string or a dict, got {type(document).__name__}: {document!r:.80}{hint}")


def checked_document(document: Any) -> Mapping[str, Any]:
    """The document as a dict with known keys."""
    if isinstance(document, str):
        return {"text": document}
    if not isinstance(document, Mapping):
        raise _wrong_type(document)
    unknown = set(document) - set(_DOCUMENT_KEYS)
    optional = ", ".join(f'"{name}"' for name in _DOCUMENT_KEYS[2:])
    if unknown or ("text" in document) == ("paragraphs" in document):
        raise ValueError(
            f'a document has either "text" or "paragraphs", and perhaps {optional}; '
            f"got the keys {sorted(map(str, document))}"
        )
    if "text" in document and not isinstance(document["text"], str):
        raise TypeError(f'"text" must be a string, got {type(document["text"]).__name__}')
    if "paragraphs" in document:
        _check_paragraphs("paragraphs", document["paragraphs"])
    return document


def _check_paragraphs(name: str, paragraphs: Any) -> None:
    """Raises TypeError unless this is a list of lists of strings."""
    if not isinstance(paragraphs, (list, tuple)):
        raise TypeError(f"{name} must be a list of paragraphs, each a list of strings; got {type(paragraphs).__name__}")
    for index, paragraph in enumerate(paragraphs):
        if not isinstance(paragraph, (list, tuple)):
            raise TypeError(f"{name}[{index}] must be a list of strings, got {type(paragraph).__name__}")
        for number, sentence in enumerate(paragraph):
            if not isinstance(sentence, str):
                raise TypeError(f"{name}[{index}][{number}] must be a string, got {type(sentence).__name__}")


def context_paragraphs(context: Any, language: str) -> Sequence[Sequence[str]]:
    """The sentences of each paragraph of a context: a string, a list of sentences or a list of paragraphs."""
    if context is None:
        return []
    if isinstance(context, str):
        return sentences_by_paragraph(segment_text(context, language))
    if isinstance(context, (list, tuple)) and all(isinstance(sentence, str) for sentence in context):
        context = [context]
    _check_paragraphs("context", context)
    return context


def with_context(document: Any, context: Any, context_translation: Any) -> Any:
    """The document with the context that was given as an argument; ValueError if the document has one, too."""
    given = {"context": context, "context_translation": context_translation}
    given = {name: value for name, value in given.items() if value is not None}
    if not given:
        return document
    document = checked_document(document)
    twice = [name for name in given if document.get(name) is not None]
    if twice:
        raise ValueError(f"{twice[0]} is given twice: as an argument and in the document")
    return {**document, **given}


def one_each(name: str, values: Any, num_documents: int) -> Sequence[Any]:
    """One value for each document: those given, or None for each."""
    if values is None:
        return [None] * num_documents
    if not isinstance(values, (list, tuple)):
        raise TypeError(f"{name} of a list of documents must be a list with one entry for each, got {values!r:.80}")
    if len(values) != num_documents:
        raise ValueError(f"{num_documents} documents but {len(values)} entries in {name}")
    return values


def document_layout(document: Mapping[str, Any], text_format: str, language: str, joiner: str) -> DocumentLayout:
    """The sentences of a checked document, in their places.

    Args:
        document: with a "text" or with "paragraphs", which are taken as they are.
        text_format: one of `TEXT_FORMATS`, of the text.
        language: of the text, for splitting it into sentences.
        joiner: what the target language writes between sentences.

    Raises:
        ValueError: an unknown format.
        ImportError: a package for the format is not installed.
    """
    if text_format not in TEXT_FORMATS:
        raise ValueError(f"text_format must be one of {', '.join(TEXT_FORMATS)}; got {text_format!r}")
    if "paragraphs" in document:
        return structured_layout(document["paragraphs"], joiner)
    text = document["text"]
    if text_format == "plain":
        return text_layout(text, language, joiner)
    runs = html_runs(text) if text_format == "html" else markdown_runs(text)
    return run_layout(text, runs, language, joiner)
