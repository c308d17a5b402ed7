# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The tree over sentence encodings, and the walk down it, equal their loops; the walk never scores all sentences."""

import math

import independent_model
import pytest
import torch
from largest_tensor import LargestTensor
from references import scores_by_sentence, traverse_tree_reference
from tiny_models import tiny_config

from hier_nmt.attention.sentence_encoder import PairMerge
from hier_nmt.kernels.torch_cpu import relevance, tree_search
from hier_nmt.ops.sentence_tree import build_sentence_tree, traverse_tree

NO = -math.inf
LENGTHS = [1, 2, 3, 5, 11]
WITH_HOLES = torch.tensor([[1] * 11, [1] * 3 + [0] * 8, [0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 0], [0] * 10 + [1]]).bool()


def mean(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    return (left + right) / 2


@pytest.fixture(scope="module")
def pair_merge() -> PairMerge:
    """A merge of width 16 with random weights."""
    torch.manual_seed(5)
    module = PairMerge(tiny_config(sentence_encoder_heads=2)).double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_()
    return module


def documents(lengths=LENGTHS, width=16):
    """Random encodings [B, N, D] of documents of these lengths, and their mask [B, N]."""
    torch.manual_seed(6)
    states = torch.randn(len(lengths), max(lengths), width, dtype=torch.float64, requires_grad=True)
    return states, torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]


def masks_above(mask: torch.Tensor) -> list[torch.Tensor]:
    """The masks of all levels over the leaves' mask [B, N]."""
    masks = [mask]
    while masks[-1].shape[1] > 1:
        padded = torch.nn.functional.pad(masks[-1], (0, masks[-1].shape[1] % 2))
        masks.append(padded[:, 0::2] | padded[:, 1::2])
    return masks


def random_walk(mask: torch.Tensor, num_queries: int = 2, num_heads: int = 2, width: int = 3):
    """Random queries [B, H, Q, E], keys [B, H, N_l, E] of every level over the leaves in the mask, and all masks."""
    torch.manual_seed(7)
    masks = masks_above(mask)
    query = torch.randn(len(mask), num_heads, num_queries, width, dtype=torch.float64, requires_grad=True)
    keys = [torch.randn(len(mask), num_heads, some.shape[1], width, dtype=torch.float64) for some in masks]
    return query, [level.requires_grad_() for level in keys], masks


def assert_walk_equals_the_loop(query, keys, masks, t, selection="cumulative", own=None):
    indices, scores = traverse_tree(query, keys, masks, t, selection, own_sentence_ids=own)
    assert indices.shape == scores.shape == (*query.shape[:3], t)
    is_filled = scores > NO
    assert (indices[~is_filled] == 0).all()
    # In ascending order.
    assert (indices.diff(dim=-1)[is_filled[..., 1:] & is_filled[..., :-1]] > 0).all()
    slow = traverse_tree_reference(query, keys, masks, t, selection, own)
    fast = scores_by_sentence(indices, scores, masks[0].shape[1])
    torch.testing.assert_close(fast, slow, rtol=1e-10, atol=1e-10)
    return fast, slow


def gradients(scores, leaves):
    weighting = torch.linspace(-1, 2, scores.numel(), dtype=scores.dtype).view_as(scores)
    total = (torch.where(scores > NO, scores, 0.0) * weighting).sum()
    return torch.autograd.grad(total, leaves, materialize_grads=True)


# The tree


@pytest.mark.parametrize(
    ("num_sentences", "sizes"), [(1, [1]), (2, [2, 1]), (3, [3, 2, 1]), (5, [5, 3, 2, 1]), (11, [11, 6, 3, 2, 1])]
)
def test_each_level_has_half_the_nodes_of_the_one_below(num_sentences, sizes):
    levels, masks = build_sentence_tree(*documents([num_sentences]), mean)
    assert [level.shape for level in levels] == [(1, size, 16) for size in sizes]
    assert [mask.shape for mask in masks] == [(1, size) for size in sizes]
    assert all(mask.all() for mask in masks)


