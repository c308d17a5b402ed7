# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""A sentence-level checkpoint made into a document-level one: weights, tokenizers, generation settings and a card."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from huggingface_hub import ModelCard
from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, HFValidationError
from safetensors import SafetensorError
from transformers import AutoConfig, PreTrainedTokenizerBase

from ..configuration.configuration_hier_nmt import HierNMTConfig
from ..data.sentence_model_tokenizers import AdaptedTokenizers, adapt_tokenizers
from ..data.text_files import new_folder
from ..data.tokenization import load_tokenizers, save_tokenizers
from ..models.hier_nmt.modeling_hier_nmt import HierNMTForConditionalGeneration
from ..models.hier_nmt.sentence_models import ADAPTATIONS, GATED_CONTEXT_NAME, check_adaptation
from ..publishing.adapted_card import AdaptedModel, adapted_card
from ..publishing.hub import CARD_FILE
from ..translation.language_tokens import LanguageTokens
from .load_checkpoints import named_in_errors

# How a model can be made to read other sentences.
ATTENTIONS = tuple(ADAPTATIONS)
# Of NLLB's weights, whatever a copy of them says.
_NLLB_LICENSE = "cc-by-nc-4.0"


@dataclass(frozen=True)
class Adaptation:
    """What was made.

    Attributes:
        num_parameters: of the model.
        num_new_parameters: of them, those of blocks that read context.
        has_fast_tokenizer: whether the tokenizers are fast ones.
    """

    num_parameters: int
    num_new_parameters: int
    has_fast_tokenizer: bool


def adapt_model(
    path: str,
    output: str | Path,
    attention: str = "conditional",
    *,
    source_language: str | None = None,
    target_language: str | None = None,
    load_options: dict[str, Any] | None = None,
    context_gate: float = 0.0,
    **options: Any,
) -> Adaptation:
    """Writes a document-level model that begins with the weights of a sentence-level one.

    Args:
        path: the sentence-level model, Marian (OPUS-MT), M2M100, NLLB or mBART-50, a folder or a name on the Hub; or
            the folder of one of ours.
        output: the folder to write, which must not exist or be empty; it appears when it is complete.
        attention: how other sentences are read, see `HierNMTForConditionalGeneration.from_sentence_model`.
        source_language, target_language: ISO 639 codes. Default: those that the tokenizer names; a model of many
            languages without them is told at each translation.
        load_options: `revision`, `token` and others of `from_pretrained`.
        context_gate: initial value of the gates of context blocks, 0 to 1.
        options: fields of the configuration that differ.

    Raises:
        ValueError: another network, languages that it does not have, a vocabulary that does not fit, a folder that
            holds something.
        OSError: there is no such model, or its weights are broken or a pickle.
    """
    with new_folder(output) as folder:
        return _write_adapted(
            path, folder, attention, source_language, target_language, load_options or {}, context_gate, options
        )


def _write_adapted(
    path: str,
    folder: Path,
    attention: str,
    source_language: str | None,
    target_language: str | None,
    load_options: dict[str, Any],
    context_gate: float,
    options: dict[str, Any],
) -> Adaptation:
    with named_in_errors(path):
        config = AutoConfig.from_pretrained(path, **load_options)
    check_adaptation(config, attention, context_gate)
    tokenizers = _tokenizers(path, config, load_options)
    languages = _languages(tokenizers, path, source_language, target_language, load_options)
    options = {**tokenizers.separator_ids, **languages.fields, **options}
    try:
        model = HierNMTForConditionalGeneration.from_sentence_model(
            path, attention, load_options, context_gate, **options
        )
    except SafetensorError as error:
        raise OSError(f"{path}: the weights cannot be read: {error}") from error
    if languages.target_token_id is not None:
        model.generation_config.forced_bos_token_id = languages.target_token_id
    sizes = [(name, weight.numel()) for name, weight in model.named_parameters()]
    num_new = sum(size for name, size in sizes if GATED_CONTEXT_NAME.search(name))
    adaptation = Adaptation(sum(size for _, size in sizes), num_new, tokenizers.is_fast)
    card = adapted_card(
        AdaptedModel(
            base=Path(path).name if Path(path).exists() else path,
            license=_license(path, tokenizers.source, load_options),
            attention=attention,
            source_language=languages.fields.get("source_language"),
            target_language=languages.fields.get("target_language"),
            num_parameters=adaptation.num_parameters,
            num_new_parameters=num_new,
            context_gate=context_gate,
        )
    )
    model.save_pretrained(folder)
    save_tokenizers(folder, tokenizers.source, tokenizers.target)
    card.save(folder / CARD_FILE)
    return adaptation


def _tokenizers(path: str, config: Any, load_options: dict[str, Any]) -> AdaptedTokenizers:
    if config.model_type != HierNMTConfig.model_type:
        return adapt_tokenizers(path, config, **load_options)
    source, target = load_tokenizers(path)
    return AdaptedTokenizers(source, target, source.is_fast, (config.source_language, config.target_language))


@dataclass(frozen=True)
class _Languages:
    """Fields of the configuration that name languages, and the token with which a translation begins."""

    fields: dict[str, str]
    target_token_id: int | None = None


def _languages(
    tokenizers: AdaptedTokenizers, path: str, source: str | None, target: str | None, load_options: dict[str, Any]
) -> _Languages:
    """The languages of the model; ValueError for those that it does not have."""
    languages = LanguageTokens(tokenizers.source)
    if languages.is_multilingual:
        fields = {} if source is None else {"source_language": languages.code(source, is_source=True)}
        if target is not None:
            fields["target_language"] = languages.code(target)
        token_id = None
        if target is not None and not languages.mark_source:
            token_id = int(tokenizers.source.convert_tokens_to_ids(languages.token(target)))  # type: ignore[arg-type]
        return _Languages(fields, token_id)
    own = {"source_language": tokenizers.languages[0], "target_language": tokenizers.languages[1]}
    given = {"source_language": source, "target_language": target}
    for name, language in given.items():
        known = own[name]
        if language is not None and known is not None and _differ(language, known):
            raise ValueError(f"{name}={language!r}, but {path} is a model of {known!r}")
    chosen = {name: given[name] or own[name] for name in own}
    return _Languages({name: language for name, language in chosen.items() if language is not None})


def _differ(language: str, other: str) -> bool:
    """Whether two codes of the same length name different languages; "es" and "spa" cannot be compared as they are."""
    one, two = (re.split("[-_]", code.lower())[0] for code in (language, other))
    return len(one) == len(two) and one != two


def _license(path: str, tokenizer: PreTrainedTokenizerBase, load_options: dict[str, Any]) -> str | None:
    """The licence that the base's card names; None if it names none."""
    if "ace_Latn" in tokenizer.get_vocab():
        return _NLLB_LICENSE
    file = Path(path) / CARD_FILE
    try:
        card = ModelCard.load(file) if file.is_file() else None
        if card is None and not Path(path).exists():
            card = ModelCard.load(path, token=load_options.get("token"))
    except (EntryNotFoundError, HFValidationError, HfHubHTTPError, OSError):
        return None
    return None if card is None else card.data.to_dict().get("license")
