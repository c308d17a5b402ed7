# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Trains the systems of a comparison, a recipe with changes for each, measures all in the same way, and makes a table.

    python training/comparisons/compare.py training/comparisons/en-fr-context.yaml --output runs/comparison --at-once 8

The file names the recipe, its changes for all systems (`common`) and for each (`systems`), the seeds, and what is
measured: arguments of `hier-nmt contrastive` and `hier-nmt evaluate` by the name of their column. Everything is checked
before the first training. Systems run `--at-once` at a time, also on one GPU. After an interruption the same command
continues: what was trained and measured is not done again. The table is written after each measurement, to table.md
and, with signatures, to results.json.
"""

import argparse
import json
import os
import re
import signal
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Lock
from typing import Any

import yaml

from hier_nmt.cli.main import main as hier_nmt
from hier_nmt.cli.main import parse
from hier_nmt.data.text_files import write_text
from hier_nmt.training.recipes import Recipe
from hier_nmt.training.runs import SUMMARY_FILE, finished_summary

SECTIONS = {"recipe": str, "seeds": list, "common": dict, "systems": dict, "contrastive": dict, "evaluate": dict}
SCORES = ("BLEU", "chrF", "docBLEU")


class Stopped(Exception):
    """The comparison was interrupted."""


@dataclass(frozen=True)
class Measurement:
    """A command that measures a model, and the file in the model's folder that has its result."""

    command: str
    column: str
    arguments: tuple[str, ...]

    @property
    def folder(self) -> str:
        """Where its output lies, below the folder of the run."""
        return f"{self.command}-{file_name(self.column)}"

    def line(self, run: Path) -> list[str]:
        """The command line, without the name of the program."""
        folder = run / self.folder
        output = ["--output", str(folder / "scores.json")] if self.command == "contrastive" else []
        output = output or ["--output-dir", str(folder)]
        return [self.command, str(run), *self.arguments, *output]

    def result(self, run: Path) -> dict[str, Any] | None:
        """What it wrote, or None before it ran."""
        path = run / self.folder / "scores.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


@dataclass(frozen=True)
class Run:
    """A system with a seed: its recipe and its folder."""

    system: str
    seed: int
    recipe: str
    overrides: tuple[str, ...]
    folder: Path

    @property
    def name(self) -> str:
        """For messages."""
        return f"{self.system}, seed {self.seed}"


class Commands:
    """Commands that run, each in a process with a log, until they end or are interrupted."""

    def __init__(self) -> None:
        self._context = get_context("spawn")
        self._running: set[BaseProcess] = set()
        self._lock = Lock()
        self._is_stopped = False

    def run(self, arguments: Sequence[str], log: Path) -> None:
        """Runs `hier-nmt` with the arguments. RuntimeError names the log if it fails; Stopped after an interruption."""
        log.parent.mkdir(parents=True, exist_ok=True)
        process = self._context.Process(target=run_command, args=(list(arguments), log))
        with self._lock:
            if self._is_stopped:
                raise Stopped
            process.start()
            self._running.add(process)
        process.join()
        with self._lock:
            self._running.discard(process)
            if self._is_stopped:
                raise Stopped
        if process.exitcode:
            raise RuntimeError(f"hier-nmt {arguments[0]} ended with {process.exitcode}: see {log}")

    def stop(self) -> None:
        """Asks all to end, and lets no other begin; trainings save a checkpoint first."""
        with self._lock:
            self._is_stopped = True
            for process in self._running:
                process.terminate()


def run_command(arguments: list[str], log: Path) -> None:
    """Runs `hier-nmt` in this process, whose output goes to the end of the log."""
    # The interruption of a terminal reaches all processes; the first one stops the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with log.open("ab") as file:
        for stream in (sys.stdout, sys.stderr):
            os.dup2(file.fileno(), stream.fileno())
    sys.exit(hier_nmt(arguments))


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a comparison; 1 if a system failed or the file is faulty, 130 after an interruption."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("comparison", type=Path, help="YAML file")
    parser.add_argument("--output", type=Path, required=True, help="folder of the runs and of the table")
    parser.add_argument("--at-once", type=int, default=1, help="systems that run at a time; default: %(default)s")
    parser.add_argument(
        "--only", nargs="+", metavar="SYSTEM", help="run only these systems; the table keeps the others"
    )
    options = parser.parse_args(arguments)
    try:
        if options.at_once < 1:
            raise ValueError(f"--at-once {options.at_once} must be at least 1")
        runs, measurements = read_comparison(options.comparison, options.output)
        chosen = choose(runs, options.only)
        check(chosen, measurements)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    shown = [run for run in runs if run in chosen or (run.folder / SUMMARY_FILE).is_file()]
    return run_all(chosen, shown, measurements, options.output, options.at_once)


