# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a training run reads: its tokenizers, and the tables of its windows."""

import logging
import math
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset
from transformers import PreTrainedTokenizerBase

from ..data.corpus_tables import corpora_table, read_report, token_table
from ..data.focus import Focus, focus_sentences, needs_context
from ..data.tokenization import load_tokenizers, save_tokenizers, train_tokenizer
from ..data.training_corpora import CleaningReport, TrainingCorpora
from ..data.window_tables import closing_tokens, weighted_windows, window_table
from ..data.word_vectors import words_with_vectors
from ..text.inline_terms import without_terms
from ..translation.language_tokens import LanguageTokens
from .checkpoints import check_same_tokenizer
from .contrast_words import contrast_token_pairs
from .recipe_sections import RecipeError
from .recipes import Recipe
from .source_word_dropout import unknown_token_id

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Tokenizers:
    """The tokenizers of the two languages; the same object twice if joint."""

    source: PreTrainedTokenizerBase
    target: PreTrainedTokenizerBase

    @property
    def are_joint(self) -> bool:
        """Whether one tokenizer serves both languages."""
        return self.source is self.target


@dataclass(frozen=True)
class PreparedData:
    """The window tables, and statistics of their corpora."""

    train: Dataset
    validation: Dataset | None
    figures: dict[str, Any]


def prepare_tokenizers(recipe: Recipe) -> Tokenizers:
    """The run's own tokenizers. A new run takes those of `tokenizer.path` or `init_from`, or else trains them.

    CheckpointError if they differ from those of `init_from` without `init_transfer`; RecipeError if they
    have no token that an option of the training needs.
    """
    output_dir = Path(recipe.training["output_dir"])
    if not (output_dir / "tokenizer.json").is_file():
        directory = recipe.tokenizer.path or (None if recipe.init_transfer else recipe.init_from)
        tokenizers = _train_tokenizers(recipe) if directory is None else Tokenizers(*load_tokenizers(directory))
        _save_tokenizers_atomically(output_dir, tokenizers)
    tokenizers = Tokenizers(*load_tokenizers(output_dir))
    if recipe.init_from is not None and not recipe.init_transfer:
        others = load_tokenizers(recipe.init_from)
        for own, other in zip((tokenizers.source, tokenizers.target), others, strict=True):
            check_same_tokenizer(own, other, recipe.init_from)
    _check_training_options(recipe, tokenizers)
    return tokenizers


def prepare_data(recipe: Recipe, tokenizers: Tokenizers) -> PreparedData:
    """The tables of training and validation windows, from the cache if possible."""
    train, figures = _windows(recipe, recipe.data.training_corpora, tokenizers, recipe.data.focus)
    numbers = {"train": figures}
    validation = None
    if recipe.data.validation:
        validation, numbers["validation"] = _windows(recipe, recipe.data.validation_corpora, tokenizers)
        limit = recipe.data.validation_limit
        if limit is not None and limit < len(validation):
            validation = validation.select(np.linspace(0, len(validation) - 1, limit).astype(int))
            numbers["validation"]["num_scored_windows"] = limit
    return PreparedData(train, validation, numbers)


def _check_training_options(recipe: Recipe, tokenizers: Tokenizers) -> None:
    """Raises RecipeError for a missing token, which the trainer would miss only after all data are read."""
    try:
        _start_ids(recipe, tokenizers)
    except ValueError as error:
        raise RecipeError(f"section data: {error}") from None
    try:
        contrast_token_pairs(tokenizers.target, recipe.training.get("contrast_words") or ())
        if recipe.training.get("source_word_dropout"):
            unknown_token_id(tokenizers.source)
    except ValueError as error:
        raise RecipeError(f"section training: {error}") from None


def _train_tokenizers(recipe: Recipe) -> Tokenizers:
    section = recipe.tokenizer
    table = corpora_table(recipe.data.training_corpora, recipe.data.cache_dir)
    options: dict[str, Any] = {
        "model": section.algorithm,
        "byte_fallback": section.byte_fallback,
        "split_digits": section.split_digits,
        "min_frequency": section.min_frequency,
        "limit_alphabet": section.limit_alphabet,
        "plain_typography": section.plain_typography,
        "reserved_tokens": section.reserved_tokens,
    }
    sides = [("source", "target")] if section.joint else [("source",), ("target",)]
    trained = []
    for columns, vectors in zip(sides, (recipe.source_vectors, recipe.target_vectors), strict=False):
        words = None if vectors is None else words_with_vectors(vectors)
        sentences = _sentences(table, columns, section.max_sentences)
        trained.append(train_tokenizer(sentences, section.vocab_size, known_words=words, **options))
    return Tokenizers(trained[0], trained[-1])


