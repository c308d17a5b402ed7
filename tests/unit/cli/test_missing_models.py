# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""A mistyped folder is named, whichever command loads it."""

from pathlib import Path
from typing import Any

import pytest

from hier_nmt.cli.main import main
from hier_nmt.evaluation.contrastive_sets import ContrastiveExample, write_contrastive_set


@pytest.mark.parametrize(
    "arguments",
    [
        ["evaluate", "runs/no-model", "corpus.tsv", "--format", "tab-separated"],
        ["contrastive", "runs/no-model", "set.jsonl"],
        ["selection", "runs/no-model", "documents.jsonl"],
        ["adapt", "runs/no-model", "adapted"],
        # Not a name that the Hub could have.
        ["adapt", "./runs/no-model", "adapted"],
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_a_model_that_is_not_there_is_named(
    arguments: list[str], tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    example = ContrastiveExample("1", "anaphora", 1, ("The cat.",), (), "It sleeps.", ("Il dort.", "Elle dort."), 0)
    write_contrastive_set("set.jsonl", [example])
    assert main(arguments) == 1
    assert f"{arguments[1]}: there is no such folder, and it cannot be loaded from the Hub: " in capsys.readouterr().err
    assert not Path("adapted").exists()
