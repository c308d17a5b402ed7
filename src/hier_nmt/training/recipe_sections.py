# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The sections of a recipe: their keys and types, and how they are read from YAML files and the command line."""

import dataclasses
import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import yaml
from transformers import GenerationConfig, PreTrainedConfig

from ..configuration.config_classes import CONFIG_CLASSES, HierNMTConfig
from ..configuration.translation_config import TranslationConfig
from ..data.augmentation import Augmentation
from ..data.focus import Focus
from ..data.pair_cleaning import Cleaning
from ..data.training_corpora import Corpus, CorpusReader, Format, TrainingCorpora, as_corpora
from .recipe_values import expanded, field_types, suggestion, type_name, typed_value
from .training_arguments import DocumentSeq2SeqTrainingArguments

# Keys of the configuration that follow from the tokenizer and the data section, or do not describe the network.
_DERIVED_MODEL_KEYS = {"vocab_size", "decoder_vocab_size", "source_language", "target_language"} | {
    "is_encoder_decoder",
    "use_cache",
}
# Larger files would take the YAML parser seconds.
MAX_RECIPE_CHARACTERS = 100_000
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
        focus: which training windows are repeated because they need their context; None: none.
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
    focus: Focus | None = None
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


def read_sections(path: str | Path, overrides: Iterable[str] = ()) -> dict[str, dict[str, Any]]:
    """The values of each section of a YAML file, with overrides such as `--training.learning_rate=3e-4`.

    RecipeError names the file (or the command line) and the key if anything is unknown or has a wrong type.
    """
    sections = _read_yaml(Path(path))
    _check_section_names(sections, str(path))
    changes = [_parse_override(override) for override in overrides]
    known = {**_SECTIONS, "model": _model_types(_config_class(sections, changes, str(path)))}
    overridden = {(name, key) for name, key, _ in changes}
    values = {}
    for name in known:
        # A value that is not used need not be valid: a recipe's corpora may name a variable that nobody has set.
        used = {key: value for key, value in (sections.get(name) or {}).items() if (name, key) not in overridden}
        values[name] = _typed_section(name, used, known[name], str(path))
    for name, key, value in changes:
        values[name] |= _typed_section(name, {key: value}, known[name], "command line")
    return values


def with_defaults(sections: Mapping[str, Any]) -> dict[str, Any]:
    """The sections of a recipe that an earlier version saved; newer keys of `data` and `tokenizer` have their defaults.

    A section with a key that this version does not know stays as it is.
    """
    completed = dict(sections)
    for name, cls in (("data", DataSection), ("tokenizer", TokenizerSection)):
        try:
            completed[name] = dataclasses.asdict(typed_value(sections[name], cls))
        except (KeyError, TypeError, ValueError):
            continue
    return completed


def _config_class(
    sections: Mapping[str, Any], changes: Iterable[tuple[str, str, Any]], origin: str
) -> type[PreTrainedConfig]:
    """The configuration class that file and command line name; RecipeError if there is no such family."""
    named = (sections.get("model") or {}).get("model_type", HierNMTConfig.model_type)
    for section, key, value in changes:
        if (section, key) == ("model", "model_type"):
            named, origin = value, "command line"
    if named not in CONFIG_CLASSES:
        # A base for `hier-nmt adapt`; its recipe stands beside those of this package's own families.
        hint = "; training/marian/train_marian.py trains such a model" if named == "marian" else ""
        known = ", ".join(CONFIG_CLASSES)
        raise RecipeError(f"{origin}: model.model_type={named!r} is unknown; known are {known}{hint}")
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
        "init_config": bool,
        "init_transfer": bool,
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
