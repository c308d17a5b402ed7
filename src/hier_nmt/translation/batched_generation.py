# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""`generate` over many rows of different length: batches of similar length, outputs in the order of the rows."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from ..text.windows import closed_sentences
from .decoder_runs import MAX_REPEATED_TOKENS, DecoderRuns, Output, Request, StopConditions, output_of
from .generation_constraints import FollowsSource, WindowStoppingCriteria, WithinLengths, WithinPositions
from .loop_prevention import WithoutLoops
from .target_words import Replay, Replayed
from .term_constraints import ForcedTerms, ReplayedScores


class BatchedGenerator(DecoderRuns):
    """Runs `generate` of a model over requests; arguments and attributes as of `DecoderRuns`."""

    @contextmanager
    def inference(self) -> Iterator[None]:
        """Context with the model in evaluation mode, without gradients and without the model's own length limits."""
        was_training, own_config = self.model.training, self.model.generation_config
        self.model.eval()
        # `generate` fills options that are None from this one, so its max_length would apply, with a warning for each
        # batch.
        self.model.generation_config = self.generation_config
        try:
            with torch.inference_mode():
                yield
        finally:
            self.model.generation_config = own_config
            self.model.train(was_training)

    def decode(
        self, batch: list[Request], ends: StopConditions, on_written: Callable[[int, int], object] | None = None
    ) -> list[Output]:
        """The outputs of one batch of requests."""
        return self._generate(batch, ends, self._hooks(batch, ends, on_written), self._num_beams(batch))

    def replay(self, requests: list[Request], replays: Sequence[Replay], ends: StopConditions) -> list[Replayed]:
        """The log-probabilities of known translations of the requests, in order."""
        replayed: dict[int, Replayed] = {}
        for indices in self._batches(requests, range(len(requests)), MAX_REPEATED_TOKENS):
            batch = [requests[index] for index in indices]
            limits = [len(replays[index].target_ids) for index in indices]
            scores = ReplayedScores([replays[index] for index in indices], _num_given(batch))
            self._generate(batch, ends, {"logits_processor": [scores]}, 1, limits)
            replayed.update(zip(indices, scores.complete(), strict=True))
        return [replayed[index] for index in range(len(requests))]

    def _hooks(
        self, batch: list[Request], ends: StopConditions, on_written: Callable[[int, int], object] | None
    ) -> dict[str, Any]:
        """Logits processors and stopping criteria for `generate`, after those of the caller."""
        sources = [closed_sentences(request.source_ids, self.source_separator_ids) for request in batch]
        start_ids = {self.pad_token_ids[1], self.generation_config.decoder_start_token_id}
        without_loops = WithoutLoops(sources, self.separator_ids, ends.end_ids, start_ids)
        hooks: dict[str, list[Any]] = {"logits_processor": [without_loops]}
        forcings = [request.forcing for request in batch if request.forcing is not None]
        if forcings:
            assert self.target_words is not None
            hooks["logits_processor"].append(ForcedTerms(forcings, _num_given(batch), self.target_words()))
        if self.ends_by_length(self._num_beams(batch)):
            lengths = [request.max_new_tokens for request in batch]
            hooks["logits_processor"].append(WithinLengths(lengths, _num_given(batch), ends.end_ids))
        expected = [request.expected for request in batch if request.expected is not None]
        if expected:
            ends_rows = self.generation_config.num_beams in (None, 1)
            follower = WindowStoppingCriteria(self.separator_ids, expected, ends_rows, self.limits, on_written)
            hooks["stopping_criteria"] = [follower]
        if expected and self.follows_source:
            closing_ids = [self.closing_ids(request, ends.end_ids[0]) for request in batch]
            # Before the length limits, which must come last.
            follows = FollowsSource(closing_ids, self.separator_ids, ends.end_ids, self.start_id)
            hooks["logits_processor"].insert(0, follows)
        if any(limit is not None for limit in self.limits):
            within = WithinPositions(self.limits, self.separator_ids, ends.end_ids, self.pad_token_ids[1])
            hooks["logits_processor"].append(within)
        return {name: [*(self.generate_kwargs.get(name) or ()), *added] for name, added in hooks.items()}

    def _generate(
        self,
        batch: list[Request],
        ends: StopConditions,
        hooks: dict[str, Any],
        num_beams: int,
        limits: list[int] | None = None,
    ) -> list[Output]:
        limits = limits or [self.max_new_tokens or request.max_new_tokens for request in batch]
        config = self._config(ends, num_beams, max(limits))
        inputs = self._inputs(batch)
        generate: Callable[..., Any] = self.model.generate  # type: ignore[assignment]
        sequences = generate(**inputs, generation_config=config, **{**self.generate_kwargs, **hooks})
        num_given = inputs["decoder_input_ids"].shape[1] if "decoder_input_ids" in inputs else 1
        rows = getattr(sequences, "sequences", sequences)[:, num_given:].tolist()
        return [
            output_of(row, ends.end_ids, limit, self.ends_by_length(num_beams))
            for row, limit in zip(rows, limits, strict=True)
        ]

    def _inputs(self, batch: list[Request]) -> dict[str, torch.Tensor]:
        source_pad, target_pad = self.pad_token_ids
        input_ids, attention_mask = _padded([request.source_ids for request in batch], source_pad, left=False)
        inputs = {"input_ids": input_ids, "attention_mask": attention_mask}
        if any(request.prefix_ids for request in batch):
            start_id = self.generation_config.decoder_start_token_id
            rows = [[start_id, *request.prefix_ids] for request in batch]
            inputs["decoder_input_ids"], inputs["decoder_attention_mask"] = _padded(rows, target_pad, left=True)
        device = self.model.device
        return {name: tensor.to(device) for name, tensor in inputs.items()}


def _num_given(batch: Sequence[Request]) -> int:
    """Tokens before the first new one: the start token and the longest prefix."""
    return 1 + max(len(request.prefix_ids) for request in batch)


def _padded(rows: list[list[int]], pad_token_id: int, left: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids [B, L] and their mask [B, L], 1 on tokens."""
    length = max(len(row) for row in rows)
    ids, mask = [], []
    for row in rows:
        padding = [pad_token_id] * (length - len(row))
        ids.append(padding + row if left else row + padding)
        zeros, ones = [0] * len(padding), [1] * len(row)
        mask.append(zeros + ones if left else ones + zeros)
    return torch.tensor(ids), torch.tensor(mask)
