# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Progress on stderr: a progress bar on a terminal, a line every half minute in a file."""

import sys

from tqdm.auto import tqdm

SECONDS_BETWEEN_LINES = 30.0


class _Lines:
    """Writes each state of a progress bar as a line."""

    def write(self, text: str) -> None:
        """Writes the text of the bar without the characters that move the cursor."""
        if text.strip():
            sys.stderr.write(text.strip() + "\n")

    def flush(self) -> None:
        """Flushes stderr."""
        sys.stderr.flush()


def progress_bar(total: int, unit: str, is_shown: bool) -> tqdm:
    """A tqdm bar, which writes lines if stderr is not a terminal.

    Args:
        total: number of units.
        unit: name of the unit.
        is_shown: whether to write anything.
    """
    if sys.stderr.isatty():
        return tqdm(total=total, unit=unit, disable=not is_shown)
    return tqdm(
        total=total,
        unit=unit,
        disable=not is_shown,
        file=_Lines(),
        ncols=80,
        miniters=1,
        mininterval=SECONDS_BETWEEN_LINES,
        maxinterval=SECONDS_BETWEEN_LINES,
    )


__all__ = ["SECONDS_BETWEEN_LINES", "progress_bar"]
