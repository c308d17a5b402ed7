# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Memory that is kept between calls."""

import threading

import torch

from hier_nmt.kernels.torch_cpu import buffer_pool
from hier_nmt.kernels.torch_cpu.buffer_pool import BufferPool, release_thread_buffers, thread_buffers

LIKE = torch.zeros(1)


def test_a_buffer_is_used_again_where_it_is_large_enough():
    space = BufferPool(LIKE)
    first = space.take("a", 3, 4)
    assert first.shape == (3, 4)
    assert space.take("a", 2, 6).data_ptr() == first.data_ptr()
    assert space.take("a", 13).data_ptr() != first.data_ptr()
    assert space.take("b", 2).data_ptr() != space.take("a", 2).data_ptr()
    assert space.take("a", 2, dtype=torch.int64).dtype == torch.int64
    assert space.take("a", 2).dtype == torch.float32


def test_a_thread_keeps_its_memory_until_it_is_released():
    release_thread_buffers()
    kept = thread_buffers(LIKE).take("a", 5).data_ptr()
    assert thread_buffers(LIKE).take("a", 5).data_ptr() == kept
    assert thread_buffers(LIKE.double()).take("a", 5).dtype == torch.float64
    found = []
    other = threading.Thread(target=lambda: found.append(thread_buffers(LIKE)))
    other.start()
    other.join()
    assert found[0] is not thread_buffers(LIKE)
    before = thread_buffers(LIKE)
    release_thread_buffers()
    assert thread_buffers(LIKE) is not before


def test_large_buffers_are_given_back(monkeypatch):
    monkeypatch.setattr(buffer_pool, "LARGEST_KEPT", 40)
    space = BufferPool(LIKE)
    large, small = space.take("a", 11), space.take("b", 10)
    assert space.take("a", 11).data_ptr() == large.data_ptr()
    space.release()
    assert space.take("a", 11).data_ptr() != large.data_ptr()
    assert space.take("b", 10).data_ptr() == small.data_ptr()


def test_memory_first_used_in_inference_mode_can_be_used_in_training():
    release_thread_buffers()
    with torch.inference_mode():
        thread_buffers(LIKE).take("a", 5)
    thread_buffers(LIKE).take("a", 5).zero_()