def test_neighbours_are_merged_and_a_left_over_node_is_copied_up():
    states = torch.tensor([[3.0, 1.0, 2.0, 8.0, 5.0], [4.0, 6.0, 1.0, 7.0, 7.0]])[..., None]
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]).bool()
    levels, masks = build_sentence_tree(states, mask, mean)
    assert [level[0, :, 0].tolist() for level in levels] == [[3, 1, 2, 8, 5], [2, 5, 5], [3.5, 5], [4.25]]
    second = [level[1, some[1], 0].tolist() for level, some in zip(levels, masks, strict=True)]
    assert second == [[4, 6, 1], [5, 1], [3], [3]]


def test_a_node_without_one_of_its_children_is_the_other():
    states = torch.tensor([3.0, 1.0, 2.0, 8.0, 5.0])[None, :, None]
    levels, masks = build_sentence_tree(states, torch.tensor([[0, 1, 0, 0, 1]]).bool(), mean)
    assert [mask[0].int().tolist() for mask in masks] == [[0, 1, 0, 0, 1], [1, 0, 1], [1, 1], [1]]
    assert [levels[1][0, 0].item(), levels[1][0, 2].item()] == [1, 5]
    assert levels[2].flatten().tolist() == [1, 5]
    assert levels[3].item() == 3


def test_the_tree_equals_the_loop_in_a_batch_of_documents_of_different_lengths(pair_merge):
    states, mask = documents()
    levels, _ = build_sentence_tree(states, mask, pair_merge)
    weights = {f"merge.{name}": parameter for name, parameter in pair_merge.named_parameters()}
    for row, length in enumerate(LENGTHS):
        alone = independent_model.build_tree(weights, "merge", list(states[row, :length]))
        for level, nodes in zip(levels, alone, strict=False):  # above its root a document has copies of it
            torch.testing.assert_close(level[row, : len(nodes)], torch.stack(nodes))


# The walk


@pytest.mark.usefixtures("each_form_of_relevance")
@pytest.mark.parametrize("has_own", [False, True], ids=["", "own"])
@pytest.mark.parametrize("selection", ["cumulative", "node"])
def test_the_walk_equals_the_loop_for_any_number_of_sentences_and_of_those_kept(selection, has_own):
    for num_sentences in range(1, 21):
        walk = random_walk(torch.ones(1, num_sentences).bool())
        own = torch.randint(1, num_sentences + 1, (1, 2)) if has_own else None
        for t in sorted({1, 2, 3, num_sentences, num_sentences + 2}):
            assert_walk_equals_the_loop(*walk, t, selection, own)


