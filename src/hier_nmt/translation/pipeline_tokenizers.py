# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The tokenizers that belong to a model: where its checkpoint is, beside it or on the Hub."""

import os
import re

import huggingface_hub
from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError
from transformers import AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

TARGET_TOKENIZER_FOLDER = "target_tokenizer"
_COMMIT_IN_MODULE_NAME = re.compile(r"\.([0-9a-f]{40})\.")


def tokenizer_of(model: PreTrainedModel) -> PreTrainedTokenizerBase:
    """The tokenizer of the model's checkpoint; OSError if there is none."""
    path = model.config.name_or_path
    hint = "pass tokenizer=, or save it there with tokenizer.save_pretrained"
    if not path:
        raise OSError(f"this {type(model).__name__} was not loaded from a checkpoint, so it has no tokenizer: {hint}")
    if os.path.isdir(path) and not any("token" in name and not name.endswith(".py") for name in os.listdir(path)):
        raise OSError(f"no tokenizer in {path} (no tokenizer.json or other tokenizer file): {hint}")
    try:
        # Our tokenizers have no code of their own; False keeps Transformers from asking about that of the model.
        return AutoTokenizer.from_pretrained(path, trust_remote_code=False)
    except Exception as error:
        raise OSError(f"the tokenizer in {path} cannot be loaded ({error}): {hint}") from error


def target_tokenizer_of(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> PreTrainedTokenizerBase:
    """The tokenizer of the target language: another one only if vocabularies are separate.

    Raises:
        OSError: the model needs another one, and there is none where `tokenizer` comes from.
    """
    config = model.config
    if getattr(config, "share_encoder_decoder_embeddings", True) or not hasattr(config, "decoder_vocab_size"):
        return tokenizer
    path = tokenizer.name_or_path
    revision = _commit_of(model) if path == config.name_or_path else None
    if _has_target_tokenizer(path, revision):
        return AutoTokenizer.from_pretrained(
            path, subfolder=TARGET_TOKENIZER_FOLDER, revision=revision, trust_remote_code=False
        )
    if config.decoder_vocab_size == config.vocab_size:
        return tokenizer
    place = path or "where the tokenizer comes from"
    raise OSError(f"no target tokenizer: {place} has no folder {TARGET_TOKENIZER_FOLDER}; pass target_tokenizer=")


def _has_target_tokenizer(path: str, revision: str | None) -> bool:
    """Whether there is a target tokenizer in a folder, in a repository, or (no path) beside a tokenizer in memory."""
    if not path:
        return False
    if os.path.isdir(path):
        return os.path.isdir(os.path.join(path, TARGET_TOKENIZER_FOLDER))
    name = f"{TARGET_TOKENIZER_FOLDER}/tokenizer_config.json"
    try:
        huggingface_hub.hf_hub_download(path, name, revision=revision)
    except LocalEntryNotFoundError:
        # Without network only the cache can tell that there is none; otherwise loading is tried.
        found = huggingface_hub.try_to_load_from_cache(path, name, revision=revision)
        return found is None or isinstance(found, str)
    except EntryNotFoundError:
        return False
    return True


def _commit_of(model: PreTrainedModel) -> str | None:
    """The commit of the Hub that the model comes from, if this file comes from there, too, or if Transformers knows it.

    Versions after 5.4 no longer keep it in the configuration; the package then takes the main branch.
    """
    place = _COMMIT_IN_MODULE_NAME.search(__name__)
    return place[1] if place is not None else getattr(model.config, "_commit_hash", None)
