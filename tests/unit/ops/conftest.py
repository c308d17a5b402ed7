# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of operations."""

import pytest

from hier_nmt.ops import sentence_selection


@pytest.fixture(params=[0, 2], ids=["product", "gathered"])
def each_form_of_relevance(request, monkeypatch):
    """The relevance of selected sentences taken out of all products, and from the keys of the selected ones alone."""
    monkeypatch.setattr(sentence_selection, "DENSE_SHARE", request.param)
