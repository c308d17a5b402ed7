# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The decoder's outputs so far, in a file from which an interrupted run continues; at most one batch is lost."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from ..translation.decoder_runs import Output, Request, StopConditions

_FORMAT = "hier_nmt decoder outputs 1"


class SavedOutputs:
    """The decoder's outputs for documents that are not finished, one line per batch.

    A batch is written as soon as it is decoded. The key of an output covers everything that it depends on except the
    model and its options. Those are in the first line; if they have changed, the file starts empty.

    Args:
        path: the file; it is created if it does not exist.
        settings: what all outputs depend on, as JSON.
    """

    def __init__(self, path: str | Path, settings: Any) -> None:
        self.path = Path(path)
        header = json.dumps({"format": _FORMAT, "settings": _digest(json.dumps(settings, sort_keys=True))})
        self._header = header.encode() + b"\n"
        self._file: BinaryIO = self.path.open("r+b" if self.path.exists() else "w+b")
        self._outputs: dict[str, Output] = {}
        self._read()

    def known(self, request: Request, ends: StopConditions) -> Output | None:
        """The output of a request if it was decoded before."""
        return self._outputs.get(_key(request, ends))

    def add(self, requests: Sequence[Request], ends: StopConditions, outputs: Sequence[Output]) -> None:
        """Writes the outputs of a batch."""
        rows = [[_key(request, ends), *output] for request, output in zip(requests, outputs, strict=True)]
        self._file.write(json.dumps(rows, separators=(",", ":")).encode() + b"\n")
        self._file.flush()

    def clear(self) -> None:
        """Discards all outputs, once their documents are finished."""
        self._outputs = {}
        self._file.seek(0)
        self._file.truncate()
        self._file.write(self._header)
        self._file.flush()

    def close(self, is_finished: bool) -> None:
        """Closes the file, and deletes it if the work is finished."""
        self._file.close()
        if is_finished:
            self.path.unlink(missing_ok=True)

    def _read(self) -> None:
        """Reads the outputs of an earlier run, and drops an incomplete last line."""
        content = self._file.read()
        complete = content[: content.rfind(b"\n") + 1]
        if not complete.startswith(self._header):
            self.clear()
            return
        for line in complete[len(self._header) :].splitlines():
            for key, ids, is_complete in json.loads(line):
                self._outputs[key] = Output(ids, is_complete)
        self._file.seek(len(complete))
        self._file.truncate()


def saved_outputs_path(path: Path) -> Path:
    """The path of the outputs that belong to an unfinished file of translations."""
    return path.with_name(f"{path.name}.decoded.jsonl")


def _key(request: Request, ends: StopConditions) -> str:
    return _digest(repr((tuple(request), tuple(ends))))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
