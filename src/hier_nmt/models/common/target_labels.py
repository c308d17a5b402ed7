# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Labels of the target side, and the decoder inputs that go with them.

Dimensions: B batch, T target tokens.
"""

import torch

from ...configuration.configuration_choices import IGNORED_LABEL


def shift_tokens_right(labels: torch.Tensor, pad_token_id: int, decoder_start_token_id: int) -> torch.Tensor:
    """Decoder inputs [B, T] that go with the labels [B, T]: the start token, then all labels but the last."""
    decoder_input_ids = labels.new_full(labels.shape, decoder_start_token_id)
    decoder_input_ids[:, 1:] = labels[:, :-1]
    return decoder_input_ids.masked_fill(decoder_input_ids == IGNORED_LABEL, pad_token_id)