def choose(runs: Sequence[Run], systems: Sequence[str] | None) -> list[Run]:
    """The runs of some systems, in their order; all without these. ValueError for a system that there is not."""
    known = list(dict.fromkeys(run.system for run in runs))
    for system in systems or ():
        if system not in known:
            raise ValueError(f"there is no system {system!r}, only {', '.join(known)}")
    return [run for system in systems or known for run in runs if run.system == system]


def read_comparison(path: Path, output: Path) -> tuple[list[Run], list[Measurement]]:
    """The runs and measurements of a file; ValueError names what is wrong."""
    content = read_content(path)
    runs = []
    for system in content["systems"]:
        changes = {**content.get("common", {}), **(content["systems"][system] or {})}
        for seed in content.get("seeds", [1]):
            folder = output / f"{file_name(system)}-{seed}"
            own = {"training.seed": seed, "training.output_dir": str(folder)}
            overrides = tuple(f"--{key}={json.dumps(value)}" for key, value in {**changes, **own}.items())
            runs.append(Run(system, seed, content["recipe"], overrides, folder))
    measurements = [
        Measurement(command, column, tuple(os.path.expandvars(str(value)) for value in values))
        for command in ("contrastive", "evaluate")
        for column, values in content.get(command, {}).items()
    ]
    for things in ([run.folder for run in runs], [one.folder for one in measurements]):
        if len(set(things)) < len(things):
            raise ValueError(f"{path}: two names become one folder, among {', '.join(map(str, things))}")
    return runs, measurements


