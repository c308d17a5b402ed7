# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""One publication of several models to a Hub of the tests, which the tests of `tests/system` look at and load."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fresh_processes import environment, python_without_package, run_program
from hub_server import USER, Hub
from published_models import write_checkpoint, write_expectation
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, PreTrainedConfig


@dataclass(frozen=True)
class Workplace:
    """A Hub, a folder for everything that processes write, and an interpreter that lacks the package."""

    hub: Hub
    folder: Path
    bare_python: str

    @classmethod
    def make(cls, hub: Hub, folder: Path) -> "Workplace":
        return cls(hub, folder, python_without_package(folder / "bare"))

    def with_package(self, program: str, *arguments: str, **variables: str) -> None:
        """Runs a program of `tests/programs` in a fresh process that has the package."""
        process = environment(self.folder / "home", **{**self.hub.environment(), **variables})
        run_program(program, *arguments, variables=process, directory=self.folder)

    def without_package(self, program: str, *arguments: str, **variables: str) -> None:
        """Runs a program of `tests/programs` in a fresh process that cannot have the package."""
        home, given = self.folder / "bare-home", {**self.hub.environment(), **variables}
        process = environment(home, with_package=False, **given)
        run_program(program, *arguments, variables=process, directory=self.folder, python=self.bare_python)


@dataclass(frozen=True)
class Published:
    """A model in a local folder and on the Hub, and perhaps a training of it that was pushed as it went on."""

    name: str
    place: Workplace
    is_trained: bool

    @property
    def checkpoint(self) -> Path:
        return self.place.folder / self.name

    @property
    def output(self) -> Path:
        return self.place.folder / f"{self.name}-training"

    @property
    def repository(self) -> str:
        return f"{USER}/{self.name}"

    @property
    def training_repository(self) -> str:
        return f"{USER}/{self.name}-training"

    def publication(self) -> dict[str, Any]:
        """The job of `programs/publish.py`."""
        trainer = self.training_repository if self.is_trained else None
        output, checkpoint = str(self.output), str(self.checkpoint)
        return {"checkpoint": checkpoint, "model": self.repository, "trainer": trainer, "output": output}

    def jobs(self, fine_tuned: str, commits: bool) -> list[dict[str, Any]]:
        """The jobs of `programs/with_package.py` and its counterpart: folder, Hub and the training's commits."""
        expected, folder = str(self.checkpoint / "expected.pt"), str(self.place.folder / f"{self.name}-{fine_tuned}")
        local = {"name": str(self.checkpoint), "revision": None, "expected": expected, "fine_tuned": folder}
        remote = {**local, "name": self.repository, "fine_tuned": None}
        return [local, remote, *(self._commit_jobs() if commits else [])]

    def _commit_jobs(self) -> list[dict[str, Any]]:
        commits = self.place.hub.repositories[self.training_repository].branches["main"]
        jobs = []
        for commit in commits:
            step = commit.title.removeprefix("Training in progress, step ")
            if step.isdecimal():
                checkpoint = self.output / f"checkpoint-{step}"
                model = AutoModelForSeq2SeqLM.from_pretrained(checkpoint)
                write_expectation(checkpoint, model, AutoTokenizer.from_pretrained(checkpoint))
                expected = str(checkpoint / "expected.pt")
                names = {"name": self.training_repository, "revision": commit.commit_id}
                jobs.append({**names, "expected": expected, "fine_tuned": None})
        return jobs


def publish(place: Workplace, models: dict[str, tuple[PreTrainedConfig, bool]]) -> dict[str, Published]:
    """Writes and publishes models, in one process; each is its configuration and whether its training is pushed too."""
    published = {name: Published(name, place, is_trained) for name, (_, is_trained) in models.items()}
    for name, (config, _) in models.items():
        write_checkpoint(published[name].checkpoint, config)
    place.with_package("publish", json.dumps([one.publication() for one in published.values()]))
    return published
