# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Xcode's string catalogues (.xcstrings): all languages of a program's messages in one file.

The translation is added beside the source, in its shape (a string, or variations by plural and device), and marked as
needing review. An existing translation is kept, as is what must not be translated; a copy of the source in the state
"new" is none. The file is written as Xcode writes it, or as it was indented before.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..corpus_files import CorpusError, parse_json, read_bytes
from ..text_files import decode_text
from .document_file import DocumentFile, Translations, Unit, UnitDocument
from .xml_files import same_language

# Indentation and separators of JSON: Xcode's first.
_STYLES = (("  ", (",", " : ")), ("  ", (",", ": ")), ("    ", (",", ": ")), ("\t", (",", ": ")))
_EMPTY_OBJECT = re.compile(r'^( *)("(?:[^"\\]|\\.)*" : )\{\}', re.MULTILINE)
_FORMS = ("plural", "device")
Place = tuple[str, ...]


class _Message(NamedTuple):
    """A message to translate.

    Attributes:
        key: of the catalogue.
        source: the localization of the source language, or the key in its place.
        language: the key under which the translation stands.
        target: the localization of the target language, if there is one.
    """

    key: str
    source: dict[str, Any]
    language: str
    target: dict[str, Any] | None

    def forms(self) -> Iterator[tuple[dict[str, Any], dict[str, Any] | None]]:
        """Its strings that are not blank, in order, and what the target language has in the same place."""
        found = dict(_string_units(self.target or {}))
        for place, unit in _string_units(self.source):
            if unit["value"].strip():
                yield unit, found.get(place)

    def units(self) -> Iterator[Unit]:
        """Its strings, in order."""
        for unit, other in self.forms():
            value = other["value"] if other else ""
            yield Unit(unit["value"], value or None, is_translated=_is_translated(unit, other))


class StringCatalogueFile(DocumentFile):
    """A catalogue: one document, each message a paragraph.

    Args:
        path: where it was read.
        text: its content.
        source_language, target_language: ISO 639 codes.
    """

    def __init__(self, path: Path, text: str, source_language: str, target_language: str) -> None:
        self._root = parse_json(path, None, text)
        _check(path, self._root, source_language)
        self._newline = "\r\n" if "\r\n" in text else "\n"
        plain = text.replace("\r\n", "\n").rstrip("\n")
        self._style = next((style for style in _STYLES if _written(self._root, style) == plain), _STYLES[0])
        self._end = text[len(text.rstrip("\r\n")) :]
        self._messages = list(_messages(self._root, target_language))
        paragraphs = [units for one in self._messages if (units := tuple(one.units()))]
        super().__init__(path, [UnitDocument(path.name, tuple(paragraphs))] if paragraphs else [])

    @classmethod
    def read(cls, path: str | Path, source_language: str, target_language: str) -> "StringCatalogueFile":
        content = read_bytes(path)
        file = cls(Path(path), decode_text(content, path), source_language, target_language)
        file.original = content
        return file

    def translated(self, translations: Translations) -> bytes:
        texts = iter(translations[0])
        strings = dict(self._root["strings"])
        for message in self._messages:
            made, is_changed = [], False
            for unit, other in message.forms():
                text = next(texts)
                is_kept = other is not None and _is_translated(unit, other) and text == other["value"]
                made.append(other if is_kept else {**unit, "state": "needs_review", "value": text})
                is_changed |= not is_kept
            if not is_changed:
                continue
            languages = {**strings[message.key].get("localizations", {})}
            languages[message.language] = _localization(message.source, message.target or {}, iter(made))
            strings[message.key] = {**strings[message.key], "localizations": dict(sorted(languages.items()))}
        text = _written({**self._root, "strings": strings}, self._style)
        return self._encoded(text.replace("\n", self._newline) + self._end)


def _check(path: Path, root: Any, source_language: str) -> None:
    """Raises CorpusError if this is no catalogue of the source language."""
    if not isinstance(root, dict) or not isinstance(root.get("strings"), dict):
        raise CorpusError(path, None, "not a string catalogue", 'it has no object "strings"')
    language = root.get("sourceLanguage")
    if not isinstance(language, str) or not same_language(language, source_language):
        raise CorpusError(path, None, "another language", f"its source language is {language}, not {source_language}")
    for key, entry in root["strings"].items():
        languages = entry.get("localizations", {}) if isinstance(entry, dict) else None
        if not isinstance(languages, dict) or not all(isinstance(one, dict) for one in languages.values()):
            raise CorpusError(path, None, "not a message", f"{key!r:.60}")
        for language, localization in languages.items():
            for place, unit in _string_units(localization):
                if not isinstance(unit, dict) or not isinstance(unit.get("value"), str):
                    detail = f"{key!r:.60} in {language}, {'.'.join(place)} has no value"
                    raise CorpusError(path, None, "not a message", detail)


def _messages(root: dict[str, Any], target_language: str) -> Iterator[_Message]:
    for key, entry in root["strings"].items():
        languages = entry.get("localizations", {})
        if entry.get("shouldTranslate") is False:
            continue
        source = languages.get(root["sourceLanguage"]) or {"stringUnit": {"state": "new", "value": key}}
        language = next((one for one in languages if _code(one) == _code(target_language)), target_language)
        yield _Message(key, source, language, languages.get(language))


def _code(language: str) -> str:
    return language.lower().replace("_", "-")


def _string_units(node: dict[str, Any], place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """The strings of a localization and where each stands: in variations, or in the parts that are put into it."""
    for name, value in node.items():
        if name == "stringUnit":
            yield (*place, name), value
        elif isinstance(value, dict):
            yield from _string_units(value, (*place, name))


def _is_translated(source: dict[str, Any], target: dict[str, Any] | None) -> bool:
    """Whether a string has a translation: any text but a copy of the source in the state "new"."""
    if target is None or not target["value"].strip():
        return False
    return target.get("state") != "new" or target["value"] != source["value"]


def _localization(source: dict[str, Any], target: Any, units: Iterator[Any]) -> dict[str, Any]:
    """The localization in the shape of the source, with these strings; blank ones stay, as do the target's forms for
    further plurals and devices."""
    old = target if isinstance(target, dict) else {}
    made: dict[str, Any] = {}
    for name, value in source.items():
        if name == "stringUnit":
            made[name] = next(units) if value["value"].strip() else value
        elif isinstance(value, dict):
            made[name] = _localization(value, old.get(name), units)
            if name in _FORMS and isinstance(old.get(name), dict):
                made[name] = {**old[name], **made[name]}
        else:
            made[name] = value
    return made


def _written(root: dict[str, Any], style: tuple[str, tuple[str, str]]) -> str:
    text = json.dumps(root, ensure_ascii=False, indent=style[0], separators=style[1])
    # Xcode leaves a line between the braces.
    return _EMPTY_OBJECT.sub(r"\1\2{\n\n\1}", text)
