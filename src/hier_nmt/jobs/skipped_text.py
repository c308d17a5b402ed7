# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Counts text of a page that is not translated although readers may see it."""

from collections import Counter
from html.parser import HTMLParser

# Elements whose text is not translated, though it is neither code nor marked as untranslatable.
_SKIPPED = ("svg", "textarea", "iframe", "object", "plaintext")
_VOID = ("br", "hr", "img", "input", "link", "meta", "wbr")


def count_skipped(page: str) -> Counter[str]:
    """Element name -> number of such elements with letters inside, in a page of HTML or Markdown."""
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
        if (self._open or tag in _SKIPPED) and tag not in _VOID:
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
