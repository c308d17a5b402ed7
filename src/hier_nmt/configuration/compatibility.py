# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The versions of Transformers that the models support; importing this module fails with one that is too old.

Code from the Hub runs with whatever Transformers its user has installed. `hub_config`, which every configuration
imports, imports this module first, so that the user gets one clear error instead of that of a failed import.
"""

import re

import transformers

OLDEST_TRANSFORMERS = (5, 4)
NEWEST_TESTED_TRANSFORMERS = (5, 24)


def check_transformers(version: str) -> None:
    """Raises ImportError, with both versions, if this version of Transformers is too old for the models."""
    if _release(version) < OLDEST_TRANSFORMERS:
        raise ImportError(
            f"this model needs Transformers {_written(OLDEST_TRANSFORMERS)} or newer, but {version} is installed: "
            "pip install --upgrade transformers"
        )


def describe_untested_version(version: str = transformers.__version__) -> str:
    """One line with the tested versions if this version of Transformers is newer than all of them, else empty."""
    if _release(version) <= NEWEST_TESTED_TRANSFORMERS:
        return ""
    return (
        f"Transformers {version} is installed, but this release of hier_nmt was tested with "
        f"{_written(OLDEST_TRANSFORMERS)} to {_written(NEWEST_TESTED_TRANSFORMERS)}: if that is the cause, "
        f'pip install "transformers=={_written(NEWEST_TESTED_TRANSFORMERS)}.*"'
    )


def _release(version: str) -> tuple[int, ...]:
    """The first two numbers of a version."""
    return tuple(int(number) for number in re.findall(r"\d+", version)[:2])


def _written(release: tuple[int, ...]) -> str:
    return ".".join(map(str, release))


check_transformers(transformers.__version__)
