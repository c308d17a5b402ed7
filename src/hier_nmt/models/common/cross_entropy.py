# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The loss of a forward pass with labels. A long document has more logits than anything else, so few copies are made.

Dimensions: B batch, T target tokens, V vocabulary, R = B T rows.
"""

from typing import Any

import torch
from torch import nn
from torch.autograd.function import once_differentiable

from ...configuration.configuration_choices import IGNORED_LABEL
from ...ops.numerics import full_precision

# Logits in a chunk: on the CPU as many as its caches hold, elsewhere enough to keep the device busy.
CHUNK_ELEMENTS_CPU = 2**20
CHUNK_ELEMENTS = 2**26


def mean_cross_entropy(
    logits: torch.Tensor, labels: torch.Tensor, num_items_in_batch: torch.Tensor | int | None
) -> torch.Tensor:
    """Cross-entropy of the labels under the logits: its sum over `num_items_in_batch`, or the mean. Float32 at least.

    Apart from the logits, only their gradient takes memory of that size.

    Args:
        logits: [B, T, V].
        labels: [B, T], -100 where nothing is to be predicted.
        num_items_in_batch: what the sum is divided by; None: the number of labels that are not -100.
    """
    labels = labels.to(logits.device)
    rows, targets = logits.flatten(0, 1), labels.flatten()
    if torch.compiler.is_compiling():
        total = nn.functional.cross_entropy(full_precision(rows), targets, reduction="sum")
    else:
        total = _SummedCrossEntropy.apply(rows, targets)
    return total / ((labels != IGNORED_LABEL).sum() if num_items_in_batch is None else num_items_in_batch)


class _SummedCrossEntropy(torch.autograd.Function):
    """Sum of the cross-entropies of rows of logits, chunk by chunk; the backward pass computes softmax again."""

    @staticmethod
    def forward(ctx: Any, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """The sum, a scalar. Shapes: logits [R, V], labels [R]."""
        parts = []
        size = _rows_per_chunk(logits)
        for some_logits, some_labels in zip(logits.split(size), labels.split(size), strict=True):
            parts.append(nn.functional.cross_entropy(full_precision(some_logits), some_labels, reduction="sum"))
        ctx.save_for_backward(logits, labels)
        return torch.stack(parts).sum()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_total: torch.Tensor) -> tuple[torch.Tensor, None]:
        """Gradient of the logits [R, V]: softmax minus one at the label, and zeros where nothing is predicted."""
        logits, labels = ctx.saved_tensors
        gradient = torch.empty_like(logits)
        size = _rows_per_chunk(logits)
        for some, some_logits, some_labels in zip(
            gradient.split(size), logits.split(size), labels.split(size), strict=True
        ):
            is_ignored = (some_labels == IGNORED_LABEL)[:, None]
            changes = full_precision(some_logits).softmax(-1)
            places = some_labels[:, None].masked_fill(is_ignored, 0)
            changes.scatter_add_(1, places, changes.new_full(places.shape, -1.0))
            some.copy_(changes.mul_(grad_total).masked_fill_(is_ignored, 0.0))
        return gradient, None


def _rows_per_chunk(logits: torch.Tensor) -> int:
    num_elements = CHUNK_ELEMENTS_CPU if logits.device.type == "cpu" else CHUNK_ELEMENTS
    return max(1, num_elements // logits.shape[-1])
