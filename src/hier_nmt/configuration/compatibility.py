# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Refuses, when it is imported, a Transformers in which the models do not run, and knows which were tested.

Uploaded code meets whatever Transformers its user has. What every configuration imports first imports this first, so
that one sentence is said before something that is missing there is imported.
"""

import re

import transformers

OLDEST_TRANSFORMERS = (5, 4)
NEWEST_TESTED_TRANSFORMERS = (5, 24)


def check_transformers(version: str) -> None:
    """Raises ImportError, with both versions, if this version of Transformers is older than what the models need."""
    if _release(version) < OLDEST_TRANSFORMERS:
        raise ImportError(
            f"this model needs Transformers {_written(OLDEST_TRANSFORMERS)} or newer, and {version} is installed: "
            "pip install --upgrade transformers"
        )


def describe_untested_version(version: str = transformers.__version__) -> str:
    """One line with the versions that were tested, if this version of Transformers is newer than all of them."""
    if _release(version) <= NEWEST_TESTED_TRANSFORMERS:
        return ""
    return (
        f"Transformers {version} is installed, and this release of hier_nmt was tested with "
        f"{_written(OLDEST_TRANSFORMERS)} to {_written(NEWEST_TESTED_TRANSFORMERS)}: if that is the cause, "
        f'pip install "transformers=={_written(NEWEST_TESTED_TRANSFORMERS)}.*"'
    )


def _release(version: str) -> tuple[int, ...]:
    """The first two numbers of a version."""
    return tuple(int(number) for number in re.findall(r"\d+", version)[:2])


def _written(release: tuple[int, ...]) -> str:
    return ".".join(map(str, release))


check_transformers(transformers.__version__)
