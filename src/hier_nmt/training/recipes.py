# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Recipes: a YAML file that completely describes a training run, checked before anything is computed.

A recipe has the sections `data`, `tokenizer`, `model`, `training` and `generation`. Every key has a type, unknown keys
are refused, and each can be overridden on the command line as `--section.key=value`, with the value in YAML.
"""

import dataclasses
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import str_to_bool
from huggingface_hub.errors import StrictDataclassError
from transformers import AutoConfig

from ..configuration.config_classes import CONFIG_CLASSES, HierNMTConfig
from ..data.training_corpora import as_corpora
from ..kernels.torch_cpu.processor import multiplies_bfloat16
from ..translation.language_tokens import check_languages
from .recipe_sections import DataSection, RecipeError, TokenizerSection, read_sections
from .recipe_values import is_required
from .training_arguments import DocumentSeq2SeqTrainingArguments

_OWN_TRAINING_KEYS = (
    "init_from",
    "init_config",
    "init_transfer",
    "average_checkpoints",
    "attn_implementation",
    "source_vectors",
    "target_vectors",
)


@dataclass(frozen=True)
class Recipe:
    """A checked recipe.

    Args:
        data, tokenizer: the sections of that name.
        model: fields of the family's configuration, and `model_type`, the name of the family (default `hier_nmt`);
            vocabulary sizes, special ids and languages are added later.
        training: fields of `DocumentSeq2SeqTrainingArguments`; `bf16` may also be `auto`: if the device supports
            products in bfloat16.
        generation: fields of `GenerationConfig` that are saved with the model.
        init_from: `training.init_from`, directory of a checkpoint that initialises the model, or None.
        init_config: `training.init_config`: the network and the generation settings are those of `init_from`, with the
            fields of the section `model` changed.
        init_transfer: `training.init_transfer`: `init_from` may have another vocabulary and fewer layers, see
            `transfer_weights`.
        average_checkpoints: `training.average_checkpoints`, how many of the last checkpoints are averaged into the
            final model; 0: the best checkpoint is used.
        attn_implementation: `training.attn_implementation`, the attention implementation in training; None: torch's
            fused one (`sdpa`). On CPUs `eager` is faster for windows of up to some hundred tokens.
        source_vectors, target_vectors: `training.source_vectors` and `training.target_vectors`, files of word vectors
            (fastText `.vec` or `.bin`) that initialise a model with `word_vector_size`, or None.
    """

    data: DataSection
    tokenizer: TokenizerSection = field(default_factory=TokenizerSection)
    model: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)
    generation: dict[str, Any] = field(default_factory=dict)
    init_from: str | None = None
    init_config: bool = False
    init_transfer: bool = False
    average_checkpoints: int = 0
    attn_implementation: str | None = None
    source_vectors: str | None = None
    target_vectors: str | None = None

    @classmethod
    def load(cls, path: str | Path, overrides: Iterable[str] = ()) -> "Recipe":
        """The recipe in a YAML file, with overrides such as `--training.learning_rate=3e-4`.

        RecipeError names the file (or the command line) and the key if anything is unknown, has a wrong type, or
        contradicts another key.
        """
        recipe = _assemble(read_sections(path, overrides), str(path))
        recipe._check_consistency(str(path))
        return recipe

    @property
    def config_class(self) -> Any:
        """The configuration class of the family `model.model_type`."""
        return CONFIG_CLASSES[self.model.get("model_type", HierNMTConfig.model_type)]

    def as_dict(self) -> dict[str, Any]:
        """The sections as in a recipe file."""
        own = {name: getattr(self, name) for name in _OWN_TRAINING_KEYS}
        return {
            "data": dataclasses.asdict(self.data),
            "tokenizer": dataclasses.asdict(self.tokenizer),
            "model": dict(self.model),
            "training": {**self.training, **own},
            "generation": dict(self.generation),
        }

    def training_arguments(self) -> DocumentSeq2SeqTrainingArguments:
        """The arguments of the trainer; RecipeError if Transformers refuses a value or a combination."""
        try:
            return DocumentSeq2SeqTrainingArguments(**{**self.training, **self._precision()})
        except ValueError as error:
            raise RecipeError(f"section training: {error}") from None

    def _precision(self) -> dict[str, bool]:
        """`training.bf16: auto` as arguments: bfloat16 if the GPU, or without one the CPU, supports its products."""
        if self.training.get("bf16") != "auto":
            return {}
        runs_on_processor = self.training.get("use_cpu") or str_to_bool(os.environ.get("ACCELERATE_USE_CPU", "false"))
        if runs_on_processor or not torch.accelerator.is_available():
            # Transformers must be told explicitly that bfloat16 without a GPU is intended.
            return {"bf16": multiplies_bfloat16(), "use_cpu": True}
        return {"bf16": torch.cuda.is_available() and torch.cuda.is_bf16_supported(including_emulation=False)}

    def model_config(self, vocab_size: int, decoder_vocab_size: int | None, **special_ids: int) -> Any:
        """The configuration of the network.

        Args:
            vocab_size: number of source tokens.
            decoder_vocab_size: number of target tokens, or None if the languages share a vocabulary.
            special_ids: `pad_token_id` and so on, from the tokenizer.

        RecipeError if the configuration refuses a value or a combination.
        """
        values: dict[str, Any] = {**self.model, **special_ids}
        values.pop("model_type", None)
        if decoder_vocab_size is not None:
            values.setdefault("share_encoder_decoder_embeddings", False)
        try:
            return self.config_class(
                vocab_size=vocab_size,
                decoder_vocab_size=decoder_vocab_size,
                source_language=self.data.source_language,
                target_language=self.data.target_language,
                **values,
            )
        except (StrictDataclassError, ValueError) as error:
            reason = str(error).partition("Error: ")[2] or str(error)
            raise RecipeError(f"section model: {reason}") from None

    def _check_consistency(self, origin: str) -> None:
        for complaint in self._contradictions():
            raise RecipeError(f"{origin}: {complaint}")
        if self.init_config and self.init_from is not None:
            config = AutoConfig.from_pretrained(self.init_from)
            try:
                check_languages(config, self.data.source_language, self.data.target_language)
            except ValueError as error:
                raise RecipeError(f"{origin}: section data, training.init_from={self.init_from}: {error}") from None
        # The vocabulary sizes are not known yet; everything else is checked now.
        size = self.tokenizer.vocab_size
        self.model_config(size, None if self.tokenizer.joint else size)

    def _contradictions(self) -> Iterable[str]:
        window_sentences = self.model.get("window_sentences", self.config_class.window_sentences)
        context_discount = self.training.get("context_discount", 1.0)
        if not self.training.get("output_dir"):
            yield "training.output_dir is missing"
        if not self.data.train:
            yield "data.train is empty"
        if window_sentences < 0:
            yield f"model.window_sentences={window_sentences} must be 0 (whole documents) or more"
        if not 0 <= context_discount <= 1:
            yield f"training.context_discount={context_discount} must be from 0 to 1"
        if window_sentences in (0, 1) and context_discount != 1:
            kind = "whole documents have no current sentence" if window_sentences == 0 else "there is no context"
            yield f"training.context_discount={context_discount} with model.window_sentences={window_sentences}: {kind}"
        if window_sentences == 1 and self.data.focus is not None:
            yield "data.focus with model.window_sentences=1: windows of one sentence have no context"
        if window_sentences == 1 and self.training.get("contrast_words"):
            yield (
                f"training.contrast_words={self.training['contrast_words']} with model.window_sentences=1: a sentence "
                "by itself has no context that could decide between them"
            )
        if self.model.get("segment_shift") and self.model.get("position_encoding") != "segment_shifted":
            yield f"model.segment_shift={self.model['segment_shift']} needs model.position_encoding: segment_shifted"
        if str(self.training.get("eval_strategy", "no")) != "no" and not self.data.validation:
            yield f"training.eval_strategy={self.training['eval_strategy']} needs data.validation"
        metric = str(self.training.get("metric_for_best_model") or "")
        if metric.removeprefix("eval_") in ("bleu", "chrf") and not self.training.get("predict_with_generate"):
            yield f"training.metric_for_best_model={metric} needs training.predict_with_generate: true"
        for key in ("init_config", "init_transfer"):
            if getattr(self, key) and self.init_from is None:
                yield f"training.{key} needs training.init_from"
        if self.average_checkpoints < 0:
            yield f"training.average_checkpoints={self.average_checkpoints} must not be negative"
        limit = self.training.get("save_total_limit")
        if limit is not None and limit < self.average_checkpoints:
            yield (
                f"training.average_checkpoints={self.average_checkpoints}, but "
                f"training.save_total_limit={limit} keeps fewer"
            )
        yield from self._vector_contradictions()
        yield from self._missing_paths()

    def _vector_contradictions(self) -> Iterable[str]:
        size, files = self.model.get("word_vector_size"), (self.source_vectors, self.target_vectors)
        if size is None and files != (None, None):
            yield "training.source_vectors and target_vectors need model.word_vector_size"
        if size is None:
            return
        if self.init_from is None and None in files:
            yield f"model.word_vector_size={size} needs training.source_vectors and training.target_vectors"
        if self.init_from is None and self.tokenizer.path is None and self.tokenizer.algorithm != "word":
            yield f"tokenizer.algorithm={self.tokenizer.algorithm} with model.word_vector_size={size}: use word"
        if self.tokenizer.joint:
            yield f"model.word_vector_size={size} needs tokenizer.joint: false: each language has its vectors"
        smoothing = self.training.get("label_smoothing_factor", 0.0)
        if smoothing:
            yield f"training.label_smoothing_factor={smoothing} with model.word_vector_size={size}: vectors have none"
        if self.training.get("contrast_words"):
            yield f"training.contrast_words with model.word_vector_size={size}: vectors have no probabilities"

    def _missing_paths(self) -> Iterable[str]:
        for key in ("train", "validation", "exclude"):
            for corpus in as_corpora(getattr(self.data, key)):
                # Names of datasets are not paths.
                if (corpus.format or self.data.format) != "dataset":
                    missing = [path for path in corpus.path if not _exists(path, Path.exists)]
                    yield from (f"data.{key}: no such file: {path}" for path in missing)
        glossary = self.data.augmentation.glossary
        if glossary is not None and not _exists(glossary, Path.is_file):
            yield f"data.augmentation.glossary: no such file: {glossary}"
        focus = self.data.focus
        if focus is not None and not _exists(focus.path, Path.is_file):
            yield f"data.focus: no such file: {focus.path}"
        for key in ("source_vectors", "target_vectors"):
            path = getattr(self, key)
            if path is not None and not _exists(path, Path.is_file):
                yield f"training.{key}: no such file: {path}"
        for key, directory in (("tokenizer.path", self.tokenizer.path), ("training.init_from", self.init_from)):
            if directory is not None and not _exists(directory, Path.is_dir):
                yield f"{key}: no such directory: {directory}"


def _exists(path: str, kind: Callable[[Path], bool]) -> bool:
    """Whether the path exists and is of that kind; a path that is too long for any file does not exist."""
    try:
        return kind(Path(path))
    except (OSError, ValueError):
        return False


def _assemble(values: dict[str, dict[str, Any]], origin: str) -> Recipe:
    for item in dataclasses.fields(DataSection):
        if is_required(item) and item.name not in values["data"]:
            raise RecipeError(f"{origin}: data.{item.name} is missing")
    training = dict(values["training"])
    own = {name: training.pop(name) for name in _OWN_TRAINING_KEYS if name in training}
    return Recipe(
        data=DataSection(**values["data"]),
        tokenizer=TokenizerSection(**values["tokenizer"]),
        model=values["model"],
        training=training,
        generation=values["generation"],
        **own,
    )