def read_content(path: Path) -> dict[str, Any]:
    """What a file has; ValueError if it is no comparison."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ValueError(f"{path} is no YAML: {error}") from None
    if not isinstance(content, dict) or not {"recipe", "systems"} <= content.keys() <= SECTIONS.keys():
        raise ValueError(f"{path} must have recipe and systems, and may have {', '.join(SECTIONS)} alone")
    for key, value in content.items():
        if not isinstance(value, SECTIONS[key]):
            raise ValueError(f"{path}: {key} must be a {SECTIONS[key].__name__}, not {value!r}")
    for system, changes in content["systems"].items():
        if not isinstance(changes, dict | None):
            raise ValueError(f"{path}: system {system} must have values by key, not {changes!r}")
    for column, values in {**content.get("contrastive", {}), **content.get("evaluate", {})}.items():
        if not isinstance(values, list):
            raise ValueError(f"{path}: {column} must be a list of arguments, not {values!r}")
    return content


def file_name(text: str) -> str:
    """A name of letters, digits and hyphens."""
    return re.sub(r"\W+", "-", text).strip("-")


def check(runs: Sequence[Run], measurements: Sequence[Measurement]) -> None:
    """Raises ValueError for a faulty recipe or a file to measure with that is missing."""
    for run in runs:
        try:
            Recipe.load(run.recipe, run.overrides)
        except ValueError as error:
            raise ValueError(f"{run.name}: {error}") from None
    for one in measurements:
        options = parse(one.line(runs[0].folder))
        for path in options.set if one.command == "contrastive" else options.corpus:
            if not Path(path).is_file():
                raise FileNotFoundError(f"{one.command} {one.column}: no such file: {path}")


def run_all(
    runs: Sequence[Run], shown: Sequence[Run], measurements: Sequence[Measurement], output: Path, at_once: int
) -> int:
    """Trains and measures `runs`, and keeps the table of those that are shown up to date."""
    commands, lock = Commands(), Lock()

    def report(run: Run, done: str) -> None:
        with lock:
            print(f"{run.name}: {done}", flush=True)
            write_results(shown, measurements, output)

    def train_and_measure(run: Run) -> None:
        recipe = Recipe.load(run.recipe, run.overrides)
        if finished_summary(recipe) is None:
            commands.run(["train", run.recipe, *run.overrides], run.folder / "log.txt")
        # A training that was asked to end writes a checkpoint and no summary.
        if finished_summary(recipe) is None:
            raise Stopped
        report(run, "trained")
        for one in measurements:
            if one.result(run.folder) is None:
                commands.run(one.line(run.folder), run.folder / one.folder / "log.txt")
                report(run, f"{one.command} {one.column}")

    signals = (signal.SIGINT, signal.SIGTERM)
    handlers = [signal.signal(number, lambda *_: commands.stop()) for number in signals]
    errors = []
    try:
        with ThreadPoolExecutor(at_once) as pool:
            jobs = {pool.submit(train_and_measure, run): run for run in runs}
            for job in as_completed(jobs):
                error = job.exception()
                errors += [error] if error is not None else []
                if error is not None and not isinstance(error, Stopped):
                    print(f"error: {jobs[job].name}: {error}", file=sys.stderr, flush=True)
    finally:
        for number, handler in zip(signals, handlers, strict=True):
            signal.signal(number, handler)
    write_results(shown, measurements, output)
    if any(isinstance(error, Stopped) for error in errors):
        print("interrupted; the same command continues", file=sys.stderr)
        return 130
    print((output / "table.md").read_text(encoding="utf-8"))
    return 1 if errors else 0


def write_results(runs: Sequence[Run], measurements: Sequence[Measurement], output: Path) -> None:
    """Writes the table of what there is, and all figures with their signatures."""
    rows, details = [], []
    for run in runs:
        path = run.folder / SUMMARY_FILE
        summary = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        row: dict[str, str] = {"system": run.system, "seed": str(run.seed), **training_cells(summary)}
        results = {}
        for one in measurements:
            result = one.result(run.folder) or {}
            row |= dict(measured_cells(one, result))
            results[f"{one.command} {one.column}"] = result.get("reports")
        rows.append(row)
        details.append({"system": run.system, "seed": run.seed, "training": summary, "results": results})
    columns = list(dict.fromkeys(column for row in rows for column in row))
    lines = [columns, ["---"] * len(columns), *([row.get(column, "") for column in columns] for row in rows)]
    write_text(output / "table.md", "".join(f"| {' | '.join(line)} |\n" for line in lines))
    write_text(output / "results.json", json.dumps(details, ensure_ascii=False, indent=2) + "\n")


def training_cells(summary: dict[str, Any]) -> dict[str, str]:
    """Parameters, target tokens, time and the final losses of a training."""
    if not summary:
        return {}
    cells = {"parameters": f"{summary['num_parameters'] / 1e6:.1f} M"}
    cells["trained"] = f"{summary['num_trained_parameters'] / 1e6:.1f} M"
    if summary["num_target_tokens"]:
        cells["target tokens"] = f"{summary['num_target_tokens'] / 1e6:.2f} M"
        cells["minutes"] = f"{summary['train_seconds'] / 60:.1f}"
        cells["s a step"] = f"{summary['train_seconds'] / summary['steps']:.2f}"
    final = summary["metrics"].get("final") or {}
    losses = {key.removeprefix("eval_loss_"): value for key, value in final.items() if key.startswith("eval_loss_")}
    return cells | {f"loss, {name}": f"{value:.3f}" for name, value in losses.items()}


def measured_cells(one: Measurement, result: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The figures of a measurement by column."""
    for report in result.get("reports", ()):
        if one.command == "contrastive":
            kind = "" if report["kind"] == "contrastive" else ", written"
            yield f"{one.column}{kind}", f"{report['accuracies'][0]['accuracy']:.1f}"
        else:
            for score in report["scores"]:
                if score["name"] in SCORES:
                    yield f"{one.column}, {score['name']}", f"{score['value']:.2f}"
            yield f"{one.column}, seconds", f"{result['decoding'][report['label']]['seconds']:.0f}"


if __name__ == "__main__":
    sys.exit(main())
