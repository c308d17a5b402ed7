# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Undocumented parts of `datasets` that reading corpora uses; see docs/upstream.md."""

from datasets import Dataset


def dataset_fingerprint(dataset: Dataset) -> str:
    """The fingerprint of a table: a hash of its data and transforms (datasets 4.0 to 5.2).

    It is documented for authors of transforms (`new_fingerprint`), but has no accessor.
    """
    return dataset._fingerprint
