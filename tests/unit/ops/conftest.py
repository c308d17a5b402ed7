# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of operations."""

import pytest

from hier_nmt.kernels.torch_cpu import relevance
from hier_nmt.ops import backends


@pytest.fixture(params=["product", "gathered", "plain"])
def each_form_of_relevance(request, monkeypatch):
    """The relevance of selected sentences taken out of all products, and from the keys of the selected ones alone; and
    everything computed by the plain functions, as models from the Hub do."""
    if request.param == "plain":
        request.getfixturevalue("without_backends")
    monkeypatch.setattr(relevance, "DENSE_SHARE", 0 if request.param == "product" else 2)


@pytest.fixture
def without_backends(monkeypatch):
    """The plain functions compute, as in models from the Hub."""
    monkeypatch.setattr(backends, "_backends", [])
