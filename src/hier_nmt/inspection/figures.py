# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Creating and saving figures of matplotlib."""

import os
from pathlib import Path
from typing import Any

try:
    from matplotlib.figure import Figure
except ImportError:
    Figure = None  # type: ignore[assignment, misc]


def new_figure(width: float, height: float) -> Any:
    """An empty figure of a size in inches; ImportError if matplotlib is not installed."""
    if Figure is None:
        raise ImportError("plots need matplotlib: pip install 'hier_nmt[plot]'")
    return Figure(figsize=(width, height), layout="constrained")


def check_figure_name(path: str | Path) -> None:
    """Raises ImportError if matplotlib is not installed, ValueError if it does not support the ending."""
    endings = new_figure(1, 1).canvas.get_supported_filetypes()
    if Path(path).suffix[1:].lower() not in endings:
        raise ValueError(f"{path} does not have an ending of a figure: {', '.join(sorted(endings))}")


def save_figure(figure: Any, path: str | Path) -> None:
    """Writes the figure atomically; ValueError for an ending that matplotlib does not know."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{os.getpid()}.{path.name}")
    try:
        figure.savefig(temporary, dpi=150)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
