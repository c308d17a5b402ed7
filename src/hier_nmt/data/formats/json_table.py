# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Messages in JSON (.json, .arb): nested objects and lists of strings, as i18next, vue-i18n, Angular, browser
extensions, FormatJS and application resource bundles have them."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from ..corpus_files import parse_json
from .json_strings import JsonPath, json_strings, writes_ascii, written_json
from .string_table import LANGUAGE_KEYS, Change, StringSlot, StringTableFile, is_message, translated_language


class JsonTableFile(StringTableFile):
    """A table of messages in JSON."""

    def _find(
        self, path: Path, text: str, source_language: str, target_language: str
    ) -> tuple[Sequence[StringSlot], Sequence[Change]]:
        root = parse_json(path, None, text)
        languages = (source_language, target_language)
        is_ascii = writes_ascii(text)

        def write(value: str) -> str:
            return written_json(value, is_ascii)

        strings = list(json_strings(text))
        keys: dict[JsonPath, set[str | int]] = defaultdict(set)
        for one in strings:
            if not one.is_key and one.path:
                keys[one.path[:-1]].add(one.path[-1])
        slots, changes = [], []
        for one in strings:
            is_language = len(one.path) == 1 and (one.path[0] in LANGUAGE_KEYS or (one.is_key and len(root) == 1))
            if is_language and (language := translated_language(one.value, *languages)) is not None:
                changes.append(Change(one.start, one.stop, write(language)))
            elif not one.is_key and is_message(one.path, keys):
                slots.append(StringSlot(one.start, one.stop, one.value, write))
        return slots, changes
