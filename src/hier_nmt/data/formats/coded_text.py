# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The text of a paragraph of an office document, with numbered codes in place of the markup inside."""

import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from ...text.document_layout import DocumentLayout, run_layout
from ...text.protected_spans import LINE_BREAK, OBJECT
from ...text.run_builder import RunBuilder
from .xml_files import valid_text

MarkKind = Literal["open", "close", "whole"]
# XML has no control characters, so a code between two of them is no text.
_CODE = re.compile("\x01([<>=])(\\d+)\x02")
_SIGNS: dict[MarkKind, str] = {"open": "<", "close": ">", "whole": "="}
_KINDS: dict[str, MarkKind] = {sign: kind for kind, sign in _SIGNS.items()}


class Code(NamedTuple):
    """Markup in a translated text, as it was given to `CodedText`."""

    kind: MarkKind
    content: Any


class CodedText:
    """Collects the text and the markup of a paragraph in order.

    Args:
        keeps_space: white space counts as it is; otherwise it is the layout of the file.
    """

    def __init__(self, keeps_space: bool) -> None:
        self._builder = RunBuilder(keeps_space=keeps_space)
        self._contents: list[Any] = []

    def add_text(self, text: str) -> None:
        """Adds text."""
        start = len(self._builder.source)
        self._builder.source += text
        self._builder.add(text, start, start + len(text))

    def add_space(self, content: Any) -> None:
        """Adds markup that is a space between words; a translation has a plain space in its place."""
        self._builder.add(" ", *self._write("whole", content))

    def add_break(self, content: Any) -> None:
        """Adds markup that ends a line, and with it a sentence."""
        self._builder.add_break(*self._write("whole", content), LINE_BREAK)

    def add_mark(
        self,
        kind: MarkKind,
        content: Any,
        acts_as_word: bool = False,
        is_visible: bool = False,
        is_index: bool = False,
    ) -> None:
        """Adds other markup.

        Args:
            kind: "open" and "close" for a pair, "whole" for markup without a partner.
            content: what the code stands for.
            acts_as_word: it may act as a word of its sentence.
            is_visible: it separates the words on its two sides.
            is_index: it opens a subscript or superscript.
        """
        self._builder.add_mark(*self._write(kind, content), kind, acts_as_word, is_visible, is_index)

    def layout(self, language: str, joiner: str) -> DocumentLayout:
        """The layout of the paragraph.

        Args:
            language: of the text.
            joiner: separator between sentences of the target language.
        """
        run = self._builder.run(valid_text)
        has_text = bool(run.text.replace(OBJECT, "").strip())
        return run_layout(self._builder.source, [run] if has_text else [], language, joiner)

    def pieces(self, text: str) -> Iterator[str | Code]:
        """A translated text of the layout in pieces of text, with the markup between them."""
        parts = iter(_CODE.split(text))
        for plain in parts:
            if plain:
                yield plain
            sign = next(parts, None)
            if sign is not None:
                yield Code(_KINDS[sign], self._contents[int(next(parts))])

    def _write(self, kind: MarkKind, content: Any) -> tuple[int, int]:
        """Adds a code to the source, and returns its place there."""
        start = len(self._builder.source)
        self._builder.source += f"\x01{_SIGNS[kind]}{len(self._contents)}\x02"
        self._contents.append(content)
        return start, len(self._builder.source)
