# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import math

import pytest
import torch
from references import context_discounted_cross_entropy_reference, contrast_loss_reference
from torch.nn import functional

from hier_nmt.training import losses
from hier_nmt.training.losses import (
    CrossEntropyLoss,
    SquaredErrorLoss,
    context_discounted_cross_entropy,
    context_discounted_squared_error,
    contrast_margin_loss,
    current_sentence_weights,
    token_negative_log_likelihoods,
    token_squared_errors,
)
from hier_nmt.training.word_contrast import WordContrast, contrast_token_weights

IGNORED = -100


def odd_batch(dtype: torch.dtype = torch.float64) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Logits [4, 7, 5], labels and sentence ids: windows of 3, 1 and 2 sentences, and a row without any label."""
    generator = torch.Generator().manual_seed(3)
    logits = torch.randn(4, 7, 5, generator=generator, dtype=torch.float64).to(dtype)
    labels = torch.randint(0, 5, (4, 7), generator=generator)
    labels[1, 5:] = labels[2, 3:] = labels[3] = IGNORED
    sentence_ids = torch.tensor(
        [[1, 1, 2, 2, 3, 3, 3], [1, 1, 1, 1, 1, 0, 0], [1, 2, 2, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0]]
    )
    return logits, labels, sentence_ids


def test_context_sentences_count_by_the_discount_and_the_sum_is_divided_by_all_target_tokens():
    # p(label) is 1/2 in the two labels of the context sentence, 1/4 in the two of the current one.
    half, quarter = [0.5, 0.25, 0.25], [0.25, 0.5, 0.25]
    logits = torch.tensor([[half, half, quarter, quarter]]).log()
    labels, sentence_ids = torch.tensor([[0, 0, 0, 0]]), torch.tensor([[1, 1, 2, 2]])
    expected = (0.1 * 2 * math.log(2) + 2 * math.log(4)) / 4
    loss = context_discounted_cross_entropy(logits, labels, sentence_ids, 0.1)
    assert loss.item() == pytest.approx(expected)
    assert context_discounted_cross_entropy(logits, labels, sentence_ids, 0.0).item() == pytest.approx(math.log(2))


@pytest.mark.parametrize("discount", [0.1, 0.3, 0.7])
def test_the_discount_of_a_float64_loss_is_a_float64(discount):
    # p(label) is 1/2 in each of the three labels, of which the first two are context.
    logits = torch.zeros(1, 3, 2, dtype=torch.float64)
    labels, sentence_ids = torch.zeros(1, 3, dtype=torch.int64), torch.tensor([[1, 1, 2]])
    expected = (2 * discount * math.log(2) + math.log(2)) / 3
    loss = context_discounted_cross_entropy(logits.requires_grad_(), labels, sentence_ids, discount)
    assert loss.item() == pytest.approx(expected, rel=1e-15)
    loss.backward()
    of_context = pytest.approx([-discount / 6, discount / 6], rel=1e-15)  # softmax - target, weighted
    assert logits.grad.tolist()[0] == [of_context, of_context, pytest.approx([-1 / 6, 1 / 6], rel=1e-15)]
    squared_error = context_discounted_squared_error(logits.detach() - 2.0, labels, sentence_ids, discount, 1)
    assert squared_error.item() == pytest.approx((2 * discount * 2 + 2) / 3, rel=1e-15)


def test_label_smoothing_spreads_its_share_over_the_whole_vocabulary():
    logits = torch.tensor([[[0.5, 0.25, 0.25]]]).log()
    expected = 0.7 * math.log(2) + 0.3 * (math.log(2) + math.log(4) + math.log(4)) / 3
    loss = context_discounted_cross_entropy(logits, torch.tensor([[0]]), torch.tensor([[1]]), 1.0, label_smoothing=0.3)
    assert loss.item() == pytest.approx(expected)


def test_weights_are_one_in_the_last_sentence_of_each_row():
    _, labels, sentence_ids = odd_batch()
    weights = current_sentence_weights(labels != IGNORED, sentence_ids, 0.25)
    assert weights.tolist() == [
        [0.25, 0.25, 0.25, 0.25, 1, 1, 1],
        [1, 1, 1, 1, 1, 0, 0],
        [0.25, 1, 1, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0],
    ]


@pytest.mark.parametrize("label_smoothing", [0.0, 0.1])
@pytest.mark.parametrize("context_discount", [0.0, 0.01, 1.0])
def test_values_and_gradients_equal_the_reference(context_discount, label_smoothing):
    logits, labels, sentence_ids = odd_batch()
    fast_logits, slow_logits = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    fast = context_discounted_cross_entropy(fast_logits, labels, sentence_ids, context_discount, label_smoothing)
    slow = context_discounted_cross_entropy_reference(
        slow_logits, labels, sentence_ids, context_discount, label_smoothing
    )
    (3 * fast).backward()
    (3 * slow).backward()
    torch.testing.assert_close(fast, slow)
    torch.testing.assert_close(fast_logits.grad, slow_logits.grad)


def test_gradient_equals_finite_differences():
    logits, labels, sentence_ids = odd_batch()
    assert torch.autograd.gradcheck(
        lambda scores: context_discounted_cross_entropy(scores, labels, sentence_ids, 0.2, 0.1, 6),
        logits.requires_grad_(),
    )


@pytest.mark.parametrize("label_smoothing", [0.0, 0.1])
def test_discount_of_one_is_the_ordinary_mean_cross_entropy(label_smoothing):
    logits, labels, sentence_ids = odd_batch()
    ordinary = functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), label_smoothing=label_smoothing)
    torch.testing.assert_close(
        context_discounted_cross_entropy(logits, labels, sentence_ids, 1.0, label_smoothing), ordinary
    )


def test_parts_of_a_batch_divided_by_all_its_tokens_add_up_to_the_batch():
    logits, labels, sentence_ids = odd_batch()
    num_tokens = int((labels != IGNORED).sum())
    parts = [
        context_discounted_cross_entropy(
            logits[part], labels[part], sentence_ids[part], 0.1, num_items_in_batch=num_tokens
        )
        for part in (slice(0, 1), slice(1, 3), slice(3, 4))
    ]
    torch.testing.assert_close(sum(parts), context_discounted_cross_entropy(logits, labels, sentence_ids, 0.1))
    assert parts[-1] == 0


def test_values_at_ignored_positions_are_irrelevant():
    logits, labels, sentence_ids = odd_batch()
    expected = context_discounted_cross_entropy(logits, labels, sentence_ids, 0.1, 0.1)
    logits[labels == IGNORED] = float("nan")
    logits.requires_grad_()
    loss = context_discounted_cross_entropy(logits, labels, sentence_ids, 0.1, 0.1)
    loss.backward()
    torch.testing.assert_close(loss, expected)
    assert (logits.grad[labels == IGNORED] == 0).all()


def test_large_logits_neither_overflow_nor_lose_the_loss():
    logits = torch.tensor([[[20000.0, 0.0]]])
    labels, sentence_ids = torch.tensor([[1]]), torch.tensor([[1]])
    assert context_discounted_cross_entropy(logits, labels, sentence_ids, 1.0).item() == 20000.0


def test_chunks_change_nothing(monkeypatch):
    logits, labels, sentence_ids = odd_batch()
    whole, pieces = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    context_discounted_cross_entropy(whole, labels, sentence_ids, 0.1, 0.1).backward()
    expected_losses = token_negative_log_likelihoods(logits, labels)
    monkeypatch.setattr(losses, "_CHUNK_ELEMENTS_CPU", 10)  # two rows of five
    context_discounted_cross_entropy(pieces, labels, sentence_ids, 0.1, 0.1).backward()
    torch.testing.assert_close(pieces.grad, whole.grad)
    torch.testing.assert_close(token_negative_log_likelihoods(logits, labels), expected_losses)


def test_bfloat16_logits_are_computed_with_in_float32():
    logits, labels, sentence_ids = odd_batch(torch.bfloat16)
    exact = logits.float().requires_grad_()
    loss = context_discounted_cross_entropy(logits.requires_grad_(), labels, sentence_ids, 0.1, 0.1)
    exact_loss = context_discounted_cross_entropy(exact, labels, sentence_ids, 0.1, 0.1)
    loss.backward()
    exact_loss.backward()
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss, exact_loss)
    # bfloat16 keeps 8 bits; the gradient is rounded once when stored and once when scaled.
    torch.testing.assert_close(logits.grad.float(), exact.grad, rtol=2 * 2**-8, atol=1e-6)


def test_token_losses_are_minus_the_log_of_the_softmax():
    logits, labels, _ = odd_batch()
    expected = torch.zeros(4, 7, dtype=torch.float64)
    for row, column in (labels != IGNORED).nonzero().tolist():
        exponentials = [math.exp(score) for score in logits[row, column].tolist()]
        expected[row, column] = -math.log(exponentials[labels[row, column]] / sum(exponentials))
    torch.testing.assert_close(token_negative_log_likelihoods(logits, labels), expected)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"context_discount": 1.5}, "context_discount must be from 0 to 1, got 1.5"),
        ({"context_discount": -0.1}, "context_discount must be from 0 to 1, got -0.1"),
        ({"context_discount": math.nan}, "context_discount .* got nan"),
        ({"label_smoothing": 1.0}, "label_smoothing must be from 0 to below 1, got 1.0"),
        ({"labels": torch.zeros(4, 6, dtype=torch.long)}, r"labels must be \[4, 7\] like the logits, got \[4, 6\]"),
        ({"label_sentence_ids": torch.ones(7, dtype=torch.long)}, r"label_sentence_ids must be .* got \[7\]"),
        ({"logits": torch.zeros(4, 7, 5, dtype=torch.long)}, r"logits must be floating point .* torch.int64"),
        ({"logits": torch.zeros(28, 5)}, r"logits must be floating point \[B, T, V\], got torch.float32 \[28, 5\]"),
        ({"labels": torch.full((4, 7), IGNORED)}, "no target token"),
        ({"labels": torch.full((4, 7), 5)}, r"labels must be -100 or from 0 to below 5, got 5"),
        ({"token_weights": torch.ones(7)}, r"token_weights must be \[4, 7\] like the logits, got \[7\]"),
    ],
)
def test_bad_arguments_are_named(changes, message):
    logits, labels, sentence_ids = odd_batch()
    arguments = {
        "logits": logits,
        "labels": labels,
        "label_sentence_ids": sentence_ids,
        "context_discount": 0.1,
        **changes,
    }
    with pytest.raises(ValueError, match=message):
        context_discounted_cross_entropy(**arguments)


# Words that the context decides

# Token 1 has two counterparts, 2 and 4.
WORD_PAIRS = [(1, 2), (4, 1)]
TOKEN_PAIRS = torch.tensor([[1, 2], [2, 1], [4, 1], [1, 4]])


def test_what_a_probability_lacks_to_the_margin_is_added_after_the_first_sentence_only():
    # p is 1/2 for token 0 and 1/4 for its counterpart 1. The labels are 1, and in the second sentence 0, 1, 2.
    logits = torch.tensor([[[0.5, 0.25, 0.25]] * 4]).log()
    labels, sentence_ids = torch.tensor([[1, 0, 1, 2]]), torch.tensor([[1, 2, 2, 2]])
    pairs = torch.tensor([[0, 1], [1, 0]])
    lacking = (1 - math.log(2)) + (1 + math.log(2))
    loss = contrast_margin_loss(logits, labels, sentence_ids, pairs, 1.0, 1.0)
    assert loss.item() == pytest.approx(lacking / 4)
    assert contrast_margin_loss(logits, labels, sentence_ids, pairs, 1.0, 1.0, 10).item() == pytest.approx(lacking / 10)
    # A margin of half a log 2 is exceeded by the label 0.
    loss = contrast_margin_loss(logits, labels, sentence_ids, pairs, math.log(2) / 2, 1.0)
    assert loss.item() == pytest.approx(1.5 * math.log(2) / 4)


def test_words_that_the_context_decides_count_more_after_the_first_sentence():
    labels, sentence_ids = torch.tensor([[1, 0, 3, 1, 4, IGNORED]]), torch.tensor([[1, 1, 2, 2, 2, 0]])
    weights = contrast_token_weights(labels, sentence_ids, TOKEN_PAIRS, 2.5)
    assert weights.tolist() == [[1, 1, 1, 2.5, 2.5, 1]]


def test_a_token_that_begins_another_word_is_not_a_word_that_the_context_decides():
    # 0 continues words: the first 1 of the second sentence is the word "1", the next one begins the word "10".
    labels, sentence_ids = torch.tensor([[1, 1, 3, 1, 0, 1, IGNORED]]), torch.tensor([[1, 2, 2, 2, 2, 2, 0]])
    continues_word = torch.arange(5) == 0
    weights = contrast_token_weights(labels, sentence_ids, TOKEN_PAIRS, 2.5, continues_word=continues_word)
    assert weights.tolist() == [[1, 2.5, 1, 1, 1, 2.5, 1]]
    logits = torch.zeros(1, 7, 5, requires_grad=True)
    loss = contrast_margin_loss(logits, labels, sentence_ids, TOKEN_PAIRS, 1.5, 1.0, 1, continues_word)
    loss.backward()
    assert logits.grad.any(-1).tolist() == [[False, True, False, False, False, True, False]]
    contrast = WordContrast(TOKEN_PAIRS, 2.5, 1.5, continues_word=continues_word)
    whole = CrossEntropyLoss(contrast=contrast).discounted(logits, labels, sentence_ids, 1.0, 1)
    token_losses = torch.tensor(math.log(5.0)) * (labels != IGNORED) * weights
    torch.testing.assert_close(whole, token_losses.sum() + loss)


def test_token_weights_multiply_with_the_discount_and_leave_the_divisor_alone():
    logits = torch.zeros(1, 4, 2)
    labels, sentence_ids = torch.zeros(1, 4, dtype=torch.int64), torch.tensor([[1, 1, 2, 2]])
    weights = torch.tensor([[1.0, 3.0, 1.0, 5.0]])
    loss = context_discounted_cross_entropy(logits, labels, sentence_ids, 0.1, token_weights=weights)
    assert loss.item() == pytest.approx((0.1 * 1 + 0.1 * 3 + 1 + 5) * math.log(2) / 4)


@pytest.mark.parametrize("context_discount", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(("weight", "margin", "margin_weight"), [(3.0, 0.0, 1.0), (1.0, 1.1, 2.0), (0.4, 5.0, 0.7)])
def test_the_loss_of_contrasted_words_equals_the_loop_in_values_and_gradients(
    context_discount, weight, margin, margin_weight
):
    logits, labels, sentence_ids = odd_batch()
    contrast = WordContrast(TOKEN_PAIRS, weight, margin, margin_weight)
    fast_logits, slow_logits = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    fast = CrossEntropyLoss(contrast=contrast).discounted(fast_logits, labels, sentence_ids, context_discount, None)
    slow = contrast_loss_reference(
        slow_logits, labels, sentence_ids, context_discount, WORD_PAIRS, weight, margin, margin_weight
    )
    (3 * fast).backward()
    (3 * slow).backward()
    assert fast.dtype == torch.float64
    torch.testing.assert_close(fast, slow)
    torch.testing.assert_close(fast_logits.grad, slow_logits.grad)


def test_the_gradient_with_contrasted_words_equals_finite_differences():
    logits, labels, sentence_ids = odd_batch()
    loss = CrossEntropyLoss(0.1, WordContrast(TOKEN_PAIRS, 3.0, 1.1, 2.0))
    assert torch.autograd.gradcheck(
        lambda scores: loss.discounted(scores, labels, sentence_ids, 0.2, 6), logits.requires_grad_()
    )


def test_contrasted_words_of_neutral_weight_and_without_margin_change_nothing():
    batch = odd_batch()
    neutral = CrossEntropyLoss(0.1, WordContrast(TOKEN_PAIRS)).discounted(*batch, 0.3, None)
    assert torch.equal(neutral, CrossEntropyLoss(0.1).discounted(*batch, 0.3, None))


def test_the_margin_of_parts_of_a_batch_adds_up_and_ignores_what_no_label_asks_for():
    logits, labels, sentence_ids = odd_batch()
    whole = contrast_margin_loss(logits, labels, sentence_ids, TOKEN_PAIRS, 2.0, 0.3)
    num_tokens = int((labels != IGNORED).sum())
    logits[labels == IGNORED] = float("nan")
    logits.requires_grad_()
    parts = [
        contrast_margin_loss(logits[part], labels[part], sentence_ids[part], TOKEN_PAIRS, 2.0, 0.3, num_tokens)
        for part in (slice(0, 1), slice(1, 3), slice(3, 4))
    ]
    torch.testing.assert_close(sum(parts), whole)
    sum(parts).backward()
    assert (logits.grad[labels == IGNORED] == 0).all()
    assert parts[-1] == 0


def test_the_margin_of_bfloat16_logits_is_computed_in_float32():
    logits, labels, sentence_ids = odd_batch(torch.bfloat16)
    exact = logits.float().requires_grad_()
    losses_of_both = [
        contrast_margin_loss(scores, labels, sentence_ids, TOKEN_PAIRS, 2.0, 0.3)
        for scores in (logits.requires_grad_(), exact)
    ]
    for loss in losses_of_both:
        loss.backward()
    assert losses_of_both[0].dtype == torch.float32
    assert torch.equal(*losses_of_both)
    # A bfloat16 keeps 8 bits; a gradient is a sum of up to two rounded ones.
    torch.testing.assert_close(logits.grad.float(), exact.grad, rtol=2 * 2**-8, atol=1e-6)


def test_a_margin_needs_labels():
    logits, labels, sentence_ids = odd_batch()
    with pytest.raises(ValueError, match="every label is -100"):
        contrast_margin_loss(logits, labels.fill_(IGNORED), sentence_ids, TOKEN_PAIRS, 1.0, 1.0)


# Word vectors


def test_a_squared_error_is_the_squared_distance_over_the_width():
    # Distances 6 and 1 to the vectors of the labels, which have 2 elements.
    logits = torch.tensor([[[-6.0, -2.0], [-3.0, -1.0], [-9.0, -9.0]]])
    labels = torch.tensor([[0, 1, IGNORED]])
    assert token_squared_errors(logits, labels, 2).tolist() == [[3.0, 0.5, 0.0]]
    discounted = context_discounted_squared_error(logits, labels, torch.tensor([[1, 2, 0]]), 0.1, 2)
    assert discounted.item() == pytest.approx((0.1 * 3.0 + 0.5) / 2)


@pytest.mark.parametrize("discount", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("num_items", [None, 50])
def test_the_discounted_squared_error_equals_the_loop_in_values_and_gradients(discount, num_items):
    logits, labels, sentence_ids = odd_batch()
    logits.requires_grad_()
    loss = context_discounted_squared_error(logits, labels, sentence_ids, discount, 3, num_items)
    total, count = logits.new_zeros(()), 0
    for row in range(len(labels)):
        numbers = [int(n) for n, label in zip(sentence_ids[row], labels[row], strict=True) if label != IGNORED]
        for place, label in enumerate(labels[row].tolist()):
            if label != IGNORED:
                is_current = int(sentence_ids[row, place]) == max(numbers)
                total = total - logits[row, place, label] / 3 * (1.0 if is_current else discount)
                count += 1
    expected = total / (num_items or count)
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(*(torch.autograd.grad(value, logits)[0] for value in (loss, expected)))


def test_the_losses_of_the_trainer_are_these():
    batch = odd_batch()
    pairs = [
        (
            CrossEntropyLoss(0.2).discounted(*batch, 0.3, 40),
            context_discounted_cross_entropy(*batch, 0.3, label_smoothing=0.2, num_items_in_batch=40),
        ),
        (SquaredErrorLoss(3).discounted(*batch, 0.3, 40), context_discounted_squared_error(*batch, 0.3, 3, 40)),
        (CrossEntropyLoss(0.2).per_token(*batch[:2]), token_negative_log_likelihoods(*batch[:2])),
        (SquaredErrorLoss(3).per_token(*batch[:2]), token_squared_errors(*batch[:2], 3)),
    ]
    assert all(torch.equal(found, expected) for found, expected in pairs)


def test_squared_errors_without_a_label_are_an_error():
    logits, labels, sentence_ids = odd_batch()
    with pytest.raises(ValueError, match="every label is -100"):
        context_discounted_squared_error(logits, labels.fill_(IGNORED), sentence_ids, 1.0, 3)
