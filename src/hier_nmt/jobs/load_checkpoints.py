# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Loads checkpoints for translation, on the device that was asked for."""

import os
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForSeq2SeqLM, PreTrainedConfig, PreTrainedModel, pipeline
from transformers.utils import logging

from ..configuration import HierNMTConfig
from .shared_translation import Workers


def load_config(checkpoint: str | Path) -> PreTrainedConfig:
    """The configuration of a checkpoint directory; it has the model's languages and loads without the weights."""
    if not Path(checkpoint).is_dir():
        raise FileNotFoundError(f"no such checkpoint directory: {checkpoint}")
    return AutoConfig.from_pretrained(str(checkpoint))


def check_device(device: str) -> None:
    """Raises ValueError for a device that does not exist in this machine."""
    try:
        torch.empty(1, device=device)
    # Each backend raises another exception.
    except Exception as error:
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise ValueError(f"--device {device} cannot be used: {reason}") from None


def device_of(device: str, workers: Workers) -> str:
    """The device of one of several processes on a machine: each has its own GPU, and processors are divided."""
    local_rank = int(os.environ.get("LOCAL_RANK", workers.rank))
    if device == "cuda":
        return f"cuda:{local_rank % torch.cuda.device_count()}"
    torch.set_num_threads(max(1, torch.get_num_threads() // workers.count))
    return device


def single_sentence_config(checkpoint: str | Path) -> PreTrainedConfig | None:
    """The configuration that loads a checkpoint as a plain Transformer of single sentences, which every engine
    can run; None if it cannot be, see `HierNMTConfig.single_sentence_fields`."""
    config = load_config(checkpoint)
    if not isinstance(config, HierNMTConfig):
        return None
    try:
        fields = config.single_sentence_fields()
    except ValueError:
        return None
    for name, value in fields.items():
        setattr(config, name, value)
    return config


def load_pipeline(checkpoint: str | Path, device: str, engine: str = "torch", strategy: str | None = None) -> Any:
    """The translation pipeline of a checkpoint directory, with its model, tokenizer and target tokenizer.

    For the strategy `sentence`, engines other than PyTorch get the model that `single_sentence_config` describes.

    On a CPU the model is in float32, since few CPUs are faster in bfloat16, and without PyTorch's fused attention,
    which is slower there for the single query of a decoding step.

    Raises:
        FileNotFoundError: there is no such directory.
        ValueError: the device cannot be used.
    """
    if not Path(checkpoint).is_dir():
        raise FileNotFoundError(f"no such checkpoint directory: {checkpoint}")
    check_device(device)
    on_cpu = device == "cpu"
    dtype: Any = torch.float32 if on_cpu else "auto"
    attention = {"attn_implementation": "eager" if on_cpu else None}
    task: Any = "translation"
    options: dict[str, Any] = {"device": device, "engine": engine}
    config = single_sentence_config(checkpoint) if strategy == "sentence" and engine != "torch" else None
    logging.disable_progress_bar()
    try:
        if config is None:
            return pipeline(task, model=str(checkpoint), dtype=dtype, model_kwargs=attention, **options)
        return pipeline(task, model=load_with_config(checkpoint, config, dtype=dtype, **attention), **options)
    finally:
        logging.enable_progress_bar()


def load_with_config(checkpoint: str | Path, config: PreTrainedConfig, **options: Any) -> PreTrainedModel:
    """The model of a checkpoint with another configuration, without Transformers' report of weights that it leaves out.

    Args:
        checkpoint: the directory.
        config: the model's configuration.
        options: of `from_pretrained`.
    """
    verbosity = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        model: PreTrainedModel = AutoModelForSeq2SeqLM.from_pretrained(str(checkpoint), config=config, **options)
        return model
    finally:
        logging.set_verbosity(verbosity)


def languages_of(config: PreTrainedConfig, source: str | None = None, target: str | None = None) -> tuple[str, str]:
    """(source language, target language) as given, or else from the configuration of the model.

    Raises:
        ValueError: the configuration does not have them.
    """
    source = source or getattr(config, "source_language", None)
    target = target or getattr(config, "target_language", None)
    if not source or not target:
        raise ValueError(
            f"the configuration of {config.name_or_path} has no languages: give the source and target language"
        )
    return source, target
