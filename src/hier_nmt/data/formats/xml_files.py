# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""XML files, parsed without resolving any reference to outside of them."""

import html
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from lxml import etree

from ..corpus_files import CorpusError, read_bytes
from ..text_files import byte_order_mark

Element = Any
XML_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_PROLOG = re.compile(
    r"(?:\s|<\?.*?\?>|<!--.*?-->|<!DOCTYPE(?:\"[^\"]*\"|'[^']*'|[^\"'\[>])*(?:\[.*?\]\s*)?>)*+(?=<[^!?])",
    re.DOTALL,
)
_NAMESPACE = re.compile(rb"""xmlns(?::[^\s=]+)?\s*=\s*(["'])(.*?)\1""", re.DOTALL)
_DECLARED_ENCODING = re.compile(r"(\A\s*<\?xml\s[^>]*?encoding\s*=\s*[\"'])([^\"']*)")


def parse_xml(path: str | Path, kind: str = "XML", *roots: str) -> Any:
    """The element tree of a file. Entities are not expanded; external files and the network are not accessed.

    Args:
        path: the file.
        kind, roots: as in `parse_xml_content`.

    Raises:
        CorpusError: the file is empty, not well-formed, of another kind, in another encoding than it declares, or
            declares entities or uses those of a DTD.
    """
    return parse_xml_content(read_bytes(path), path, kind, *roots)


def parse_xml_content(content: bytes, path: str | Path, kind: str = "XML", *roots: str) -> Any:
    """The element tree of the content of a file; `path` names it in errors, see `parse_xml`.

    Args:
        content: the bytes.
        path: the file, for errors.
        kind: what the file is expected to be, for errors.
        roots: the names that the root of such a file may have; default: any.
    """
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, strip_cdata=False)
    try:
        tree = etree.fromstring(content, parser).getroottree()
    except etree.XMLSyntaxError as error:
        raise CorpusError(path, error.lineno, "not well-formed XML", error.msg or "") from error
    declared = tree.docinfo.internalDTD
    names = [entity.name for entity in declared.iterentities()] if declared is not None else []
    if names:
        raise CorpusError(
            path, None, "entity declarations", f"{', '.join(map(repr, names[:3]))}: they are not expanded"
        )
    if (namespace := _invalid_namespace(content, tree)) is not None:
        raise CorpusError(path, None, "invalid namespace", f"{namespace!r:.80} is not a URI")
    # A file with a DTD may use the entities of that DTD, which would be dropped silently.
    used = next(tree.iter(etree.Entity), None)
    if used is not None:
        raise CorpusError(path, line_of(used), "entity of a DTD", f"&{used.name}; is not expanded: write the character")
    root = tree.getroot()
    if roots and local_name(root) not in roots:
        raise CorpusError(path, line_of(root), f"not {kind}", f"the root is <{local_name(root)}>, not <{roots[0]}>")
    return tree


def _invalid_namespace(content: bytes, tree: Any) -> str | None:
    """A namespace that the parser accepts, but that no new element could have."""
    found = {html.unescape(match[2].decode("utf-8", "replace")) for match in _NAMESPACE.finditer(content)}
    # What looks like one may be text.
    if all(map(_is_uri, found)):
        return None
    return next((uri for one in tree.iter("*") for uri in one.nsmap.values() if not _is_uri(uri)), None)


def _is_uri(text: str) -> bool:
    try:
        etree.Element("a", nsmap={"a": text or "a"})
    except ValueError:
        return False
    return True


def xml_bytes(tree: Any, original: bytes = b"") -> bytes:
    """The serialised tree, in UTF-8.

    Args:
        tree: an element tree.
        original: the content that was read: its byte order mark, everything before the root (except another encoding in
            the declaration), its line ends and its end are kept.
    """
    if not original:
        return etree.tostring(tree, xml_declaration=True, encoding="UTF-8") + b"\n"
    text = original.decode(tree.docinfo.encoding or "utf-8", "replace").lstrip("\ufeff")
    newline = _newline(text)
    # The parser reads every line end as a newline.
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    before_root = _PROLOG.match(text)
    if before_root is None:
        # A DTD in an unknown notation.
        return xml_bytes(tree)
    root = tree.getroot()
    written = [etree.tostring(one, encoding="UTF-8", with_tail=False) for one in [root, *root.itersiblings()]]
    start = _DECLARED_ENCODING.sub(_utf_8, before_root[0])
    lines = start + b"".join(written).decode() + text[len(text.rstrip()) :]
    return byte_order_mark(original) + lines.replace("\n", newline).encode()


def _utf_8(encoding: re.Match[str]) -> str:
    """The declaration of an encoding, unchanged if it is UTF-8 in any spelling."""
    return encoding[0] if encoding[2].lower().replace("_", "-") in ("utf-8", "utf8") else f"{encoding[1]}UTF-8"


def _newline(text: str) -> str:
    """The most frequent line end of a text."""
    counts = {"\r\n": text.count("\r\n"), "\n": text.count("\n") - text.count("\r\n"), "\r": text.count("\r")}
    counts["\r"] -= counts["\r\n"]
    return max(counts, key=lambda newline: counts[newline]) if any(counts.values()) else "\n"


def local_name(element: Element) -> str:
    """The tag without its namespace; empty for a comment or processing instruction."""
    return etree.QName(element).localname if isinstance(element.tag, str) else ""


def children(element: Element, *names: str) -> Iterator[Element]:
    """The child elements with these names, in any namespace."""
    return (child for child in element if local_name(child) in names)


def child(element: Element, name: str) -> Element | None:
    """The first child element with that name."""
    return next(children(element, name), None)


def descendants(element: Element, *names: str) -> Iterator[Element]:
    """The descendants with these names, in order."""
    return (one for one in element.iter() if local_name(one) in names)


def line_of(element: Element) -> int | None:
    """The line of the file where the element starts."""
    return element.sourceline


def same_language(code: str | None, wanted: str) -> bool:
    """Whether a code matches the wanted language: "en-US" and "EN" match "en", but "en-US" does not match "en-GB"."""
    if code is None:
        return False
    found, asked = code.lower().replace("_", "-").split("-"), wanted.lower().replace("_", "-").split("-")
    return all(one == other for one, other in zip(found, asked, strict=False))


def names_source(code: str | None, source: str, target: str) -> bool:
    """Whether a declaration of a language must change in a translation: it names the source language, and does not name
    the target language as well."""
    return same_language(code, source) and not same_language(code, target)


def indent(element: Element, leaves: Collection[str], level: int = 0) -> None:
    """Puts each descendant on a line of its own, except inside elements with the given names."""
    if local_name(element) in leaves or not len(element):
        return
    element.text = "\n" + "  " * (level + 1)
    for inner in element:
        indent(inner, leaves, level + 1)
        inner.tail = element.text
    element[-1].tail = "\n" + "  " * level


def append_aligned(parent: Element, added: Element) -> None:
    """Appends an element, on a line of its own if the others are."""
    if len(parent):
        added.tail, parent[-1].tail = parent[-1].tail, parent.text
    parent.append(added)


def valid_text(text: str) -> str:
    """The text without characters that XML does not allow (control characters, lone surrogates)."""
    return re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "", text)


def clear(element: Element) -> None:
    """Removes everything from an element except its attributes and the text after it."""
    for inner in list(element):
        element.remove(inner)
    element.text = None
