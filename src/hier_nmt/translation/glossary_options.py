# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The terms of a translation, in any of the forms in which they may be given, checked. The package reads files.

Code that is saved beside a model's weights can use terms, but cannot read files of them.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..text.glossary import Glossary, glossary_of_pairs, has_words
from .translation_vocabulary import TranslationVocabulary

if TYPE_CHECKING:
    from transformers import PreTrainedModel

GLOSSARY_METHODS = ("auto", "inline", "constrained")


class TermPolicy(NamedTuple):
    """How terms and numbers come into translations.

    Attributes:
        is_inline: whether the translations of terms are written into the source.
        is_constrained: whether sentences that lack a term are decoded again with it.
        keep_numbers: whether sentences that lack a number of the source are decoded again with it, and reported if they
            still lack it.
    """

    is_inline: bool = False
    is_constrained: bool = False
    keep_numbers: bool = False


class GlossaryReaders(NamedTuple):
    """Functions that read files: a glossary in a source and target language, and terms, one in a line."""

    glossary: Callable[[Path, str | None, str | None], Glossary]
    terms: Callable[[Path], list[str]]


_readers: list[GlossaryReaders] = []


def register_glossary_readers(readers: GlossaryReaders) -> None:
    """Makes `glossary_of` and `terms_of` read files with these functions."""
    _readers[:] = [readers]


def glossary_of(value: Any, source_language: str | None, target_language: str | None) -> Glossary | None:
    """The glossary that was given: None, a `Glossary`, the path of a file, a mapping, or pairs of terms.

    Raises:
        TypeError: anything else.
        ValueError: a broken file, or an entry that is not a pair of terms with a word each.
        ImportError: a path, without the package hier_nmt.
    """
    if value is None or isinstance(value, Glossary):
        found = value
    elif isinstance(value, (str, os.PathLike)):
        found = _reader("glossary").glossary(Path(value), source_language, target_language)
    elif isinstance(value, (Mapping, Iterable)):
        found = glossary_of_pairs(value)
    else:
        raise TypeError(f"glossary must be a path, a mapping or pairs of terms, got {type(value).__name__}")
    return None if found is None else found.with_languages(source_language, target_language)


def terms_of(value: Any) -> tuple[str, ...]:
    """The terms that are not translated: from None, a term, the path of a file (not a string), or several terms.

    Raises:
        TypeError: anything else.
        ValueError: a term without a word, or a broken file.
        ImportError: a path, without the package hier_nmt.
    """
    if value is None:
        return ()
    if isinstance(value, os.PathLike):
        value = _reader("do_not_translate").terms(Path(value))
    values = [value] if isinstance(value, str) else value
    if isinstance(values, Mapping) or not isinstance(values, Iterable):
        raise TypeError(f"do_not_translate must be a term or a list of terms, got {type(value).__name__}")
    terms = tuple(dict.fromkeys(values))
    for term in terms:
        if not isinstance(term, str) or not has_words(term):
            raise ValueError(f"a term that is not translated must have a word; got {term!r:.80}")
    return terms


def _reader(option: str) -> GlossaryReaders:
    if not _readers:
        raise ImportError(f"{option} of a file needs the package hier_nmt, and `import hier_nmt`")
    return _readers[0]


def term_policy(
    method: str, keep_numbers: bool, model: "PreTrainedModel", vocabulary: TranslationVocabulary
) -> TermPolicy:
    """How a model is made to write terms and numbers.

    Args:
        method: `inline`; `constrained`; `auto`: inline where the model was trained for it
            (`config.reads_inline_terms`), and constrained for what it does not use.
        keep_numbers: as in the policy.
        model: the model.
        vocabulary: of the model.

    Raises:
        ValueError: an unknown method, or `inline` and a tokenizer without its tokens.
    """
    if method not in GLOSSARY_METHODS:
        raise ValueError(f"glossary_method must be one of {', '.join(GLOSSARY_METHODS)}; got {method!r}")
    if method == "inline" and not vocabulary.has_inline_terms:
        raise ValueError(
            "glossary_method='inline' needs a tokenizer with <gloss> and </gloss>, and a model that was trained with "
            "them (data.augmentation.glossary of a recipe)"
        )
    is_trained = bool(getattr(model.config, "reads_inline_terms", False)) and vocabulary.has_inline_terms
    return TermPolicy(method == "inline" or (method == "auto" and is_trained), method != "inline", keep_numbers)
