# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Text of PDF files: paragraphs as a reader sees them, in order, and nothing that pages repeat."""

import re
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from pdf_files import Line, paragraph, pdf

from hier_nmt.data.corpus_files import CorpusError
from hier_nmt.data.formats import pdf_text
from hier_nmt.data.formats.pdf_text import pdf_as_html

pytest.importorskip("pdftext")

FULL = "The committee met on Monday to discuss the budget of the"


def elements(tmp_path: Path, *pages: list[Line]) -> list[tuple[str, str]]:
    """The (tag, text) of the elements of a page made of these pages."""
    (tmp_path / "a.pdf").write_bytes(pdf(*pages))
    page = pdf_as_html(tmp_path / "a.pdf", "en")
    assert page.startswith('<!DOCTYPE html>\n<html lang="en">')
    return re.findall(r"<(p|h\d|pre)>(.*?)</\1>", page.partition("<body>")[2], re.DOTALL)


def test_lines_become_paragraphs_and_large_letters_headings(tmp_path) -> None:
    page = [
        *paragraph(50, 500, "Annual report", size=20),
        *paragraph(50, 470, "1. The budget", size=14),
        *paragraph(
            50, 450, FULL, "coming year.", "It was rejected, since it was too expensive for the", "<town> & you."
        ),
    ]
    assert elements(tmp_path, page) == [
        ("h1", "Annual report"),
        ("h2", "1. The budget"),
        ("p", f"{FULL} coming year."),
        ("p", "It was rejected, since it was too expensive for the &lt;town&gt; &amp; you."),
    ]


def test_words_divided_at_line_ends_are_restored(tmp_path) -> None:
    page = paragraph(
        50, 450, "The well-known proposal of the mayor was not a transla-", "tion of the proposal that was well-",
        "known to the members of the committee, from 2019-", "2020 or the Franco-", "German one, or else it was.",
    )  # fmt: skip
    assert elements(tmp_path, page) == [
        (
            "p",
            "The well-known proposal of the mayor was not a translation of the proposal that was well-known to the "
            "members of the committee, from 2019-2020 or the Franco-German one, or else it was.",
        )
    ]


def test_columns_are_read_one_after_the_other(tmp_path) -> None:
    left = paragraph(40, 450, "The committee met on", "Monday to discuss the", "budget. It was rejected")
    right = paragraph(210, 450, "because it was far too", "expensive for the town.", "Nobody was surprised.")
    assert elements(tmp_path, [*left, *right]) == [
        (
            "p",
            "The committee met on Monday to discuss the budget. It was rejected because it was far too expensive for "
            "the town. Nobody was surprised.",
        )
    ]


def test_a_paragraph_goes_on_after_headers_and_numbers_of_pages(tmp_path) -> None:
    def page(number: int, *texts: str) -> list[Line]:
        around = [Line(50, 570, f"Report of the town, page {number}", 9), Line(195, 20, str(number))]
        return [around[0], *paragraph(50, 450, *texts), around[1]]

    pages = page(1, FULL, "coming year and to"), page(2, "hear the mayor.", "A second paragraph."), page(3, "An end.")
    texts = [text for _, text in elements(tmp_path, *pages)]
    assert texts == [f"{FULL} coming year and to hear the mayor.", "A second paragraph.", "An end."]


def test_titles_of_slides_and_numbers_of_tables_stay(tmp_path) -> None:
    pages = [
        [
            Line(50, 565, f"Experiment {number}", 24),
            *paragraph(50, 450, FULL, "coming year."),
            Line(50, 30, "12.50"),
            Line(90, 30, "only here" if number == 1 else "there"),
        ]
        for number in (1, 2)
    ]
    texts = " ".join(text for _, text in elements(tmp_path, *pages))
    assert all(text in texts for text in ("Experiment 1", "Experiment 2", "only here", "there"))
    assert texts.count("12.50") == 2


def test_items_of_lists_are_apart_and_dashes_in_sentences_are_not(tmp_path) -> None:
    page = [
        *paragraph(50, 500, "These are the items:"),
        *paragraph(
            60, 480, "\u2022 the first item, which is a long one and which takes", "two lines", "\u2022 the second"
        ),
        *paragraph(50, 400, FULL, "- coming - year, which had been the subject of section", "3. It was rejected."),
    ]
    assert elements(tmp_path, page) == [
        ("p", "These are the items:"),
        ("p", "\u2022 the first item, which is a long one and which takes two lines"),
        ("p", "\u2022 the second"),
        ("p", f"{FULL} - coming - year, which had been the subject of section 3. It was rejected."),
    ]


