# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Markers that Transformers' own tests carry, and a Hub with one model of every family on it."""

import pytest
from hub_server import HubServer
from published_models import FAMILIES, first_of
from publishing import Workplace, publish

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


@pytest.fixture(scope="session")
def place(tmp_path_factory):
    """A Hub and what processes need that use it."""
    with HubServer() as server:
        yield Workplace.make(server.hub, tmp_path_factory.mktemp("place"))


@pytest.fixture(scope="session")
def published(place):
    """The first model of every family, by the family's name: pushed, trained, and pushed as it was trained."""
    return publish(place, {name: (first_of(name), True) for name in FAMILIES})
