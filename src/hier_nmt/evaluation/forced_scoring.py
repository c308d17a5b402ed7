# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Log-probabilities of given translations under a model (forced decoding), and its continuations of a given context."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from ..text.windows import Window, fit_window
from ..translation.batched_generation import BatchedGenerator
from ..translation.decoder_runs import Request
from ..translation.forced_decoding import ForcedRow, forced_log_probabilities
from ..translation.translation_vocabulary import TranslationVocabulary
from .progress import progress_bar


class ForcedWindow(NamedTuple):
    """The input of a model and the target that it scores.

    Attributes:
        source_ids: the source window, with its closing token.
        target_ids: the target window, with its closing token; these are the labels.
        first: index of the first label of the current sentence.
    """

    source_ids: tuple[int, ...]
    target_ids: tuple[int, ...]
    first: int


class WindowScore(NamedTuple):
    """Summed log-probabilities of a target window: of its context sentences and of the current one, with closing
    tokens.

    `num_context_tokens` and `num_tokens` are the numbers of summed tokens.
    """

    context: float
    num_context_tokens: int
    current: float
    num_tokens: int


class WindowBuilder:
    """Builds windows of a sentence and its context for a model.

    A window model (its tokenizer has `<sep>` and `<par>`) gets the last K - 1 context sentences, each closed by
    `<sep>`. Other models get the sentence alone, or after its context joined by `context_separator`.

    Args:
        model: an encoder-decoder.
        tokenizer, target_tokenizer: its tokenizers.
        window_sentences: K; default: that of the model's training; with a `context_separator` the whole context.
        context_separator: text between sentences, for models without separator tokens.
        source_language, target_language: ISO 639 codes, for a model of many languages; default: the model's.

    Raises:
        ValueError: a window model with a `context_separator`, a negative K, or languages that are missing or that the
            model does not have.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        target_tokenizer: PreTrainedTokenizerBase | None = None,
        *,
        window_sentences: int | None = None,
        context_separator: str | None = None,
        source_language: str | None = None,
        target_language: str | None = None,
    ) -> None:
        config: Any = model.config
        languages = (source_language, target_language)
        self.vocabulary = TranslationVocabulary.of_model(model, tokenizer, target_tokenizer, *languages)
        if context_separator is not None and self.vocabulary.has_separators:
            raise ValueError(f"context_separator={context_separator!r}, but this model has <sep> between sentences")
        if window_sentences is None:
            window_sentences = getattr(config, "window_sentences", 1 if context_separator is None else 0)
        if window_sentences < 0:
            raise ValueError(f"window_sentences must not be negative, got {window_sentences}")
        self.window_sentences = window_sentences
        self.context_separator = context_separator
        limit = getattr(config, "max_position_embeddings", None)
        self._limits = tuple(
            getattr(config, name, None) or limit for name in ("max_source_tokens", "max_target_tokens")
        )

    def build(
        self, source_context: Sequence[str], source: str, target_context: Sequence[str], target: str
    ) -> ForcedWindow:
        """The window of a sentence pair after its context: parallel sentences, oldest first.

        Context beyond the model's limits is dropped, farthest first, and all of it if it has no translation. ValueError
        if the pair alone exceeds the limits.
        """
        source_context = source_context[: len(target_context)]
        num_context = len(source_context) if self.window_sentences == 0 else self.window_sentences - 1
        start = max(0, len(source_context) - num_context)
        sources, targets = [*source_context[start:], source], [*target_context[start:], target]
        if self.vocabulary.has_separators:
            window = self._window_of_sentences(sources, targets)
        else:
            window = self._window_of_text(sources, targets)
        lengths = (len(window.source_ids), len(window.target_ids))
        for side, length, limit in zip(("source", "target"), lengths, self._limits, strict=True):
            if limit is not None and length > limit:
                raise ValueError(f"{length} {side} tokens are more than the model's {limit}: {source!r:.80}")
        return window

    def _window_of_sentences(self, sources: list[str], targets: list[str]) -> ForcedWindow:
        vocabulary = self.vocabulary
        source_ids, target_ids = vocabulary.encode(sources), vocabulary.encode(targets, target=True)
        # The token of a language is given, and not scored.
        num_given = vocabulary.num_target_start_tokens
        lengths = [[len(ids) + 1 for ids in source_ids], [num_given + len(ids) + 1 for ids in target_ids]]
        start, stop = fit_window(Window(0, len(sources)), lengths[0], lengths[1], *self._limits)
        no_paragraphs = [False] * (stop - start)
        return ForcedWindow(
            tuple(vocabulary.join(source_ids[start:], no_paragraphs, side=0)),
            tuple(vocabulary.join(target_ids[start:], no_paragraphs, side=1)),
            sum(lengths[1][start:-1]) + num_given,
        )

    def _window_of_text(self, sources: list[str], targets: list[str]) -> ForcedWindow:
        """For tokenizers without separators; from a context that is too long the farthest sentences are dropped."""
        separator = self.context_separator or ""
        while True:
            window = self._joined(separator.join([*sources[:-1], ""]), sources[-1], separator, targets)
            lengths = (len(window.source_ids), len(window.target_ids))
            fits = all(limit is None or length <= limit for length, limit in zip(lengths, self._limits, strict=True))
            if fits or len(sources) == 1:
                return window
            sources, targets = sources[1:], targets[1:]

    def _joined(self, source_context: str, source: str, separator: str, targets: list[str]) -> ForcedWindow:
        vocabulary, target_tokenizer = self.vocabulary, self.vocabulary.target
        context: list[int] = []
        if len(targets) > 1:
            text = separator.join([*targets[:-1], ""])
            context = target_tokenizer(text_target=text, add_special_tokens=False)["input_ids"]
        current = target_tokenizer(text_target=targets[-1])["input_ids"]
        current = vocabulary.languages.in_language(current, vocabulary.target_language)
        # A language code, if there is one, precedes everything.
        num_leading = next(
            (index for index, token_id in enumerate(current) if token_id not in target_tokenizer.all_special_ids), 0
        )
        target_ids = (*current[:num_leading], *context, *current[num_leading:])
        (source_ids,) = vocabulary.encode([source_context + source])
        return ForcedWindow(tuple(source_ids), target_ids, num_leading + len(context))


def forced_scores(
    model: PreTrainedModel,
    windows: Sequence[ForcedWindow],
    pad_token_ids: tuple[int, int],
    *,
    batch_size: int = 32,
    progress: bool = False,
) -> list[WindowScore]:
    """The score of every window, in order; equal windows are computed once and so have exactly equal scores.

    Args:
        model: an encoder-decoder, in evaluation mode.
        windows: inputs and targets.
        pad_token_ids: padding of source and target.
        batch_size: windows in a batch.
        progress: shows a progress bar, see `progress_bar`.
    """
    unique = sorted(set(windows), key=lambda window: (len(window.target_ids), len(window.source_ids)), reverse=True)
    scores: dict[ForcedWindow, WindowScore] = {}
    with progress_bar(len(unique), " windows", progress) as bar:
        for start in range(0, len(unique), batch_size):
            batch = unique[start : start + batch_size]
            scores.update(zip(batch, _batch_scores(model, batch, pad_token_ids), strict=True))
            bar.update(len(batch))
    return [scores[window] for window in windows]


def _batch_scores(
    model: PreTrainedModel, batch: list[ForcedWindow], pad_token_ids: tuple[int, int]
) -> Iterator[WindowScore]:
    rows = [ForcedRow(window.source_ids, window.target_ids) for window in batch]
    for row, window in zip(forced_log_probabilities(model, rows, pad_token_ids), batch, strict=True):
        first, stop = window.first, len(window.target_ids)
        yield WindowScore(row[:first].sum().item(), first, row[first:].sum().item(), stop - first)


def continue_windows(
    model: PreTrainedModel,
    windows: Sequence[ForcedWindow],
    vocabulary: TranslationVocabulary,
    *,
    batch_size: int = 32,
    progress: bool = False,
    **generate_kwargs: Any,
) -> list[str]:
    """The model's translation of each window's current sentence, after the target context of the window.

    Args:
        model: an encoder-decoder.
        windows: only the context of their targets is read.
        vocabulary: the tokenizers.
        batch_size: windows in a batch.
        progress: shows a progress bar, see `progress_bar`.
        generate_kwargs: options of `generate`, such as `num_beams`.
    """
    if not vocabulary.has_separators and len({window.first for window in windows}) > 1:
        # Models that count positions from the left edge would count left padding of a prefix.
        batch_size = 1
    separators = vocabulary.separators
    generator = BatchedGenerator(model, vocabulary.pad_token_ids, separators, batch_size, None, generate_kwargs)
    requests = [
        Request(list(window.source_ids), list(window.target_ids[: window.first]), 2 * len(window.source_ids) + 10)
        for window in windows
    ]
    with generator.inference(), progress_bar(len(requests), " windows", progress) as bar:
        outputs = generator.run(requests, vocabulary.prefix_ends, lambda index: bar.update())
    return [vocabulary.decode([i for i in output.ids if i not in vocabulary.ignored]) for output in outputs]
