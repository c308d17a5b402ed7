# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Draws the table of systems that read their context: the pronouns that they get right, and their BLEU.

python benchmarks/context_plot.py docs/results.md docs/images/context.png
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

HEADING = "## Context on real text: pronouns"
CHANCE = 50.0


class System(NamedTuple):
    """A row of the table: pronouns right with the own context, without any, with that of another example, and BLEU."""

    name: str
    own: float
    none: float | None
    other: float | None
    bleu: float


def main() -> None:
    """Reads the table and writes the figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="the page with the table")
    parser.add_argument("output", type=Path, help="the figure")
    options = parser.parse_args()
    systems = list(read_systems(options.results.read_text(encoding="utf-8")))
    figure = Figure(figsize=(8, 0.3 * len(systems) + 1.2), layout="constrained")
    pronouns, bleu = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    draw(pronouns, bleu, systems)
    figure.savefig(options.output, dpi=150)
    print(f"{len(systems)} systems in {options.output}")


def read_systems(text: str) -> Iterator[System]:
    """The rows of the table below the heading."""
    lines = iter(text.partition(HEADING)[2].splitlines())
    header = next(line for line in lines if line.startswith("| system"))
    columns = cells(header)
    next(lines)
    for line in lines:
        if not line.startswith("|"):
            return
        row = dict(zip(columns, cells(line), strict=True))
        none, other = (float(row[name]) if row[name] else None for name in ("none", "another's"))
        yield System(row["system"], float(row["own context"]), none, other, float(row["Europarl"]))


def cells(line: str) -> list[str]:
    """The cells of a row of a table."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def draw(pronouns: Axes, bleu: Axes, systems: list[System]) -> None:
    """A line for each system: its accuracy with each context on the left, its BLEU on the right."""
    places = range(len(systems))
    pronouns.axvline(CHANCE, color="0.6", linewidth=1, linestyle="--", label="chance")
    for label, marker, fill, values in (
        ("own context", "o", "C0", [one.own for one in systems]),
        ("no context", "o", "none", [one.none for one in systems]),
        ("another example's", "x", "C0", [one.other for one in systems]),
    ):
        known = [(value, place) for value, place in zip(values, places, strict=True) if value is not None]
        pronouns.plot(*zip(*known, strict=True), marker, color="C0", markerfacecolor=fill, label=label)
    bleu.plot([one.bleu for one in systems], places, "s", color="C1")
    pronouns.set_yticks(places, [one.name for one in systems])
    pronouns.invert_yaxis()
    pronouns.set_xlabel("pronouns right, %")
    bleu.set_xlabel("BLEU, debates (dev)")
    pronouns.legend(fontsize=8, loc="center")
    for axes in (pronouns, bleu):
        axes.grid(axis="y", color="0.9")
        axes.set_axisbelow(True)


if __name__ == "__main__":
    main()
