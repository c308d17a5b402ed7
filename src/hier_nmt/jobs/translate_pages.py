# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Translates HTML and Markdown pages, in parts that an interrupted run does not repeat."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from ..data.corpus_files import read_bytes
from ..data.formats.page_declarations import decode_page, with_declarations
from ..data.text_files import byte_order_mark
from ..text.glossary import Glossary
from ..text.long_sentences import sentence_joiner
from ..translation.pipeline_inputs import TEXT_FORMATS, document_layout
from .skipped_text import count_skipped
from .translate_corpus import translate_documents
from .translate_files import TranslatedSentence, document_parts, part_limit

# Text formats of the pipeline, and the file endings that select them.
MARKUP_FORMATS = tuple(name for name in TEXT_FORMATS if name != "plain")
_MARKUP_ENDINGS = {".html": "html", ".htm": "html", ".xhtml": "html", ".md": "markdown", ".markdown": "markdown"}


@dataclass(frozen=True)
class Page:
    """A page, with the declarations (encoding, language) that its translation needs, and the byte order mark before
    it."""

    text: str
    text_format: str
    byte_order_mark: bytes = b""


def markup_format_of(path: str | Path) -> str | None:
    """The one of `MARKUP_FORMATS` that the file ending selects, or None."""
    path = Path(path)
    return _MARKUP_ENDINGS.get(path.with_name(path.name.removesuffix(".gz")).suffix.lower())


def read_page(path: str | Path, text_format: str, source_language: str, target_language: str) -> Page:
    """The page in a file; HTML is decoded by the encoding that it declares.

    Args:
        path: the file.
        text_format: one of `MARKUP_FORMATS`.
        source_language, target_language: ISO 639 codes.

    Raises:
        CorpusError: the file is empty, or in another encoding than it declares.
        OSError: it cannot be read.
    """
    content = read_bytes(path)
    text = with_declarations(decode_page(content, path), text_format, source_language, target_language)
    return Page(text, text_format, byte_order_mark(content))


def translate_page(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    page: Page,
    *,
    source_language: str,
    target_language: str | None = None,
    context: Sequence[Sequence[str]] = (),
    glossary: Glossary | None = None,
    do_not_translate: tuple[str, ...] = (),
    output_file: str | Path | None = None,
    **options: Any,
) -> tuple[bytes, list[TranslatedSentence], Mapping[str, int]]:
    """The content of the translated page, its sentences, and counts of text that was skipped, by element.

    Args:
        model: an encoder-decoder model.
        tokenizer: of the source language, or of both.
        page: the page. Tags, attributes, code and link targets are copied.
        source_language: ISO 639 code, by whose rules text is split into sentences.
        target_language: ISO 639 code.
        context: paragraphs of sentences before the page, read but not translated.
        glossary: terms with prescribed translations.
        do_not_translate: terms that stay as they are.
        output_file: stores finished parts, see `translate_documents`; an interrupted run continues from it.
        options: of `translate_documents`.

    Raises:
        ImportError: a package for the format is not installed.
        ResumeError: `output_file` belongs to another model, other settings or another text.
    """
    joiner = sentence_joiner(target_language)
    layout = document_layout({"text": page.text}, page.text_format, source_language, joiner)
    pieces = ((True, index, paragraph) for index, paragraph in enumerate(layout.paragraphs()))
    parts = [
        replace(part, glossary=glossary, do_not_translate=do_not_translate)
        for part in document_parts(pieces, context, part_limit(model))
    ]
    translated = translate_documents(
        model,
        tokenizer,
        parts,
        output_file=output_file,
        source_language=source_language,
        target_language=target_language,
        **options,
    )
    texts = [text for part in translated for paragraph in part for text in paragraph]
    slots = zip(layout.slots, texts, strict=True)
    sentences = [TranslatedSentence(slot.text, text, slot.paragraph) for slot, text in slots]
    content = page.byte_order_mark + layout.text(texts).encode("utf-8", "replace")
    return content, sentences, count_skipped(page.text)
