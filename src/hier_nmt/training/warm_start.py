# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Initial position tables for a model that starts from a checkpoint without them."""

from collections.abc import Container

import torch
from torch import nn

from ..attention.positions import PositionTable, sinusoidal_encoding


@torch.no_grad()
def continue_positions(model: nn.Module, new_weights: Container[str]) -> None:
    """Initialises position tables that a checkpoint lacks with its sinusoids of token positions, and others with zero.

    A document-level model then translates the first sentence of a document as its sentence-level checkpoint does, and
    learns from there how other sentences differ.

    Args:
        model: has the weights of the checkpoint.
        new_weights: names of the weights that the checkpoint lacks.
    """
    for name, module in model.named_modules():
        if isinstance(module, PositionTable) and f"{name}.weight" in new_weights:
            if module.level == "token":
                positions = torch.arange(module.num_embeddings, device=module.weight.device)[None]
                module.weight.copy_(sinusoidal_encoding(positions, module.embedding_dim)[0])
            else:
                module.weight.zero_()
