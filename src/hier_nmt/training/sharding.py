# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Models whose weights FSDP2 shards over several processes: tied weights, and loading full weights."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from accelerate import Accelerator
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard


def check_full_state_dict(accelerator: Accelerator) -> None:
    """Raises ValueError if FSDP would save sharded weights, which only the same run could load."""
    plugin: Any = getattr(accelerator.state, "fsdp_plugin", None)
    if plugin is not None and plugin.state_dict_type.name != "FULL_STATE_DICT":
        raise ValueError(
            f"fsdp_state_dict_type is {plugin.state_dict_type.name}, but checkpoints must have full weights to be "
            "evaluated, averaged and published: set it to FULL_STATE_DICT"
        )


def modules_with_tied_weights(model: nn.Module) -> list[list[nn.Module]]:
    """The modules that share a parameter, one list per shared parameter, in the order of `model.modules()`."""
    holders: dict[nn.Parameter, list[nn.Module]] = defaultdict(list)
    for module in model.modules():
        for parameter in module.parameters(recurse=False):
            holders[parameter].append(module)
    return [modules for modules in holders.values() if len(modules) > 1]


def shard_tied_weights(model: nn.Module, accelerator: Accelerator) -> None:
    """Shards modules that share a weight together, before accelerate shards the rest of the model.

    FSDP2 requires that they are in one group (documentation of `torch.distributed.fsdp.fully_shard`). accelerate groups
    the input and output embeddings, but not the embeddings of a decoder. Modules that are already sharded are
    not changed.
    """
    plugin: Any = accelerator.state.fsdp_plugin
    mesh, parallelism = accelerator.torch_device_mesh, accelerator.parallelism_config
    for modules in modules_with_tied_weights(model):
        if not isinstance(modules[0], FSDPModule):
            fully_shard(
                modules,
                mesh=None if mesh is None or parallelism is None else mesh[tuple(parallelism.fsdp_dim_names)],
                # Needed first and last in the forward pass, so resharding in between would save nothing.
                reshard_after_forward=False,
                mp_policy=plugin.mixed_precision_policy or MixedPrecisionPolicy(),
                offload_policy=plugin.cpu_offload,
            )


@contextmanager
def full_weights(model: nn.Module, accelerator: Accelerator) -> Iterator[None]:
    """Gathers all weights in each process for the block, so that no process waits for another in a forward pass.

    Processes generate different lengths, so they call the decoder, which would gather its weights, different numbers of
    times. Transformers' solution, `synced_gpus`, keeps calling the decoder of a finished process: with a growing cache
    and a target that does not grow, which is wrong for a model that derives the structure of the target from its
    tokens.
    """
    sharded = [module for module in model.modules() if isinstance(module, FSDPModule)]
    for module in sharded:
        module.set_reshard_after_forward(False, recurse=False)
        module.unshard()
    try:
        yield
    finally:
        kept = [model, *(module for modules in modules_with_tied_weights(model) for module in modules)]
        for module in sharded:
            module.reshard()
            if not any(module is other for other in kept):
                plugin: Any = accelerator.state.fsdp_plugin
                module.set_reshard_after_forward(plugin.reshard_after_forward, recurse=False)


def load_full_weights(model: nn.Module, weights: Mapping[str, torch.Tensor]) -> None:
    """Loads weights into a model, sharded or not; weights that are not given, such as tied ones, keep their values."""
    set_model_state_dict(model, dict(weights), options=StateDictOptions(full_state_dict=True, strict=False))


__all__ = [
    "check_full_state_dict",
    "full_weights",
    "load_full_weights",
    "modules_with_tied_weights",
    "shard_tied_weights",
]
