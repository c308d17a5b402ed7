# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The loss of a forward pass equals the plain cross-entropy, and holds no copy of the logits but their gradient."""

import math

import pytest
import torch
from largest_tensor import LiveNumbers
from torch.nn import functional

from hier_nmt.models.common import cross_entropy
from hier_nmt.models.common.cross_entropy import mean_cross_entropy


def odd_batch(dtype: torch.dtype = torch.float64) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits [3, 7, 5] and labels [3, 7], of which a row's end, and one whole row, are to be ignored."""
    generator = torch.Generator().manual_seed(3)
    logits = 3 * torch.randn(3, 7, 5, generator=generator, dtype=torch.float64)
    labels = torch.randint(0, 5, (3, 7), generator=generator)
    labels[0, 4:] = labels[1] = -100
    return logits.to(dtype), labels


@pytest.fixture(params=[1, 10, 2**20], ids=["a row at a time", "two rows at a time", "all rows at once"])
def chunks(request, monkeypatch):
    """Chunks of several sizes, the last of which may be shorter than the others."""
    monkeypatch.setattr(cross_entropy, "CHUNK_ELEMENTS_CPU", request.param)


def test_it_is_the_mean_or_the_sum_over_the_given_number():
    # Two labels count; log of the sum of exponentials minus the label's logit.
    scores = torch.tensor([[[2.0, 0.0, 1.0], [0.0, 0.0, 0.0], [5.0, 5.0, 5.0]]], dtype=torch.float64)
    labels = torch.tensor([[0, 2, -100]])
    first = math.log(math.exp(2) + math.exp(0) + math.exp(1)) - 2
    second = math.log(3)
    assert mean_cross_entropy(scores, labels, None).item() == pytest.approx((first + second) / 2)
    assert mean_cross_entropy(scores, labels, 8).item() == pytest.approx((first + second) / 8)
    assert mean_cross_entropy(scores, labels, torch.tensor(4)).item() == pytest.approx((first + second) / 4)


def test_values_and_gradients_equal_the_plain_form(chunks):
    logits, labels = odd_batch()
    fast, slow = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    loss = 3 * mean_cross_entropy(fast, labels, None)
    expected = 3 * functional.cross_entropy(slow.flatten(0, 1), labels.flatten())
    loss.backward()
    expected.backward()
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(fast.grad, slow.grad)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_summed_in_float32(dtype, chunks):
    logits, labels = odd_batch(dtype)
    logits.requires_grad_()
    loss = mean_cross_entropy(logits, labels, None)
    loss.backward()
    exact = logits.detach().double().requires_grad_()
    expected = mean_cross_entropy(exact, labels, None)
    expected.backward()
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss.double(), expected, rtol=1e-6, atol=0.0)
    torch.testing.assert_close(logits.grad.double(), exact.grad, rtol=0.0, atol=torch.finfo(dtype).eps)


def test_what_is_ignored_gets_no_gradient_whatever_its_logits_are():
    logits, labels = odd_batch()
    logits[1] = torch.inf
    logits.requires_grad_()
    mean_cross_entropy(logits, labels, None).backward()
    assert logits.grad.isfinite().all()
    assert not logits.grad[1].any()


def test_a_label_beyond_the_vocabulary_is_an_error():
    logits, labels = odd_batch()
    labels[0, 0] = 5
    with pytest.raises(IndexError, match="5"):
        mean_cross_entropy(logits, labels, None)


def test_nothing_of_the_size_of_the_logits_is_held_but_their_gradient(monkeypatch):
    monkeypatch.setattr(cross_entropy, "CHUNK_ELEMENTS_CPU", 1000)
    logits = torch.randn(1, 200, 100, requires_grad=True)
    labels = torch.randint(0, 100, (1, 200))
    with LiveNumbers() as live:
        loss = mean_cross_entropy(logits, labels, None)
        most_of_forward = live.most
        loss.backward()
    # A chunk holds ten rows of 100 logits; labels and masks are a few integers for each of the 200 rows.
    assert most_of_forward < 200 * 100 / 4
    assert 200 * 100 <= live.most < 1.25 * 200 * 100
