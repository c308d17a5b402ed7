# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The text of PDF files, as a page of HTML: headings and paragraphs, without pictures and layout.

pdftext (PDFium) finds lines, and blocks of lines, in the order in which the file writes them. Here blocks are divided
into paragraphs, paragraphs that go on in the next column or on the next page are joined, words divided at line ends are
restored, and the headers and footers that pages repeat are left out. Text in letters of equal width is taken for code.
"""

import html
import io
import re
import threading
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from ..corpus_files import CorpusError, read_bytes

NO_PDFTEXT = "reading PDF needs pdftext: pip install 'hier_nmt[pdf]'"
# What the compressed parts of a file may expand to, all together.
MAX_BYTES = 1 << 28
_READ_AT_ONCE = 1 << 16
# PDFium may not be called by two threads at a time, not even for different files.
_PDFIUM = threading.Lock()
_STREAM = re.compile(rb"stream\r?\n")
_DOUBLE_COMPRESSION = re.compile(rb"(?:FlateDecode|/Fl|LZWDecode)\b[\s/]*(?:FlateDecode|Fl|LZWDecode)\b")
# Text in larger letters than most is a heading, by the ratio of the sizes.
_HEADINGS = ((1.6, "h1"), (1.3, "h2"), (1.12, "h3"))
_MAX_HEADING = 200
# Part of a page's height at its top and at its bottom where headers and footers are.
_MARGIN = 0.1
# The number of a page, or text that has letters: a number in a table stays.
_FURNITURE = re.compile(r"\W*(?:\d{1,4}|[ivxlc]+)\W*|.*[^\W\d_].*")
# Bullets of symbol fonts are in the private use area.
_SYMBOL_BULLET = re.compile("^[\ue000-\uf8ff](?=\\s|$)")
_BULLET = re.compile(r"[•●▪◦‣∙·*]\s")
# What begins an item of a list, unless a sentence goes on there.
_ITEM = re.compile(r"[–—-]\s|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,4})[.)]\s")
# The dots of a table of contents, and the number of the page behind them.
_LEADER = re.compile(r"(?:\s?\.){4,}\s*(\d+|[ivxlc]+)$")
_SENTENCE_END = re.compile(r"""[.!?:;…]["'”’»)\]]*$""")
_LIGATURES = {ord(one): unicodedata.normalize("NFKC", one) for one in "ﬀﬁﬂﬃﬄﬅﬆ"}
_EQUAL_WIDTHS = re.compile(r"mono|courier|consol|typewriter|cmtt|fixed", re.IGNORECASE)
_UNKNOWN = re.compile("[\ufffd\ue000-\uf8ff]")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


class _Line(NamedTuple):
    """A line of text.

    Attributes:
        text: without spaces at its ends.
        left, right: where it begins and ends, in points.
        size: of its letters.
        is_code: whether these have equal widths.
        margin_height: how far down the page it is, if it is in the margin at the top or bottom.
    """

    text: str
    left: float
    right: float
    size: float
    is_code: bool
    margin_height: int | None

    @property
    def furniture(self) -> tuple[str, int] | None:
        """What the headers, footers or numbers of pages have in common; None for text that is not in a margin."""
        if self.margin_height is None or not _FURNITURE.fullmatch(self.text):
            return None
        return re.sub(r"[\W\d_]+", " ", self.text).strip(), self.margin_height


@dataclass
class _Paragraph:
    """Lines that belong together."""

    lines: list[_Line]

    @property
    def size(self) -> float:
        return median(line.size for line in self.lines)

    @property
    def is_code(self) -> bool:
        return all(line.is_code for line in self.lines)


