# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Known formats that are not supported. They are refused, since as plain text their markup would be translated."""

import re
from pathlib import Path

from ..corpus_files import CorpusError

_NAMES = {
    "other subtitles": "sub sbv smi ttml dfxp lrc",
    "a compiled gettext catalogue": "mo gmo",
    "a message file of a program": "stringsdict resx rc ftl ini toml ts",
    "SGML": "sgm sgml",
    "TeX": "tex ltx bib sty cls",
    "a word processor's document": "doc rtf pages wps fodt",
    "a spreadsheet or presentation": "xlsb xls fods ppt fodp key",
    "a table with commas": "csv",
    "a book": "mobi azw3 fb2",
    "PostScript": "ps eps",
    "a page with program code": "php asp aspx jsp erb ejs vue svelte hbs liquid twig jinja j2",
    "text with markup of its own": "rst adoc asciidoc org textile wiki mediawiki pod texi man typ dita mdx rmd",
    "a translation tool's package": "ttx sdlppx mqxlz xlz txml txlf idml",
    "an archive": "zip tar 7z xz bz2 rar zst tgz",
    "a program": "py js jsx tsx java c h cpp hpp cs go rs rb pl sh sql css scss svg lua swift kt r m",
    "a picture or sound": "png jpg jpeg gif webp bmp tif tiff mp3 mp4 wav ogg mkv",
}
_BY_ENDING = {ending: name for name, endings in _NAMES.items() for ending in endings.split()}
# First bytes of formats that the file's ending may not show.
_BY_START = {
    b"PK\x03\x04": "an archive",
    b"{\\rtf": "a word processor's document",
    b"\xd0\xcf\x11\xe0": "a word processor's document",
    b"\\documentclass": "TeX",
    b"msgid ": "a gettext catalogue without its file ending",
}
# Markdown counts as plain text, unless the user asks for its format.
_PLAIN_ENDINGS = ("txt", "text", "asc", "raw", "tok", "src", "ref", "hyp", "trg", "log", "lines", "md")
# An unknown ending of two letters is a language code, "corpus.en"; also "corpus.en-fr".
_LANGUAGE_ENDING = re.compile(r"[a-z]{2}([-_][a-z]{2,4})?")
# "Chapter 1. The beginning" and "notes.2024" have no ending.
_ENDING = re.compile(r"[a-z][a-z0-9_+-]{0,11}")


def check_is_plain_text(path: Path, ending: str, start: bytes) -> None:
    """Raises CorpusError unless a file may be plain text.

    Args:
        path: the file, for the error.
        ending: of its name, without the dot, in lower case.
        start: its first bytes.
    """
    if ending in _BY_ENDING:
        raise _refusal(path, f"{_BY_ENDING[ending]} (.{ending})")
    for mark, name in _BY_START.items():
        if start.startswith(mark):
            raise _refusal(path, f"{name}, since it starts with {mark.decode('latin-1')!r}")
    if ending == "pdf" or start.startswith(b"%PDF-"):
        raise CorpusError(
            path, None, "a PDF file", "to translate it, give --format pdf; other commands do not read PDF"
        )
    if re.match(rb"(?i)<!doctype html|<html[\s>]", start):
        raise CorpusError(path, None, "a page without its file ending", "it is HTML: give --format html")
    is_known = ending in _PLAIN_ENDINGS or _LANGUAGE_ENDING.fullmatch(ending)
    if _ENDING.fullmatch(ending) and not is_known:
        raise _refusal(path, f".{ending} is unknown")


def _refusal(path: Path, what: str) -> CorpusError:
    detail = f"{what}; convert it, or give --format text if it is plain text; every line is then translated"
    return CorpusError(path, None, "unsupported format", detail)
