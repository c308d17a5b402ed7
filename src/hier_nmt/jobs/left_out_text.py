# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which text of a page is not translated, although somebody may read it: counted, so that it is known."""

from collections import Counter
from html.parser import HTMLParser

# Elements whose text stays as it is, though it is neither code nor marked as not to be translated.
_LEFT_OUT = ("svg", "textarea", "iframe", "object", "plaintext")
_VOID = ("br", "hr", "img", "input", "link", "meta", "wbr")


def left_out(page: str) -> Counter[str]:
    """Name of an element -> how many of these in a page, HTML or Markdown, have letters in them that stay."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    return reader.counts


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()
        self._open: list[str] = []
        self._has_letters = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if (self._open or tag in _LEFT_OUT) and tag not in _VOID:
            self._has_letters = self._has_letters and bool(self._open)
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element without content."""

    def handle_data(self, data: str) -> None:
        inside = bool(self._open) and self._open[-1] not in ("script", "style")
        self._has_letters = self._has_letters or (inside and any(map(str.isalpha, data)))

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            del self._open[len(self._open) - 1 - self._open[::-1].index(tag) :]
            if not self._open and self._has_letters:
                self.counts[tag] += 1