def pdf_as_html(path: str | Path, language: str) -> str:
    """The text of a PDF file as a page of HTML.

    Args:
        path: the file.
        language: its language, for the attribute `lang`.

    Raises:
        CorpusError: it is no PDF, is broken or encrypted, has no text, or text that its fonts do not explain.
        ImportError: pdftext is not installed.
        OSError: it cannot be read.
    """
    content = read_bytes(path)
    _check_size(content, path)
    pages = _read_pages(content, path)
    sizes = Counter[float]()
    for line in (line for blocks in pages for lines in blocks for line in lines):
        sizes[line.size] += len(line.text)
    if not sizes:
        raise CorpusError(path, None, "no text", "its pages have pictures only; recognize their text (OCR) first")
    usual = sizes.most_common(1)[0][0]
    paragraphs = _joined(_paragraphs(_without_furniture(pages, usual)))
    _check_is_known(paragraphs, path)
    words = Counter(word for one in paragraphs for line in one.lines for word in _WORD.findall(line.text.casefold()))
    elements = []
    for one in paragraphs:
        if one.is_code:
            elements.append(f"<pre><code>{html.escape(_code(one.lines), quote=False)}</code></pre>\n")
            continue
        text = _text(one.lines, words)
        tag = next((tag for ratio, tag in _HEADINGS if one.size >= ratio * usual and len(text) <= _MAX_HEADING), "p")
        elements.append(f"<{tag}>{html.escape(text, quote=False)}</{tag}>\n")
    name = html.escape(Path(path).name, quote=False)
    return (
        f'<!DOCTYPE html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n'
        f'<title translate="no">{name}</title>\n</head>\n<body>\n{"".join(elements)}</body>\n</html>\n'
    )


def _check_size(content: bytes, path: str | Path) -> None:
    """Raises CorpusError for a file whose streams expand to too much, before a reader expands them."""
    if _DOUBLE_COMPRESSION.search(content):
        raise CorpusError(path, None, "compressed twice", "such files may expand to any size and are not read")
    total = sum(_expanded_size(content, match.end()) for match in _STREAM.finditer(content))
    if total > MAX_BYTES:
        raise CorpusError(path, None, "file too large", f"it expands to more than {MAX_BYTES >> 20} MB")


def _expanded_size(content: bytes, start: int) -> int:
    """The size that a stream of Deflate expands to, or a size above the limit; 0 for other filters, which do not expand
    much."""
    header = int.from_bytes(content[start : start + 2], "big")
    if header >> 8 & 0x0F != 8 or header % 31:
        return 0
    size, expander, view = 0, zlib.decompressobj(), memoryview(content)
    try:
        while start < len(content) and not expander.eof and size <= MAX_BYTES:
            part: bytes | memoryview = view[start : start + _READ_AT_ONCE]
            start += len(part)
            while part and size <= MAX_BYTES:
                size += len(expander.decompress(part, 1 << 20))
                part = expander.unconsumed_tail
    except zlib.error:
        pass
    return size


def _read_pages(content: bytes, path: str | Path) -> list[list[list[_Line]]]:
    """The blocks of lines of each page."""
    try:
        from pdftext.extraction import dictionary_output
        from pdftext.schema import PdfPasswordError
    except ImportError:
        raise ImportError(NO_PDFTEXT) from None
    try:
        with _PDFIUM:
            pages = dictionary_output(io.BytesIO(content), disable_links=True)
    except PdfPasswordError as error:
        raise CorpusError(path, None, "encrypted file", "it needs a password") from error
    except Exception as error:  # a broken file ends in errors of several kinds
        raise CorpusError(path, None, "broken PDF", f"{type(error).__name__} {error}".strip()) from error
    lines_of_pages = [
        [[_line(line, page["height"]) for line in block["lines"]] for block in page["blocks"]] for page in pages
    ]
    return [[[line for line in lines if line.text] for lines in blocks] for blocks in lines_of_pages]


def _without_furniture(pages: Sequence[Sequence[Sequence[_Line]]], usual: float) -> Iterator[list[_Line]]:
    """The blocks of lines without the headers, footers and numbers of pages: what stands in the same place on a page
    near by, in letters of at most about the `usual` size (titles of slides are larger)."""
    keys = [{line.furniture for lines in blocks for line in lines} - {None} for blocks in pages]
    for number, blocks in enumerate(pages):
        # The next page but one, because left and right pages may differ.
        near = set[tuple[str, int] | None]().union(*keys[max(number - 2, 0) : number], *keys[number + 1 : number + 3])
        for lines in blocks:
            found = [line for line in lines if line.furniture not in near or line.size > 1.05 * usual]
            if found:
                yield found


def _paragraphs(blocks: Iterable[Sequence[_Line]]) -> Iterator[_Paragraph]:
    """The blocks, divided where a line begins a new paragraph."""
    for lines in blocks:
        right, left = max(line.right for line in lines), min(line.left for line in lines)
        begin = partial(_begins, left=left, right=right)
        start = 0
        for index in range(1, len(lines) + 1):
            if index == len(lines) or begin(lines[index - 1], lines[index]):
                yield _Paragraph(list(lines[start:index]))
                start = index


