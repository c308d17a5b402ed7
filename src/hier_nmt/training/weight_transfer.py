# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Weights of a checkpoint for a model with another vocabulary, more layers or wider feed-forward layers.

Dimensions: V vocabulary, D model width, F hidden units of a feed-forward layer.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from ..data.tokenization import load_tokenizers
from .checkpoints import CheckpointError, read_weights

_LAYER = re.compile(r"\.(encoder|decoder)\.layers\.(\d+)\.")
# What a block adds to the states comes out of these; zero, it adds nothing.
_OUTPUTS = re.compile(r"\.(out_proj|fc2)\.(weight|bias)$")
_HIDDEN_UNITS = re.compile(r"\.(fc1\.(weight|bias)|fc2\.weight)$")
_SOURCE_TABLE = "encoder.embed_tokens.weight"
_TABLES = ("embed_tokens.weight", "shared.weight", "lm_head.weight")


@torch.no_grad()
def transfer_weights(
    model: PreTrainedModel,
    tokenizers: Sequence[PreTrainedTokenizerBase],
    directory: str | Path,
) -> None:
    """Initialises a model with the weights of a checkpoint of another vocabulary, or with fewer layers or hidden units.

    A token of both vocabularies keeps its vector; another one gets the mean of the vectors of the old tokens that spell
    it. Layers, and hidden units of feed-forward layers, that the checkpoint does not have begin by changing nothing.

    Args:
        model: with layer norm in front of its blocks (`normalize_before`).
        tokenizers: of source and target, the same twice if the vocabulary is joint.
        directory: of the checkpoint.

    Raises:
        CheckpointError: the model has layer norm behind its blocks and more layers, or weights of other shapes.
    """
    weights, own = read_weights(directory), model.state_dict()
    old_tokenizers = load_tokenizers(directory)
    for side, (old, new) in enumerate(zip(old_tokenizers, tokenizers, strict=True)):
        if old.get_vocab() == new.get_vocab():
            continue
        rows = _rows_of_tokens(old, new)
        for name in [name for name in weights if name.endswith(_TABLES)]:
            is_source = name.endswith((_SOURCE_TABLE, "shared.weight"))
            if is_source == (side == 0) or tokenizers[0] is tokenizers[1]:
                weights[name] = torch.stack([weights[name][ids].mean(0) for ids in rows])
        if tokenizers[0] is tokenizers[1]:
            break
    for name in [name for name in weights if _HIDDEN_UNITS.search(name) and name in own]:
        weights[name] = _widened(weights[name], own[name], is_output=name.endswith("fc2.weight"))
    differing = [name for name, weight in weights.items() if name not in own or own[name].shape != weight.shape]
    if differing:
        raise CheckpointError(f"the weights of {directory} do not fit: {', '.join(differing[:5])}")
    missing = model.load_state_dict(weights, strict=False).missing_keys
    model.tie_weights()
    new_layers = [name for name in missing if _LAYER.search(name)]
    if new_layers and not model.config.normalize_before:
        raise CheckpointError(
            f"{directory} has fewer layers, and with normalize_before: false new ones cannot begin by changing nothing"
        )
    for name, parameter in model.named_parameters():
        if name in new_layers and _OUTPUTS.search(name):
            parameter.zero_()


def _widened(weight: torch.Tensor, own: torch.Tensor, is_output: bool) -> torch.Tensor:
    """A weight [F, D], [F] or, of the outputs, [D, F] with the model's own new hidden units, whose outputs are zero."""
    dimension = weight.dim() - 1 if is_output else 0
    num_old, num_new = weight.shape[dimension], own.shape[dimension]
    if num_new <= num_old:
        return weight
    added = own.narrow(dimension, num_old, num_new - num_old)
    return torch.cat([weight, torch.zeros_like(added) if is_output else added], dim=dimension)


def _rows_of_tokens(old: PreTrainedTokenizerBase, new: PreTrainedTokenizerBase) -> list[list[int]]:
    """For each token of the new vocabulary, by id, the ids of the old tokens whose vectors it gets the mean of."""
    old_ids, model = old.get_vocab(), old.backend_tokenizer.model
    words = [token_id for token, token_id in old_ids.items() if token.startswith("\u2581")]
    specials = set(map(str, new.all_special_tokens))
    rows: list[list[int]] = [words] * len(new)
    for token, token_id in new.get_vocab().items():
        if token in old_ids:
            rows[token_id] = [old_ids[token]]
        elif token not in specials:
            rows[token_id] = [piece.id for piece in model.tokenize(token)]
    return rows
