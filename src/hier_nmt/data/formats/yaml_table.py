# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Messages in YAML (.yaml, .yml): nested mappings and lists of strings, as Rails, Symfony and others have them.

A string keeps its style (plain, quoted, a block), unless that cannot express its translation; then it is in double
quotation marks. Comments, anchors, symbols of Ruby (`:year`) and everything else stay.
"""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import yaml

from ..corpus_files import CorpusError
from .string_table import LANGUAGE_KEYS, Change, StringSlot, StringTableFile, is_message, translated_language

YamlPath = tuple[str | int, ...]
_STRING = "tag:yaml.org,2002:str"
# An anchor or a tag before a value.
_PROPERTIES = re.compile(r"(?:[&!]\S*\s+)*")
_SYMBOL = re.compile(r"::?[A-Za-z_][\w.:/-]*[?!=]?|:\"[^\"]*\"|:'[^']*'")
# The colon of a symbol between brackets or braces, where PyYAML does not allow it.
_COLON_OF_SYMBOL = re.compile(r"((?<=[\[,])\s*|(?<=: )):(?=[A-Za-z_\"'])")
# A noncharacter, which Unicode reserves for internal use, in its place; one that PyYAML can read.
_COLON = "\ufdd3"
_HEADER = re.compile(r"[|>][+-]?[ \t]*(?:#[^\n]*)?\r?\n")


class _Tree(NamedTuple):
    """The strings of a document that are values, in order, each with the keys and indices that lead to it; and the keys
    with strings of each mapping, by its path."""

    strings: list[tuple[yaml.ScalarNode, YamlPath]]
    keys: dict[YamlPath, set[str | int]]


class YamlTableFile(StringTableFile):
    """A table of messages in YAML."""

    def _find(
        self, path: Path, text: str, source_language: str, target_language: str
    ) -> tuple[Sequence[StringSlot], Sequence[Change]]:
        slots: list[StringSlot] = []
        changes: list[Change] = []
        try:
            for root in yaml.compose_all(_COLON_OF_SYMBOL.sub(rf"\1{_COLON}", text), Loader=yaml.SafeLoader):
                changes += _language_changes(root, source_language, target_language)
                changed = {change.start for change in changes}
                tree = _tree(root)
                for node, where in tree.strings:
                    node.value = node.value.replace(_COLON, ":")
                    if _is_symbol(node):
                        continue
                    if node.start_mark.index not in changed and is_message(where, tree.keys):
                        slots.append(_slot(node, text))
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            raise CorpusError(path, mark.line + 1 if mark else None, "not YAML", f"{error.problem}") from error
        except (yaml.YAMLError, RecursionError, ValueError) as error:
            raise CorpusError(path, None, "not YAML", f"{error}".partition("\n")[0]) from error
        return slots, changes


def _tree(root: yaml.Node | None) -> _Tree:
    """The strings of a document, each once: an alias shares the node of its anchor."""
    tree = _Tree([], {})
    waiting: list[tuple[yaml.Node | None, YamlPath]] = [(root, ())]
    seen: set[int] = set()
    while waiting:
        node, path = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            tree.keys[path] = {str(key.value) for key, value in node.value if _is_string(value)}
            waiting += reversed([(value, (*path, str(key.value))) for key, value in node.value])
        elif isinstance(node, yaml.SequenceNode):
            waiting += reversed([(value, (*path, index)) for index, value in enumerate(node.value)])
        elif isinstance(node, yaml.ScalarNode) and _is_string(node):
            tree.strings.append((node, path))
    return tree


def _is_string(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.tag == _STRING


def _is_symbol(node: yaml.ScalarNode) -> bool:
    """Whether a string is a symbol in Ruby, which is code."""
    return node.style is None and _SYMBOL.fullmatch(node.value) is not None


def _language_changes(root: yaml.Node | None, source_language: str, target_language: str) -> Iterator[Change]:
    """The names of the language in a table: its only key, or the value of a key for it."""
    if not isinstance(root, yaml.MappingNode):
        return
    for key, value in root.value:
        for node, is_language in ((key, len(root.value) == 1), (value, key.value in LANGUAGE_KEYS)):
            if not is_language or not _is_string(node) or node.style is not None:
                continue
            language = translated_language(node.value, source_language, target_language)
            if language is not None:
                yield Change(node.start_mark.index, node.end_mark.index, _plain(language))


def _slot(node: yaml.ScalarNode, text: str) -> StringSlot:
    start, stop = node.start_mark.index, node.end_mark.index
    properties = _PROPERTIES.match(text, start, stop)
    start = properties.end() if properties else start
    return StringSlot(start, stop, node.value, partial(_written, raw=text[start:stop], style=node.style))


def _written(text: str, raw: str, style: str | None) -> str:
    """The string in a style.

    Args:
        text: the string.
        raw: what it replaces.
        style: that of PyYAML: None for plain, a quotation mark, or the sign of a block.
    """
    if style in ("|", ">"):
        return _block(text, raw, style)
    if style is None:
        return _plain(text)
    return _quoted(text, "'" if style == "'" and "\n" not in text else '"')


def _quoted(text: str, mark: str) -> str:
    return yaml.safe_dump(text, default_style=mark, allow_unicode=True, width=float("inf")).rstrip("\n")


def _plain(text: str) -> str:
    """The string without quotation marks, where these are not needed anywhere."""
    try:
        is_plain = "\n" not in text and yaml.safe_load(f"[{text}, a: {text}]") == [text, {"a": text}]
    except (yaml.YAMLError, ValueError, RecursionError):
        is_plain = False
    return text if is_plain else _quoted(text, '"')


def _block(text: str, raw: str, style: str) -> str:
    """The string as a block with the head and the margin of another one."""
    end = raw[len(raw.rstrip()) :]
    quoted = f"{_quoted(text, chr(34))}{end}"
    head = _HEADER.match(raw)
    if head is None:
        return quoted
    newline = "\r\n" if head[0].endswith("\r\n") else "\n"
    lines = [line for line in raw[head.end() :].split("\n") if line.strip()]
    margin = lines[0][: len(lines[0]) - len(lines[0].lstrip(" "))] if lines else ""
    rows = text.rstrip("\n").split("\n")
    if style == ">":
        rows = [part for row in rows for part in (row, "")][:-1]
    block = head[0] + newline.join(f"{margin}{row}" if row else "" for row in rows) + end
    try:
        is_same = yaml.safe_load(f"a: {block}") == {"a": text}
    except (yaml.YAMLError, ValueError):
        is_same = False
    return block if is_same and margin else quoted
