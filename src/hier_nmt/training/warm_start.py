# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Trainings that start from a checkpoint: initial position tables, and what of the network is trained how."""

import re
from collections.abc import Container

import torch
from torch import nn
from transformers import PreTrainedModel

from ..attention.positions import PositionTable, sinusoidal_encoding
from ..models.hier_nmt.sentence_models import GATED_CONTEXT_NAME

# The bias with which separators, which the base does not know, begin.
_OUTPUT_BIAS = re.compile(r"(^|\.)lm_head\.bias$")


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


def is_of_base(name: str) -> bool:
    """Whether a weight of that name is one that a sentence-level model had before it was adapted."""
    return not GATED_CONTEXT_NAME.search(name) and not _OUTPUT_BIAS.search(name)


def freeze_base(model: nn.Module) -> None:
    """Leaves gated context blocks and the bias of the output to train; ValueError if there are no such blocks."""
    names = [name for name, _ in model.named_parameters()]
    if not any(GATED_CONTEXT_NAME.search(name) for name in names):
        raise ValueError("freeze: base leaves nothing to train, as the model has no gated context blocks")
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(not is_of_base(name))


def freeze_encoder(model: PreTrainedModel) -> None:
    """Leaves the decoder and the output to train; embeddings that the encoder shares with them are not trained."""
    for parameter in model.get_encoder().parameters():
        parameter.requires_grad_(False)


def give_base_its_rate(optimizer: torch.optim.Optimizer, model: nn.Module, learning_rate: float) -> None:
    """Puts the weights of the base into groups of their own with that learning rate.

    For an optimizer that has not made a step, before a scheduler is made for it.
    """
    base = {id(parameter) for name, parameter in model.named_parameters() if is_of_base(name)}
    for group in list(optimizer.param_groups):
        parameters = group["params"]
        group["params"] = [parameter for parameter in parameters if id(parameter) not in base]
        of_base = [parameter for parameter in parameters if id(parameter) in base]
        options = {name: value for name, value in group.items() if name != "params"}
        optimizer.add_param_group({**options, "params": of_base, "lr": learning_rate})