def _line(line: Mapping[str, Any], page_height: float) -> _Line:
    spans, (left, top, right, bottom) = line["spans"], line["bbox"]
    text = "".join(span["text"] for span in spans).translate(_LIGATURES)
    fonts = [(len(span["text"]), span["font"]) for span in spans if span["text"].strip()]
    is_code = bool(fonts) and all(_EQUAL_WIDTHS.search(font["name"] or "") for _, font in fonts)
    size = round(max(fonts, key=itemgetter(0))[1]["size"], 1) if fonts else 0.0
    is_in_margin = bottom <= _MARGIN * page_height or top >= (1.0 - _MARGIN) * page_height
    text = _SYMBOL_BULLET.sub("•", re.sub(r"\s+", " ", text).strip())
    return _Line(text, left, right, size, is_code, round(top) if is_in_margin else None)


def _begins(before: _Line, line: _Line, left: float, right: float) -> bool:
    """Whether a line begins a paragraph, by the line before it in its block, which is `left` to `right`."""
    if line.is_code or before.is_code:
        return line.is_code != before.is_code
    if abs(line.size - before.size) > 0.1 * before.size or _BULLET.match(line.text) or _LEADER.search(before.text):
        return True
    is_short = before.right < right - 0.15 * (right - left)
    is_indented = line.left > left + line.size and before.left <= left + 0.5 * line.size
    is_end = bool(_SENTENCE_END.search(before.text))
    return (is_end and (is_short or is_indented)) or (bool(_ITEM.match(line.text)) and (is_end or is_short))


def _joined(paragraphs: Iterable[_Paragraph]) -> list[_Paragraph]:
    """The paragraphs, where one that goes on is joined with the next."""
    found: list[_Paragraph] = []
    for one in paragraphs:
        if found and _goes_on(found[-1], one):
            found[-1].lines += one.lines
        else:
            found.append(one)
    return found


def _goes_on(one: _Paragraph, following: _Paragraph) -> bool:
    """Whether a paragraph goes on in the following one: it has no end, which begins with a small letter; or it is the
    mark of an item alone."""
    last, first = one.lines[-1].text, following.lines[0].text
    if one.is_code or following.is_code:
        return one.is_code and following.is_code
    if abs(one.size - following.size) > 0.1 * one.size or _LEADER.search(last):
        return False
    if _BULLET.match(first) or _ITEM.match(first):
        return False
    return bool(_BULLET.fullmatch(f"{last} ")) or (first[0].islower() and not _SENTENCE_END.search(last))


def _check_is_known(paragraphs: Sequence[_Paragraph], path: str | Path) -> None:
    text = "".join(line.text for one in paragraphs for line in one.lines)
    num_unknown = len(_UNKNOWN.findall(text))
    if num_unknown > 0.01 * len(text):
        detail = f"its fonts do not tell the characters of {num_unknown} signs; recognize the text (OCR) first"
        raise CorpusError(path, None, "no text", detail)


def _text(lines: Sequence[_Line], words: Counter[str]) -> str:
    """The text of the lines; `words` of the whole file tell whether a hyphen at the end of a line belongs to a word."""
    text = ""
    for line in lines:
        text = _continued(text, line.text, words) if text else line.text
    return _LEADER.sub(r" … \1", _UNKNOWN.sub("\ufffd", text))


def _code(lines: Sequence[_Line]) -> str:
    """Lines of code with their indentation; letters of equal width are 0.6 of their size wide."""
    left = min(line.left for line in lines)
    indents = [round((line.left - left) / (0.6 * line.size)) if line.size else 0 for line in lines]
    return "\n".join(" " * indent + line.text for indent, line in zip(indents, lines, strict=True))


def _continued(text: str, line: str, words: Counter[str]) -> str:
    if text.endswith("\xad"):
        return text[:-1] + line
    first, last = re.search(r"[^\W\d_]+-$", text), _WORD.match(line)
    if first is None or last is None or not line[0].islower():
        return f"{text} {line}" if not re.search(r"\w[-–/]$", text) else text + line
    divided = first[0].casefold() + last[0].casefold()
    keeps_hyphen = words[divided] > words[divided.replace("-", "", 1)]
    return text + line if keeps_hyphen else text[:-1] + line
