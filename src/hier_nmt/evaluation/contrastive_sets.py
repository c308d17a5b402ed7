# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Contrastive sets in our own form: a source sentence in its context and candidate translations, one of which is right.

A file has JSON lines in UTF-8, through gzip if its name ends in ".gz", with one example per line: an object whose keys
are the fields of `ContrastiveExample`. A malformed file raises `CorpusError`, "file:line: reason".
"""

import dataclasses
import gzip
import json
import os
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..data.corpus_files import CorpusError, parse_json

_STRING_LISTS = ("source_context", "target_context", "targets", "expected_words", "wrong_words")
_OPTIONAL = ("distance", "expected_words", "wrong_words")


@dataclass(frozen=True)
class ContrastiveExample:
    """A sentence, its context, and candidate translations, one of which is right.

    A wrong candidate may be identical to the right one, as in published sets: it gets the same score, and the tie is an
    error.

    Args:
        id: unique within the set.
        phenomenon: what decides between the candidates: anaphora, register, ...; results are grouped by it.
        distance: how many sentences before this one the deciding sentence is; 0: the same sentence, None: unknown.
        source_context, target_context: the preceding sentences, oldest first; entry n of one translates entry n of the
            other. `target_context` may be empty if the context has no known translation.
        source: the current sentence.
        targets: its candidate translations, two or more.
        correct: the index of the right one.
        expected_words, wrong_words: a right translation contains one of the former and none of the latter, as whole
            words in any case. Both may be empty.

    Raises:
        ValueError: an example that cannot be scored, with the reason.
    """

    id: str
    phenomenon: str
    distance: int | None
    source_context: tuple[str, ...]
    target_context: tuple[str, ...]
    source: str
    targets: tuple[str, ...]
    correct: int
    expected_words: tuple[str, ...] = ()
    wrong_words: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        problem = self._problem()
        if problem:
            raise ValueError(problem)

    def _problem(self) -> str | None:
        if self.target_context and len(self.target_context) != len(self.source_context):
            return f"{len(self.source_context)} source and {len(self.target_context)} target context sentences"
        if not self.source.strip():
            return "empty source sentence"
        if len(self.targets) < 2:
            return f"{len(self.targets)} candidate translations, two or more are needed"
        if not all(target.strip() for target in self.targets):
            return "empty candidate translation"
        if not 0 <= self.correct < len(self.targets):
            return f"correct is {self.correct}, but there are {len(self.targets)} candidate translations"
        if self.distance is not None and self.distance < 0:
            return f"distance {self.distance} is negative"
        return None

    @property
    def right(self) -> str:
        """The right translation."""
        return self.targets[self.correct]

    @property
    def wrong(self) -> tuple[str, ...]:
        """The other candidates."""
        return self.targets[: self.correct] + self.targets[self.correct + 1 :]


def read_contrastive_set(path: str | Path) -> list[ContrastiveExample]:
    """The examples of a JSON-lines file; blank lines are skipped.

    Raises:
        CorpusError: with file, line and reason; also for an empty set and for a duplicate id.
        OSError: the file cannot be read.
    """
    examples: dict[str, ContrastiveExample] = {}
    for line, text in read_lines(path):
        if not text.strip():
            continue
        example = _parsed(path, line, text)
        if example.id in examples:
            raise CorpusError(path, line, "duplicate id", repr(example.id))
        examples[example.id] = example
    if not examples:
        raise CorpusError(path, None, "no examples")
    return list(examples.values())


def write_contrastive_set(path: str | Path, examples: Iterable[ContrastiveExample]) -> None:
    """Writes the examples as JSON lines, atomically; the same examples give the same bytes."""
    path = Path(path)
    lines = [json.dumps(dataclasses.asdict(example), ensure_ascii=False) + "\n" for example in examples]
    content = "".join(lines).encode()
    if path.suffix == ".gz":
        content = gzip.compress(content, mtime=0)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(content)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def read_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """(line number from 1, line without its end) of a UTF-8 text file; CorpusError for another encoding."""
    path = Path(path)
    line = 0
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            for line, content in enumerate(file, start=1):
                yield line, content.decode("utf-8-sig" if line == 1 else "utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise CorpusError(path, line, "not UTF-8", f"{error.reason} at byte {error.start} of the line") from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise CorpusError(path, line + 1, "broken gzip file", str(error)) from error


def _parsed(path: str | Path, line: int, text: str) -> ContrastiveExample:
    content = parse_json(path, line, text)
    if not isinstance(content, dict):
        raise CorpusError(path, line, "not a JSON object", f"got {type(content).__name__}")
    names = [field.name for field in dataclasses.fields(ContrastiveExample)]
    problem = next(filter(None, (_key_problem(name, content) for name in [*content, *names])), None)
    if problem:
        raise CorpusError(path, line, *problem)
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in content.items()}
    try:
        return ContrastiveExample(**({"distance": None} | values))
    except ValueError as error:
        raise CorpusError(path, line, "bad example", str(error)) from error


def _key_problem(name: str, content: dict[str, Any]) -> tuple[str, str] | None:
    """(kind, detail) of a key that is unknown, missing or of the wrong type."""
    names = [field.name for field in dataclasses.fields(ContrastiveExample)]
    if name not in names:
        return "unknown key", f"{name!r}; there are {', '.join(names)}"
    if name not in content:
        return None if name in _OPTIONAL else ("missing key", repr(name))
    value = content[name]
    if name in _STRING_LISTS:
        is_right, kind = isinstance(value, list) and all(isinstance(item, str) for item in value), "list of strings"
    elif name in ("correct", "distance"):
        is_right, kind = type(value) is int or (value is None and name == "distance"), "whole number"
    else:
        is_right, kind = isinstance(value, str), "string"
    return None if is_right else (f"not a {kind}", f"{name!r} is {value!r:.80}")
