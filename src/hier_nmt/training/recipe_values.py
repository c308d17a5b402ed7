# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Conversion of recipe values to the types of their keys."""

import dataclasses
import difflib
import enum
import os
import types
import typing
from collections.abc import Iterable, Sequence
from typing import Any, Literal


def expanded(value: Any) -> Any:
    """The value with `$NAME` and `${NAME}` in its strings replaced by environment variables; KeyError if unset."""
    if isinstance(value, list):
        return [expanded(item) for item in value]
    if isinstance(value, dict):
        # Regular expressions use $ themselves.
        return {key: item if key == "replace" else expanded(item) for key, item in value.items()}
    if not isinstance(value, str) or "$" not in value:
        return value
    text = os.path.expandvars(value)
    if "$" in text:
        raise KeyError(text[text.index("$") :].split("/")[0])
    return text


def typed_value(value: Any, expected: Any) -> Any:
    """The value as the expected type; TypeError if it has another type."""
    if expected is Any:
        return value
    origin, choices = typing.get_origin(expected), typing.get_args(expected)
    if origin in (typing.Union, types.UnionType):
        return _typed_as_one_of(value, choices)
    if origin is Literal:
        if value in choices:
            return value
        raise TypeError
    if origin is list and isinstance(value, list):
        return [typed_value(item, choices[0]) for item in value]
    if expected is float:
        return _as_float(value)
    if dataclasses.is_dataclass(expected) and isinstance(value, dict):
        return _typed_fields(value, expected)
    plain = origin or expected
    if isinstance(plain, type) and issubclass(plain, enum.Enum):
        return _as_enum_value(value, plain)
    # True is an int in Python, but not a valid number of layers.
    if isinstance(plain, type) and isinstance(value, plain) and (plain is bool or not isinstance(value, bool)):
        return value
    raise TypeError


def _typed_fields(values: dict[Any, Any], cls: Any) -> Any:
    """The mapping as an object of the class; ValueError names a key that is unknown, missing or of another type."""
    known = field_types(cls)
    typed = {}
    for key, value in values.items():
        if key not in known:
            raise ValueError(f"unknown key {key!r}{suggestion(str(key), known)}")
        # A single path does not need a list.
        value = [value] if known[key] == list[str] and isinstance(value, str) else value
        try:
            typed[key] = typed_value(value, known[key])
        except TypeError:
            raise ValueError(f"{key} must be {type_name(known[key])}, got {type(value).__name__} {value!r}") from None
    try:
        return cls(**typed)
    except TypeError:
        missing = [item.name for item in dataclasses.fields(cls) if is_required(item) and item.name not in typed]
        raise ValueError(f"{', '.join(missing)} is missing") from None


def _typed_as_one_of(value: Any, choices: Sequence[Any]) -> Any:
    if value is None and type(None) in choices:
        return None
    # A closed list of names is checked first, even if the field accepts any string.
    enums = [choice for choice in choices if isinstance(choice, type) and issubclass(choice, enum.Enum)]
    for choice in enums or choices:
        try:
            return typed_value(value, choice)
        except TypeError:
            continue
    raise TypeError


def _as_float(value: Any) -> float:
    # YAML 1.1 reads 3e-4, without a dot, as a string.
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError
    try:
        return float(value)
    except (ValueError, OverflowError):
        raise TypeError from None


def _as_enum_value(value: Any, choices: type[enum.Enum]) -> Any:
    # YAML 1.1 reads a bare `no` as False, but "no" is the value that disables a strategy.
    value = "no" if value is False else value
    if value in [choice.value for choice in choices]:
        return value
    raise TypeError


def type_name(expected: Any) -> str:
    """A readable name of the expected type, for an error."""
    if isinstance(expected, type) and issubclass(expected, enum.Enum):
        return " | ".join(repr(choice.value) for choice in expected)
    choices = typing.get_args(expected)
    if typing.get_origin(expected) is Literal:
        return " | ".join(repr(choice) for choice in choices)
    if typing.get_origin(expected) in (typing.Union, types.UnionType):
        enums = [choice for choice in choices if isinstance(choice, type) and issubclass(choice, enum.Enum)]
        return " | ".join("null" if choice is type(None) else type_name(choice) for choice in enums or choices)
    if typing.get_origin(expected) is list:
        return f"list[{type_name(choices[0])}]"
    if dataclasses.is_dataclass(expected):
        return f"a mapping ({', '.join(field_types(typing.cast(type, expected)))})"
    return expected.__name__ if isinstance(expected, type) and not choices else str(expected)


def suggestion(name: str, known: Iterable[str]) -> str:
    """The end of an error about an unknown name: the most similar known one, or all of them."""
    nearest = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {nearest[0]!r}?" if nearest else f"; known are {', '.join(sorted(known))}"


def field_types(cls: type) -> dict[str, Any]:
    """The types of the init fields of a dataclass."""
    hints = typing.get_type_hints(cls)
    return {item.name: hints[item.name] for item in dataclasses.fields(cls) if item.init}


def is_required(item: dataclasses.Field[Any]) -> bool:
    """Whether the field has no default."""
    return item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING
