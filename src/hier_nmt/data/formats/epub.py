# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Books (.epub; EPUB 2 and 3): the chapters in reading order are one document, the tables of contents another.

The pages are translated as HTML is. The package names the target language as that of the book; its title and the other
metadata stay.
"""

import re
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any
from urllib.parse import unquote

from ...text.document_layout import DocumentLayout, run_layout
from ...text.html_text import html_runs
from ...text.long_sentences import sentence_joiner
from ..corpus_files import CorpusError
from ..text_files import byte_order_mark
from .document_file import Translations
from .layout_file import LayoutDocument, LayoutFile
from .page_declarations import decode_page, with_declarations
from .xml_files import child, descendants, names_source
from .zip_package import ZipPackage

_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_PAGES = ("application/xhtml+xml", "text/html")
_NCX = "application/x-dtbncx+xml"
_NAVIGATION = re.compile(r"<(?:\w+:)?navMap\b")
_LANGUAGE = re.compile(r"(<(?:\w+:)?language\b[^>]*>\s*)([\w-]+)(?=\s*</)")


class EpubFile(LayoutFile):
    """A book. Members without text stay byte for byte.

    Args:
        path: the file.
        source_language, target_language: ISO 639 codes.
    """

    def __init__(self, path: Path, source_language: str, target_language: str) -> None:
        self._package = ZipPackage(path)
        self._languages = (source_language, target_language)
        self._package_name = self._find_package()
        chapters, contents = self._pages()
        self._check_is_readable(chapters)
        # Member -> its layout.
        self._members = {name: self._layout(name) for name in dict.fromkeys([*chapters, *contents])}
        documents = [
            LayoutDocument(name, [self._members[member] for member in members])
            for name, members in (("book", chapters), ("contents", contents))
        ]
        super().__init__(path, documents)
        self.original = self._package.original

    @classmethod
    def read(cls, path: str | Path, source_language: str, target_language: str) -> "EpubFile":
        return cls(Path(path), source_language, target_language)

    def translated(self, translations: Translations) -> bytes:
        texts = {id(layout): text for layout, text in self._translated_layouts(translations)}
        changed = {name: texts.get(id(layout), layout.source) for name, layout in self._members.items()}
        changed[self._package_name] = self._declared_package()
        return self._package.replaced(
            {
                name: byte_order_mark(self._package.read(name)) + text.encode("utf-8", "replace")
                for name, text in changed.items()
            }
        )

    def _find_package(self) -> str:
        """The name of the member that describes the book."""
        root = self._package.parse(_CONTAINER).getroot()
        name = next((one.get("full-path") for one in descendants(root, "rootfile")), None)
        if name is None:
            raise CorpusError(self._package.path, None, "not EPUB", f"{_CONTAINER} names no package")
        return str(name)

    def _pages(self) -> tuple[list[str], list[str]]:
        """The names of the chapters in reading order, and of the tables of contents that are no chapters."""
        root = self._package.parse(self._package_name).getroot()
        manifest, spine = child(root, "manifest"), child(root, "spine")
        if manifest is None or spine is None:
            raise CorpusError(self._package.location(self._package_name), None, "not EPUB", "no manifest or no spine")
        items = {one.get("id"): one for one in descendants(manifest, "item")}
        wanted = (items.get(one.get("idref")) for one in descendants(spine, "itemref"))
        chapters = [self._name_of(one) for one in wanted if one is not None and one.get("media-type") in _PAGES]
        contents = [
            self._name_of(one)
            for one in items.values()
            if one.get("media-type") == _NCX or "nav" in (one.get("properties") or "").split()
        ]
        chapters = list(dict.fromkeys(chapters))
        return chapters, [name for name in dict.fromkeys(contents) if name not in chapters]

    def _name_of(self, item: Any) -> str:
        return normpath(join(dirname(self._package_name), unquote(item.get("href") or "")))

    def _check_is_readable(self, names: list[str]) -> None:
        if _ENCRYPTION not in self._package.names:
            return
        # Fonts may be encrypted in a book that is not.
        root = self._package.parse(_ENCRYPTION).getroot()
        encrypted = {unquote(one.get("URI") or "") for one in descendants(root, "CipherReference")}
        if found := sorted(encrypted & set(names)):
            raise CorpusError(self._package.path, None, "encrypted file", f"{found[0]} is protected")

    def _layout(self, name: str) -> DocumentLayout:
        """The layout of a page, or of the labels of a table of contents of EPUB 2."""
        source, target = self._languages
        page = decode_page(self._package.read_limited(name), self._package.location(name))
        text = with_declarations(page, "html", source, target)
        navigation = _NAVIGATION.search(text)
        start = navigation.start() if navigation else 0
        runs = [run for run in html_runs(text) if run.starts[0] >= start]
        return run_layout(text, runs, source, sentence_joiner(target))

    def _declared_package(self) -> str:
        """The description of the book with the target language where it names the source language."""
        source, target = self._languages

        def replaced(match: re.Match[str]) -> str:
            is_source = names_source(match[2], source, target)
            return f"{match[1]}{target if is_source else match[2]}"

        location = self._package.location(self._package_name)
        return _LANGUAGE.sub(replaced, decode_page(self._package.read(self._package_name), location))
