# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Registers the models with the Auto classes, the pipelines with `transformers.pipeline`, and what `translation` leaves
to the package: engines, and readers of files."""

from pathlib import Path

from transformers import AutoConfig, AutoModel, AutoModelForSeq2SeqLM, PreTrainedModel

from .configuration.config_classes import HANConfig, HierNMTConfig, RNNNMTConfig
from .configuration.hub_config import register_code_writer
from .kernels import register_backends
from .models.han.modeling_han import HANForConditionalGeneration, HANModel
from .models.hier_nmt.modeling_hier_nmt import HierNMTForConditionalGeneration, HierNMTModel
from .models.rnn.modeling_rnn_nmt import RNNNMTForConditionalGeneration, RNNNMTModel
from .publishing.exported_code import write_code
from .text.glossary import Glossary
from .text.translation_memory import TranslationMemory
from .translation.engines import register_engines
from .translation.glossary_options import GlossaryReaders, register_glossary_readers
from .translation.memory_options import register_memory_reader
from .translation.pipeline_document_translation import DocumentTranslationPipeline, register_pipelines

__all__ = [
    "DocumentTranslationPipeline",
    "HANConfig",
    "HANForConditionalGeneration",
    "HANModel",
    "HierNMTConfig",
    "HierNMTForConditionalGeneration",
    "HierNMTModel",
    "RNNNMTConfig",
    "RNNNMTForConditionalGeneration",
    "RNNNMTModel",
    "register_all",
    "run_with_engine",
]


def read_glossary_file(path: Path, source_language: str | None, target_language: str | None) -> Glossary:
    """See `hier_nmt.data.glossary_files.read_glossary`, whose libraries are imported when they are needed."""
    from .data.glossary_files import read_glossary

    return read_glossary(path, source_language, target_language)


def read_terms_file(path: Path) -> list[str]:
    """See `hier_nmt.data.glossary_files.read_terms`."""
    from .data.glossary_files import read_terms

    return read_terms(path)


def read_memory_file(path: Path, source_language: str, target_language: str, threshold: float) -> TranslationMemory:
    """See `hier_nmt.data.memory_files.read_memory`."""
    from .data.memory_files import read_memory

    return read_memory(path, source_language, target_language, threshold)


def run_with_engine(model: PreTrainedModel, engine: str) -> PreTrainedModel:
    """See `hier_nmt.publishing.model_engines.with_engine`, whose libraries are imported when they are needed."""
    from .publishing.model_engines import with_engine

    return with_engine(model, engine)


def register_all() -> None:
    """Registers all of this; doing it again does no harm."""
    AutoConfig.register(HierNMTConfig.model_type, HierNMTConfig, exist_ok=True)
    AutoModel.register(HierNMTConfig, HierNMTModel, exist_ok=True)
    AutoModelForSeq2SeqLM.register(HierNMTConfig, HierNMTForConditionalGeneration, exist_ok=True)
    AutoConfig.register(RNNNMTConfig.model_type, RNNNMTConfig, exist_ok=True)
    AutoModel.register(RNNNMTConfig, RNNNMTModel, exist_ok=True)
    AutoModelForSeq2SeqLM.register(RNNNMTConfig, RNNNMTForConditionalGeneration, exist_ok=True)
    AutoConfig.register(HANConfig.model_type, HANConfig, exist_ok=True)
    AutoModel.register(HANConfig, HANModel, exist_ok=True)
    AutoModelForSeq2SeqLM.register(HANConfig, HANForConditionalGeneration, exist_ok=True)
    register_pipelines()
    register_code_writer(write_code)
    register_backends()
    register_engines(run_with_engine)
    register_glossary_readers(GlossaryReaders(read_glossary_file, read_terms_file))
    register_memory_reader(read_memory_file)
