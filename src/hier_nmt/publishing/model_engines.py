# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Models run by other engines than PyTorch: exported once, compared with the model, and kept in a cache."""

import copy
import hashlib
import importlib.util
import json
import logging
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers import GenerationConfig, PreTrainedModel

from ..configuration.configuration_choices import ENGINES
from .ctranslate2_export import check_equal_scores, check_expressible, export_ctranslate2
from .ctranslate2_model import Ctranslate2Model, open_translator
from .onnx_export import ExportError, check_exportable, export_model, quantize_model
from .onnx_files import EXPORT_VERSION, engines_folder
from .onnx_model import OnnxModel, check_equal

logger = logging.getLogger(__name__)

_CTRANSLATE2 = ("ctranslate2", "ctranslate2-int8")
_MAX_PARAMETERS = 100_000_000
# What has to be installed for an engine.
_LIBRARIES = {"ctranslate2": ("ctranslate2",), "onnx": ("onnx", "onnxruntime", "onnxscript")}


def with_engine(model: PreTrainedModel, engine: str, num_threads: int | None = None) -> PreTrainedModel:
    """A model run by an engine; what it runs is exported once, compared with the model and kept in HIER_NMT_CACHE.

    Args:
        model: with its weights, on the processor.
        engine: `torch`: the model itself; `onnx`: onnxruntime; `ctranslate2`: CTranslate2; `onnx-int8` and
            `ctranslate2-int8`: these with matrices in int8; `auto`: the fastest that gives the same translations and
            starts at once: `ctranslate2` if it is installed and can run the model, else `onnx` if the model has been
            exported before, by `export_for_auto` for example, else `torch`.
        num_threads: of the engine; None: as many as PyTorch has.

    Raises:
        ValueError: an unknown engine, a model on another device, or a network that cannot be exported (`ExportError`).
        ImportError: the engine, or what exporting needs, is not installed.
    """
    if engine not in ENGINES:
        raise ValueError(f"engine={engine!r} is unknown; choose one of {', '.join(ENGINES)}")
    if engine == "auto":
        try:
            return with_engine(model, _fastest_engine(model), num_threads)
        except (OSError, RuntimeError, ValueError) as error:
            # For example no place to write to.
            logger.warning("PyTorch runs the model, as another engine failed: %s", error)
            return model
    if engine == "torch":
        return model
    if model.device.type != "cpu":
        raise ValueError(f"engine={engine!r} runs on processors, and the model is on {model.device}")
    _check(model, engine)
    folder, num_threads = _cached_export(model, engine), num_threads or torch.get_num_threads()
    wrapped: PreTrainedModel
    if engine in _CTRANSLATE2:
        compute_type = "float32" if engine == "ctranslate2" else "int8"
        wrapped = Ctranslate2Model(model, open_translator(folder, compute_type, num_threads), num_threads)
    else:
        wrapped = OnnxModel(model, folder, num_threads)
    wrapped.generation_config = GenerationConfig.from_dict(model.generation_config.to_dict())
    wrapped.name_or_path = model.name_or_path
    # By these an interrupted run knows it again; it has no weights.
    wrapped.engine, wrapped.weights_digest = engine, folder.name  # type: ignore[assignment]
    return wrapped.eval()


def export_for_auto(model: PreTrainedModel, announce: Callable[[str], None]) -> None:
    """Exports a model if only that keeps `auto` from a faster engine. Where the export fails, it is told, and PyTorch
    remains the engine.

    Args:
        model: as `with_engine(model, "auto")` returned it.
        announce: is given a line of text before the export begins.
    """
    if isinstance(model, Ctranslate2Model | OnnxModel) or _takes_long_to_export(model):
        return
    engine = _fastest_engine(model, exports=True)
    if engine == "torch":
        return
    announce("exporting the model for onnxruntime, once (up to some minutes): later runs use it, too")
    try:
        _cached_export(model, engine)
    except (OSError, RuntimeError, ValueError) as error:
        logger.warning("PyTorch runs the model, as its export failed: %s", error)


def _takes_long_to_export(model: PreTrainedModel) -> bool:
    """Whether an export takes so long, or so much memory, that nobody would want it unasked."""
    config: Any = model.config
    names = ("encoder_self_attention", "cross_attention", "context_block")
    # The export of six hierarchical layers did not end within twelve minutes of a slow core.
    has_trees = any(getattr(config, name, None) == "hierarchical" for name in names)
    return has_trees or model.num_parameters() > _MAX_PARAMETERS


def _check(model: PreTrainedModel, engine: str) -> None:
    """Raises ExportError if the engine cannot run the model."""
    (check_expressible if engine in _CTRANSLATE2 else check_exportable)(model.config)


def _fastest_engine(model: PreTrainedModel, exports: bool = False) -> str:
    """The engine of `auto`; with `exports` also one that the model must be exported for, which takes a while."""
    if model.device.type != "cpu":
        return "torch"
    for engine, libraries in _LIBRARIES.items():
        try:
            _check(model, engine)
        except ExportError:
            continue
        is_installed = all(importlib.util.find_spec(name) for name in libraries)
        if is_installed and (exports or engine == "ctranslate2" or _cache_folder(model, engine).is_dir()):
            return engine
    return "torch"


def _cache_folder(model: PreTrainedModel, engine: str) -> Path:
    return engines_folder() / f"{_digest(model)}-{engine}"


def _cached_export(model: PreTrainedModel, engine: str) -> Path:
    """The folder of what the engine runs for exactly these weights, exported now if there is none."""
    folder = _cache_folder(model, engine)
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as temporary:
        export = _export_for_ctranslate2 if engine in _CTRANSLATE2 else _export_for_onnxruntime
        exported = export(model, engine, Path(temporary))
        try:
            os.rename(exported, folder)
        except OSError:
            # Another process was faster.
            if not folder.is_dir():
                raise
    return folder


def _export_for_onnxruntime(model: PreTrainedModel, engine: str, folder: Path) -> Path:
    graphs = export_model(model, folder / "float32")
    check_equal(_in_float32(model), OnnxModel(model, graphs))
    return graphs if engine == "onnx" else quantize_model(graphs, folder / "int8")


def _export_for_ctranslate2(model: PreTrainedModel, engine: str, folder: Path) -> Path:
    exported = export_ctranslate2(model, folder / "float32")
    check_equal_scores(_in_float32(model), open_translator(exported, "float32", num_threads=1))
    return exported if engine == "ctranslate2" else export_ctranslate2(model, folder / "int8", quantization="int8")


def _in_float32(model: PreTrainedModel) -> PreTrainedModel:
    """The model, or a copy of it that computes as precisely as what it is compared with: the pipeline loads weights in
    the precision in which they were saved."""
    return model if model.dtype == torch.float32 else copy.deepcopy(model).float()


def _digest(model: PreTrainedModel) -> str:
    """A hash of the weights and of all that shapes what is exported, wherever the checkpoint lies."""
    fields = json.loads(model.config.to_json_string(use_diff=False))
    fields.pop("_name_or_path", None)
    digest = hashlib.sha256(f"{EXPORT_VERSION} {json.dumps(fields, sort_keys=True)}".encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().float().contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]
