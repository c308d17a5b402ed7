# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Decoder runs over many rows of different length: batches of similar length, outputs in the order of the rows.

What runs the decoder is a subclass; this file needs no PyTorch.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ..configuration.position_limits import position_limits
from .target_words import Forcing, Replay, Replayed, TargetWords

if TYPE_CHECKING:
    from transformers import GenerationConfig, PreTrainedModel

# The minimum number of beams of a run that must write a term, so that the words before the term can agree with it.
_MIN_FORCED_BEAMS = 4
# Padded tokens over all beams, if the caller sets no limit, of a batch of runs that write or judge terms: one sentence
# has many of them, and each repeats the sentence's whole window.
MAX_REPEATED_TOKENS = 2**15


class ExpectedWindow(NamedTuple):
    """What the translation of a window must have: its number of sentences, and the maximum number of tokens of one of
    them."""

    num_sentences: int
    max_sentence_tokens: int


class StopConditions(NamedTuple):
    """How a decoder run may end: the tokens that end it, those that are forbidden, the minimum number of new tokens,
    and the size of n-grams that must not be repeated."""

    end_ids: list[int]
    suppressed_ids: list[int]
    min_new_tokens: int | None = None
    no_repeat_ngram_size: int | None = None


class Request(NamedTuple):
    """One row for the decoder: source ids, the forced target prefix without the start token, the length limit of the
    output, what the translation of a window must have (without a prefix), and a term that must be written."""

    source_ids: list[int]
    prefix_ids: list[int]
    max_new_tokens: int
    expected: ExpectedWindow | None = None
    forcing: Forcing | None = None


class Output(NamedTuple):
    """New token ids of a row without the token that ended it; not complete if there was no such token."""

    ids: list[int]
    is_complete: bool


class OutputMemory(Protocol):
    """Outputs that are known already, for example from an interrupted run."""

    def known(self, request: Request, ends: StopConditions) -> Output | None:
        """The output of a request, if it was decoded before."""

    def add(self, requests: Sequence[Request], ends: StopConditions, outputs: Sequence[Output]) -> None:
        """Keeps the outputs of a batch that has just been decoded."""


class DecoderRuns(ABC):
    """Runs a decoder over requests, in batches of similar length.

    Args:
        model: an encoder-decoder model.
        pad_token_ids: padding of the source and of the target.
        separators: `<sep>` and `<par>` of the source and of the target, or nothing.
        batch_size: rows in a batch.
        max_batch_tokens: source and prefix tokens in a batch, including padding; None means no limit, but for runs that
            write or judge terms.
        generate_kwargs: options of `generate`; a length limit among them replaces that of the requests.
        start_id: the token that each target sentence begins with, or None.
        target_words: gives the words of the target vocabulary, which requests with a `forcing` need.

    Attributes:
        memory: read before a request is decoded, and written afterwards; at first there is none.

    Raises:
        ValueError: more than one output for each row is requested, or a number that must be positive is not.
    """

    def __init__(
        self,
        model: "PreTrainedModel",
        pad_token_ids: tuple[int, int],
        separators: Sequence[Sequence[int] | None],
        batch_size: int,
        max_batch_tokens: int | None,
        generate_kwargs: dict[str, Any],
        start_id: int | None = None,
        target_words: Callable[[], TargetWords] | None = None,
    ) -> None:
        check_positive(batch_size=batch_size, max_batch_tokens=max_batch_tokens)
        self.memory: OutputMemory | None = None
        self.model, self.pad_token_ids = model, pad_token_ids
        self.source_separator_ids, self.separator_ids = (side or () for side in separators)
        self.limits, self.start_id, self.target_words = position_limits(model.config), start_id, target_words
        self.follows_source = getattr(model.config, "restart_target_sentences", False)
        self.batch_size, self.max_batch_tokens = batch_size, max_batch_tokens
        self.generation_config, self.generate_kwargs, self.max_new_tokens = _generation_options(model, generate_kwargs)

    def run(
        self,
        requests: list[Request],
        ends: StopConditions,
        on_output: Callable[[int], object] | None = None,
        on_written: Callable[[int, int], object] | None = None,
    ) -> list[Output]:
        """The output of every request, in order.

        Args:
            requests: all or none of which have an `expected`, and all or none a `forcing`.
            ends: how their runs may end.
            on_output: called with the index of each request that is done.
            on_written: called with the index of a window and the number of its sentences that are complete so far.
        """
        memory = self.memory
        outputs = [None if memory is None else memory.known(request, ends) for request in requests]
        on_output = on_output or (lambda index: None)
        for index in (index for index, output in enumerate(outputs) if output is not None):
            on_output(index)
        wanted = [index for index, output in enumerate(outputs) if output is None]
        for indices in self._batches(requests, wanted, self._repeated_tokens(requests)):
            batch = [requests[index] for index in indices]
            decoded = self.decode(batch, ends, _renumbered(on_written, indices))
            if memory is not None:
                memory.add(batch, ends, decoded)
            for index, output in zip(indices, decoded, strict=True):
                outputs[index] = output
                on_output(index)
        return [output for output in outputs if output is not None]

    @abstractmethod
    def inference(self) -> AbstractContextManager[None]:
        """Context in which the decoder runs."""

    @abstractmethod
    def decode(
        self, batch: list[Request], ends: StopConditions, on_written: Callable[[int, int], object] | None = None
    ) -> list[Output]:
        """The outputs of one batch of requests; arguments as those of `run`."""

    @abstractmethod
    def replay(self, requests: list[Request], replays: Sequence[Replay], ends: StopConditions) -> list[Replayed]:
        """The log-probabilities of known translations of the requests, in order."""

    def _num_beams(self, batch: Sequence[Request]) -> int:
        num_beams = self.generation_config.num_beams or 1
        return num_beams if batch[0].forcing is None else max(num_beams, _MIN_FORCED_BEAMS)

    def ends_by_length(self, num_beams: int) -> bool:
        """Greedy rows are cut to their own length afterwards; in beam search the longer limit of the batch could change
        them."""
        return self.max_new_tokens is None and num_beams > 1

    def _repeated_tokens(self, requests: Sequence[Request]) -> int | None:
        """The limit on padded tokens for requests of which many repeat the same window; None for others."""
        if not requests or requests[0].forcing is None:
            return None
        return MAX_REPEATED_TOKENS // self._num_beams(requests)

    def _batches(
        self, requests: list[Request], wanted: Sequence[int], max_tokens: int | None = None
    ) -> Iterator[list[int]]:
        """Indices of the wanted requests, longest first, so that running out of memory happens at once.

        A batch has at most `max_batch_tokens` padded tokens, or else `max_tokens`; None: as many as it has rows for.
        """
        max_tokens = self.max_batch_tokens or max_tokens
        lengths = [len(request.source_ids) + len(request.prefix_ids) for request in requests]
        batch: list[int] = []
        for index in sorted(wanted, key=lambda index: -lengths[index]):
            num_padded = lengths[batch[0]] * (len(batch) + 1) if batch else 0
            is_full = len(batch) == self.batch_size or num_padded > (max_tokens or num_padded)
            if batch and is_full:
                yield batch
                batch = []
            batch.append(index)
        if batch:
            yield batch

    def _config(self, ends: StopConditions, num_beams: int, max_new_tokens: int) -> "GenerationConfig":
        """The generation config of a batch."""
        config = copy.copy(self.generation_config)
        if num_beams != (config.num_beams or 1):
            config.num_beams = num_beams
        config.max_new_tokens = max_new_tokens
        config.eos_token_id = ends.end_ids if len(ends.end_ids) > 1 else ends.end_ids[0]
        forced = (config.forced_bos_token_id, config.forced_eos_token_id)
        allowed = [token_id for token_id in ends.suppressed_ids if token_id not in forced]
        config.suppress_tokens = [*(config.suppress_tokens or []), *allowed] or None
        if allowed and num_beams > 1 and not config.bad_words_ids:
            # Beams compare the probabilities of what may be written, in every engine. Models that forbid words of their
            # own, as Marian's do their padding token, keep the scores that these have elsewhere.
            config.renormalize_logits = True
        if ends.min_new_tokens is not None:
            config.min_new_tokens = max(ends.min_new_tokens, config.min_new_tokens or 0)
        if ends.no_repeat_ngram_size is not None:
            config.no_repeat_ngram_size = min(
                ends.no_repeat_ngram_size, config.no_repeat_ngram_size or ends.no_repeat_ngram_size
            )
        return config

    def closing_ids(self, request: Request, end_id: int) -> list[int]:
        """The target tokens that must close the sentences of a window, as in its source."""
        target_of = dict(zip(self.source_separator_ids, self.separator_ids, strict=True))
        return [*(target_of[token_id] for token_id in request.source_ids if token_id in target_of), end_id]


