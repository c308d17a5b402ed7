# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""One translation by several processes, of which any may be killed.

The documents are cut into groups, each with a file of its own in one folder. A process takes any group that is not
finished and that no other process has locked; what a killed process has locked is free again, with what it had decoded.
So nobody plans who does what, and a run that was ended is continued with any number of processes.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tqdm.auto import tqdm

# Sentences of a group; `prefix`, whose batches hold one sentence of each document, needs more.
GROUP_SENTENCES, PREFIX_GROUP_SENTENCES = 256, 4096
_POLLING_SECONDS = 0.2
# How long a process that helps waits for the one that it helps.
_START_SECONDS = 20.0
_PARENT = "HIER_NMT_PARENT_PROCESS"


class UnfinishedWork(Exception):
    """Some groups are, or were, translated by other processes."""


@dataclass(frozen=True)
class Workers:
    """The processes of a run.

    Attributes:
        rank: of this one; 0 collects what all have done, and shows the progress.
        count: how many there are.
    """

    rank: int = 0
    count: int = 1

    @classmethod
    def of_environment(cls) -> "Workers":
        """Those that `accelerate launch`, `torchrun` or `helping_processes` has started."""
        return cls(int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1")))

    @property
    def is_main(self) -> bool:
        """Whether this process collects."""
        return self.rank == 0


def is_opened(folder: Path) -> bool:
    """Whether the main process has made the folder of the groups, which it removes when all is finished; waits a little
    for it."""
    stop = time.monotonic() + _START_SECONDS
    while not folder.is_dir() and time.monotonic() < stop:
        time.sleep(_POLLING_SECONDS)
    return folder.is_dir()


def work_through(
    sizes: Sequence[int],
    folder: Path,
    translate: Callable[[int, Path], object],
    workers: Workers,
    waits: bool,
    progress: bool,
) -> None:
    """Has all groups translated, by this and other processes.

    Args:
        sizes: numbers of sentences of the groups.
        folder: of their files.
        translate: translates the group of an index into a file, and continues one that is there; BlockingIOError if
            another process is writing it.
        workers: this process and the others.
        waits: wait for what others are translating.
        progress: show a bar of sentences.

    Raises:
        UnfinishedWork: others are still translating, and `waits` is False.
    """
    left = set(range(len(sizes)))
    # Processes begin in different places, so that they seldom ask for the same group.
    first = workers.rank * len(sizes) // workers.count
    order = [*range(first, len(sizes)), *range(first)]
    with tqdm(total=sum(sizes), unit=" sentences", disable=not progress) as bar:
        while left:
            has_translated = False
            for index in [one for one in order if one in left]:
                _check_parent()
                if not _is_finished(folder, index):
                    try:
                        translate(index, group_file(folder, index))
                    except BlockingIOError:
                        continue
                    _finished_mark(folder, index).touch()
                    has_translated = True
                left.remove(index)
                bar.update(sizes[index])
            if left and not has_translated:
                if not waits:
                    raise UnfinishedWork
                time.sleep(_POLLING_SECONDS)


def when_free(action: Callable[[], object]) -> None:
    """Runs an action that locks a file, again and again until no other process has locked it."""
    while True:
        try:
            action()
            return
        except BlockingIOError:
            _check_parent()
            time.sleep(_POLLING_SECONDS)


def groups_of(sizes: Sequence[int], group_sentences: int) -> list[range]:
    """Ranges of documents, given their numbers of sentences, with at least so many sentences each but the last."""
    groups: list[range] = []
    start, count = 0, 0
    for index, size in enumerate(sizes):
        count += size
        if count >= group_sentences or index == len(sizes) - 1:
            groups.append(range(start, index + 1))
            start, count = index + 1, 0
    return groups


def group_file(folder: Path, index: int) -> Path:
    """The file of a group's translations."""
    return folder / f"{index:06}.jsonl"


def _finished_mark(folder: Path, index: int) -> Path:
    return folder / f"{index:06}.finished"


def _is_finished(folder: Path, index: int) -> bool:
    return _finished_mark(folder, index).exists()


@contextmanager
def helping_processes(count: int, arguments: Sequence[str]) -> Iterator[Workers]:
    """Starts `count` - 1 processes with the command line of this one; they end with the block, or with this process.

    Where something else has started several processes, these are the workers, and none is started here.
    """
    given = Workers.of_environment()
    if count == 1 or given.count > 1:
        yield given
        return
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "hier_nmt", *arguments],
            env={**os.environ, "RANK": str(rank), "WORLD_SIZE": str(count), _PARENT: str(os.getpid())},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for rank in range(1, count)
    ]
    try:
        yield Workers(0, count)
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()


def _check_parent() -> None:
    """Ends a process whose starter is gone."""
    parent = os.environ.get(_PARENT)
    if parent is not None and os.getppid() != int(parent):
        raise KeyboardInterrupt
