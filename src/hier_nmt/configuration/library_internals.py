# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Everything undocumented that the package uses of other libraries, in one place.

What `data` uses is in hier_nmt/data/library_internals.py, since that room never sees a model. Each entry says why it is
needed and which versions have it in which form. docs/upstream.md lists them for maintainers, and
tests/unit/configuration/test_library_internals.py shows which of them a new version has changed.
"""

import warnings
from dataclasses import fields
from typing import Any

import torch
from torch import nn
from transformers import PreTrainedModel, pipelines
from transformers.cache_utils import Cache

# The building blocks of Transformers' own models (5.4 to 5.24): they fill in defaults from the configuration, turn
# outputs into tuples, record hidden states and attention weights, and recompute layers in the backward pass.
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
    """The cache that was passed under one of its two names, or None; ValueError if two different ones were passed.

    With versions of Transformers that have dropped the older name, using it gives a FutureWarning, as in Transformers'
    own models.
    """
    if past_key_values is None:
        return cache
    if cache is not None and cache is not past_key_values:
        raise ValueError("cache and past_key_values are two names of one argument; pass only one of them")
    if CACHE_NAME != "past_key_values" and not torch.compiler.is_compiling():
        warnings.warn("`past_key_values` is deprecated in Transformers; use `cache`", FutureWarning, stacklevel=3)
    return past_key_values


def named_cache(cache: Cache | None) -> dict[str, Any]:
    """The cache as a keyword argument, under the name that the installed version of Transformers uses."""
    return {CACHE_NAME: cache}


class MakesItsOwnCache:
    """A model whose decoder makes its own kind of cache; `generate` makes none of keys and values for it.

    `_supports_default_dynamic_cache` (5.4 to 5.24) is the only setting that also holds if a static cache is requested.
    `_is_stateful` (5.4 to 5.24) disables speculative decoding, which would have to roll back a recurrent state.
    """

    _is_stateful = True

    @classmethod
    def _supports_default_dynamic_cache(cls) -> bool:
        return False


def resized_embedding(model: PreTrainedModel, embedding: nn.Embedding, num_tokens: int) -> nn.Embedding:
    """The embedding resized to another number of tokens, as by `resize_token_embeddings` (5.4 to 5.24).

    The documented method resizes only the source embedding, but the decoder may have a vocabulary of its own.
    """
    return model._get_resized_embeddings(old_embeddings=embedding, new_num_tokens=num_tokens)


def resized_output_layer(model: PreTrainedModel, output_layer: nn.Linear, num_tokens: int) -> nn.Linear:
    """The output layer resized to another number of tokens, likewise (5.4 to 5.24)."""
    return model._get_resized_lm_head(old_lm_head=output_layer, new_num_tokens=num_tokens)


def configured_attention(config: Any) -> str:
    """The attention implementation that `from_pretrained` or `set_attn_implementation` chose (5.4 to 5.24).

    It is the key for `ALL_ATTENTION_FUNCTIONS`, and no documented attribute has it.
    """
    return config._attn_implementation


def allow_translation_task() -> None:
    """Lets a pipeline be registered as "translation".

    Since 5.19, `pipeline` rejects the names of removed tasks before it looks into its registry; earlier versions have
    no table of removed tasks.
    """
    getattr(pipelines, "REMOVED_TASKS", {}).pop("translation", None)


def forget_registration(pipeline_class: type) -> None:
    """Removes the attribute that registering sets on a pipeline class (5.4 to 5.24).

    With it, saving a pipeline would copy the pipeline's file, and the checkpoint would ask for `trust_remote_code`.
    """
    if "_registered_impl" in vars(pipeline_class):
        delattr(pipeline_class, "_registered_impl")


def pipeline_parameters(pipeline: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The default parameters of the pipeline's steps, from the options that it was built with (5.4 to 5.24).

    They are the results of `_sanitize_parameters`; a pipeline that overrides `__call__`, to take whole documents, has
    no documented way to read them.
    """
    return pipeline._preprocess_params, pipeline._forward_params, pipeline._postprocess_params


def pipeline_batch_size(pipeline: Any) -> int | None:
    """The `batch_size` that a pipeline was built with, likewise (5.4 to 5.24)."""
    return pipeline._batch_size


def use_one_gpu(training_arguments: Any) -> None:
    """Keeps Trainer from wrapping the model in `nn.DataParallel` if a process sees several GPUs (5.4 to 5.24).

    `TrainingArguments.n_gpu` has no setter, and the environment is read before the recipe.
    """
    training_arguments._n_gpu = 1


def take_over_the_loss(trainer: Any) -> None:
    """Tells Trainer that `compute_loss` smooths the labels and uses `num_items_in_batch` (5.4 to 5.24).

    Otherwise Trainer decides by the signature of the model's `forward`, and smooths the labels itself.
    """
    trainer.label_smoother = None
    trainer.model_accepts_loss_kwargs = True


def gather_without_padding(trainer: Any) -> None:
    """Makes an evaluation on several processes count each row once (5.4 to 5.24).

    Seq2SeqTrainer also gathers the rows that only fill up the last batch.
    """
    trainer.gather_function = trainer.accelerator.gather_for_metrics


def leave_deepspeed(trainer: Any) -> None:
    """Lets Trainer evaluate a model for which it has not created a DeepSpeed engine (5.4 to 5.24)."""
    trainer.is_deepspeed_enabled = False


def finish_upload(trainer: Any) -> None:
    """Waits for the upload of a checkpoint that Trainer started in the background (5.4 to 5.24).

    `Trainer.push_to_hub` would wait for it only after overwriting the files that this upload is reading.
    """
    trainer._finish_current_push()
