# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checkpoint directories: detecting damaged ones, averaging several, and initialising models from one."""

import json
import logging
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from transformers import PreTrainedModel, PreTrainedTokenizerBase

logger = logging.getLogger(__name__)

WEIGHTS_FILE = "model.safetensors"
STATE_FILE = "trainer_state.json"
# Files of the optimizer state: `optimizer.bin` if FSDP gathers it, or folders if FSDP or DeepSpeed save the shard of
# each process.
_OPTIMIZER_STATES = ("optimizer.pt", "optimizer.bin", "optimizer_0", "global_step*")

_PICKLED_WEIGHTS = ("pytorch_model.bin", "pytorch_model-*.bin")


class CheckpointError(ValueError):
    """A checkpoint that cannot be used for the requested purpose; the message says why."""


def checkpoint_directories(output_dir: str | Path) -> list[Path]:
    """The directories `checkpoint-<step>` of a run, in order of their steps."""
    steps = {}
    for path in Path(output_dir).glob("checkpoint-*"):
        match = re.fullmatch(r"checkpoint-(\d+)", path.name)
        if match and path.is_dir():
            steps[int(match[1])] = path
    return [steps[step] for step in sorted(steps)]


def last_complete_checkpoint(output_dir: str | Path) -> Path | None:
    """The latest checkpoint from which training can continue, or None; damaged ones are reported and not changed."""
    for path in reversed(checkpoint_directories(output_dir)):
        damage = checkpoint_damage(path)
        if damage is None:
            return path
        logger.warning("%s is not used: %s (was its writing interrupted?)", path, damage)
    return None


def checkpoint_damage(directory: Path) -> str | None:
    """The reason why training cannot continue from the checkpoint, or None.

    Trainer writes the state file last and deletes older checkpoints only afterwards, so an interruption leaves at most
    one checkpoint without it. The other files are checked too: a machine that crashes may truncate them.
    """
    try:
        state = json.loads((directory / STATE_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return f"{STATE_FILE} cannot be read ({type(error).__name__})"
    if directory.name != f"checkpoint-{state.get('global_step')}":
        return f"{STATE_FILE} is of step {state.get('global_step')}"
    if not any(path for pattern in _OPTIMIZER_STATES for path in directory.glob(pattern)):
        return "it has no optimizer state"
    pickled = _pickled_weights(directory)
    if pickled and not (directory / WEIGHTS_FILE).is_file():
        return f"{pickled[0]} is a pickle; weights are read from {WEIGHTS_FILE} only"
    for path in sorted(directory.rglob("*")):
        if not _is_complete(path):
            return f"{path.name} is truncated"
    return None


def read_weights(directory: str | Path) -> dict[str, torch.Tensor]:
    """The weights of a checkpoint directory, read only from safetensors.

    Raises:
        CheckpointError: there is no such file, or it is truncated.
    """
    path = Path(directory) / WEIGHTS_FILE
    if not path.is_file():
        pickled = _pickled_weights(path.parent)
        refused = f"; {pickled[0]} is a pickle, which can run code, and is not read" if pickled else ""
        raise CheckpointError(f"there is no {WEIGHTS_FILE} in {directory}{refused}")
    try:
        return load_file(path)
    except SafetensorError as error:
        raise CheckpointError(f"{path} is not a complete safetensors file: {error}") from None


def average_checkpoints(directories: Sequence[Path]) -> dict[str, torch.Tensor]:
    """The mean of the weights of several checkpoints, summed in float64, in the dtype of the first.

    Raises:
        CheckpointError: no directory, one without weights, or one whose weights have other names or shapes.
    """
    if not directories:
        raise CheckpointError("no checkpoint to average")
    first = read_weights(directories[0])
    sums = {name: tensor.double() for name, tensor in first.items()}
    for directory in directories[1:]:
        weights = read_weights(directory)
        if {name: tensor.shape for name, tensor in weights.items()} != {n: t.shape for n, t in first.items()}:
            raise CheckpointError(f"{directory} has other weights than {directories[0]}")
        for name, tensor in weights.items():
            sums[name] += tensor
    return {name: (total / len(directories)).to(first[name].dtype) for name, total in sums.items()}


def load_initial_weights(model: PreTrainedModel, directory: str | Path) -> list[str]:
    """Initialises the model with the weights of a checkpoint; an sKtoK model can start from a sentence-level one.

    Heads that read sentence encodings in this model alone (`context_block: heads`) begin as the last of the
    checkpoint's. Weights that the checkpoint lacks (those of new parts) keep their initial values, which is logged;
    their names are returned. CheckpointError names the weights whose shapes differ and those that the model does not
    have.
    """
    weights = read_weights(directory)
    own = model.state_dict()
    _divide_heads(weights, own)
    mismatches = [
        f"{name} is {list(tensor.shape)} there and {list(own[name].shape)} here"
        for name, tensor in weights.items()
        if name in own and own[name].shape != tensor.shape
    ]
    unknown = [f"{name} is not in this model" for name in weights if name not in own]
    if mismatches or unknown:
        raise CheckpointError(f"the weights of {directory} do not fit: " + "; ".join(_by_layers(mismatches + unknown)))
    missing = model.load_state_dict(weights, strict=False).missing_keys
    model.tie_weights()
    new = sorted(set(missing) - set(model.all_tied_weights_keys))
    if new:
        logger.warning("not in %s, keep their initial values: %s", directory, ", ".join(_by_layers(new)))
    return new


def _divide_heads(weights: dict[str, torch.Tensor], own: Mapping[str, torch.Tensor]) -> None:
    """Gives the last heads of each attention to the model's `sentence_heads` beside it, where the weights have none."""
    for name in [name for name in own if ".sentence_heads." in name and name not in weights]:
        slot = "encoder_attn" if ".decoder.layers." in name else "self_attn"
        whole = name.replace(".sentence_heads.", f".{slot}.")
        dimension = 1 if ".out_proj." in name else 0
        widths = [own[whole].shape[dimension], own[name].shape[dimension]]
        if whole in weights and weights[whole].shape[dimension] == sum(widths):
            weights[whole], weights[name] = weights[whole].split(widths, dimension)


def _by_layers(names: Sequence[str]) -> list[str]:
    """Names of weights, or what is said of them, with one entry where the number of the layer alone differs."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(re.sub(r"\.layers\.\d+\.", ".layers.*.", name), []).append(name)
    return [group[0] if len(group) == 1 else pattern for pattern, group in groups.items()]


def check_same_tokenizer(
    tokenizer: PreTrainedTokenizerBase, other: PreTrainedTokenizerBase, directory: str | Path
) -> None:
    """Raises CheckpointError if the tokenizer of a checkpoint maps tokens to other ids."""
    ids, other_ids = tokenizer.get_vocab(), other.get_vocab()
    if ids != other_ids:
        differing = sorted(token for token in ids.keys() | other_ids.keys() if ids.get(token) != other_ids.get(token))
        raise CheckpointError(
            f"the tokenizer differs from that of {directory} in {len(differing)} tokens ({', '.join(differing[:5])}, "
            f"...): its embeddings belong to other tokens; set tokenizer.path: {directory}"
        )


def _pickled_weights(directory: Path) -> list[str]:
    return sorted(path.name for pattern in _PICKLED_WEIGHTS for path in directory.glob(pattern))


def _is_complete(path: Path) -> bool:
    if path.suffix == ".safetensors":
        try:
            with safe_open(path, framework="pt"):
                return True
        except (SafetensorError, OSError):
            return False
    if path.suffix in (".pt", ".pth", ".bin"):
        return zipfile.is_zipfile(path)
    return True
