# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Attention to selected sentences: the grouped form equals the dense one, and both equal the loop over queries."""

import math
from functools import partial

import pytest
import torch
from largest_tensor import LargestTensor
from references import selected_attention_reference

from hier_nmt.configuration.configuration_choices import PYTORCH_KERNELS
from hier_nmt.kernels.torch_cpu import block_plan, grouped_attention
from hier_nmt.kernels.torch_cpu.buffer_pool import release_thread_buffers
from hier_nmt.ops import backends, selected_attention
from hier_nmt.ops.selected_attention import (
    attend_selected_sentences_reference,
    is_grouped,
)
from hier_nmt.ops.sentence_selection import select_by_relevance

NO = -math.inf
DOCUMENTS = {
    "uneven": [[1, 1, 1, 2, 3, 3, 3, 3, 4, 4]],
    "one sentence": [[1, 1, 1, 1]],
    "one token": [[1]],
    "empty sentences": [[2, 2, 5, 5, 5, 6]],
    "numbers not in order": [[3, 1, 3, 2, 1, 3]],
    "many sentences": [[*range(1, 13)]],
    "padded batch": [[1, 1, 2, 2, 2, 3, 4], [1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 2, 2, 3], [0, 0, 0, 0, 0, 0, 0]],
    "one very long sentence": [[1, *[2] * 17, 3, 3]],
}
KERNELS = ["grouped", "plain", "reference"]  # plain: grouped without any backend
every_kernel = pytest.mark.parametrize("kernel", KERNELS)
every_document = pytest.mark.parametrize("ids", DOCUMENTS.values(), ids=DOCUMENTS)


def has_tokens(key_sentence_ids: torch.Tensor) -> torch.Tensor:
    """Which sentences [B, N] have tokens."""
    numbers = torch.arange(1, int(key_sentence_ids.max()) + 1)
    return (key_sentence_ids[:, None, :] == numbers[:, None]).any(-1)


def leaves_of(key_ids, num_queries=None, num_heads=2, width=3, dtype=torch.float64) -> list[torch.Tensor]:
    """Random query, key, value, sentence query and sentence key."""
    torch.manual_seed(8)
    batch_size, num_keys = key_ids.shape
    num_queries = num_keys if num_queries is None else num_queries
    lengths = [num_queries, num_keys, num_keys, num_queries, int(key_ids.max())]
    shapes = [(batch_size, num_heads, length, width) for length in lengths]
    return [torch.randn(shape, dtype=torch.float64).to(dtype).requires_grad_() for shape in shapes]


def attend_selected_sentences(*inputs, kernel, **options):
    """The operation under a kernel's name, or (`plain`) as models from the Hub compute `grouped`: without backends."""
    if kernel != "plain":
        return selected_attention.attend_selected_sentences(*inputs, **options, kernel=kernel)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backends, "_backends", [])
        return selected_attention.attend_selected_sentences(*inputs, **options, kernel="grouped")


def attend(kernel, leaves, key_ids, t, choosable=None, **options):
    """The choice by relevance, then the attention by the kernel or by the loop (`loop`)."""
    chosen = select_by_relevance(*leaves[3:], has_tokens(key_ids), t, num_choosable=choosable)
    inputs = (*leaves[:3], key_ids, *chosen)
    if kernel == "loop":
        return selected_attention_reference(*inputs, **options)
    return attend_selected_sentences(*inputs, **options, kernel=kernel)


def gradients(output: torch.Tensor, leaves: list[torch.Tensor]) -> list[torch.Tensor]:
    weighting = torch.linspace(-1, 2, output.numel()).to(output).view_as(output)
    return torch.autograd.grad((output * weighting).sum(), leaves, materialize_grads=True)