def test_a_bullet_of_a_symbol_font_begins_an_item() -> None:
    def line(text: str, top: float) -> dict[str, Any]:
        return {"bbox": [50, top, 300, top + 10], "spans": [{"text": text, "font": {"name": "Symbol", "size": 10}}]}

    lines = [line("\uf0b7 One item that is long", 300), line("\uf0a7 another one", 312), line("no \uf0b7 bullet", 324)]
    found = [pdf_text._line(one, 600).text for one in lines]
    assert found == ["\u2022 One item that is long", "\u2022 another one", "no \uf0b7 bullet"]


def test_threads_may_read_at_the_same_time(tmp_path) -> None:
    for number in range(64):
        page = paragraph(50, 450, *[f"Line {line} of file {number}." for line in range(20)])
        (tmp_path / f"{number}.pdf").write_bytes(pdf(*[page] * 5))
    with ThreadPoolExecutor(16) as threads:
        pages = list(threads.map(lambda number: pdf_as_html(tmp_path / f"{number}.pdf", "en"), range(64)))
    assert [page.count(f"Line 7 of file {number}.") for number, page in enumerate(pages)] == [5] * 64


def test_code_keeps_its_lines(tmp_path) -> None:
    code = [Line(50, 400, "for x in y:", 10, "code"), Line(74, 388, "print(x < 1)", 10, "code")]
    page = [*paragraph(50, 450, "This is how:"), *code, *paragraph(50, 330, "That is all.")]
    assert elements(tmp_path, page) == [
        ("p", "This is how:"),
        ("pre", "<code>for x in y:\n    print(x &lt; 1)</code>"),
        ("p", "That is all."),
    ]


def test_leaders_of_a_table_of_contents_become_short(tmp_path) -> None:
    page = paragraph(50, 450, "1 Introduction . . . . . . . . . . . . 3", "2 Conclusions ............. 17")
    assert elements(tmp_path, page) == [("p", "1 Introduction \u2026 3"), ("p", "2 Conclusions \u2026 17")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (pdf([]), "no text: .*recognize their text"),
        (b"%PDF-1.4\nnothing", "broken PDF"),
        (b"Not a PDF at all.", "broken PDF"),
        (pdf(paragraph(50, 450, "A"))[:200], "broken PDF"),
        (
            pdf(
                paragraph(50, 450, "A text."),
                trailer=f"/Encrypt<</Filter/Standard/V 1/R 2/O<{'00' * 32}>/U<{'00' * 32}>/P -4>>/ID[<00><00>]",
            ),
            "encrypted file: it needs a password",
        ),
    ],
)
def test_files_without_readable_text_are_errors(tmp_path, content, message) -> None:
    (tmp_path / "a.pdf").write_bytes(content)
    with pytest.raises(CorpusError, match=message):
        pdf_as_html(tmp_path / "a.pdf", "en")


@pytest.mark.parametrize(
    ("filters", "size", "message"),
    [
        ("/FlateDecode", 20_000, "file too large"),
        ("[/FlateDecode /FlateDecode]", 10, "compressed twice"),
        ("/FlateDecode", 5_000, None),
    ],
)
def test_a_file_that_expands_to_too_much_is_refused(tmp_path, monkeypatch, filters, size, message) -> None:
    monkeypatch.setattr(pdf_text, "MAX_BYTES", 10_000)
    stream = zlib.compress(bytes(size))
    content = pdf(paragraph(50, 450, "A text."))
    content += f"99 0 obj\n<</Filter {filters}/Length {len(stream)}>>\nstream\n".encode() + stream + b"\nendstream\n"
    (tmp_path / "a.pdf").write_bytes(content)
    with nullcontext() if message is None else pytest.raises(CorpusError, match=message):
        pdf_as_html(tmp_path / "a.pdf", "en")


def test_the_package_that_is_missing_is_named(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pdftext.extraction", None)
    (tmp_path / "a.pdf").write_bytes(pdf(paragraph(50, 450, "A text.")))
    with pytest.raises(ImportError, match=r"pip install 'hier_nmt\[pdf\]'"):
        pdf_as_html(tmp_path / "a.pdf", "en")
