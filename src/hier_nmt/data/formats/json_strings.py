# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The strings in a JSON text and their places, so that they can be replaced without changing anything else."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]', re.DOTALL)
JsonPath = tuple[str | int, ...]


class JsonString(NamedTuple):
    """A string at [start, stop) of the text, with its quotation marks.

    Attributes:
        path: the keys and indices that lead to it; a key has the path of its value.
        value: the string itself.
        is_key: whether it is a key.
    """

    path: JsonPath
    start: int
    stop: int
    value: str
    is_key: bool


@dataclass
class _Container:
    is_object: bool
    # The key or index of what is read next; a key that is still to come is None.
    key: str | int | None


def json_strings(text: str) -> Iterator[JsonString]:
    """The strings of a valid JSON text, in order."""
    containers: list[_Container] = []
    for token in _TOKEN.finditer(text):
        sign = token[0][0]
        inner = containers[-1] if containers else None
        if sign in "{[":
            containers.append(_Container(sign == "{", None if sign == "{" else 0))
        elif sign in "}]":
            containers.pop()
        elif sign == "," and inner is not None:
            inner.key = None if inner.is_object else int(inner.key or 0) + 1
        elif sign == '"':
            value = json.loads(token[0])
            is_key = inner is not None and inner.key is None
            if inner is not None and is_key:
                inner.key = value
            path = tuple(one.key for one in containers if one.key is not None)
            yield JsonString(path, *token.span(), value, is_key)


def written_json(text: str, is_ascii: bool) -> str:
    """The string in JSON, with quotation marks.

    Args:
        text: the string.
        is_ascii: whether other characters than ASCII are written as escapes.
    """
    # Lone surrogates have no form in UTF-8.
    return json.dumps(text.encode("utf-8", "replace").decode(), ensure_ascii=is_ascii)


def writes_ascii(text: str) -> bool:
    """Whether a JSON text has its other characters than ASCII as escapes."""
    return text.isascii() and "\\u" in text
