# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Refuses, when it is imported, a Transformers in which the models do not run.

Uploaded code meets whatever Transformers its user has. What every configuration imports first imports this first, so
that one sentence is said before something that is missing there is imported.
"""

import re

import transformers

OLDEST_TRANSFORMERS = (5, 4)


def check_transformers(version: str) -> None:
    """Raises ImportError, with both versions, if this version of Transformers is older than what the models need."""
    numbers = tuple(int(number) for number in re.findall(r"\d+", version)[: len(OLDEST_TRANSFORMERS)])
    if numbers < OLDEST_TRANSFORMERS:
        needed = ".".join(map(str, OLDEST_TRANSFORMERS))
        raise ImportError(
            f"this model needs Transformers {needed} or newer, and {version} is installed: "
            "pip install --upgrade transformers"
        )


check_transformers(transformers.__version__)