@pytest.mark.usefixtures("each_form_of_relevance")
@pytest.mark.parametrize("has_own", [False, True], ids=["", "own"])
@pytest.mark.parametrize("selection", ["cumulative", "node"])
@pytest.mark.parametrize("t", [1, 2, 3, 14])
def test_the_walk_equals_the_loop_in_gradients_and_with_holes(t, selection, has_own):
    query, keys, masks = random_walk(WITH_HOLES)
    own = torch.tensor([[1, 11], [3, 2], [6, 5], [11, 11]]) if has_own else None
    both = assert_walk_equals_the_loop(query, keys, masks, t, selection, own)
    torch.testing.assert_close(*[gradients(scores, [query, *keys]) for scores in both], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("t", [3, 11, 14])
def test_unfilled_places_stand_behind_the_others(t):
    query, keys, masks = random_walk(WITH_HOLES)
    is_filled = traverse_tree(query, keys, masks, t)[1] > NO
    expected = torch.arange(t) < WITH_HOLES.sum(-1)[:, None, None, None]
    assert torch.equal(is_filled, expected.expand_as(is_filled))


@pytest.mark.parametrize("t", [1, 2])
def test_an_own_sentence_that_the_document_does_not_have_changes_nothing(t):
    # As when the sixth sentence is written of a source that has five.
    query, keys, masks = random_walk(torch.ones(1, 5).bool(), num_queries=50)
    expected = traverse_tree(query, keys, masks, t)
    for number in (6, 7, 9):
        own = torch.full((1, 50), number)
        torch.testing.assert_close(traverse_tree(query, keys, masks, t, own_sentence_ids=own), expected)


def test_leaf_scores_are_summed_from_the_root_and_only_children_of_kept_nodes_are_reached():
    levels = [[3, 1, 2, 8, 5], [2, 5, 5], [3.5, 5], [4.25]]
    keys = [torch.tensor(level, dtype=torch.float64)[None, None, :, None] for level in levels]
    masks = masks_above(torch.ones(1, 5).bool())
    query = torch.ones(1, 1, 1, 1, dtype=torch.float64)
    for t, indices, scores in [
        (1, [4], [4.25 + 5 + 5 + 5]),
        (2, [3, 4], [4.25 + 3.5 + 5 + 8, 4.25 + 5 + 5 + 5]),
        (6, [0, 1, 2, 3, 4, 0], [9.75 + 3, 9.75 + 1, 12.75 + 2, 12.75 + 8, 14.25 + 5, NO]),
    ]:
        found = traverse_tree(query, keys, masks, t)
        assert (found[0].flatten().tolist(), found[1].flatten().tolist()) == (indices, scores)


def test_a_merge_that_divides_has_a_gradient_beside_padding():
    states = torch.zeros(1, 5, 4, dtype=torch.float64)
    states[:, 0] = torch.arange(1.0, 5.0)
    states.requires_grad_()

    def merge(left, right):
        return (left + right) / (left.norm(dim=-1, keepdim=True) + right.norm(dim=-1, keepdim=True))

    levels, _ = build_sentence_tree(states, torch.tensor([[True, False, False, False, False]]), merge)
    assert torch.equal(levels[-1][0, 0], states[0, 0])
    (gradient,) = torch.autograd.grad(levels[-1].sum(), states)
    assert gradient[0].tolist() == [[1.0] * 4, *[[0.0] * 4] * 4]


@pytest.mark.parametrize("selection", ["cumulative", "node"])
@pytest.mark.parametrize("t", [1, 2, 5])
def test_in_float32_the_same_sentences_are_found_with_ties(selection, t):
    # Whole numbers of width 4 = 2 * 2: every score is exact.
    torch.manual_seed(2)
    masks = masks_above(torch.ones(1, 150).bool())
    query = torch.randint(-1, 2, (1, 2, 60, 4)).float()
    keys = [torch.randint(-1, 2, (1, 2, level.shape[1], 4)).float() for level in masks]
    indices, scores = traverse_tree(query, keys, masks, t, selection)
    found = scores_by_sentence(indices, scores, 150)
    expected = traverse_tree_reference(query.double(), [level.double() for level in keys], masks, t, selection, None)
    torch.testing.assert_close(found.double(), expected, rtol=0, atol=0)


@pytest.mark.parametrize("bits", [0x7FC00000, -0x400000], ids=["positive", "negative"])
def test_a_key_with_nan_is_not_hidden_whatever_its_sign(bits):
    query, keys, masks = random_walk(torch.ones(1, 4).bool(), num_queries=20)
    keys = [level.detach().float() for level in keys]
    keys[0][:, :, 3] = torch.tensor(bits, dtype=torch.int32).view(torch.float32)
    assert keys[0].isnan().any()
    assert traverse_tree(query.detach().float(), keys, masks, 2)[1].isnan().any(-1).all()


def test_ties_go_to_the_lowest_index():
    mask = torch.ones(1, 11).bool()
    keys = [torch.ones(1, 1, some.shape[1], 4) for some in masks_above(mask)]
    indices, scores = traverse_tree(torch.ones(1, 1, 2, 4), keys, masks_above(mask), 3)
    assert indices.tolist() == [[[[0, 1, 2], [0, 1, 2]]]]
    assert scores.tolist() == [[[[10.0] * 3] * 2]]  # five levels of 4 / sqrt(4)


def test_own_sentence_is_always_kept():
    mask = torch.ones(1, 13).bool()
    query, keys, masks = random_walk(mask, num_queries=13)
    own = torch.arange(1, 14)[None]
    for t in (1, 2, 4):
        indices, _ = traverse_tree(query, keys, masks, t, own_sentence_ids=own)
        assert (indices == own[:, None, :, None] - 1).any(-1).all()


@pytest.mark.parametrize("selection", ["cumulative", "node"])
@pytest.mark.parametrize("t", [1, 2, 4])
def test_a_document_in_a_batch_has_the_sentences_scores_and_gradients_it_has_alone(pair_merge, selection, t):
    states, mask = documents()
    query = torch.randn(len(LENGTHS), 2, 3, 8, dtype=torch.float64, requires_grad=True)

    def walk(rows, num_sentences):
        levels, masks = build_sentence_tree(states[rows, :num_sentences], mask[rows, :num_sentences], pair_merge)
        keys = [level.unflatten(-1, (2, 8)).transpose(1, 2) for level in levels]
        return traverse_tree(query[rows], keys, masks, t, selection)

    batched = walk(slice(None), max(LENGTHS))
    leaves = [query, states, *pair_merge.parameters()]
    for row, length in enumerate(LENGTHS):
        alone = walk(slice(row, row + 1), length)
        in_batch = [part[row : row + 1] for part in batched]
        torch.testing.assert_close(in_batch, list(alone))
        total, total_alone = (torch.where(part > NO, part, 0.0).square().sum() for part in (in_batch[1], alone[1]))
        torch.testing.assert_close(
            torch.autograd.grad(total, leaves, retain_graph=True, materialize_grads=True),
            torch.autograd.grad(total_alone, leaves, materialize_grads=True),
        )


@pytest.mark.usefixtures("each_form_of_relevance")
@pytest.mark.parametrize("selection", ["cumulative", "node"])
def test_gradients_of_queries_and_of_the_keys_of_every_level_equal_finite_differences(selection):
    mask = torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0]]).bool()
    query, keys, masks = random_walk(mask, num_heads=1)

    def filled_scores(query, *keys):
        scores = traverse_tree(query, keys, masks, 2, selection)[1]
        return torch.where(scores > NO, scores, 0.0)

    assert torch.autograd.gradcheck(filled_scores, (query, *keys))


