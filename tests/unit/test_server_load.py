# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The load test loses nothing, and says so if something is lost."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("python_multipart")
pytest.importorskip("uvicorn")

from word_server import application, listening, word_service


@pytest.fixture
def server_load(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    import server_load

    yield server_load
    sys.modules.pop("server_load", None)


def test_percentiles_are_measured_values(server_load) -> None:
    values = [float(value) for value in range(20, 0, -1)]
    assert [server_load.percentile(values, share) for share in (0.5, 0.95, 1.0)] == [10, 19, 20]
    assert server_load.percentile([3.0], 0.5) == 3


def load(server_load, *arguments: str, **limits: int):
    options, rest = server_load.parse_arguments([*arguments, "--beams", "1"])
    assert rest == ["--beams", "1"]
    with listening(application(word_service(**limits))) as address:
        port = int(address.rpartition(":")[2])
        return server_load.run_load(port, ["a b!", "c!", "d e f!", "g!"], options)


ARGUMENTS = ("--clients", "16", "--requests", "3", "--documents", "2", "--document-lines", "100")


def test_many_clients_and_long_documents_lose_nothing(server_load) -> None:
    short, long, _ = load(server_load, *ARGUMENTS)
    assert short.failures == long.failures == []
    assert (len(short.seconds), len(long.seconds)) == (48, 2)
    assert short.line("texts", 48).startswith("texts: 48 of 48 answered; p50 ")


def test_what_is_refused_is_told(server_load) -> None:
    short, long, _ = load(server_load, *ARGUMENTS, characters=50)
    assert short.failures == []
    assert [failure.partition(" ")[0] for failure in long.failures] == ["413", "413"]
    assert long.line("documents", 2) == "documents: 0 of 2 answered"
