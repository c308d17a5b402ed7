# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""A short run of the program that `make fuzz` runs for longer, and that it sees what it looks for."""

import random

import pytest
from fuzz_mutations import damaged
from fuzz_readers import Target, run_case, targets

TARGETS = targets()


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: f"{target.group}-{target.name}")
def test_damaged_files_give_documents_or_a_documented_error(target: Target) -> None:
    for number in range(8):
        _, report = run_case(target, f"test:{number}")
        assert report is None, report


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: f"{target.group}-{target.name}")
def test_whole_files_are_read(target: Target, tmp_path) -> None:
    for number, files in enumerate(target.seeds):
        folder = tmp_path / str(number)
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        target.check(folder, random.Random(0))


@pytest.mark.parametrize("error", [KeyError("x"), ValueError("without a file"), SystemExit(1)])
def test_another_error_is_a_finding(error: BaseException) -> None:
    def check(folder, rng) -> None:
        raise error

    files, report = run_case(Target("group", "name", [{"a": b"text"}], check), "0")
    assert type(error).__name__ in report
    assert files["a"] != b"text"


def test_the_same_seed_does_the_same_damage() -> None:
    content = TARGETS[0].seeds[0]["corpus.en"]
    twice = [[damaged(random.Random(seed), content) for seed in range(50)] for _ in range(2)]
    assert twice[0] == twice[1]
    assert len(set(twice[0])) > 40
