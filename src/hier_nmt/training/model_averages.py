# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The weighted average of the weights of several models (Wortsman et al. 2022, "Model soups").

It helps where the models were trained from the same one, with other data or settings; each must have the tensors that
it shares with the first in the same shapes.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from transformers import AutoModelForSeq2SeqLM

from ..data.text_files import new_folder
from ..data.tokenization import load_tokenizers, save_tokenizers
from ..models.hier_nmt.sentence_models import HIDDEN_LOGIT
from .checkpoints import CheckpointError, read_weights
from .sharding import load_full_weights

_OUTPUT_BIAS = "lm_head.bias"


class WeightedModel(NamedTuple):
    """A model's folder, and its weight in the average."""

    folder: Path
    weight: float


def average_models(models: Sequence[WeightedModel], output: str | Path) -> list[str]:
    """Writes the average of models in float32, with the configuration, tokenizers and generation settings of the first.

    A tensor that some of the others lack, such as one that chooses sentences, is the average of those that have it. So
    is the bias of a separator that some models hide (`hier-nmt adapt` does until training begins).

    Args:
        models: at least two, with weights above 0; these are divided by their sum.
        output: the folder to write, which must not exist or be empty.

    Returns:
        The names of tensors that not all models have.

    Raises:
        FileNotFoundError: a folder does not exist.
        ValueError: fewer than two models, a weight that is not above 0, other vocabularies, or an `output` that holds
            something.
        CheckpointError: a folder without weights, a tensor of another shape, or one that the first model lacks.
    """
    if len(models) < 2:
        raise ValueError(f"an average needs two models, got {len(models)}")
    for folder, weight in models:
        if not folder.is_dir():
            raise FileNotFoundError(f"no such model folder: {folder}")
        if not 0 < weight < float("inf"):
            raise ValueError(f"the weight of {folder} must be above 0, got {weight:g}")
    with new_folder(output) as written:
        tokenizers = load_tokenizers(models[0].folder)
        for folder, _ in models[1:]:
            _check_same_vocabulary(models[0].folder, folder)
        weights, partial = averaged_weights(models)
        model = AutoModelForSeq2SeqLM.from_pretrained(models[0].folder, dtype=torch.float32)
        load_full_weights(model, weights)
        model.save_pretrained(written)
        save_tokenizers(written, *tokenizers)
    return partial


def averaged_weights(models: Sequence[WeightedModel]) -> tuple[dict[str, torch.Tensor], list[str]]:
    """The averages of the tensors of the first model, in float32, and the names of those that not all models have."""
    first = read_weights(models[0].folder)
    sums = {name: torch.zeros_like(tensor, dtype=torch.float64) for name, tensor in first.items()}
    totals = {name: torch.zeros_like(total) for name, total in sums.items()}
    counts = dict.fromkeys(first, 0)
    for folder, weight in models:
        for name, tensor in read_weights(folder).items():
            if name not in first:
                raise CheckpointError(f"{models[0].folder} has no {name}, which {folder} has: name the latter first")
            if tensor.shape != first[name].shape:
                shapes = f"{list(tensor.shape)} in {folder} and {list(first[name].shape)} in {models[0].folder}"
                raise CheckpointError(f"{name} is {shapes}")
            counted = weight * _is_shown(name, tensor)
            sums[name] += counted * tensor.double()
            totals[name] += counted
            counts[name] += 1
    averages = {name: torch.where(totals[name] > 0, sums[name] / totals[name], first[name]).float() for name in first}
    return averages, [name for name, count in counts.items() if count < len(models)]


def _is_shown(name: str, tensor: torch.Tensor) -> torch.Tensor:
    """Where a tensor counts: everywhere, but for biases by which a model hides tokens."""
    return (tensor > HIDDEN_LOGIT / 100 if name == _OUTPUT_BIAS else torch.ones_like(tensor)).double()


def _check_same_vocabulary(first: Path, other: Path) -> None:
    pairs = zip(_vocabularies(first), _vocabularies(other), strict=True)
    if any(one != another for one, another in pairs):
        raise ValueError(f"{other} has another vocabulary than {first}, so their weights mean different things")


def _vocabularies(folder: Path) -> Iterable[dict[str, int]]:
    return (tokenizer.get_vocab() for tokenizer in load_tokenizers(folder))


__all__ = ["WeightedModel", "average_models", "averaged_weights"]