def test_half_types_are_scored_in_float32():
    query, keys, masks = random_walk(torch.ones(2, 6).bool())
    query, keys = query.bfloat16(), [level.bfloat16() for level in keys]
    found = traverse_tree(query, keys, masks, 2)
    assert found[1].dtype == torch.float32
    torch.testing.assert_close(found, traverse_tree(query.float(), [level.float() for level in keys], masks, 2))


def test_a_query_scores_no_more_than_twice_t_nodes_of_a_level(monkeypatch):
    num_sentences, num_queries, t, width = 3000, 200, 3, 4
    scored = []
    original = relevance.score_rows

    def counting(query, key, indices):
        scored.append((key.shape[2], indices.shape[-1]))
        return original(query, key, indices)

    for module in (tree_search, relevance):
        monkeypatch.setattr(module, "score_rows", counting)
    query, keys, masks = random_walk(torch.ones(1, num_sentences).bool(), num_queries, num_heads=1, width=width)
    with LargestTensor() as largest:
        scores = traverse_tree(query, keys, masks, t)[1]
        scores.sum().backward()
    sizes = [some.shape[1] for some in masks if some.shape[1] > t]
    # Both children of each kept node on the way down; at its end once more the t leaves, for their scores.
    assert scored == [*[(size, 2 * t) for size in reversed(sizes)], (num_sentences, t)]
    assert largest.numbers <= 2 * width * num_sentences < num_queries * num_sentences / 10


def test_an_unknown_selection_is_an_error_that_names_the_known_ones():
    query, keys, masks = random_walk(torch.ones(1, 3).bool())
    with pytest.raises(ValueError, match="selection='best' is unknown; choose cumulative or node"):
        traverse_tree(query, keys, masks, 2, "best")