def assert_equals_the_loop(kernel, leaves, key_ids, t, **options):
    fast, slow = (attend(form, leaves, key_ids, t, **options) for form in (kernel, "loop"))
    assert fast.shape == leaves[0].shape
    torch.testing.assert_close(fast, slow, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(gradients(fast, leaves), gradients(slow, leaves), rtol=1e-10, atol=1e-10)


# Values and gradients


@every_kernel
@every_document
def test_attention_equals_the_loop_for_any_number_of_selected_sentences(ids, kernel):
    key_ids = torch.tensor(ids)
    leaves = leaves_of(key_ids)
    num_sentences = int(key_ids.max())
    for t in sorted({1, 2, num_sentences, num_sentences + 3}):
        assert_equals_the_loop(kernel, leaves, key_ids, t)


@every_kernel
@pytest.mark.parametrize("is_causal", [False, True], ids=["", "causal"])
@pytest.mark.parametrize("has_own", [False, True], ids=["", "own"])
@pytest.mark.parametrize("name", ["uneven", "empty sentences", "numbers not in order", "padded batch"])
def test_attention_with_the_own_sentence_and_without_a_view_of_the_future_equals_the_loop(
    name, has_own, is_causal, kernel
):
    key_ids = torch.tensor(DOCUMENTS[name])
    options = {}
    if has_own:
        options["own_sentence_ids"] = key_ids
    if is_causal:
        options["query_positions"] = torch.arange(key_ids.shape[1])
    for t in (1, 3):
        assert_equals_the_loop(kernel, leaves_of(key_ids), key_ids, t, **options)
        # Only what is complete before the own sentence may be chosen, as in the decoder.
        assert_equals_the_loop(kernel, leaves_of(key_ids), key_ids, t, **options, choosable=(key_ids - 1).clamp_min(0))


@every_kernel
@pytest.mark.parametrize("t", [1, 2, 7])
def test_the_newest_queries_of_a_cached_prefix_equal_the_loop(t, kernel):
    key_ids = torch.tensor([[1, 1, 2, 2, 2, 3, 4, 4], [0, 0, 1, 2, 2, 2, 2, 3]])
    leaves = leaves_of(key_ids, num_queries=3)
    options = {"own_sentence_ids": key_ids[:, -3:], "query_positions": torch.arange(5, 8)}
    assert_equals_the_loop(kernel, leaves, key_ids, t, **options)


@every_kernel
def test_queries_of_another_sequence_equal_the_loop(kernel):
    # As in cross-attention; one reads with a sentence of its own, one beyond all there are, one without any.
    key_ids = torch.tensor(DOCUMENTS["padded batch"])
    leaves = leaves_of(key_ids, num_queries=2)
    assert_equals_the_loop(kernel, leaves, key_ids, 2)
    own = torch.tensor([[4, 1], [1, 3], [0, 2], [4, 0]])
    assert_equals_the_loop(kernel, leaves, key_ids, 2, own_sentence_ids=own)


@every_kernel
def test_the_scaling_of_the_caller_equals_the_loop(kernel):
    key_ids = torch.tensor(DOCUMENTS["uneven"])
    assert_equals_the_loop(kernel, leaves_of(key_ids), key_ids, 2, scaling=2.0)


@every_kernel
def test_sentences_of_equal_scores_and_words_equal_the_loop(kernel):
    key_ids = torch.tensor(DOCUMENTS["uneven"])
    query, key, value, sentence_query, sentence_key = leaves_of(key_ids)
    with torch.no_grad():
        key.copy_(key[:, :, :1])
        sentence_key.copy_(sentence_key[:, :, :1])
    assert_equals_the_loop(kernel, [query, key, value, sentence_query, sentence_key], key_ids, 2)


@every_kernel
def test_all_queries_that_choose_the_same_sentence_equal_the_loop(kernel):
    key_ids = torch.tensor([[1] * 20 + [2] * 15 + [3, 4, 4]])
    leaves = leaves_of(key_ids)
    with torch.no_grad():
        leaves[3].abs_()
        leaves[4][:, :, 1] = 9.0
    chosen, _ = select_by_relevance(*leaves[3:], has_tokens(key_ids), 1)
    assert (chosen == 1).all()
    assert_equals_the_loop(kernel, leaves, key_ids, 1)


@pytest.mark.parametrize(("numbers_at_once", "pairs_at_once"), [(1, 1), (8, 2**16), (64, 40), (2**18, 40)])
def test_work_done_in_parts_equals_the_loop(monkeypatch, numbers_at_once, pairs_at_once):
    monkeypatch.setattr(block_plan, "NUMBERS_AT_ONCE", numbers_at_once)
    monkeypatch.setattr(grouped_attention, "PAIRS_AT_ONCE", pairs_at_once)
    for name in ("padded batch", "one very long sentence"):
        key_ids = torch.tensor(DOCUMENTS[name])
        leaves = leaves_of(key_ids, num_heads=3)
        assert_equals_the_loop("grouped", leaves, key_ids, 2)
        options = {"own_sentence_ids": key_ids, "query_positions": torch.arange(key_ids.shape[1])}
        assert_equals_the_loop("grouped", leaves, key_ids, 2, **options)


@pytest.mark.parametrize("pairs_at_once", [10, 2**16], ids=["single heads", "all heads"])
@pytest.mark.parametrize("by_token", [(1, 2), (1,), (2,), (0, 1, 2)], ids=["both", "keys", "values", "queries too"])
def test_states_whose_heads_follow_one_another_equal_the_loop(monkeypatch, by_token, pairs_at_once):
    monkeypatch.setattr(grouped_attention, "PAIRS_AT_ONCE", pairs_at_once)
    key_ids = torch.tensor(DOCUMENTS["padded batch"])
    leaves = leaves_of(key_ids, num_heads=3)
    for place in by_token:  # as projections give them
        leaf = leaves[place].detach().transpose(1, 2).contiguous().transpose(1, 2)
        leaves[place] = leaf.requires_grad_()
    options = {"own_sentence_ids": key_ids, "query_positions": torch.arange(key_ids.shape[1])}
    assert_equals_the_loop("grouped", leaves, key_ids, 2)
    assert_equals_the_loop("grouped", leaves, key_ids, 2, **options)


@pytest.mark.parametrize("is_causal", [False, True], ids=["", "causal"])
def test_grouped_equals_dense_in_a_long_document_of_sentences_of_all_lengths(is_causal):
    torch.manual_seed(9)
    numbers = torch.repeat_interleave(torch.arange(1, 41), torch.randint(1, 25, (40,)))
    key_ids = torch.stack([numbers, numbers * (torch.arange(len(numbers)) < 200)])
    leaves = leaves_of(key_ids, width=4)
    options = {"own_sentence_ids": key_ids, "query_positions": torch.arange(len(numbers))} if is_causal else {}
    fast, slow = (attend(kernel, leaves, key_ids, 3, **options) for kernel in ("grouped", "reference"))
    torch.testing.assert_close(fast, slow, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(gradients(fast, leaves), gradients(slow, leaves), rtol=1e-10, atol=1e-10)


@every_kernel
def test_the_added_score_weighs_sentences_as_arithmetic_says(kernel):
    # Width 1, query 2: logits 2, 0 in sentence 1 (score 0.5) and 4 in sentence 3 (score -1); sentence 2 is not read.
    query, key = torch.tensor([[[[2.0]]]]), torch.tensor([1.0, 0.0, 7.0, 2.0])[None, None, :, None]
    value = torch.tensor([1.0, 10.0, 1000.0, 100.0])[None, None, :, None]
    indices, scores = torch.tensor([[[[2, 0, 0]]]]), torch.tensor([[[[-1.0, 0.5, NO]]]])
    output = attend_selected_sentences(query, key, value, torch.tensor([[1, 1, 2, 3]]), indices, scores, kernel=kernel)
    weights = [math.exp(2 + 0.5), math.exp(0.5), math.exp(4 - 1)]
    expected = (weights[0] * 1 + weights[1] * 10 + weights[2] * 100) / sum(weights)
    assert output.item() == pytest.approx(expected)


def test_weights_of_the_dense_form_sum_to_one_over_the_selected_sentences_tokens():
    key_ids = torch.tensor(DOCUMENTS["padded batch"])
    leaves = leaves_of(key_ids)
    indices, scores = select_by_relevance(*leaves[3:], has_tokens(key_ids), 2)
    output, weights = attend_selected_sentences_reference(*leaves[:3], key_ids, indices, scores, scaling=0.5)
    torch.testing.assert_close(weights @ leaves[2], output)
    chosen = (key_ids[:, None, None, :, None] == indices[:, :, :, None, :] + 1) & (scores > NO)[:, :, :, None, :]
    assert torch.equal(weights > 0, chosen.any(-1))
    sums = (key_ids > 0).any(-1).double()[:, None, None].expand(4, 2, 7)
    torch.testing.assert_close(weights.sum(-1), sums)


# Nothing to read


@every_kernel
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_a_query_with_nothing_to_read_gets_zeros_and_finite_gradients(kernel, dtype):
    key_ids = torch.tensor([[1, 1, 2, 2, 0], [0, 0, 0, 0, 0]])
    leaves = leaves_of(key_ids, dtype=dtype)[:3]
    indices = torch.zeros(2, 2, 5, 2, dtype=torch.long)
    scores = torch.full((2, 2, 5, 2), NO).to(torch.promote_types(dtype, torch.float32))
    scores[0, :, 0] = torch.tensor([0.5, NO])  # the first query of the first document alone has a sentence
    scores.requires_grad_()
    output = attend_selected_sentences(*leaves, key_ids, indices, scores, kernel=kernel)
    assert (output[0, :, 0] != 0).all()
    assert (output[0, :, 1:] == 0).all()
    assert (output[1] == 0).all()
    found = gradients(output, [*leaves, scores])
    assert all(gradient.isfinite().all() for gradient in found)
    assert all((gradient[1] == 0).all() for gradient in found)


@every_kernel
@pytest.mark.parametrize("ids", [[[1, 1, 2]], [[0, 0, 0]], [[1, 1, 2], [0, 0, 0]]], ids=str)
def test_where_no_query_has_anything_to_read_all_get_zeros(ids, kernel):
    key_ids = torch.tensor(ids)
    leaves = leaves_of(key_ids.clamp_min(1))[:3]
    indices = torch.zeros(len(ids), 2, 3, 1, dtype=torch.long)
    scores = torch.full(indices.shape, NO, dtype=torch.float64, requires_grad=True)
    output = attend_selected_sentences(*leaves, key_ids, indices, scores, kernel=kernel)
    assert (output == 0).all()
    assert all((gradient == 0).all() for gradient in gradients(output, [*leaves, scores]))


@every_kernel
def test_a_query_in_front_of_all_it_has_chosen_gets_zeros(kernel):
    key_ids = torch.tensor([[1, 1, 2, 2]])
    leaves = leaves_of(key_ids)[:3]
    indices, scores = torch.ones(1, 2, 4, 1, dtype=torch.long), torch.zeros(1, 2, 4, 1, dtype=torch.float64)
    scores.requires_grad_()
    output = attend_selected_sentences(
        *leaves, key_ids, indices, scores, query_positions=torch.arange(4), kernel=kernel
    )
    assert (output[:, :, :2] == 0).all()
    torch.testing.assert_close(output[:, :, 2], leaves[2][:, :, 2])
    assert all(gradient.isfinite().all() for gradient in gradients(output, [*leaves, scores]))


@every_kernel
@pytest.mark.parametrize("has_instructions", [True, False], ids=["instructions", "no instructions"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half_types_are_finite_and_near(dtype, has_instructions, kernel, monkeypatch):
    monkeypatch.setattr(grouped_attention, "multiplies_bfloat16", lambda: has_instructions)
    key_ids = torch.tensor(DOCUMENTS["padded batch"])
    leaves = leaves_of(key_ids, dtype=dtype)
    exact = [leaf.detach().double().requires_grad_() for leaf in leaves]
    output, expected = attend(kernel, leaves, key_ids, 2), attend("reference", exact, key_ids, 2)
    assert output.dtype == dtype
    torch.testing.assert_close(output.double(), expected, rtol=0.02, atol=0.02)
    for gradient, of_exact in zip(gradients(output, leaves), gradients(expected, exact), strict=True):
        torch.testing.assert_close(gradient.double(), of_exact, rtol=0.05, atol=0.05)


@every_kernel
def test_logits_of_hundreds_do_not_overflow(kernel):
    key_ids = torch.tensor(DOCUMENTS["uneven"])
    leaves = leaves_of(key_ids, dtype=torch.float32)
    with torch.no_grad():
        leaves[0].mul_(300)
        leaves[3].mul_(300)
    output = attend(kernel, leaves, key_ids, 2)
    assert output.isfinite().all()
    assert all(gradient.isfinite().all() for gradient in gradients(output, leaves))


# Dropout


@every_kernel
def test_without_a_probability_nothing_is_drawn(kernel):
    key_ids = torch.tensor(DOCUMENTS["uneven"])
    leaves = leaves_of(key_ids)
    state = torch.get_rng_state()
    outputs = [attend(kernel, leaves, key_ids, 2, **options) for options in ({}, {"dropout": 0.0})]
    torch.testing.assert_close(*outputs, rtol=0, atol=0)
    assert torch.equal(torch.get_rng_state(), state)


@every_kernel
def test_outputs_under_dropout_vary_around_those_without(kernel):
    num_draws = 4000
    key_ids = torch.tensor(DOCUMENTS["uneven"])
    leaves = [leaf.detach() for leaf in leaves_of(key_ids)]
    expected = attend(kernel, leaves, key_ids, 2)
    repeated = [leaf.expand(num_draws, -1, -1, -1) for leaf in leaves]
    outputs = attend(kernel, repeated, key_ids.expand(num_draws, -1), 2, dropout=0.4)
    mean, deviation = outputs.mean(0), outputs.std(0)
    # Five standard errors.
    assert ((mean - expected[0]).abs() <= 5 * deviation / math.sqrt(num_draws) + 1e-12).all()
    assert (deviation > 0.1).any()


def test_dropout_drops_the_share_that_was_asked_for_and_scales_the_others():
    # One token per sentence and t = 1: the output is the value, dropped as a whole or divided by 1 - p.
    key_ids = torch.arange(1, 101)[None]
    value = torch.ones(1, 8, 100, 1)
    indices = torch.arange(100)[:, None].expand(1, 8, 100, 1)
    outputs = attend_selected_sentences(
        value, value, value, key_ids, indices, torch.zeros(1, 8, 100, 1), dropout=0.25, kernel="grouped"
    )
    assert sorted(set(outputs.flatten().tolist())) == [0.0, pytest.approx(1 / 0.75)]
    assert (outputs == 0).double().mean().item() == pytest.approx(0.25, abs=5 * math.sqrt(0.25 * 0.75 / 800))


def test_the_same_seed_gives_the_same_draw_and_another_seed_another():
    key_ids = torch.tensor(DOCUMENTS["uneven"])
    leaves = leaves_of(key_ids)
    outputs = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        outputs.append(attend("grouped", leaves, key_ids, 2, dropout=0.4))
    assert torch.equal(outputs[0], outputs[1])
    assert not torch.equal(outputs[0], outputs[2])


def test_gradients_under_dropout_equal_finite_differences_of_the_same_draw(monkeypatch):
    # In several parts, each of which has to draw the same again.
    monkeypatch.setattr(block_plan, "NUMBERS_AT_ONCE", 64)
    monkeypatch.setattr(grouped_attention, "PAIRS_AT_ONCE", 8)
    key_ids = torch.tensor([[1, 1, 2, 3, 3]])
    leaves = leaves_of(key_ids, width=2)

    def with_the_same_draw(*leaves):
        chosen = select_by_relevance(*leaves[3:], has_tokens(key_ids), 2)
        torch.manual_seed(10)
        return attend_selected_sentences(*leaves[:3], key_ids, *chosen, dropout=0.4, kernel="grouped")

    assert torch.autograd.gradcheck(with_the_same_draw, leaves)


# Cost and choice of the kernel


def test_no_tensor_holds_all_pairs_of_a_query_and_a_key():
    num_tokens, num_heads, width = 1500, 2, 8
    # Sentences of ten tokens, one of 300, and one that everybody chooses.
    numbers = torch.cat([torch.full((300,), 1), torch.arange(num_tokens - 300) // 10 + 2])[None]
    leaves = leaves_of(numbers, num_heads=num_heads, width=width, dtype=torch.float32)
    with torch.no_grad():
        leaves[3].abs_()
        leaves[4][:, :, 5] = 9.0
    # The search among all has a test of its own.
    chosen = select_by_relevance(*leaves[3:], has_tokens(numbers), 2)
    with LargestTensor() as largest:
        inputs = (*leaves[:3], numbers, *chosen)
        gradients(attend_selected_sentences(*inputs, own_sentence_ids=numbers, kernel="grouped"), leaves)
    # Of what is selected, 3 vectors of width 8 per query are held, or a chunk of 2^18 numbers; not 1,500 x 1,500.
    assert largest.numbers <= block_plan.NUMBERS_AT_ONCE < num_tokens**2 / 8
    with LargestTensor() as largest:
        attend("reference", leaves, numbers, 2)
    assert largest.numbers >= num_heads * num_tokens**2


def test_little_is_padded_whatever_the_lengths_and_however_often_sentences_are_read():
    torch.manual_seed(3)
    num_sentences, num_rows = 200, 8 * 4000
    lengths = torch.randint(3, 60, (num_sentences,))
    spans = block_plan.rank_sentences(torch.arange(1, num_sentences + 1).repeat_interleave(lengths)[None])
    popularity = torch.rand(num_sentences) ** 2
    chosen = torch.multinomial(popularity.expand(num_rows, -1), 4)
    blocks = block_plan.plan_blocks((chosen + 1).view(1, 8, -1, 4), spans, 8)
    assert chosen.numel() <= len(blocks.row) <= 1.3 * chosen.numel()
    num_places = sum(chunk.longest * (chunk.slots.stop - chunk.slots.start) for chunk in blocks.chunks)
    assert num_places <= 1.45 * lengths[chosen].sum()
    # Every pair has a slot of its own, and its query is there.
    assert len(blocks.slot.unique()) == chosen.numel()
    assert torch.equal(blocks.row[blocks.slot].long(), torch.arange(num_rows)[:, None].expand(-1, 4))


@pytest.mark.parametrize("num_keys", [10, 447, 448, 10_000])
def test_auto_groups_long_documents_only(num_keys):
    assert is_grouped("auto", num_keys) == (num_keys >= 448)
    assert is_grouped("grouped", num_keys)
    assert not is_grouped("reference", num_keys)


@pytest.mark.parametrize("min_grouped_keys", [0, 1000])
def test_auto_gives_the_same_whatever_it_chooses(monkeypatch, min_grouped_keys):
    monkeypatch.setattr(selected_attention, "MIN_GROUPED_KEYS", min_grouped_keys)
    key_ids = torch.tensor(DOCUMENTS["padded batch"])
    leaves = leaves_of(key_ids)
    outputs = [attend(kernel, leaves, key_ids, 2) for kernel in PYTORCH_KERNELS]
    found = [gradients(output, leaves) for output in outputs]
    for output, gradient in zip(outputs[1:], found[1:], strict=True):
        torch.testing.assert_close(output, outputs[0], rtol=1e-10, atol=1e-10)
        torch.testing.assert_close(gradient, found[0], rtol=1e-10, atol=1e-10)


def test_an_unknown_kernel_is_an_error_that_names_the_known_ones():
    key_ids = torch.tensor(DOCUMENTS["uneven"])
    with pytest.raises(ValueError, match="kernel='fast' is unknown; choose one of auto, reference, grouped"):
        attend("fast", leaves_of(key_ids), key_ids, 2)


def test_what_was_first_used_in_inference_mode_is_trained_afterwards():
    release_thread_buffers()
    key_ids = torch.tensor(DOCUMENTS["uneven"])
    leaves = leaves_of(key_ids)
    with torch.inference_mode():
        expected = attend("grouped", leaves, key_ids, 2)
    output = attend("grouped", leaves, key_ids, 2)
    torch.testing.assert_close(output, expected.clone())
    assert all(torch.isfinite(some).all() for some in gradients(output, leaves))


@every_kernel
@pytest.mark.parametrize(("num_keys", "t"), [(0, 2), (3, 0)])
def test_queries_without_keys_or_sentences_get_zeros_and_gradients_of_zero(kernel, num_keys, t):
    query, key = torch.randn(1, 2, 4, 3, requires_grad=True), torch.randn(1, 2, num_keys, 3)
    ids = torch.ones(1, num_keys, dtype=torch.long)
    indices, scores = torch.zeros(1, 2, 4, t, dtype=torch.long), torch.zeros(1, 2, 4, t)
    output = attend_selected_sentences(query, key, key, ids, indices, scores, kernel=kernel)
    output.sum().backward()
    assert not output.any()
    assert not query.grad.any()


@pytest.mark.parametrize("kernel", ["reference", "grouped"])
def test_nan_is_not_hidden_and_shapes_must_agree(kernel):
    states, ids = torch.ones(1, 1, 6, 4), torch.tensor([[1, 1, 2, 2, 2, 3]], dtype=torch.int32)
    indices, scores = torch.tensor([[[[0, 1]]]]), torch.tensor([[[[0.0, math.nan]]]])
    attend = partial(attend_selected_sentences, states[:, :, :1], states, states, kernel=kernel)
    assert attend(ids, indices, scores).isnan().all()
    assert attend(ids, indices, scores.zero_()).allclose(torch.ones(()))
    with pytest.raises(ValueError, match=r"\(1, 1, 1, 2\) and sentence_scores \(1, 1, 1, 1\) must have the same shape"):
        attend(ids, indices, scores[..., :1])
    with pytest.raises(ValueError, match=r"key_sentence_ids \(1, 5\)"):
        attend(ids[:, :5], indices, scores)
