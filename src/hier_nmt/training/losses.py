# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The training losses, which give the context sentences of a window less weight than its current sentence.

Dimensions: B batch, T target tokens, V vocabulary, R tokens that are not ignored, P ordered pairs of tokens.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from ..configuration.configuration_choices import IGNORED_LABEL
from .word_contrast import WordContrast, contrast_positions, contrast_token_weights

# Logits per chunk: on the CPU as many as fit into the caches, otherwise enough to occupy the device.
_CHUNK_ELEMENTS_CPU = 2**20
_CHUNK_ELEMENTS = 2**26


def context_discounted_cross_entropy(
    logits: torch.Tensor,
    labels: torch.Tensor,
    label_sentence_ids: torch.Tensor,
    context_discount: float,
    label_smoothing: float = 0.0,
    num_items_in_batch: torch.Tensor | int | None = None,
    token_weights: torch.Tensor | None = None,
) -> torch.Tensor:
    """The scalar (context_discount * L_context + L_current) / num_items_in_batch (Lupo et al. 2022, section 3.1).

    L_current is the sum of token losses over the current sentence, the last one of each row; L_context is the sum over
    the other sentences. Float32, or float64 for float64 logits; with `context_discount` 1 it is the ordinary mean
    cross-entropy.

    Args:
        logits: [B, T, V], of any floating type.
        labels: [B, T], -100 for ignored positions.
        label_sentence_ids: [B, T], the sentence of the window that each label belongs to: 1, 2, ... ; a separator
            belongs to the sentence that it closes.
        context_discount: weight of the context sentences, from 0 to 1.
        label_smoothing: share of the target distribution that is spread evenly over the vocabulary, from 0 to below 1.
        num_items_in_batch: divisor of the sum; None: the number of labels that are not -100. With gradient accumulation
            or several processes pass the number of target tokens of the whole batch.
        token_weights: further factors on the token losses, [B, T], or None. They do not change the divisor.
    """
    _check_fraction("context_discount", context_discount, upper_is_allowed=True)
    _check_fraction("label_smoothing", label_smoothing, upper_is_allowed=False)
    _check_shapes(logits, labels, label_sentence_ids, token_weights)
    _check_labels(labels, logits.shape[-1])
    is_predicted = labels != IGNORED_LABEL  # [B, T]
    num_items = _num_items(is_predicted, num_items_in_batch)
    weights = current_sentence_weights(is_predicted, label_sentence_ids, context_discount, _compute_dtype(logits))
    if token_weights is not None:
        weights = weights * token_weights
    rows = is_predicted.flatten().nonzero()[:, 0]  # [R]
    loss = _WeightedCrossEntropy.apply(
        logits.flatten(0, 1), labels.flatten()[rows], weights.flatten()[rows], rows, label_smoothing
    )
    return loss / num_items


def contrast_margin_loss(
    logits: torch.Tensor,
    labels: torch.Tensor,
    label_sentence_ids: torch.Tensor,
    token_pairs: torch.Tensor,
    margin: float,
    context_discount: float,
    num_items_in_batch: torch.Tensor | int | None = None,
    continues_word: torch.Tensor | None = None,
) -> torch.Tensor:
    """The weighted sum of max(0, margin - (log p(label) - log p(counterpart))), divided by `num_items_in_batch`.

    It is summed over the `contrast_positions`; a label in several pairs has a hinge for each of its counterparts. The
    weights are those of `context_discounted_cross_entropy`. Takes the arguments of that function, and:

    Args:
        token_pairs: ids [P, 2], a token and its counterpart.
        margin: by how much the log-probability of the label must exceed that of its counterpart.
        continues_word: see `contrast_positions`.
    """
    _check_fraction("context_discount", context_discount, upper_is_allowed=True)
    _check_shapes(logits, labels, label_sentence_ids)
    is_predicted = labels != IGNORED_LABEL  # [B, T]
    num_items = _num_items(is_predicted, num_items_in_batch)
    has_counterpart = contrast_positions(labels, label_sentence_ids, token_pairs, continues_word)  # [B, T, P]
    contrasted = labels.masked_fill(~has_counterpart.any(-1), 0)
    token_ids = torch.cat([contrasted[..., None], token_pairs[:, 1].expand(*labels.shape, -1)], dim=-1)
    # One gather, since the gradient of each would be as large as the logits.
    scores = logits.gather(-1, token_ids).to(_compute_dtype(logits))  # [B, T, 1 + P]
    hinges = (margin - (scores[..., :1] - scores[..., 1:])).relu()
    weights = current_sentence_weights(is_predicted, label_sentence_ids, context_discount, scores.dtype)
    return (torch.where(has_counterpart, hinges, 0.0).sum(-1) * weights).sum() / num_items


