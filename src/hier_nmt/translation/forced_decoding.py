# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Log-probabilities of the tokens of given translations under a model, in one pass (forced decoding).

Dimensions: B batch, S source tokens, T target tokens, V vocabulary.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from transformers import PreTrainedModel

from ..configuration.configuration_choices import IGNORED_LABEL


class ForcedRow(NamedTuple):
    """The source window and the target window, which are the labels, each with its closing token."""

    source_ids: Sequence[int]
    target_ids: Sequence[int]


@torch.inference_mode()
def forced_log_probabilities(
    model: PreTrainedModel,
    rows: Sequence[ForcedRow],
    pad_token_ids: tuple[int, int],
    closing_ids: Sequence[int] = (),
) -> list[torch.Tensor]:
    """The log-probability of each target token of each row of one batch, in float64 on the CPU.

    Args:
        model: an encoder-decoder, in evaluation mode.
        rows: one batch.
        pad_token_ids: padding of source and target.
        closing_ids: target tokens each of which gets the probability of all of them.
    """
    input_ids = padded([row.source_ids for row in rows], pad_token_ids[0])
    labels = padded([row.target_ids for row in rows], pad_token_ids[1])
    lengths = torch.tensor([[len(row.source_ids), len(row.target_ids)] for row in rows])
    source_mask = torch.arange(input_ids.shape[1]) < lengths[:, :1]  # [B, S]
    target_mask = torch.arange(labels.shape[1]) < lengths[:, 1:]  # [B, T]
    # The padding after a row is hidden from all scored tokens by the causal mask.
    logits = model(
        input_ids=input_ids.to(model.device),
        attention_mask=source_mask.long().to(model.device),
        decoder_input_ids=_decoder_input_ids(model, labels.masked_fill(~target_mask, IGNORED_LABEL)).to(model.device),
        use_cache=False,
    ).logits
    log_probabilities = logits.float().log_softmax(-1)  # [B, T, V]
    labels = labels.to(logits.device)
    chosen = log_probabilities.gather(-1, labels[..., None])[..., 0]
    if closing_ids:
        closes = torch.isin(labels, torch.tensor(closing_ids, device=labels.device))
        chosen = torch.where(closes, log_probabilities[..., list(closing_ids)].logsumexp(-1), chosen)
    chosen = chosen.cpu().double()
    return [one[: len(row.target_ids)] for one, row in zip(chosen, rows, strict=True)]


def _decoder_input_ids(model: PreTrainedModel, labels: torch.Tensor) -> torch.Tensor:
    """What the decoder reads to write the labels [B, T]."""
    prepare: Any = getattr(model, "prepare_decoder_input_ids_from_labels", None)
    if prepare is not None:
        return prepare(labels=labels)
    # M2M100 and NLLB.
    config: Any = model.config
    start = torch.full_like(labels[:, :1], config.decoder_start_token_id)
    shifted = torch.cat([start, labels[:, :-1]], dim=1)
    return shifted.masked_fill(shifted == IGNORED_LABEL, config.pad_token_id)


def batches_of_rows(rows: Sequence[ForcedRow], batch_size: int, max_target_tokens: int) -> Iterator[list[int]]:
    """Indices of rows of similar length: at most this many rows, and padded target tokens, in a batch."""
    batch: list[int] = []
    longest = 0
    for index in sorted(range(len(rows)), key=lambda index: len(rows[index].target_ids), reverse=True):
        if batch and (len(batch) == batch_size or longest * (len(batch) + 1) > max_target_tokens):
            yield batch
            batch = []
        longest = longest if batch else len(rows[index].target_ids)
        batch.append(index)
    if batch:
        yield batch


def padded(rows: Sequence[Sequence[int]], pad_token_id: int) -> torch.Tensor:
    """Rows of ids as a tensor [B, length], padded on the right."""
    length = max(map(len, rows))
    return torch.tensor([[*row, *[pad_token_id] * (length - len(row))] for row in rows])
