# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Markers that Transformers' own tests carry."""

import pytest

FOREIGN_MARKERS = (
    "accelerate_tests",
    "flash_attn_test",
    "flash_attn_3_test",
    "flash_attn_4_test",
    "torch_compile_test",
    "order",
)


def pytest_configure(config: pytest.Config) -> None:
    """Makes the markers known, which strict marker checks demand."""
    for marker in FOREIGN_MARKERS:
        config.addinivalue_line("markers", f"{marker}: of Transformers' own tests")
