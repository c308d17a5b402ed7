# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Translates HTML and Markdown pages, and PDF files as pages of HTML, in parts that an interrupted run does not
repeat."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.corpus_files import read_bytes
from ..data.formats import registry
from ..data.formats.document_file import DocumentFile
from ..data.formats.page_declarations import decode_page, with_declarations
from ..data.formats.pdf_text import pdf_as_html
from ..data.formats.registry import format_of, read_document_file
from ..data.text_files import byte_order_mark
from ..text.document_layout import DocumentLayout
from ..text.glossary import Glossary
from ..text.long_sentences import sentence_joiner
from ..text.translation_memory import TranslationMemory
from ..translation.pipeline_inputs import TEXT_FORMATS, document_layout
from ..translation.translation_documents import TranslatedDocument
from .document_parts import Piece, document_parts, part_limit
from .saved_translations import Paragraphs
from .skipped_text import count_skipped
from .translate_corpus import translate_documents
from .translate_files import TranslatedSentence

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

# Text formats of the pipeline, and PDF; and the file endings that select them.
MARKUP_FORMATS = (*(name for name in TEXT_FORMATS if name != "plain"), "pdf")
_MARKUP_ENDINGS = {".html": "html", ".htm": "html", ".xhtml": "html", ".md": "markdown", ".markdown": "markdown",
                   ".pdf": "pdf"}  # fmt: skip


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
    """The page in a file; HTML is decoded by the encoding that it declares, and PDF becomes HTML.

    Args:
        path: the file.
        text_format: one of `MARKUP_FORMATS`.
        source_language, target_language: ISO 639 codes.

    Raises:
        CorpusError: the file is empty, or in another encoding than it declares; or no PDF with text.
        ImportError: reading PDF needs a package that is not installed.
        OSError: it cannot be read.
    """
    if text_format == "pdf":
        page = pdf_as_html(path, source_language)
        return Page(with_declarations(page, "html", source_language, target_language), "html")
    content = read_bytes(path)
    text = with_declarations(decode_page(content, path), text_format, source_language, target_language)
    return Page(text, text_format, byte_order_mark(content))


def read_file(
    path: str | Path, source_language: str, target_language: str, format: str | None = None
) -> DocumentFile | Page:
    """The documents or the page in a file to translate.

    Args:
        path: the file.
        source_language, target_language: ISO 639 codes.
        format: one of `FILE_CLASSES` or `MARKUP_FORMATS`; default: by the file's name and first bytes.

    Raises:
        CorpusError: the file is malformed; the message says how and where.
        OSError: it cannot be read.
    """
    format = format or markup_format_of(path) or format_of(path)
    if format in MARKUP_FORMATS:
        return read_page(path, format, source_language, target_language)
    return read_document_file(path, source_language, target_language, format)


def file_endings() -> list[str]:
    """The endings of files that are translated; with any other ending, a file of plain text."""
    return sorted({".txt", *_MARKUP_ENDINGS, *registry.file_endings()})


def translate_page(
    model: "PreTrainedModel",
    tokenizer: "PreTrainedTokenizerBase",
    page: Page,
    *,
    source_language: str,
    target_language: str | None = None,
    context: Sequence[Sequence[str]] = (),
    glossary: Glossary | None = None,
    do_not_translate: tuple[str, ...] = (),
    memory: TranslationMemory | None = None,
    results: list[TranslatedDocument] | None = None,
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
        memory: sentences with translations, which are taken for equal ones.
        results: the translated parts are added to it, see `notes_of`.
        output_file: stores finished parts, see `translate_documents`; an interrupted run continues from it.
        options: of `translate_documents`.

    Raises:
        ImportError: a package for the format is not installed.
        ResumeError: `output_file` belongs to another model, other settings or another text.
    """
    work = PageTranslation(page, source_language, target_language, part_limit(model), context)
    known: dict[str, Any] = {"glossary": glossary, "do_not_translate": do_not_translate, "memory": memory}
    parts = [replace(part, **known) for part in work.parts]
    translated = translate_documents(
        model,
        tokenizer,
        parts,
        output_file=output_file,
        source_language=source_language,
        target_language=target_language,
        results=results,
        **options,
    )
    return work.finish(translated)


class LayoutTranslation:
    """The sentences of a text with a layout, in parts, and the text made of their translations.

    Args:
        layout: of the text.
        limit: the maximum number of sentences of a part; None: the text is not divided.
        context: paragraphs of sentences before the text, read but not translated.

    Attributes:
        parts: to translate, by whatever means.
    """

    def __init__(self, layout: DocumentLayout, limit: int | None, context: Sequence[Sequence[str]] = ()) -> None:
        self.layout = layout
        tags = iter([slot.tags() for slot in layout.slots])
        pieces = (
            Piece(True, index, paragraph, [next(tags) for _ in paragraph])
            for index, paragraph in enumerate(layout.paragraphs())
        )
        self.parts = list(document_parts(pieces, context, limit))

    def text(self, translated: Iterable[Paragraphs]) -> str:
        """The translated text, given the paragraphs of translated sentences of each part."""
        return self.layout.text(_sentences(translated))


class PageTranslation:
    """The sentences of a page, in parts, and the page made of their translations.

    Args:
        page: the page.
        source_language, target_language: ISO 639 codes.
        limit: the maximum number of sentences of a part; None: the page is not divided.
        context: paragraphs of sentences before the page, read but not translated.

    Attributes:
        parts: to translate, by whatever means.

    Raises:
        ImportError: a package for the format is not installed.
    """

    def __init__(
        self,
        page: Page,
        source_language: str,
        target_language: str | None,
        limit: int | None,
        context: Sequence[Sequence[str]] = (),
    ) -> None:
        joiner = sentence_joiner(target_language)
        layout = document_layout({"text": page.text}, page.text_format, source_language, joiner)
        self._page, self._work = page, LayoutTranslation(layout, limit, context)
        self.parts = self._work.parts

    def finish(self, translated: Iterable[Paragraphs]) -> tuple[bytes, list[TranslatedSentence], Mapping[str, int]]:
        """The content of the translated page, its sentences, and counts of text that was skipped, by element."""
        layout, texts = self._work.layout, _sentences(translated)
        slots = zip(layout.slots, texts, strict=True)
        sentences = [TranslatedSentence(slot.text, text, slot.paragraph) for slot, text in slots]
        content = self._page.byte_order_mark + layout.text(texts).encode("utf-8", "replace")
        return content, sentences, count_skipped(self._page.text)


def _sentences(translated: Iterable[Paragraphs]) -> list[str]:
    return [text for part in translated for paragraph in part for text in paragraph]
