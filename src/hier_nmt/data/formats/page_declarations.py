# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Encoding and language that HTML and Markdown pages declare, and how their translations declare them."""

import codecs
import re
from collections.abc import Callable
from html.parser import HTMLParser

from ..corpus_files import CorpusError
from ..text_files import decode_text
from .xml_files import same_language

_DECLARED = re.compile(
    rb"""<meta\s[^>]*?charset\s*=\s*["']?\s*([\w.:-]+)|^\s*<\?xml\s[^>]*?encoding\s*=\s*["']([\w.:-]+)""", re.IGNORECASE
)
# Browsers look for a declaration in the first 1,024 bytes only.
_DECLARED_WITHIN = 1024
_ATTRIBUTE = re.compile(r"""([^\s"'<>/=]+)(?:(\s*=\s*)("[^"]*"|'[^']*'|[^\s"'=<>`]+))?""")
_XML_ENCODING = re.compile(r"""(<\?xml\s[^>]*?encoding\s*=\s*["'])[^"']*""")
_CONTENT_CHARSET = re.compile(r"(charset\s*=\s*)[\w.:-]+", re.IGNORECASE)
# Names of <meta> elements whose content is a language.
_LANGUAGE_NAMES = ("content-language", "language", "dc.language", "og:locale", "inlanguage")
_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n.*?\r?\n(?:---|\.\.\.)[ \t]*\r?(?:\n|$)", re.DOTALL)
_FRONT_LANGUAGE = re.compile(
    r"""^((?:lang|language|languagecode|locale)[ \t]*:[ \t]*["']?)([A-Za-z]{2,3}(?:[-_]\w+)*)(["']?[ \t]*\r?)$""",
    re.MULTILINE | re.IGNORECASE,
)


def decode_page(content: bytes, path: object) -> str:
    """The text of a page: UTF-8, or else in the encoding that it declares.

    Raises:
        CorpusError: it is in neither.
    """
    try:
        return decode_text(content, str(path))
    except CorpusError as error:
        declared = _DECLARED.search(content[:_DECLARED_WITHIN])
        if error.kind != "not UTF-8" or declared is None:
            raise
        name = (declared[1] or declared[2]).decode()
        # Latin-1 means its extension cp1252, as in browsers.
        encoding = "cp1252" if name.lower() in ("iso-8859-1", "latin1", "latin-1", "us-ascii", "ascii") else name
        try:
            return content.decode(codecs.lookup(encoding).name)
        except (LookupError, UnicodeDecodeError) as other:
            detail = f"neither UTF-8 nor {name!r}, which it declares: {other}"
            raise CorpusError(str(path), None, "unknown encoding", detail) from None


def with_declarations(text: str, text_format: str, source_language: str, target_language: str) -> str:
    """The page with the source language replaced by the target language in its declarations, and UTF-8 as encoding.

    Text that is declared to be in a third language, or not to be translated, keeps its declaration.
    """
    if text_format == "markdown":
        front = _FRONT_MATTER.match(text)
        end = front.end() if front else 0

        def replaced(match: re.Match[str]) -> str:
            is_source = same_language(match[2], source_language)
            return f"{match[1]}{target_language if is_source else match[2]}{match[3]}"

        return _FRONT_LANGUAGE.sub(replaced, text[:end]) + text[end:]
    reader = _Reader(text, lambda value: target_language if same_language(value, source_language) else value)
    return _XML_ENCODING.sub(r"\g<1>UTF-8", reader.result(), count=1)


class _Reader(HTMLParser):
    """Copies a page, with changed attributes in its start tags."""

    def __init__(self, text: str, language: Callable[[str], str]) -> None:
        super().__init__(convert_charrefs=False)
        self._text, self._language = text, language
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]
        self._parts: list[str] = []
        self._position = 0
        self.feed(text)
        self.close()

    def result(self) -> str:
        """The page."""
        return "".join(self._parts) + self._text[self._position :]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        is_kept = values.get("translate", "").lower() == "no" or "notranslate" in values.get("class", "").split()
        if is_kept or not ({"lang", "xml:lang"} & set(values) or tag == "meta"):
            return
        raw = self.get_starttag_text() or ""
        line, column = self.getpos()
        start = self._lines[line - 1] + column
        first = len(tag) + 1
        written = raw[:first] + _ATTRIBUTE.sub(lambda match: self._attribute(match, tag, values), raw[first:])
        self._parts += [self._text[self._position : start], written]
        self._position = start + len(raw)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def _attribute(self, match: re.Match[str], tag: str, values: dict[str, str]) -> str:
        name, equals, value = match[1], match[2], match[3]
        if value is None:
            return match[0]
        quote = value[0] if value[0] in "\"'" else ""
        plain = value[1:-1] if quote else value
        return f"{name}{equals}{quote}{self._value(name.lower(), plain, tag, values)}{quote}"

    def _value(self, name: str, value: str, tag: str, values: dict[str, str]) -> str:
        if name in ("lang", "xml:lang"):
            return self._language(value)
        if tag == "meta" and name == "charset":
            return value if value.lower() == "utf-8" else "utf-8"
        if tag != "meta" or name != "content":
            return value
        if values.get("http-equiv", "").lower() == "content-type":
            return _CONTENT_CHARSET.sub(r"\g<1>utf-8", value)
        kinds = (values.get(kind, "").lower() for kind in ("http-equiv", "name", "property", "itemprop"))
        return self._language(value) if any(kind in _LANGUAGE_NAMES for kind in kinds) else value
