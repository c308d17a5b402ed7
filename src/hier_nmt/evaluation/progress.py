# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Progress on stderr: a bar on a terminal, and a line every half minute in a file."""

import sys

from tqdm.auto import tqdm

SECONDS_BETWEEN_LINES = 30.0


class _Lines:
    """Writes each state of a bar on a line of its own."""

    def write(self, text: str) -> None:
        """Writes what a bar shows, without the characters that move the cursor."""
        if text.strip():
            sys.stderr.write(text.strip() + "\n")

    def flush(self) -> None:
        """Writes out what was written."""
        sys.stderr.flush()


def progress_bar(total: int, unit: str, is_shown: bool) -> tqdm:
    """A bar of tqdm, which is no bar but lines where stderr is no terminal.

    Args:
        total: how much there is to do.
        unit: what it is counted in.
        is_shown: whether anything is written.
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
