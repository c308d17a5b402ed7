# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Memory that is kept between calls."""

import threading

import torch

from hier_nmt.ops import workspace
from hier_nmt.ops.workspace import Workspace, kept_workspace, release_workspaces

LIKE = torch.zeros(1)


def test_a_buffer_is_used_again_where_it_is_large_enough():
    space = Workspace(LIKE)
    first = space.take("a", 3, 4)
    assert first.shape == (3, 4)
    assert space.take("a", 2, 6).data_ptr() == first.data_ptr()
    assert space.take("a", 13).data_ptr() != first.data_ptr()
    assert space.take("b", 2).data_ptr() != space.take("a", 2).data_ptr()
    assert space.take("a", 2, dtype=torch.int64).dtype == torch.int64
    assert space.take("a", 2).dtype == torch.float32


def test_a_thread_keeps_its_memory_until_it_is_released():
    release_workspaces()
    kept = kept_workspace(LIKE).take("a", 5).data_ptr()
    assert kept_workspace(LIKE).take("a", 5).data_ptr() == kept
    assert kept_workspace(LIKE.double()).take("a", 5).dtype == torch.float64
    found = []
    other = threading.Thread(target=lambda: found.append(kept_workspace(LIKE)))
    other.start()
    other.join()
    assert found[0] is not kept_workspace(LIKE)
    before = kept_workspace(LIKE)
    release_workspaces()
    assert kept_workspace(LIKE) is not before


def test_large_buffers_are_given_back(monkeypatch):
    monkeypatch.setattr(workspace, "LARGEST_KEPT", 40)
    space = Workspace(LIKE)
    large, small = space.take("a", 11), space.take("b", 10)
    assert space.take("a", 11).data_ptr() == large.data_ptr()
    space.give_back()
    assert space.take("a", 11).data_ptr() != large.data_ptr()
    assert space.take("b", 10).data_ptr() == small.data_ptr()


def test_memory_first_used_in_inference_mode_can_be_used_in_training():
    release_workspaces()
    with torch.inference_mode():
        kept_workspace(LIKE).take("a", 5)
    kept_workspace(LIKE).take("a", 5).zero_()
