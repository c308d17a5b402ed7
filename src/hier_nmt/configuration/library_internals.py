# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Everything that the package uses of other libraries without their documentation promising it, in one place.

(But for what `data` uses, which never sees a model: hier_nmt/data/library_internals.py.) Each entry says why it is
needed and which versions have which form; docs/upstream.md lists them for maintainers, and
tests/unit/models/test_library_internals.py says what changed when one of them no longer holds.
"""

import warnings
from dataclasses import fields
from typing import Any

import torch
from torch import nn
from transformers import PreTrainedModel, pipelines
from transformers.cache_utils import Cache

# With these Transformers writes its own models (5.4 to 5.24): they fill in what the configuration says, turn outputs to
# tuples, record states and weights on their way, and recompute layers in the backward pass.
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_outputs import Seq2SeqLMOutput
from transformers.utils.generic import TransformersKwargs, can_return_tuple, merge_with_config_defaults
from transformers.utils.output_capturing import OutputRecorder, capture_outputs

__all__ = [
    "CACHE_NAME",
    "GradientCheckpointingLayer",
    "MakesItsOwnCache",
    "OutputRecorder",
    "TransformersKwargs",
    "allow_translation_task",
    "can_return_tuple",
    "capture_outputs",
    "configured_attention",
    "finish_upload",
    "forget_registration",
    "gather_without_padding",
    "leave_deepspeed",
    "merge_with_config_defaults",
    "named_cache",
    "one_cache",
    "pipeline_batch_size",
    "pipeline_parameters",
    "resized_embedding",
    "resized_output_layer",
    "take_over_the_loss",
    "use_one_gpu",
]

# What the decoder's cache is called in arguments and outputs: `past_key_values` until 5.23, `cache` from 5.24 on.
CACHE_NAME = "cache" if "cache" in {field.name for field in fields(Seq2SeqLMOutput)} else "past_key_values"


def one_cache(cache: Any, past_key_values: Any) -> Any:
    """The cache that a caller gave under one of its two names, or None; ValueError for two different ones.

    Where Transformers has given up the older name, it is a FutureWarning as in Transformers' own models.
    """
    if past_key_values is None:
        return cache
    if cache is not None and cache is not past_key_values:
        raise ValueError("cache and past_key_values are two names of one argument; pass only one of them")
    if CACHE_NAME != "past_key_values" and not torch.compiler.is_compiling():
        warnings.warn("`past_key_values` is deprecated in Transformers; use `cache`", FutureWarning, stacklevel=3)
    return past_key_values


def named_cache(cache: Cache | None) -> dict[str, Any]:
    """The cache as a keyword argument of the installed version of Transformers."""
    return {CACHE_NAME: cache}


class MakesItsOwnCache:
    """A model for which `generate` makes no cache of keys and values: its decoder makes another kind.

    `_supports_default_dynamic_cache` (5.4 to 5.24) is the only way to say so where a static cache is asked for too.
    `_is_stateful` (5.4 to 5.24) refuses speculative decoding, which would have to take a recurrent state back.
    """

    _is_stateful = True

    @classmethod
    def _supports_default_dynamic_cache(cls) -> bool:
        return False


def resized_embedding(model: PreTrainedModel, embedding: nn.Embedding, num_tokens: int) -> nn.Embedding:
    """An embedding of another number of tokens, as `resize_token_embeddings` makes it (5.4 to 5.24).

    The documented method resizes the source's embedding only; a decoder may have a vocabulary of its own.
    """
    return model._get_resized_embeddings(old_embeddings=embedding, new_num_tokens=num_tokens)


def resized_output_layer(model: PreTrainedModel, output_layer: nn.Linear, num_tokens: int) -> nn.Linear:
    """An output layer of another number of tokens, likewise (5.4 to 5.24)."""
    return model._get_resized_lm_head(old_lm_head=output_layer, new_num_tokens=num_tokens)


def configured_attention(config: Any) -> str:
    """What `attn_implementation` in `from_pretrained` or `set_attn_implementation` chose (5.4 to 5.24).

    Attention functions are looked up by it (`ALL_ATTENTION_FUNCTIONS`); no documented attribute has it.
    """
    return config._attn_implementation


def allow_translation_task() -> None:
    """Lets a pipeline be registered as "translation".

    From 5.19 on `pipeline` refuses the names of removed tasks before it looks into its registry; before, there is no
    such table.
    """
    getattr(pipelines, "REMOVED_TASKS", {}).pop("translation", None)


def forget_registration(pipeline_class: type) -> None:
    """Removes the mark that registering leaves on a pipeline class (5.4 to 5.24).

    With the mark, saving a pipeline copies its file and makes the checkpoint one that asks for `trust_remote_code`.
    """
    if "_registered_impl" in vars(pipeline_class):
        delattr(pipeline_class, "_registered_impl")


def pipeline_parameters(pipeline: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """What `_sanitize_parameters` made of the options a pipeline was built with (5.4 to 5.24).

    A pipeline that overrides `__call__`, to take whole documents, has no documented way to read them.
    """
    return pipeline._preprocess_params, pipeline._forward_params, pipeline._postprocess_params


def pipeline_batch_size(pipeline: Any) -> int | None:
    """The `batch_size` that a pipeline was built with, likewise (5.4 to 5.24)."""
    return pipeline._batch_size


def use_one_gpu(training_arguments: Any) -> None:
    """Keeps Trainer from wrapping the model in `nn.DataParallel` where a process sees several GPUs (5.4 to 5.24).

    `TrainingArguments.n_gpu` has no setter, and the environment is read before a recipe is.
    """
    training_arguments._n_gpu = 1


def take_over_the_loss(trainer: Any) -> None:
    """Tells Trainer that `compute_loss` smooths the labels and honours `num_items_in_batch` (5.4 to 5.24).

    It otherwise judges by the signature of the model's `forward`, and smooths by itself what has labels.
    """
    trainer.label_smoother = None
    trainer.model_accepts_loss_kwargs = True


def gather_without_padding(trainer: Any) -> None:
    """Has an evaluation on several processes count each row once (5.4 to 5.24).

    Seq2SeqTrainer gathers the rows that fill up the last batch too.
    """
    trainer.gather_function = trainer.accelerator.gather_for_metrics


def leave_deepspeed(trainer: Any) -> None:
    """Has Trainer evaluate a model for which it has made no DeepSpeed engine (5.4 to 5.24)."""
    trainer.is_deepspeed_enabled = False


def finish_upload(trainer: Any) -> None:
    """Waits for the upload of a checkpoint that Trainer started in the background (5.4 to 5.24).

    `Trainer.push_to_hub` waits for it only after it has written the files again that this upload is reading.
    """
    trainer._finish_current_push()
