# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Translating with onnxruntime without loading the model, and so without importing PyTorch, which takes seconds.

What a model was exported to is noted by the content of its checkpoint, with all that a translator reads of the model.
"""

import hashlib
import importlib.util
import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from ..data.text_files import write_text
from ..publishing.onnx_files import EXPORT_VERSION, engines_folder
from ..translation.decoder_runs import DecoderRuns

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# Engines that can start without PyTorch.
_ENGINES = ("onnx", "onnx-int8")


class ExportedModel:
    """Stands for a model in a `DocumentTranslator`: it has no weights, and its runs are `OnnxRuns`.

    Args:
        note: what was noted of the model.
        folder: of its graphs.
        load: loads the model itself, run by the same engine, for what needs PyTorch.
    """

    # As text, so that an interrupted run knows the model again.
    dtype = "torch.float32"

    def __init__(self, note: dict[str, Any], folder: Path, load: Callable[[], Any]) -> None:
        from transformers import GenerationConfig

        self.config = SimpleNamespace(**note["config"])
        self.generation_config = GenerationConfig.from_dict(note["generation_config"])
        self.engine, self.weights_digest = note["engine"], folder.name
        self._folder, self._load = folder, load

    @property
    def pytorch_model(self) -> Any:
        """The model that was exported."""
        return self._load().pytorch_model

    def decoder_runs(self, *arguments: Any) -> DecoderRuns:
        """What runs the graphs; arguments as of `DecoderRuns` after the model."""
        from ..publishing.onnx_runs import OnnxRuns
        from ..publishing.onnx_translator import OnnxTranslator

        def with_pytorch() -> DecoderRuns:
            from ..translation.batched_generation import BatchedGenerator

            return BatchedGenerator(self._load(), *arguments)

        num_threads = int(os.environ.get("OMP_NUM_THREADS") or 0) or None
        return OnnxRuns(OnnxTranslator(self._folder, num_threads), with_pytorch, self, *arguments)


class Start(NamedTuple):
    """A model to translate with, and its tokenizer; named as in a pipeline."""

    model: ExportedModel
    tokenizer: "PreTrainedTokenizerBase"
    target_tokenizer: "PreTrainedTokenizerBase | None" = None


def start_without_pytorch(
    checkpoint: str | Path, engine: str, strategy: str | None, load: Callable[[], Any]
) -> Start | None:
    """The exported model of a checkpoint directory, if `note_export` noted it.

    Args:
        checkpoint: the directory.
        engine: as of `load_pipeline`.
        strategy: as of `load_pipeline`.
        load: loads the model with PyTorch.
    """
    # Another environment of the same user may have exported the model.
    if not _is_installed("onnxruntime"):
        return None
    # Reading a large checkpoint for nothing would take seconds.
    if not Path(checkpoint).is_dir() or not any(engines_folder().glob(f"*-{engine}.json")):
        return None
    path = _note(checkpoint, engine, strategy)
    if not path.is_file():
        return None
    note = json.loads(path.read_text(encoding="utf-8"))
    folder = engines_folder() / note["folder"]
    # With CTranslate2, `auto` may take another engine.
    if not folder.is_dir() or (engine == "auto" and _is_installed("ctranslate2") and not note["had_ctranslate2"]):
        return None
    from transformers import PreTrainedTokenizerFast

    tokenizer = PreTrainedTokenizerFast.from_pretrained(str(checkpoint))
    return Start(ExportedModel(note, folder, load), tokenizer)


def note_export(checkpoint: str | Path, engine: str, strategy: str | None, pipe: Any) -> None:
    """Notes what the pipeline of a checkpoint directory runs, for `start_without_pytorch`. Nothing is noted where a
    translation could not start without PyTorch, or where nothing can be written."""
    from transformers import PreTrainedTokenizerFast

    tokenizer, model = pipe.tokenizer, pipe.model
    is_plain = type(tokenizer) is PreTrainedTokenizerFast and pipe.target_tokenizer is tokenizer
    if getattr(model, "engine", None) not in _ENGINES or not is_plain:
        return
    note = {
        "engine": model.engine,
        "had_ctranslate2": _is_installed("ctranslate2"),
        "folder": model.weights_digest,
        "config": model.config.to_dict(),
        "generation_config": model.generation_config.to_dict(),
    }
    with suppress(OSError):
        write_text(_note(checkpoint, engine, strategy), json.dumps(note, indent=2) + "\n")


def _is_installed(library: str) -> bool:
    return importlib.util.find_spec(library) is not None


def _note(checkpoint: str | Path, engine: str, strategy: str | None) -> Path:
    """Where the export of a checkpoint with exactly this content is noted."""
    digest = hashlib.sha256(f"{EXPORT_VERSION} {engine} {strategy == 'sentence'}".encode())
    # Without folders, which may be the checkpoints of a training.
    for path in sorted(Path(checkpoint).iterdir()):
        if path.is_file():
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
            digest.update(f"\n{path.name} {content}".encode())
    return engines_folder() / f"{digest.hexdigest()[:16]}-{engine}.json"