def context_discounted_squared_error(
    logits: torch.Tensor,
    labels: torch.Tensor,
    label_sentence_ids: torch.Tensor,
    context_discount: float,
    vector_size: int,
    num_items_in_batch: torch.Tensor | int | None = None,
) -> torch.Tensor:
    """The loss of `context_discounted_cross_entropy` with mean squared errors of word vectors as token losses.

    Takes the arguments of that function, and:

    Args:
        logits: negative squared distances to the vectors of all words [B, T, V].
        vector_size: W, the width of the vectors.
    """
    _check_fraction("context_discount", context_discount, upper_is_allowed=True)
    _check_shapes(logits, labels, label_sentence_ids)
    is_predicted = labels != IGNORED_LABEL  # [B, T]
    num_items = _num_items(is_predicted, num_items_in_batch)
    weights = current_sentence_weights(is_predicted, label_sentence_ids, context_discount, _compute_dtype(logits))
    return (token_squared_errors(logits, labels, vector_size) * weights).sum() / num_items


@dataclass(frozen=True)
class CrossEntropyLoss:
    """The loss of models with a softmax over words.

    Attributes:
        label_smoothing: see `context_discounted_cross_entropy`.
        contrast: of words that the context decides, or None.
    """

    label_smoothing: float = 0.0
    contrast: WordContrast | None = None

    def discounted(
        self,
        logits: torch.Tensor,
        labels: torch.Tensor,
        label_sentence_ids: torch.Tensor,
        context_discount: float,
        num_items_in_batch: torch.Tensor | int | None,
    ) -> torch.Tensor:
        """`context_discounted_cross_entropy`, and with `contrast` the weighted `contrast_margin_loss`."""
        contrast, token_weights = self.contrast, None
        if contrast is not None:
            token_weights = contrast_token_weights(
                *(labels, label_sentence_ids, contrast.token_pairs, contrast.weight, _compute_dtype(logits)),
                contrast.continues_word,
            )
        loss = context_discounted_cross_entropy(
            *(logits, labels, label_sentence_ids, context_discount, self.label_smoothing, num_items_in_batch),
            token_weights=token_weights,
        )
        if contrast is None or not contrast.margin:
            return loss
        return loss + contrast.margin_weight * contrast_margin_loss(
            *(logits, labels, label_sentence_ids, contrast.token_pairs, contrast.margin, context_discount),
            *(num_items_in_batch, contrast.continues_word),
        )

    def per_token(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """`token_negative_log_likelihoods`, [B, T], without label smoothing."""
        return token_negative_log_likelihoods(logits, labels)


@dataclass(frozen=True)
class SquaredErrorLoss:
    """The loss of models that predict word vectors.

    Attributes:
        vector_size: W.
    """

    vector_size: int

    def discounted(
        self,
        logits: torch.Tensor,
        labels: torch.Tensor,
        label_sentence_ids: torch.Tensor,
        context_discount: float,
        num_items_in_batch: torch.Tensor | int | None,
    ) -> torch.Tensor:
        """`context_discounted_squared_error`."""
        return context_discounted_squared_error(
            logits, labels, label_sentence_ids, context_discount, self.vector_size, num_items_in_batch
        )

    def per_token(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """`token_squared_errors`, [B, T]; no gradient."""
        return token_squared_errors(logits.detach(), labels, self.vector_size)


def current_sentence_weights(
    is_predicted: torch.Tensor,
    label_sentence_ids: torch.Tensor,
    context_discount: float,
    dtype: torch.dtype = torch.float32,
) -> torch.Tensor:
    """Weight of each label, [B, T]: 1 in the row's last sentence, `context_discount` before it, 0 if ignored.

    Args:
        is_predicted: boolean [B, T], False where the label is ignored.
        label_sentence_ids: [B, T].
        context_discount: weight of the context sentences.
        dtype: of the weights.
    """
    present_ids = label_sentence_ids.masked_fill(~is_predicted, 0)
    is_current = present_ids == present_ids.amax(-1, keepdim=True)
    return is_predicted.to(dtype).masked_fill(is_predicted & ~is_current, context_discount)


def token_negative_log_likelihoods(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """-log p(label) of each label, [B, T] float32 (float64 for float64 logits), 0 where the label is -100; no gradient.

    Args:
        logits: [B, T, V].
        labels: [B, T].
    """
    _check_shapes(logits, labels, labels)
    _check_labels(labels, logits.shape[-1])
    rows = (labels != IGNORED_LABEL).flatten().nonzero()[:, 0]
    flat_logits, flat_labels = logits.detach().flatten(0, 1), labels.flatten()
    losses = torch.zeros(flat_labels.shape, dtype=_compute_dtype(logits), device=logits.device)
    for chunk in rows.split(_rows_per_chunk(logits)):
        scores = flat_logits[chunk].to(losses.dtype)
        target_scores = scores.gather(1, flat_labels[chunk, None])[:, 0]
        losses[chunk] = torch.logsumexp(scores, -1) - target_scores
    return losses.unflatten(0, labels.shape)


def token_squared_errors(logits: torch.Tensor, labels: torch.Tensor, vector_size: int) -> torch.Tensor:
    """Mean squared error of the elements of the vector of each label, [B, T]; 0 where the label is -100.

    It is the squared distance to the label's vector over W (Shen 2023, section IV.2.d).

    Args:
        logits: negative squared distances to the vectors of all words [B, T, V].
        labels: [B, T].
        vector_size: W.
    """
    _check_shapes(logits, labels, labels)
    _check_labels(labels, logits.shape[-1])
    is_predicted = labels != IGNORED_LABEL
    distances = -logits.gather(-1, labels.masked_fill(~is_predicted, 0)[..., None])[..., 0]
    return torch.where(is_predicted, distances / vector_size, 0.0)


class _WeightedCrossEntropy(torch.autograd.Function):
    """Weighted sum of label-smoothed cross-entropies over selected rows.

    The gradient is computed in the forward pass, in the dtype of the logits and chunk by chunk, so that the
    exponentials are computed once and no float32 copy of all logits exists.
    """

    @staticmethod
    def forward(
        ctx: Any,
        logits: torch.Tensor,
        targets: torch.Tensor,
        weights: torch.Tensor,
        rows: torch.Tensor,
        label_smoothing: float,
    ) -> torch.Tensor:
        """The sum, a scalar. Shapes: logits [B * T, V]; targets, weights and rows [R]."""
        compute_dtype = _compute_dtype(logits)
        loss = torch.zeros((), dtype=compute_dtype, device=logits.device)
        gradient = torch.zeros_like(logits) if ctx.needs_input_grad[0] else None
        num_rows = _rows_per_chunk(logits)
        for chunk, chunk_targets, chunk_weights in zip(
            rows.split(num_rows), targets.split(num_rows), weights.split(num_rows), strict=True
        ):
            scores = logits[chunk].to(compute_dtype)  # [rows of the chunk, V]
            losses, scores_gradient = _smoothed_losses(scores, chunk_targets, label_smoothing)
            loss += (losses * chunk_weights).sum()
            if gradient is not None:
                gradient[chunk] = scores_gradient.mul_(chunk_weights[:, None]).to(gradient.dtype)
        if gradient is not None:
            ctx.save_for_backward(gradient)
        return loss

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, loss_gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """The gradient of the logits, [B * T, V]."""
        (gradient,) = ctx.saved_tensors
        return gradient * loss_gradient.to(gradient.dtype), None, None, None, None


def _smoothed_losses(
    scores: torch.Tensor, targets: torch.Tensor, label_smoothing: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Losses [R] of scores [R, V] and their gradient [R, V], softmax(scores) - smoothed target; overwrites `scores`."""
    target_scores = scores.gather(1, targets[:, None])[:, 0]
    mean_scores = scores.mean(-1) if label_smoothing else 0.0
    largest = scores.amax(-1, keepdim=True)
    exponentials = scores.sub_(largest).exp_()
    sums = exponentials.sum(-1, keepdim=True)
    log_sums = (largest + sums.log())[:, 0]
    losses = log_sums - (1 - label_smoothing) * target_scores - label_smoothing * mean_scores
    gradient = exponentials.div_(sums)
    if label_smoothing:
        gradient.sub_(label_smoothing / scores.shape[1])
    gradient.scatter_add_(1, targets[:, None], gradient.new_full((len(targets), 1), label_smoothing - 1))
    return losses, gradient


def _compute_dtype(logits: torch.Tensor) -> torch.dtype:
    return torch.float64 if logits.dtype == torch.float64 else torch.float32


def _rows_per_chunk(logits: torch.Tensor) -> int:
    num_elements = _CHUNK_ELEMENTS_CPU if logits.device.type == "cpu" else _CHUNK_ELEMENTS
    return max(1, num_elements // logits.shape[-1])


def _num_items(is_predicted: torch.Tensor, num_items_in_batch: torch.Tensor | int | None) -> torch.Tensor | int:
    """The divisor of a loss: the given number, or that of the predicted labels; ValueError if there are none."""
    if num_items_in_batch is not None:
        return num_items_in_batch
    num_predicted = is_predicted.sum()
    if num_predicted == 0:
        raise ValueError("no target token: every label is -100")
    return num_predicted


def _check_fraction(name: str, value: float, upper_is_allowed: bool) -> None:
    if not (0 <= value < 1 or (upper_is_allowed and value == 1)):
        raise ValueError(f"{name} must be from 0 to {'1' if upper_is_allowed else 'below 1'}, got {value}")


def _check_shapes(
    logits: torch.Tensor,
    labels: torch.Tensor,
    label_sentence_ids: torch.Tensor,
    token_weights: torch.Tensor | None = None,
) -> None:
    if logits.dim() != 3 or not logits.is_floating_point():
        raise ValueError(f"logits must be floating point [B, T, V], got {logits.dtype} {list(logits.shape)}")
    by_token = {"labels": labels, "label_sentence_ids": label_sentence_ids, "token_weights": token_weights}
    for name, values in by_token.items():
        if values is not None and values.shape != logits.shape[:2]:
            raise ValueError(f"{name} must be {list(logits.shape[:2])} like the logits, got {list(values.shape)}")


def _check_labels(labels: torch.Tensor, vocab_size: int) -> None:
    is_strange = (labels != IGNORED_LABEL) & ((labels < 0) | (labels >= vocab_size))
    if is_strange.any():
        found = labels[is_strange][0].item()
        raise ValueError(f"labels must be {IGNORED_LABEL} or from 0 to below {vocab_size}, got {found}")
