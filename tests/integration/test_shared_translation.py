# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Several processes translate together, and any of them may be killed: the files are those of one process."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from hier_nmt.cli.main import main
from hier_nmt.jobs.shared_translation import UnfinishedWork, Workers, groups_of, work_through

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds child processes in /proc")


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """1,200 sentences in 60 documents: five groups."""
    generator = random.Random(0)
    words = ["A", "B", "C", "D", "E", "a", "b", "c", "d"]
    path = tmp_path_factory.mktemp("documents") / "documents.jsonl"
    with path.open("w") as file:
        for index in range(60):
            sentences = [" ".join(generator.choices(words, k=generator.randint(1, 4))) + "." for _ in range(20)]
            file.write(json.dumps({"id": str(index), "paragraphs": [{"en": sentences}]}) + "\n")
    return path


@pytest.fixture(scope="module")
def expected(documents: Path, checkpoint: str, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The translation by one process."""
    output = tmp_path_factory.mktemp("expected") / "out.jsonl"
    assert main([*command(documents, checkpoint, output)[3:]]) == 0
    return output.read_bytes()


def command(documents: Path, checkpoint: str, output: Path, *options: str) -> list[str]:
    """The command line of a translation."""
    how = ["--model", checkpoint, "--output", str(output), "--beams", "1", "--batch-size", "16", "--engine", "torch"]
    return [sys.executable, "-m", "hier_nmt", "translate", str(documents), *how, *options]


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    files = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for file in files for child in file.read_text().split()]


def wait_for(found: Callable[[], object], process: subprocess.Popen) -> None:
    """Waits until something is there, while the process runs."""
    stop = time.monotonic() + 120
    while not found() and process.poll() is None and time.monotonic() < stop:
        time.sleep(0.02)
    assert found()


def finished(output: Path) -> list[Path]:
    """The groups that are finished."""
    return sorted(output.with_name(f"{output.name}.partial").glob("*.finished"))


def begun(output: Path) -> list[Path]:
    """The groups of which a batch has been decoded."""
    return sorted(output.with_name(f"{output.name}.partial").glob("*.decoded.jsonl"))


@pytest.mark.parametrize("killed", ["the helper", "both"])
def test_the_file_is_that_of_one_process(
    documents: Path, checkpoint: str, expected: bytes, tmp_path: Path, killed: str
) -> None:
    output = tmp_path / "out.jsonl"
    arguments = command(documents, checkpoint, output, "--workers", "2")
    process = subprocess.Popen(arguments, stderr=subprocess.PIPE)
    # Usually in the middle of a group; on a busy machine it may still be starting.
    wait_for(lambda: len(begun(output)) == 2 or finished(output), process)
    (helper,) = children(process.pid)
    os.kill(helper, signal.SIGKILL)
    if killed == "both":
        wait_for(lambda: finished(output), process)
        process.kill()
        process.wait()
        assert not output.exists()
        num_before = len(finished(output))
        assert 0 < num_before < 5
        process = subprocess.Popen(arguments, stderr=subprocess.PIPE)
    _, errors = process.communicate(timeout=200)
    assert process.returncode == 0, errors
    assert output.read_bytes() == expected
    assert not output.with_name("out.jsonl.partial").exists()


def test_helpers_end_when_the_main_process_is_killed(documents: Path, checkpoint: str, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    process = subprocess.Popen(command(documents, checkpoint, output, "--workers", "2"), stderr=subprocess.DEVNULL)
    wait_for(lambda: len(begun(output)) == 2 or finished(output), process)
    (helper,) = children(process.pid)
    process.kill()
    process.wait()
    stop = time.monotonic() + 100
    while Path(f"/proc/{helper}/cmdline").exists() and time.monotonic() < stop:
        time.sleep(0.1)
    assert not Path(f"/proc/{helper}/cmdline").exists()


def test_several_files_go_to_a_folder(checkpoint: str, tmp_path: Path) -> None:
    for name in ("one.txt", "two.txt", "three.txt"):
        (tmp_path / name).write_text(f"A b! {name[0].upper()}!\n")
    files = [str(tmp_path / name) for name in ("one.txt", "two.txt", "three.txt")]
    how = ["--model", checkpoint, "--beams", "1", "--engine", "torch"]
    assert main(["translate", *files, "--output", str(tmp_path / "alone"), *how]) == 0
    together = [*files, "--output", str(tmp_path / "together"), "--workers", "2", *how]
    assert subprocess.run([sys.executable, "-m", "hier_nmt", "translate", *together], check=False).returncode == 0
    for name in ("one.txt", "two.txt", "three.txt"):
        assert (tmp_path / "alone" / name).read_bytes() == (tmp_path / "together" / name).read_bytes()
    assert {path.name for path in (tmp_path / "together").iterdir()} == {"one.txt", "two.txt", "three.txt"}


@pytest.mark.parametrize(
    ("names", "options", "message"),
    [
        (["one.txt", "-"], [], "cannot be one of several files"),
        (["one.txt", "a"], [], "a is a folder: name the files in it"),
        (["a"], [], "a is a folder: name the files in it"),
        (["one.txt", "a/one.txt"], ["--output", "folder"], "have the same name.*one.txt"),
        (["one.txt", "a/two.txt"], ["--output", "one.txt"], "several files need a folder"),
        (["one.txt"], ["--workers", "2"], "several workers need --output for one.txt"),
        (["one.txt", "missing.txt"], ["--output", "folder"], "missing.txt"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_translated(
    checkpoint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    names: Sequence[str],
    options: Sequence[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    for name in ("one.txt", "a/one.txt", "a/two.txt"):
        (tmp_path / name).write_text("A b!\n")
    assert main(["translate", *names, *options, "--model", checkpoint]) == 1
    found = capsys.readouterr()
    assert not found.out
    assert re.search(message, found.err)


@pytest.mark.parametrize(
    ("sizes", "groups"),
    [
        ([], []),
        ([1, 1, 1], [range(0, 3)]),
        ([5, 4, 1, 2], [range(0, 1), range(1, 3), range(3, 4)]),
        ([0, 0, 9], [range(0, 3)]),
    ],
)
def test_groups_have_at_least_so_many_sentences(sizes: list[int], groups: list[range]) -> None:
    assert groups_of(sizes, 5) == groups


def test_who_does_not_wait_leaves_what_others_are_doing(tmp_path: Path) -> None:
    done = []

    def translate(index: int, path: Path) -> None:
        if index == 1:
            raise BlockingIOError
        done.append(index)

    with pytest.raises(UnfinishedWork):
        work_through([3, 3, 3], tmp_path, translate, Workers(1, 2), waits=False, progress=False)
    assert sorted(done) == [0, 2]
