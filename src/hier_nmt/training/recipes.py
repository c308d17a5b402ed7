# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Recipes: a YAML file that completely describes a training run, checked before anything is computed.

A recipe has the sections `data`, `tokenizer`, `model`, `training` and `generation`. Every key has a type, unknown keys
are refused, and each can be overridden on the command line as `--section.key=value`, with the value in YAML.
"""

import dataclasses
import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
import yaml
from accelerate.utils import str_to_bool
from huggingface_hub.errors import StrictDataclassError
from transformers import GenerationConfig, PreTrainedConfig

from ..configuration import CONFIG_CLASSES, HierNMTConfig
from ..configuration.translation_config import TranslationConfig
from ..data.augmentation import Augmentation
from ..data.pair_cleaning import Cleaning
from ..data.training_corpora import Corpus, CorpusReader, Format, TrainingCorpora, as_corpora
from ..kernels.torch_cpu.processor import multiplies_bfloat16
from .recipe_values import expanded, field_types, is_required, suggestion, type_name, typed_value
from .trainer import DocumentSeq2SeqTrainingArguments

# Keys of the configuration that follow from the tokenizer and the data section, or do not describe the network.
_DERIVED_MODEL_KEYS = {"vocab_size", "decoder_vocab_size", "source_language", "target_language"} | {
    "is_encoder_decoder",
    "use_cache",
}
# Larger files would take the YAML parser seconds.
MAX_RECIPE_CHARACTERS = 100_000
_OWN_TRAINING_KEYS = ("init_from", "average_checkpoints", "attn_implementation", "source_vectors", "target_vectors")
# Characters shown of the start and of the end of a long error.
_MAX_PART = 1000


class RecipeError(ValueError):
    """A recipe that is not valid; the message names file and key."""

    def __init__(self, message: str) -> None:
        # The message may quote parts of the file, which can be long.
        is_long = len(message) > 2 * _MAX_PART
        super().__init__(f"{message[:_MAX_PART]} ... {message[-_MAX_PART:]}" if is_long else message)


@dataclass(frozen=True)
class DataSection:
    """Which documents are read, and how.

    Args:
        train, validation: paths (or dataset names) in the form that the format requires, see `data.corpora`, or
            mappings with the fields of `Corpus`; `$NAME` stands for an environment variable.
        exclude: the same for test sets: texts in them or in `validation` are excluded from training.
        format: name of a format, see `data.corpora.read_documents`.
        source_language, target_language: ISO 639 codes.
        columns: names of the columns, for formats that have them.
        cleaning: changes of the text, and which training pairs are dropped.
        augmentation: which further training pairs are derived.
        skip_bad: skip malformed documents and report them, instead of stopping.
        overlong: treatment of a sentence that is longer than the model's limit: `error` or `skip`.
        validation_limit: number of evenly spaced validation windows scored during training; None: all.
        cache_dir: folder of the prepared tables; None: the cache of `datasets`.
        num_proc: number of processes that prepare the tables; None: the main process does.
    """

    train: list[str | Corpus]
    source_language: str
    target_language: str
    validation: list[str | Corpus] = field(default_factory=list)
    exclude: list[str | Corpus] = field(default_factory=list)
    format: Format = "json-lines"
    columns: dict[str, Any] | None = None
    cleaning: Cleaning = field(default_factory=Cleaning)
    augmentation: Augmentation = field(default_factory=Augmentation)
    skip_bad: bool = False
    overlong: Literal["error", "skip"] = "error"
    validation_limit: int | None = None
    cache_dir: str | None = None
    num_proc: int | None = None

    @property
    def reader(self) -> CorpusReader:
        """How the corpora are read."""
        return CorpusReader(self.format, self.source_language, self.target_language, self.columns, self.skip_bad)

    @property
    def training_corpora(self) -> TrainingCorpora:
        """The training corpora, cleaned."""
        excluded = as_corpora([*self.validation, *self.exclude])
        is_cleaned = self.cleaning != Cleaning() or bool(self.exclude)
        return TrainingCorpora(
            as_corpora(self.train),
            self.reader,
            self.cleaning,
            excluded if is_cleaned else (),
            self.augmentation,
        )

    @property
    def validation_corpora(self) -> TrainingCorpora:
        """The validation corpora: their text is changed as in training, but no pair is dropped."""
        return TrainingCorpora(as_corpora(self.validation), self.reader, self.cleaning.without_dropping)


@dataclass(frozen=True)
class TokenizerSection:
    """The tokenizer: loaded, or trained on the training documents; it is saved with the model.

    Args:
        path: directory of a tokenizer or checkpoint; None: that of `training.init_from`, or else a new tokenizer is
            trained with the other keys, see `data.tokenization`.
        joint: one tokenizer for both languages instead of two.
        vocab_size: number of tokens, including special tokens.
        algorithm: `bpe`, `unigram`, or `word` for whole words (without byte fallback; with `training.source_vectors`
            and `target_vectors` words without a vector are `<unk>`).
        byte_fallback: unknown characters are encoded as bytes instead of `<unk>`.
        split_digits: each digit is a token.
        min_frequency: minimum frequency of a merge for `bpe`, of a word for `word`.
        limit_alphabet: number of distinct characters that get a token.
        max_sentences: train on this many evenly spaced sentence pairs; None: all.
        plain_typography: texts are read with straight quotation marks and apostrophes and plain spaces.
        reserved_tokens: additional special tokens for later use, since the vocabulary of a trained model cannot grow.
    """

    path: str | None = None
    joint: bool = True
    vocab_size: int = 16000
    algorithm: Literal["bpe", "unigram", "word"] = "bpe"
    byte_fallback: bool = True
    split_digits: bool = False
    min_frequency: int = 2
    limit_alphabet: int = 1000
    max_sentences: int | None = None
    plain_typography: bool = False
    reserved_tokens: list[str] = field(default_factory=list)


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
        sections = _read_yaml(Path(path))
        _check_section_names(sections, str(path))
        changes = [_parse_override(override) for override in overrides]
        known = {**_SECTIONS, "model": _model_types(_config_class(sections, changes, str(path)))}
        values = {name: _typed_section(name, sections.get(name) or {}, known[name], str(path)) for name in known}
        for name, key, value in changes:
            values[name] |= _typed_section(name, {key: value}, known[name], "command line")
        recipe = _assemble(values, str(path))
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
        if self.model.get("segment_shift") and self.model.get("position_encoding") != "segment_shifted":
            yield f"model.segment_shift={self.model['segment_shift']} needs model.position_encoding: segment_shifted"
        if str(self.training.get("eval_strategy", "no")) != "no" and not self.data.validation:
            yield f"training.eval_strategy={self.training['eval_strategy']} needs data.validation"
        metric = str(self.training.get("metric_for_best_model") or "")
        if metric.removeprefix("eval_") in ("bleu", "chrf") and not self.training.get("predict_with_generate"):
            yield f"training.metric_for_best_model={metric} needs training.predict_with_generate: true"
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
        for key in ("source_vectors", "target_vectors"):
            path = getattr(self, key)
            if path is not None and not _exists(path, Path.is_file):
                yield f"training.{key}: no such file: {path}"
        for key, directory in (("tokenizer.path", self.tokenizer.path), ("training.init_from", self.init_from)):
            if directory is not None and not _exists(directory, Path.is_dir):
                yield f"{key}: no such directory: {directory}"


def _config_class(
    sections: Mapping[str, Any], changes: Iterable[tuple[str, str, Any]], origin: str
) -> type[PreTrainedConfig]:
    """The configuration class that file and command line name; RecipeError if there is no such family."""
    named = (sections.get("model") or {}).get("model_type", HierNMTConfig.model_type)
    for section, key, value in changes:
        if (section, key) == ("model", "model_type"):
            named, origin = value, "command line"
    if named not in CONFIG_CLASSES:
        raise RecipeError(f"{origin}: model.model_type={named!r} is unknown; known are {', '.join(CONFIG_CLASSES)}")
    return CONFIG_CLASSES[named]


def _model_types(config_class: type[PreTrainedConfig]) -> dict[str, Any]:
    # Only fields that classes of ours declare: those of Transformers do not describe this network.
    ours = [one for one in config_class.__mro__ if issubclass(one, TranslationConfig)]
    own = {
        name: expected
        for one in reversed(ours)
        for name, expected in inspect.get_annotations(one).items()
        if name not in _DERIVED_MODEL_KEYS and not name.endswith("_token_id")
    }
    return {"model_type": str, **own}


def _training_types() -> dict[str, Any]:
    own = {
        "bf16": bool | Literal["auto"],
        "init_from": str | None,
        "average_checkpoints": int,
        "attn_implementation": Literal["sdpa", "eager", "flex_attention"] | None,
        "source_vectors": str | None,
        "target_vectors": str | None,
    }
    return {**field_types(DocumentSeq2SeqTrainingArguments), **own}


_SECTIONS: dict[str, Mapping[str, Any]] = {
    "data": field_types(DataSection),
    "tokenizer": field_types(TokenizerSection),
    # Those of a recipe follow from its `model_type`.
    "model": _model_types(HierNMTConfig),
    "training": _training_types(),
    # GenerationConfig has no type hints; it checks its values itself.
    "generation": dict.fromkeys(GenerationConfig().to_dict(), Any),
}


class _NoDuplicates(yaml.SafeLoader):
    """A YAML loader that refuses duplicate keys, the first of which would be lost, and aliases, by which a few lines
    could expand to more values than fit into memory."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """The next node, unless it is an alias."""
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()
            raise yaml.composer.ComposerError(None, None, f"*{event.anchor} is an alias", event.start_mark)
        return super().compose_node(parent, index)


def _mapping_without_duplicates(loader: _NoDuplicates, node: yaml.MappingNode) -> dict[Any, Any]:
    keys = [loader.construct_object(key, deep=True) for key, _ in node.value]
    for key in keys:
        if keys.count(key) > 1:
            raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} occurs twice", node.start_mark)
    return yaml.SafeLoader.construct_mapping(loader, node, deep=True)


_NoDuplicates.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping_without_duplicates)


def _load_yaml(text: str) -> Any:
    """The value of a YAML text; ValueError if it is invalid, too long, or nested too deeply."""
    if len(text) > MAX_RECIPE_CHARACTERS:
        raise ValueError(f"{len(text)} characters are too many for a recipe; the maximum is {MAX_RECIPE_CHARACTERS}")
    try:
        return yaml.load(text, _NoDuplicates)
    except (yaml.YAMLError, RecursionError, TypeError, AttributeError) as error:
        raise ValueError(str(error)) from error


def _read_yaml(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise RecipeError(f"no such recipe: {path}")
    try:
        content = _load_yaml(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise RecipeError(f"{path} is not a YAML file: {error}") from None
    if not isinstance(content, dict):
        raise RecipeError(f"{path}: a recipe has the sections {', '.join(_SECTIONS)}, found {content!r}")
    return content


def _check_section_names(sections: Mapping[str, Any], origin: str) -> None:
    for name, section in sections.items():
        if name not in _SECTIONS:
            raise RecipeError(f"{origin}: unknown section {name!r}{suggestion(str(name), _SECTIONS)}")
        if section is not None and not isinstance(section, dict):
            raise RecipeError(f"{origin}: section {name} must have keys and values, found {section!r}")


def _parse_override(override: str) -> tuple[str, str, Any]:
    key, equals, text = override.removeprefix("--").partition("=")
    section, dot, name = key.partition(".")
    if not (override.startswith("--") and equals and dot):
        raise RecipeError(f"command line: {override!r} should read --section.key=value")
    if section not in _SECTIONS:
        raise RecipeError(f"command line: unknown section {section!r}{suggestion(section, _SECTIONS)}")
    try:
        return section, name, _load_yaml(text)
    except ValueError as error:
        raise RecipeError(f"command line: the value of {key} is not YAML: {error}") from None


def _typed_section(section: str, values: Mapping[str, Any], known: Mapping[str, Any], origin: str) -> dict[str, Any]:
    typed = {}
    for key, value in values.items():
        if key not in known:
            hint = (
                " (it follows from the tokenizer and the data section)"
                if section == "model" and key in _DERIVED_MODEL_KEYS
                else suggestion(str(key), known)
            )
            raise RecipeError(f"{origin}: unknown key {section}.{key}{hint}")
        try:
            typed[key] = typed_value(expanded(value), known[key])
        except TypeError:
            raise RecipeError(
                f"{origin}: {section}.{key} must be {type_name(known[key])}, got {type(value).__name__} {value!r}"
            ) from None
        except KeyError as error:
            raise RecipeError(f"{origin}: {section}.{key}: the environment variable {error} is not set") from None
        except ValueError as error:
            raise RecipeError(f"{origin}: {section}.{key}: {error}") from None
    return typed


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
