# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Under autocast, what chooses and reads sentences computes as it does without."""

import pytest
import torch

from hier_nmt.ops import (
    attend_selected_sentences,
    attend_selected_sentences_reference,
    backends,
    build_sentence_tree,
    select_by_relevance,
    traverse_tree,
)

NUM_SENTENCES, WORDS, HEADS, WIDTH = 40, 3, 2, 8
every_half = pytest.mark.parametrize("half", [torch.bfloat16, torch.float16], ids=str)
every_type = pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)


def states(length, dtype=torch.float32):
    return (torch.randn(1, HEADS, length, WIDTH) * 4).to(dtype).requires_grad_()


def outputs_and_gradients(operation, inputs, autocast):
    """The results of the operation on the inputs under autocast or not, and the inputs' gradients from its last."""
    with torch.autocast("cpu", autocast or torch.bfloat16, enabled=autocast is not None):
        results = operation(*inputs)
    results = results if isinstance(results, tuple) else (results,)
    return [*results, *torch.autograd.grad(results[-1].float().square().sum(), inputs)]


def assert_autocast_changes_nothing(operation, inputs, half):
    found, expected = (outputs_and_gradients(operation, inputs, autocast) for autocast in (half, None))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


def relevance(query, key):
    return select_by_relevance(query, key, torch.ones(1, NUM_SENTENCES, dtype=torch.bool, device=key.device), 4)


def tree_relevance(selection):
    def walk(query, leaves):
        mask = torch.ones(1, NUM_SENTENCES, dtype=torch.bool)
        levels, masks = build_sentence_tree(leaves.flatten(0, 1), mask.expand(HEADS, -1), torch.add)
        return traverse_tree(query, [level[None] for level in levels], [mask[:1] for mask in masks], 4, selection)

    return walk


def attention(form):
    key_ids = torch.arange(1, NUM_SENTENCES + 1).repeat_interleave(WORDS)[None]
    indices = torch.randint(NUM_SENTENCES - 3, (1, HEADS, 5, 1)) + torch.arange(3)
    scores = torch.randn(1, HEADS, 5, 3) * 30

    def attend(query, key, value):
        if form == "gathered":
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(backends, "_backends", [])
                return attend_selected_sentences(query, key, value, key_ids, indices, scores, kernel="grouped")
        if form == "weights":
            return attend_selected_sentences_reference(query, key, value, key_ids, indices, scores, scaling=0.3)[0]
        return attend_selected_sentences(query, key, value, key_ids, indices, scores, kernel=form)

    return attend


@every_half
@every_type
@pytest.mark.parametrize(
    "choose", [relevance, tree_relevance("cumulative"), tree_relevance("node")], ids=["flat", "tree", "tree by nodes"]
)
def test_the_same_sentences_are_chosen_with_the_same_scores(choose, dtype, half):
    torch.manual_seed(3)
    assert_autocast_changes_nothing(choose, [states(50, dtype), states(NUM_SENTENCES, dtype)], half)


@every_half
@every_type
@pytest.mark.parametrize("form", ["reference", "grouped", "gathered", "weights"])
def test_the_same_is_read_of_them(form, dtype, half):
    torch.manual_seed(3)
    inputs = [states(length, dtype) for length in (5, NUM_SENTENCES * WORDS, NUM_SENTENCES * WORDS)]
    assert_autocast_changes_nothing(attention(form), inputs, half)


def test_a_device_without_autocast_is_none_to_switch_it_off_on():
    # As are those on which shapes and costs are computed without numbers.
    query, key = states(5).to("meta"), states(NUM_SENTENCES).to("meta")
    assert relevance(query, key)[1].shape == (1, HEADS, 5, 4)
