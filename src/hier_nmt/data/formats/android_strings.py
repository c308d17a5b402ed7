# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Messages of Android programs (strings.xml): strings, arrays of strings and plurals. Names, comments and strings that
are marked as not to be translated stay, and so does white space between quotation marks."""

import copy
import re
from pathlib import Path
from typing import Any, NamedTuple

from ...text.protected_spans import OBJECT
from ..corpus_files import read_bytes
from .document_file import DocumentFile, Translations, Unit, UnitDocument
from .tagged_text import TaggedText
from .xml_files import Element, clear, line_of, local_name, parse_xml_content, xml_bytes

# Content of these elements is not translated (https://developer.android.com/guide/topics/resources/localization).
_WHOLE = ("g",)
_ITEMS = ("string-array", "plurals")
_REFERENCE = re.compile(r"[@?][\w.:+]*/[\w.]+|@null")
_ESCAPED_SIGN = re.compile(r"\\(['\"@?])")
_BARE_QUOTE = re.compile(r'(?<!\\)"')


class _Message(NamedTuple):
    """An element with a message, and its text with escapes; `is_quoted`: all of it is between quotation marks."""

    element: Element
    tagged: TaggedText
    is_quoted: bool

    @property
    def text(self) -> str:
        """The text as it is shown; line breaks stay escapes."""
        return _ESCAPED_SIGN.sub(r"\1", self.tagged.text)

    def written(self, text: str) -> str:
        """How a text is written in place of this one."""
        if not _BARE_QUOTE.search(self.tagged.text):
            text = text.replace('"', '\\"')
        if self.is_quoted:
            return text
        text = text.replace("'", "\\'")
        return f"\\{text}" if text.startswith(("@", "?")) else text


class AndroidStringsFile(DocumentFile):
    """A file of resources: one document, each message a paragraph.

    Args:
        path: where it was read.
        tree: its elements.
    """

    def __init__(self, path: Path, tree: Any) -> None:
        self._tree = tree
        found = (_message(one) for one in tree.getroot().iter("{*}string", "{*}item") if _is_message(one))
        self._messages = [one for one in found if one.tagged.has_text and not _REFERENCE.fullmatch(one.tagged.text)]
        units = [Unit(one.text, None, line_of(one.element), tags=one.tagged.tags) for one in self._messages]
        super().__init__(path, [UnitDocument(path.name, tuple((unit,) for unit in units))] if units else [])

    @classmethod
    def read(cls, path: str | Path, source_language: str, target_language: str) -> "AndroidStringsFile":
        content = read_bytes(path)
        tree = parse_xml_content(content, path, "Android resources", "resources")
        file = cls(Path(path), tree)
        file.original = content
        return file

    def translated(self, translations: Translations) -> bytes:
        tree = copy.deepcopy(self._tree)
        for message, unit, text in zip(self._messages, self.documents[0].units, translations[0], strict=True):
            if text != unit.source:
                _replace(message, tree.xpath(self._tree.getpath(message.element))[0], text)
        return xml_bytes(tree, self.original)


def _message(element: Element) -> _Message:
    # A backslash before a tag escapes nothing behind the tag.
    text = OBJECT.join(element.itertext()).strip()
    # In HTML that is text, quotation marks belong to tags.
    has_quotes = "<" not in text and _BARE_QUOTE.search(text) is not None
    tagged = TaggedText.of(element, _WHOLE, has_quotes)
    is_quoted = len(text) > 1 and text[0] == text[-1] == '"' and len(_BARE_QUOTE.findall(text)) == 2
    return _Message(element, tagged, is_quoted and has_quotes)


def _is_message(element: Element) -> bool:
    parent = element.getparent()
    is_in_list = parent is not None and local_name(parent) in _ITEMS
    if local_name(element) == "item" and not is_in_list and element.get("type") != "string":
        return False
    return not any(one.get("translatable") == "false" for one in [element, *element.iterancestors()])


def _replace(message: _Message, element: Element, text: str) -> None:
    """Puts a translation in the place of a message."""
    tail = element.tail
    clear(element)
    message.tagged.fill(element, message.written(text))
    element.tail = tail
