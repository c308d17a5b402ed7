# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Labels of the target side: the decoder inputs that go with them, and the loss of a model that is given them.

Dimensions: B batch, T target tokens, V vocabulary.
"""

import torch
from torch import nn


def shift_tokens_right(labels: torch.Tensor, pad_token_id: int, decoder_start_token_id: int) -> torch.Tensor:
    """Decoder inputs [B, T] that go with the labels [B, T]: the start token, then all labels but the last."""
    decoder_input_ids = labels.new_full(labels.shape, decoder_start_token_id)
    decoder_input_ids[:, 1:] = labels[:, :-1]
    return decoder_input_ids.masked_fill(decoder_input_ids == -100, pad_token_id)


def mean_cross_entropy(
    logits: torch.Tensor, labels: torch.Tensor, num_items_in_batch: torch.Tensor | int | None
) -> torch.Tensor:
    """Cross-entropy of the labels [B, T] under the logits [B, T, V]: its sum over `num_items_in_batch`, or the mean."""
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    labels = labels.to(logits.device)
    total = nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum")
    return total / ((labels != -100).sum() if num_items_in_batch is None else num_items_in_batch)