def _sentences(table: Dataset, columns: tuple[str, ...], max_sentences: int | None) -> Iterator[str]:
    """The sentences of some columns, of at most `max_sentences` evenly spaced sentence pairs of all documents."""
    total = sum(len(row) for row in table["source"]) if max_sentences else 0
    stride = max(1, math.ceil(total / max_sentences)) if max_sentences else 1
    index = 0
    for row in table.select_columns(list(columns)):
        for pair in zip(*(row[column] for column in columns), strict=True):
            if index % stride == 0:
                yield from map(without_terms, pair)
            index += 1


def _save_tokenizers_atomically(output_dir: Path, tokenizers: Tokenizers) -> None:
    """Saves by renaming, tokenizer.json last, so that an interruption never leaves half of a pair."""
    with tempfile.TemporaryDirectory(dir=output_dir) as folder:
        save_tokenizers(folder, tokenizers.source, tokenizers.target)
        for path in sorted(Path(folder).iterdir(), key=lambda path: path.name == "tokenizer.json"):
            if path.is_dir():
                shutil.rmtree(output_dir / path.name, ignore_errors=True)
            path.replace(output_dir / path.name)


def _windows(
    recipe: Recipe, corpora: TrainingCorpora, tokenizers: Tokenizers, focus: Focus | None = None
) -> tuple[Dataset, dict[str, Any]]:
    text = corpora_table(corpora, recipe.data.cache_dir)
    # Before the tokenization, so that a wrong file is known early.
    listed = None if focus is None else focus_sentences(text, focus, corpora)
    tokens = token_table(
        text,
        tokenizers.source,
        tokenizers.target,
        start_ids=_start_ids(recipe, tokenizers),
        num_proc=recipe.data.num_proc,
    )
    windows = window_table(
        tokens,
        closing_tokens(tokenizers.source),
        recipe.model.get("window_sentences", recipe.config_class.window_sentences),
        max_source_tokens=recipe.model.get("max_source_tokens", recipe.config_class.max_source_tokens),
        max_target_tokens=recipe.model.get("max_target_tokens", recipe.config_class.max_target_tokens),
        overlong=recipe.data.overlong,
        num_proc=recipe.data.num_proc,
    )
    weights = [corpus.weight for corpus in corpora.corpora]
    if focus is None or listed is None:
        windows = weighted_windows(windows, weights)
        return windows, _figures(read_report(text), corpora, windows)
    in_focus = needs_context(windows, listed)
    windows = weighted_windows(windows, weights, np.where(in_focus, focus.weight, 1.0))
    return windows, _figures(read_report(text), corpora, windows) | _focus_figures(focus, listed, in_focus)


def _start_ids(recipe: Recipe, tokenizers: Tokenizers) -> tuple[list[int], list[int]]:
    """Tokens of languages in front of sentences, of a model of many languages; else none."""
    languages = LanguageTokens(tokenizers.source)
    pair = (recipe.data.source_language, recipe.data.target_language)
    return languages.start_ids(*pair), languages.target_start_ids(pair[1])


def _figures(report: CleaningReport, corpora: TrainingCorpora, windows: Dataset) -> dict[str, Any]:
    """The statistics of the data for the summary of a run."""
    figures: dict[str, Any] = {
        "num_documents": report.num_documents,
        "num_sentences": report.num_sentences,
        "num_windows": len(windows),
    }
    dropped: dict[str, dict[str, int]] = {}
    for (corpus, reason), count in sorted(report.dropped.items()):
        dropped.setdefault(corpora.corpora[corpus].label, {})[reason] = count
    if dropped:
        logger.info("sentence pairs dropped by the cleaning: %s", dropped)
        figures["num_dropped"] = dropped
    return figures


def _focus_figures(
    focus: Focus, listed: Mapping[tuple[int, str], Sequence[int]], in_focus: np.ndarray
) -> dict[str, int]:
    """How many listed sentences the corpora have, and how many windows, before they are repeated, need context."""
    num_sentences, num_windows = sum(map(len, listed.values())), int(in_focus.sum())
    if not num_windows:
        raise ValueError(f"{focus.path}: its sentences follow no other sentence in any training window")
    logger.info(
        "%d windows with one of the %d sentences of %s have the weight %g",
        *(num_windows, num_sentences, focus.path, focus.weight),
    )
    return {"num_focus_sentences": num_sentences, "num_focus_windows": num_windows}
