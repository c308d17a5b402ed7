# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a model with positions of its own starts from, where the checkpoint it starts from has none."""

from collections.abc import Container

import torch
from torch import nn

from ..attention.positions import PositionTable, sinusoidal_encoding


@torch.no_grad()
def continue_positions(model: nn.Module, new_weights: Container[str]) -> None:
    """Lets position tables that a checkpoint lacks begin with what it computed: sinusoids of tokens, nothing else.

    A model for documents so translates the first sentence of a document as the sentence-level model did that it starts
    from, and learns from there what other sentences are.

    Args:
        model: holds the weights of the checkpoint.
        new_weights: names of the weights that the checkpoint lacks.
    """
    for name, module in model.named_modules():
        if isinstance(module, PositionTable) and f"{name}.weight" in new_weights:
            if module.level == "token":
                positions = torch.arange(module.num_embeddings, device=module.weight.device)[None]
                module.weight.copy_(sinusoidal_encoding(positions, module.embedding_dim)[0])
            else:
                module.weight.zero_()
