# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What reading corpora uses of `datasets` without its documentation promising it; see docs/upstream.md."""

from datasets import Dataset


def dataset_fingerprint(dataset: Dataset) -> str:
    """The hash of everything a table was made of and by (datasets 4.0 to 5.2).

    Documented for whoever writes a transform (`new_fingerprint`), but without an accessor.
    """
    return dataset._fingerprint
