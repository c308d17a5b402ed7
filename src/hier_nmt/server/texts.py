# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""A text of a request as the parts that are translated, and as the text that their translations make."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from xml.parsers import expat

from ..jobs.translate_pages import LayoutTranslation
from ..text.document_layout import TextRun, run_layout
from ..text.html_text import html_runs
from ..text.long_sentences import sentence_joiner
from ..text.xml_text import xml_runs
from .failures import RequestError

# More tags without an end than this are no mistake, and parsing them takes very long.
_MAX_UNCLOSED = 1000
_ENCODING = re.compile(r"(?<=<\?xml)([^>]*?)\sencoding\s*=\s*[\"'][^\"'>]*[\"']")
_NEWLINE = re.compile(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")


@dataclass(frozen=True)
class TextForm:
    """How a text is to be read.

    Attributes:
        format: of its markup.
        keeps_lines: whether a line break ends a sentence.
        splitting_tags: XML elements that start and end paragraphs.
        ignored_tags: XML elements whose content is kept as it is.
        is_strict: whether XML must be well-formed.
    """

    format: Literal["plain", "html", "xml"] = "plain"
    keeps_lines: bool = True
    splitting_tags: frozenset[str] = frozenset()
    ignored_tags: frozenset[str] = frozenset()
    is_strict: bool = False


def text_translation(
    text: str,
    form: TextForm,
    languages: tuple[str, str],
    limit: int | None,
    context: Sequence[Sequence[str]] = (),
) -> LayoutTranslation:
    """The sentences of a text in parts of at most `limit` sentences, and what the text becomes with their translations.

    Raises:
        RequestError: the markup is broken beyond reading.
    """
    layout = run_layout(text, _runs(text, form), languages[0], sentence_joiner(languages[1]))
    return LayoutTranslation(layout, limit, context)


def check_well_formed(text: str) -> None:
    """Raises RequestError, with the message of DeepL, for XML that is not well-formed or declares entities of its own.

    The text is a document, or the content of an element.
    """
    parser = expat.ParserCreate()
    parser.EntityDeclHandler = _refuse_entity
    is_document = text.lstrip().startswith(("<?xml", "<!DOCTYPE"))
    try:
        # A text has characters only: what an encoding in it says is true no longer.
        parser.Parse(_ENCODING.sub(r"\1", text.lstrip()) if is_document else f"<text>{text}</text>", True)
    except (expat.ExpatError, ValueError) as error:
        raise RequestError(400, f"Tag handling parsing failed, please check input. ({error})") from error


def _refuse_entity(name: str, *_: object) -> None:
    raise ValueError(f"the entity {name:.80} is declared, and not expanded")


def check_markup(text: str) -> None:
    """Raises RequestError for HTML or XML with very many tags without an end."""
    if text.count("<") - text.count(">") > _MAX_UNCLOSED:
        raise RequestError(400, f"more than {_MAX_UNCLOSED} tags have no end")


def _runs(text: str, form: TextForm) -> list[TextRun]:
    if form.format != "plain":
        check_markup(text)
    if form.format == "html":
        return html_runs(text)
    if form.format == "xml":
        if form.is_strict:
            check_well_formed(text)
        return xml_runs(text, form.splitting_tags, form.ignored_tags)
    read = text if form.keeps_lines else _NEWLINE.sub(" ", text)
    return [TextRun(read, range(len(text)), range(1, len(text) + 1))]
