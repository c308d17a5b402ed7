# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The options of the translation pipeline, divided among its steps and `generate`."""

import difflib
import inspect
from collections.abc import Iterable, Mapping
from typing import Any

from transformers import GenerationConfig, GenerationMixin

_FORWARD_OPTIONS = (
    "progress",
    "source_language",
    "target_language",
    "strategy",
    "window_sentences",
    "max_batch_tokens",
    "max_source_tokens",
    "max_target_tokens",
    "glossary_method",
    "keep_numbers",
    "confidence",
)
_PREPROCESS_OPTIONS = (
    "source_language",
    "target_language",
    "text_format",
    "glossary",
    "do_not_translate",
    "memory",
    "memory_threshold",
)
# What the translation pipeline of Transformers 4 called the languages.
_OLDER_NAMES = {"src_lang": "source_language", "tgt_lang": "target_language"}
_POSTPROCESS_OPTIONS = ("return_sentences", "return_details")


def divided_options(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The options of the steps `preprocess`, `forward` and `postprocess`; those of `generate` are in `forward`.

    Raises:
        TypeError: an unknown option, or one that is also given by its older name.
    """
    options = {_OLDER_NAMES.get(name, name): value for name, value in given.items()}
    if len(options) < len(given):
        raise TypeError("src_lang and tgt_lang are older names of source_language and target_language: give one each")
    forward = {name: options[name] for name in _FORWARD_OPTIONS if name in options}
    preprocess, postprocess = [
        {name: options[name] for name in names if options.get(name) is not None}
        for names in (_PREPROCESS_OPTIONS, _POSTPROCESS_OPTIONS)
    ]
    own = {*_FORWARD_OPTIONS, *_PREPROCESS_OPTIONS, *_POSTPROCESS_OPTIONS}
    generate_kwargs = {name: value for name, value in options.items() if name not in own}
    if generate_kwargs:
        _check_generate_options(generate_kwargs)
        forward["generate_kwargs"] = generate_kwargs
    return preprocess, forward, postprocess


def _check_generate_options(options: Iterable[str]) -> None:
    """Raises TypeError for a name that is not an option of `generate`; the message suggests the nearest option."""
    known = {*vars(GenerationConfig()), *inspect.signature(GenerationMixin.generate).parameters, "generation_config"}
    own = {*_FORWARD_OPTIONS, *_PREPROCESS_OPTIONS, *_POSTPROCESS_OPTIONS, "context", "batch_size"}
    known = {name for name in known if not name.startswith("_")} - {"self", "inputs", "kwargs"}
    for name in options:
        if name not in known:
            nearest = difflib.get_close_matches(name, known | own, n=1)
            hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
            raise TypeError(f"{name!r} is not an option of the translation pipeline or of generate{hint}")
