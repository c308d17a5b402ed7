# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The script that splits sentence pairs, as a user runs it."""

from pathlib import Path

import pytest
from command_line import run_command


@pytest.fixture
def pairs(tmp_path) -> Path:
    """A file of 330 pairs, among them 300 different sources; the third column says whose they are."""
    path = tmp_path / "pairs.txt"
    path.write_text("".join(f"source {number % 300}\ttarget {number}\tby someone\n" for number in range(330)))
    return path


def test_the_split_has_the_sizes_asked_for_and_no_common_source(repository, pairs, tmp_path, monkeypatch) -> None:
    options = ["--first", "300", "--dev", "10", "--test", "10"]
    assert run_command("corpus split", pairs, tmp_path, *options) == 0
    sources = [
        [line.split("\t")[0] for line in (tmp_path / f"{name}.tsv").read_text().splitlines()]
        for name in ("train", "dev", "test")
    ]
    assert [len(part) for part in sources] == [280, 10, 10]
    assert len({source for part in sources for source in part}) == 300


def test_a_split_that_is_impossible_is_named(repository, pairs, tmp_path, monkeypatch, capsys) -> None:
    assert run_command("corpus split", pairs, tmp_path, "--dev", "330") == 1
    assert "330 pairs cannot give 330 for development" in capsys.readouterr().err