def _renumbered(
    on_written: Callable[[int, int], object] | None, indices: Sequence[int]
) -> Callable[[int, int], object] | None:
    """`on_written` for a batch of the requests of these indices."""
    if on_written is None:
        return None
    return lambda place, num_complete: on_written(indices[place], num_complete)


def output_of(row: list[int], end_ids: list[int], limit: int, is_forced: bool) -> Output:
    """The output of a row, cut at its own length limit, which the batch may exceed.

    With `is_forced`, an end token in the last position does not mean that the text is complete.
    """
    end = next((index for index, token_id in enumerate(row[:limit]) if token_id in end_ids), None)
    return Output(row[:limit], False) if end is None else Output(row[:end], not is_forced or end < limit - 1)


def check_positive(**options: int | None) -> None:
    """Raises ValueError for an option that is given and below 1."""
    for name, value in options.items():
        if value is not None and value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")


def _generation_options(
    model: "PreTrainedModel", generate_kwargs: dict[str, Any]
) -> "tuple[GenerationConfig, dict[str, Any], int | None]":
    """The generation config of all batches, other arguments of `generate`, and the caller's own length limit."""
    options = dict(generate_kwargs)
    given = options.pop("generation_config", None)
    config = copy.deepcopy(given if given is not None else model.generation_config)
    max_new_tokens = options.pop("max_new_tokens", given.max_new_tokens if given is not None else None)
    max_length = options.pop("max_length", given.max_length if given is not None else None)
    if max_new_tokens is None and max_length is not None:
        max_new_tokens = max_length - 1
    check_positive(max_new_tokens=max_new_tokens, num_beams=options.get("num_beams", config.num_beams))
    if (num_returned := options.get("num_return_sequences", config.num_return_sequences)) not in (None, 1):
        raise ValueError(f"num_return_sequences must be 1, one translation for each sentence; got {num_returned}")
    config.max_length, config.max_new_tokens, config.return_dict_in_generate = None, None, False
    if config.decoder_start_token_id is None:
        config.decoder_start_token_id = getattr(model.config, "decoder_start_token_id", None)
    return config, config.update(**options), max_new_tokens
