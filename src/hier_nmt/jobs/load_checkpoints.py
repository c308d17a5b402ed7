# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Loads checkpoints for translation, on the device that was asked for."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from .shared_translation import Workers

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel


@contextmanager
def named_in_errors(model: str) -> Iterator[None]:
    """Loads a model, a folder or a name on the Hub, so that an error names it: for a folder that does not exist
    Transformers' errors may name the Hub alone."""
    try:
        yield
    except OSError as error:
        if Path(model).exists():
            raise
        raise OSError(f"{model}: there is no such folder, and it cannot be loaded from the Hub: {error}") from error


def load_config(checkpoint: str | Path) -> "PreTrainedConfig":
    """The configuration of a checkpoint directory; it has the model's languages and loads without the weights."""
    if not Path(checkpoint).is_dir():
        raise FileNotFoundError(f"no such checkpoint directory: {checkpoint}")
    from transformers import AutoConfig

    return AutoConfig.from_pretrained(str(checkpoint))


def saved_languages(checkpoint: str | Path, source: str | None = None, target: str | None = None) -> tuple[str, str]:
    """As `languages_of`, for the configuration of a checkpoint directory, which is read as it is, without Transformers.

    Raises:
        FileNotFoundError: there is no such directory.
        ValueError: the configuration does not have them.
    """
    try:
        fields = json.loads((Path(checkpoint) / "config.json").read_text(encoding="utf-8"))
        config = SimpleNamespace(**{**fields, "name_or_path": str(checkpoint)})
    except (OSError, TypeError, ValueError):
        # With the error that Transformers has for it.
        return languages_of(load_config(checkpoint), source, target)
    return languages_of(config, source, target)


def default_device(engine: str) -> str:
    """The device where none is named: a GPU, if there is one and the engine can use it."""
    if engine not in ("auto", "torch") or not _may_have_gpu():
        return "cpu"
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def _may_have_gpu() -> bool:
    """Whether there is a driver of a GPU; without one, PyTorch need not be imported to look for a GPU."""
    drivers = ("/dev/nvidiactl", "/dev/nvmap", "/dev/dxg", "/dev/kfd")
    return any(map(os.path.exists, drivers)) or shutil.which("nvidia-smi") is not None


def check_device(device: str) -> None:
    """Raises ValueError for a device that does not exist in this machine."""
    if device == "cpu":
        return
    import torch

    try:
        torch.empty(1, device=device)
    # Each backend raises another exception.
    except Exception as error:
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise ValueError(f"--device {device} cannot be used: {reason}") from None


def device_of(device: str, workers: Workers) -> str:
    """The device of one of several processes on a machine: each has its own GPU, and processors are divided."""
    import torch

    local_rank = int(os.environ.get("LOCAL_RANK", workers.rank))
    if device == "cuda":
        return f"cuda:{local_rank % torch.cuda.device_count()}"
    torch.set_num_threads(max(1, torch.get_num_threads() // workers.count))
    return device


def single_sentence_config(checkpoint: str | Path) -> "PreTrainedConfig | None":
    """The configuration that loads a checkpoint as a plain Transformer of single sentences, which every engine
    can run; None if it cannot be, see `HierNMTConfig.single_sentence_fields`."""
    from ..configuration.configuration_hier_nmt import HierNMTConfig

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
    import torch
    from transformers import pipeline
    from transformers.utils import logging

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


def load_with_config(checkpoint: str | Path, config: "PreTrainedConfig", **options: Any) -> "PreTrainedModel":
    """The model of a checkpoint with another configuration, without Transformers' report of weights that it leaves out.

    Args:
        checkpoint: the directory.
        config: the model's configuration.
        options: of `from_pretrained`.
    """
    from transformers import AutoModelForSeq2SeqLM
    from transformers.utils import logging

    verbosity = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        model: PreTrainedModel = AutoModelForSeq2SeqLM.from_pretrained(str(checkpoint), config=config, **options)
        return model
    finally:
        logging.set_verbosity(verbosity)


def languages_of(config: Any, source: str | None = None, target: str | None = None) -> tuple[str, str]:
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
