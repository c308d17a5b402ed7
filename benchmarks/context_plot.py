# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Draws a table of systems that read their context: the pronouns that they get right, and their BLEU. Seeds of a system
share its line.

python benchmarks/context_plot.py docs/results.md docs/images/context.png
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

HEADING = "The same from a larger start, on a GPU"
CHANCE = 50.0


class System(NamedTuple):
    """A row of the table: pronouns right with the own context, without any, with that of another example, and BLEU."""

    name: str
    own: float
    none: float | None
    other: float | None
    bleu: float | None


def main() -> None:
    """Reads the table and writes the figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="the page with the table")
    parser.add_argument("output", type=Path, help="the figure")
    parser.add_argument("--heading", default=HEADING, help="of the section with the table; default: %(default)s")
    options = parser.parse_args()
    systems = list(read_systems(options.results.read_text(encoding="utf-8"), options.heading))
    figure = Figure(figsize=(8, 0.3 * len({one.name for one in systems}) + 1.2), layout="constrained")
    pronouns, bleu = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    draw(pronouns, bleu, systems)
    figure.savefig(options.output, dpi=150)
    print(f"{len(systems)} systems in {options.output}")


def read_systems(text: str, heading: str) -> Iterator[System]:
    """The rows of the table below the heading."""
    lines = iter(text.partition(f"# {heading}\n")[2].splitlines())
    header = next(line for line in lines if line.startswith("| system"))
    columns = cells(header)
    next(lines)
    for line in lines:
        if not line.startswith("|"):
            return
        row = dict(zip(columns, cells(line), strict=True))
        none, other, bleu = (float(row[name]) if row[name] else None for name in ("none", "another's", "Europarl"))
        yield System(row["system"], float(row["own context"]), none, other, bleu)


def cells(line: str) -> list[str]:
    """The cells of a row of a table."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def draw(pronouns: Axes, bleu: Axes, systems: list[System]) -> None:
    """A line for each system: its accuracy with each context on the left, its BLEU on the right."""
    names = list(dict.fromkeys(one.name for one in systems))
    pronouns.axvline(CHANCE, color="0.6", linewidth=1, linestyle="--", label="chance")
    places = [names.index(one.name) for one in systems]
    for axes, label, marker, color, fill, values in (
        (pronouns, "own context", "o", "C0", "C0", [one.own for one in systems]),
        (pronouns, "no context", "o", "C0", "none", [one.none for one in systems]),
        (pronouns, "another example's", "x", "C0", "C0", [one.other for one in systems]),
        (bleu, "BLEU", "s", "C1", "C1", [one.bleu for one in systems]),
    ):
        known = [(value, place) for value, place in zip(values, places, strict=True) if value is not None]
        axes.plot(*zip(*known, strict=True), marker, color=color, markerfacecolor=fill, label=label)
    pronouns.set_yticks(range(len(names)), names)
    pronouns.invert_yaxis()
    pronouns.set_xlabel("pronouns right, %")
    bleu.set_xlabel("BLEU, debates (dev)")
    pronouns.legend(fontsize=8, loc="center")
    for axes in (pronouns, bleu):
        axes.grid(axis="y", color="0.9")
        axes.set_axisbelow(True)


if __name__ == "__main__":
    main()
