# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The lines of a paragraph are one text, and its translation is wrapped again."""

import pytest

from hier_nmt.data.formats.wrapped_text import WrappedTextFile

TEXT = """The committee has
finished its report.

  A paragraph with
the first line set in.
  Another one of
them follows.

- an item that
  goes on
- a second one
1) a third

> quoted mail of
> several lines
>> and an answer

One line.
"""
UNITS = [
    "The committee has finished its report.", "A paragraph with the first line set in.", "Another one of them follows.",
    "an item that goes on", "a second one", "a third", "quoted mail of several lines", "and an answer", "One line.",
]  # fmt: skip


@pytest.fixture
def file(tmp_path):
    def read(content: bytes) -> WrappedTextFile:
        (tmp_path / "a.txt").write_bytes(content)
        return WrappedTextFile.read(tmp_path / "a.txt", "en", "fr")

    return read


def test_lines_are_joined_to_paragraphs(file) -> None:
    (document,) = file(TEXT.encode()).documents
    assert [unit.source for unit in document.units] == UNITS
    assert [unit.line for unit in document.units] == [1, 4, 6, 9, 11, 12, 14, 16, 18]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_the_same_text_gives_the_same_lines(file, newline, mark) -> None:
    # Every line is full, so wrapping at the longest one gives the same lines.
    text = "aaaa bbbb cccc\ndddd eeee ffff\ngggg.\n\n  > a bbbbbbbbbb\n  > ccccccccc\n"
    content = mark + text.replace("\n", newline).encode()
    found = file(content)
    assert found.translated([[unit.source for unit in found.documents[0].units]]) == content


def test_translations_are_broken_at_the_width_of_the_text_inside_its_margins(file) -> None:
    found = file(b"    The words of a margin\nof a text.\n- one item\n\n> a\n")
    written = found.translated(
        [["mot " * 14 + "fin", "un \u00e9l\u00e9ment qui est plus long", "un tres_long_mot_que_rien_ne_coupe"]]
    )
    assert written.decode().split("\n") == [
        "    mot mot mot mot mot",
        "mot mot mot mot mot mot",
        "mot mot mot fin",
        "- un \u00e9l\u00e9ment qui est plus",
        "  long",
        "",
        "> un",
        "> tres_long_mot_que_rien_ne_coupe",
        "",
    ]


def test_spaces_that_keep_words_together_do(file) -> None:
    found = file(b"a b c d e f\n")
    assert found.translated([["abcdefgh\u00a0? ijk"]]).decode() == "abcdefgh\u00a0?\nijk\n"
