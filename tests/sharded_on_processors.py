# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""FSDP2 on processors, for which accelerate knows only copies of the whole model, whatever its configuration says.

As a script, a training script whose processes shard the model, started as `accelerate launch` starts any other:

ACCELERATE_USE_CPU=true accelerate launch --config_file training/accelerate/fsdp2.yaml \
    tests/sharded_on_processors.py training/train.py RECIPE
"""

import os
import runpy
import sys

from accelerate.utils import DistributedType

from hier_nmt.training.recipes import Recipe
from hier_nmt.training.training_arguments import DocumentSeq2SeqTrainingArguments

# What `accelerate launch` makes of training/accelerate/fsdp2.yaml.
ENVIRONMENT = {
    "ACCELERATE_USE_FSDP": "true",
    "FSDP_VERSION": "2",
    "FSDP_AUTO_WRAP_POLICY": "TRANSFORMER_BASED_WRAP",
    "FSDP_RESHARD_AFTER_FORWARD": "true",
    "FSDP_STATE_DICT_TYPE": "FULL_STATE_DICT",
}


def shard_as_on_devices(arguments: DocumentSeq2SeqTrainingArguments) -> DocumentSeq2SeqTrainingArguments:
    """Has the trainer that is made with these arguments believe that its processes have devices; gives them back."""
    state = arguments.distributed_state
    assert state.distributed_type == DistributedType.MULTI_CPU, state.distributed_type
    state.distributed_type = DistributedType.MULTI_GPU
    return arguments


def main(script: str, *arguments: str) -> None:
    """Runs a training script."""
    training_arguments = Recipe.training_arguments
    Recipe.training_arguments = lambda recipe: shard_as_on_devices(training_arguments(recipe))
    sys.argv = [script, *arguments]
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    assert os.environ["ACCELERATE_USE_FSDP"] == "true"
    main(*sys.argv[1:])
