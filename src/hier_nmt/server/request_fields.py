# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The fields of a request, whether they come as JSON, as a form or in the address."""

import json
import re
from collections.abc import Collection, Mapping
from typing import Any

from starlette.datastructures import UploadFile
from starlette.requests import Request

from .failures import RequestError

# A field of a form for a field of one of several objects, as DeepL's client for JavaScript writes it.
_FIELD_OF_OBJECT = re.compile(r"((\w+)\[(\d{1,4})\])\.(\w+)")


class Fields:
    """The fields of a request.

    Args:
        values: name -> value; those of a form are lists of everything given under a name.
        is_form: whether all values are such lists.
    """

    def __init__(self, values: Mapping[str, Any], is_form: bool) -> None:
        self._values, self._is_form = values, is_form

    def __contains__(self, name: str) -> bool:
        return self._value(name) not in (None, "") or (self._is_form and f"{name}[0]" in self._objects())

    def text(self, name: str, default: str | None = None) -> str:
        """A string; RequestError if it is missing without a default, or is none."""
        value = self._value(name)
        if value is None or (value == "" and default is not None):
            if default is None:
                raise RequestError(400, f"{name} is missing")
            return default
        if not isinstance(value, str):
            raise RequestError(400, f"{name} must be a string, got {type(value).__name__}")
        return value

    def text_or_number(self, name: str, default: str) -> str:
        """A string, or a number as one."""
        value = self._value(name)
        return str(value) if isinstance(value, int) else self.text(name, default)

    def choice(self, name: str, choices: Collection[str], default: str) -> str:
        """One of a few strings; numbers and booleans count as what they are in JSON."""
        value = self._value(name)
        if value is None or value == "":
            return default
        text = json.dumps(value) if isinstance(value, (bool, int)) else value
        if text not in choices:
            raise RequestError(400, f"{name} must be one of {', '.join(choices)}; got {value!r:.80}")
        return text

    def texts(self, name: str) -> tuple[list[str], bool]:
        """A list of strings, and whether it was given as one; RequestError if it is missing or has something else."""
        value = self._values.get(name)
        if self._is_form and value is not None and len(value) == 1:
            value = value[0]
        if value is None:
            raise RequestError(400, f"{name} is missing")
        if isinstance(value, str):
            return [value], False
        if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
            raise RequestError(400, f"{name} must be a string or a list of strings")
        return value, True

    def names(self, name: str) -> frozenset[str]:
        """Names in a list, or separated by commas."""
        if name not in self:
            return frozenset()
        texts, _ = self.texts(name)
        return frozenset(one.strip() for text in texts for one in text.split(",") if one.strip())

    def objects(self, name: str) -> list[Mapping[str, Any]]:
        """A list of objects; RequestError if it is anything else. In a form each of its fields is one of the form, such
        as `name[0].field`."""
        value: Any = self._numbered_objects(name) if self._is_form else self._value(name)
        if not isinstance(value, list) or not value or not all(isinstance(one, Mapping) for one in value):
            raise RequestError(400, f"{name} must be a list of objects")
        return value

    def file(self, name: str) -> UploadFile:
        """An uploaded file; RequestError if there is none."""
        value = self._value(name)
        if not isinstance(value, UploadFile):
            raise RequestError(400, f"{name} is missing: upload a file as multipart/form-data")
        return value

    def _objects(self) -> set[str]:
        """What stands before the fields of objects in a form: `name[0]`."""
        return {match[1] for match in map(_FIELD_OF_OBJECT.fullmatch, self._values) if match}

    def _numbered_objects(self, name: str) -> list[dict[str, Any]]:
        """The objects that the fields of a form make, in the order of their numbers."""
        found: dict[int, dict[str, Any]] = {}
        for field in self._values:
            match = _FIELD_OF_OBJECT.fullmatch(field)
            if match and match[2] == name:
                found.setdefault(int(match[3]), {})[match[4]] = self._value(field)
        return [found[number] for number in sorted(found)]

    def _value(self, name: str) -> Any:
        value = self._values.get(name)
        return value[0] if self._is_form and value else value


async def fields_of(request: Request) -> Fields:
    """The fields in the body of a request, or in its address if it has no body.

    Raises:
        RequestError: the body is malformed.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind in ("application/x-www-form-urlencoded", "multipart/form-data"):
        form = await request.form(max_files=1, max_fields=1000, max_part_size=2**24)
        return Fields({name: form.getlist(name) for name in form}, is_form=True)
    body = await request.body()
    if not body.strip():
        # Some clients of LibreTranslate send nothing but an address.
        return query_of(request)
    try:
        content = json.loads(body)
        if b"\\u" in body:
            json.dumps(content, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise RequestError(400, "the body has an unpaired surrogate") from None
    except (ValueError, RecursionError):
        raise RequestError(400, "the body is not JSON; a form must say so in its Content-Type") from None
    if not isinstance(content, dict):
        raise RequestError(400, "the body must be a JSON object")
    return Fields(content, is_form=False)


def query_of(request: Request) -> Fields:
    """The fields in the address of a request."""
    return Fields({name: request.query_params.getlist(name) for name in request.query_params}, is_form=True)
