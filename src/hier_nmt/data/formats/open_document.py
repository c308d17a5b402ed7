# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""OpenDocument texts and presentations (.odt, .odp; OASIS, ISO/IEC 26300): content, footnotes, headers and footers.
Comments and deleted text stay as they are."""

from collections.abc import Collection, Iterator
from functools import cached_property
from typing import Any, ClassVar, Literal

from ...text.document_layout import DocumentLayout
from ..corpus_files import CorpusError
from .coded_text import Code, CodedText
from .package_file import PackageFile, Paragraph
from .xml_files import Element, clear, descendants, local_name, names_source

_CONTENT, _MANIFEST = "content.xml", "META-INF/manifest.xml"
# Elements inside which paragraphs are not the document's text.
_SKIPPED = ("tracked-changes", "annotation")
_ROLES: dict[str, Literal["pair", "space", "break", "invisible"]] = {
    **dict.fromkeys(("span", "a", "meta", "meta-field", "ruby", "ruby-base"), "pair"),
    "s": "space", "tab": "break", "line-break": "break",
    **dict.fromkeys(("soft-page-break", "note", "annotation", "annotation-end", "change", "change-start",
                     "change-end", "ruby-text", "bookmark", "bookmark-start", "bookmark-end"), "invisible"),
}  # fmt: skip
_FO = "{urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0}"
_TEXT_POSITION = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}text-position"
_ANCHOR = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}anchor-type"


class OpenDocumentFile(PackageFile):
    """A text or presentation: its content is a document, and so are its headers and footers."""

    format_name: ClassVar[str] = "ODT"
    # The types that are read; those of templates go on after these.
    types: ClassVar[tuple[str, ...]] = (
        "application/vnd.oasis.opendocument.text",
        "application/vnd.oasis.opendocument.presentation",
    )

    def _check(self) -> None:
        package = self._package
        kind = package.read("mimetype").decode("latin-1") if "mimetype" in package.names else ""
        if not kind.startswith(self.types) or _CONTENT not in package.names:
            raise CorpusError(package.path, None, f"not {self.format_name}", f"an archive of type {kind!r:.80}")
        if _MANIFEST in package.names and b"encryption-data" in package.read(_MANIFEST):
            raise CorpusError(package.path, None, "encrypted file", "save it without a password")

    def _members(self) -> Iterator[tuple[str, str]]:
        yield _CONTENT, "content"
        if "styles.xml" in self._package.names:
            yield "styles.xml", "headers and footers"

    def _paragraphs(self, root: Element) -> Iterator[tuple[Element, Paragraph]]:
        for one in descendants(root, "p", "h"):
            if not any(local_name(parent) in _SKIPPED for parent in one.iterancestors()):
                yield one, _MixedParagraph(one, self._index_styles)

    @cached_property
    def _index_styles(self) -> set[str]:
        """The names of styles for subscripts and superscripts."""
        members = [name for name in ("styles.xml", _CONTENT) if name in self._package.names]
        roots = [self._package.parse(name).getroot() for name in members]
        found = (one for root in roots for one in root.iter("*") if one.get(_TEXT_POSITION, "0%").split()[0] != "0%")
        return {_style_name(one.getparent(), "name") for one in found} - {""}

    def _set_language(self, root: Element) -> None:
        source, target = self._languages
        for one in root.iter():
            if names_source(one.get(f"{_FO}language"), source, target):
                code, _, country = target.partition("-")
                one.set(f"{_FO}language", code)
                if f"{_FO}country" in one.attrib:
                    one.set(f"{_FO}country", country or "none")


class _MixedParagraph:
    """A paragraph or heading: text with elements inside.

    Args:
        element: the paragraph.
        index_styles: the names of styles for subscripts and superscripts.
    """

    def __init__(self, element: Element, index_styles: Collection[str]) -> None:
        self._element, self._index_styles = element, index_styles
        self._coded = CodedText(keeps_space=False)
        self._read(element)

    def layout(self, language: str, joiner: str) -> DocumentLayout:
        """The layout of its text, see `CodedText.layout`."""
        return self._coded.layout(language, joiner)

    def write(self, text: str) -> None:
        """Replaces the content of the paragraph by a translated text of its layout."""
        clear(self._element)
        opened = [self._element]
        for piece in self._coded.pieces(text):
            if isinstance(piece, str):
                _append_text(opened[-1], piece)
            elif piece.kind != "close":
                _append(opened, piece)
            elif piece.content in opened[1:]:
                # With it closes whatever is open inside.
                del opened[opened.index(piece.content) :]

    def _read(self, parent: Element) -> None:
        self._coded.add_text(parent.text or "")
        for one in parent:
            self._read_one(one)
            self._coded.add_text(one.tail or "")

    def _read_one(self, element: Element) -> None:
        role = _role(element)
        if role == "pair":
            is_index = _style_name(element, "style-name") in self._index_styles
            self._coded.add_mark("open", element, is_index=is_index)
            self._read(element)
            self._coded.add_mark("close", element)
        elif role == "space":
            self._coded.add_space(element)
        elif role == "break":
            self._coded.add_break(element)
        else:
            self._coded.add_mark("whole", element, role == "word", role == "word")


def _role(element: Any) -> Literal["pair", "space", "break", "word", "invisible"]:
    """The role of an element in a paragraph."""
    name = local_name(element)
    if not name or name.endswith(("-mark", "-mark-start", "-mark-end")):
        return "invisible"
    if name in ("frame", "custom-shape", "g") and element.get(_ANCHOR) != "as-char":
        return "invisible"
    return _ROLES.get(name, "word")


def _style_name(element: Element, attribute: str) -> str:
    """The value of an attribute of an element in whatever namespace; empty if there is none."""
    return next((value for name, value in element.attrib.items() if name.rpartition("}")[2] == attribute), "")


def _append(opened: list[Element], piece: Code) -> None:
    """Appends an element to the innermost open one; the start of a pair becomes that."""
    element = piece.content
    element.tail = None
    opened[-1].append(element)
    if piece.kind == "open":
        clear(element)
        opened.append(element)


def _append_text(parent: Element, text: str) -> None:
    """Adds text at the end of an element."""
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text
