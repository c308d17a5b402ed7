# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The network equals the one in `independent_model`, and that one gives what arithmetic gives by hand."""

import math

import pytest
import torch
from independent_model import (
    Slot,
    attend_slot,
    best_indices,
    build_tree,
    choose_earlier_sentences,
    encode_sentences,
    independent_forward,
    keep_top_t,
    source2token,
    traverse_tree,
)
from tiny_models import (
    BOS,
    CONDITIONAL,
    EOS,
    HIERARCHICAL,
    PAR,
    SENTENCE_SCOPE,
    SEP,
    SOURCES,
    TARGETS,
    VARIANTS,
    tiny_model,
    window_inputs,
)

# Five sentences, so that the tree has a left-over leaf and a left-over node, and in the target a sixth; then three
# sentences, then one.
LONG_SOURCE = [6, 7, SEP, 8, PAR, 9, 10, 11, SEP, 12, SEP, 13, 14, EOS]
LONG_TARGET = [16, SEP, 17, 18, PAR, 19, 20, SEP, SEP, 21, SEP, 22, EOS]
LONG = ([LONG_SOURCE, SOURCES[0], [12, EOS]], [LONG_TARGET, TARGETS[0], [23, EOS]])

SCOPES = ["document", "sentence", "conditional", "hierarchical"]
SENTENCE_HEADS = {"context_block": "heads", "num_sentence_heads": 1}
GATED = {**SENTENCE_SCOPE, "num_selected_sentences": 2}
# As in models that were adapted from sentence-level ones.
RESTARTING = {"token_position_origin": "sentence", "restart_target_sentences": True}
MORE_VARIANTS = {
    "conditional": CONDITIONAL,
    "conditional_post_norm": {**CONDITIONAL, "normalize_before": False},
    "conditional_one": {**CONDITIONAL, "num_selected_sentences": 1},
    "conditional_all": {**CONDITIONAL, "num_selected_sentences": 9},
    "conditional_own_numbers": {
        **CONDITIONAL,
        "num_selected_sentences": 9,
        "num_selected_sentences_encoder": 3,
        "num_selected_sentences_decoder": 1,
        "num_selected_sentences_cross": 2,
    },
    "conditional_own_sentence": {**CONDITIONAL, "always_keep_own_sentence": True},
    "conditional_biased": {**CONDITIONAL, "relevance_bias": -1.5},
    "hierarchical_biased": {**HIERARCHICAL, "relevance_bias": 0.5, "always_keep_own_sentence": True},
    "conditional_near": {**CONDITIONAL, "relevance_slope": 0.6},
    "conditional_near_own_sentence": {**CONDITIONAL, "relevance_slope": 2, "always_keep_own_sentence": True},
    "hierarchical_near": {**HIERARCHICAL, "relevance_slope": 0.6},
    "conditional_shared": {**CONDITIONAL, "sentence_encoder_sharing": "model", "sentence_encoder_heads": 4},
    "conditional_multi_level": {**CONDITIONAL, "position_encoding": "multi_level"},
    "hierarchical": HIERARCHICAL,
    "hierarchical_post_norm": {**HIERARCHICAL, "normalize_before": False},
    "hierarchical_node": {**HIERARCHICAL, "tree_selection": "node"},
    "hierarchical_one": {**HIERARCHICAL, "num_selected_sentences": 1},
    "hierarchical_three": {**HIERARCHICAL, "num_selected_sentences": 3},
    "hierarchical_all": {**HIERARCHICAL, "num_selected_sentences": 9},
    "hierarchical_own_sentence": {**HIERARCHICAL, "always_keep_own_sentence": True},
    "hierarchical_own_sentence_one": {
        **HIERARCHICAL,
        "always_keep_own_sentence": True,
        "num_selected_sentences": 1,
    },
    "hierarchical_shared": {**HIERARCHICAL, "sentence_encoder_sharing": "model", "sentence_encoder_heads": 2},
    "block": {**SENTENCE_SCOPE, "context_block": "block"},
    "block_post_norm_shared": {
        **SENTENCE_SCOPE,
        "context_block": "block",
        "normalize_before": False,
        "sentence_encoder_sharing": "model",
    },
    "block_hierarchical": {**HIERARCHICAL, "context_block": "block"},
    "heads": {**SENTENCE_SCOPE, **SENTENCE_HEADS},
    "heads_post_norm": {**SENTENCE_SCOPE, **SENTENCE_HEADS, "normalize_before": False},
    "heads_conditional_shared": {**CONDITIONAL, **SENTENCE_HEADS, "sentence_encoder_sharing": "model"},
    **{f"gated_{kind}": {**GATED, "context_block": kind} for kind in ("document", "conditional", "hierarchical")},
    **{
        f"gated_{kind}_restarting": {**GATED, **RESTARTING, "context_block": kind}
        for kind in ("document", "conditional", "hierarchical")
    },
    "gated_conditional_in_documents": {"context_block": "conditional", "num_selected_sentences": 1},
    "gated_conditional_near": {**GATED, "context_block": "conditional", "relevance_slope": 0.6},
    "gated_conditional_own_sentence": {
        **GATED,
        "context_block": "conditional",
        "always_keep_own_sentence": True,
        "relevance_bias": -1.5,
        "normalize_before": False,
    },
    "gated_hierarchical_own_numbers": {
        **CONDITIONAL,
        "context_block": "hierarchical",
        "num_selected_sentences_encoder": 3,
        "num_selected_sentences_decoder": 1,
        "tree_selection": "node",
    },
}
# Backward through the loops is slow: these, between them, have every parameter that a variant may have.
WITH_GRADIENTS = {"sequential", "learned", "sentence_scope_multi_level", "conditional", "conditional_shared"} | {
    "conditional_biased",
    "hierarchical_own_sentence",
    "hierarchical_all",
    "block_hierarchical",
    "heads",
    "gated_document",
    "gated_conditional_restarting",
    "gated_hierarchical",
}
COMBINATIONS = [
    {
        "encoder_self_attention": encoder,
        "decoder_self_attention": decoder,
        "cross_attention": cross,
        "num_selected_sentences": 2,
    }
    for encoder in SCOPES
    for decoder in SCOPES[:3]
    for cross in SCOPES
]


def random_model(changes):
    """A tiny model whose biases, norms and sentence queries are random too."""
    model = tiny_model(seed=5, **changes)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model


def both_logits(model, windows, numbers=({}, {})):
    """Pairs (logits [T, V] of the model run on the padded batch, those of the independent one) for each window."""
    sources, targets = windows
    inputs = window_inputs(sources, targets, length=17)
    inputs.pop("labels")
    in_batch = model(**inputs, **numbers[0], use_cache=False).logits
    weights = dict(model.named_parameters(remove_duplicate=False))
    pairs = []
    for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
        alone = independent_forward(model.config, weights, source, [BOS, *target[:-1]], **numbers[1].get(row, {}))
        pairs.append((in_batch[row, : len(target)], alone))
    return pairs


def assert_same_logits(pairs):
    for fast, slow in pairs:
        torch.testing.assert_close(fast, slow, rtol=1e-10, atol=1e-10)


def assert_same_gradients(model, pairs):
    """The gradients of one random weighting of all logits, with respect to every parameter, are the same."""
    generator = torch.Generator().manual_seed(6)
    weightings = [torch.randn(fast.shape, generator=generator, dtype=fast.dtype) for fast, _ in pairs]
    totals = [torch.zeros((), dtype=torch.float64)] * 2
    for weighting, pair in zip(weightings, pairs, strict=True):
        totals = [total + (logits * weighting).sum() for total, logits in zip(totals, pair, strict=True)]
    parameters = dict(model.named_parameters())
    fast, slow = (torch.autograd.grad(total, list(parameters.values()), materialize_grads=True) for total in totals)
    for name, of_fast, of_slow in zip(parameters, fast, slow, strict=True):
        tolerance = 1e-10 * max(1.0, float(of_slow.abs().max()))
        torch.testing.assert_close(
            of_fast, of_slow, rtol=0, atol=tolerance, msg=lambda text, name=name: f"{name}: {text}"
        )


def assert_same(name, changes, windows, numbers=({}, {})):
    model = random_model(changes)
    with torch.set_grad_enabled(name in WITH_GRADIENTS):
        pairs = both_logits(model, windows, numbers)
    assert_same_logits(pairs)
    if name in WITH_GRADIENTS:
        assert_same_gradients(model, pairs)


@pytest.mark.parametrize("name", VARIANTS)
def test_variants_equal_the_independent_model(name):
    assert_same(name, VARIANTS[name], (SOURCES, TARGETS))


@pytest.mark.parametrize("name", MORE_VARIANTS)
def test_more_variants_of_sentence_encodings_equal_the_independent_model(name):
    assert_same(name, MORE_VARIANTS[name], LONG)


@pytest.mark.parametrize("changes", COMBINATIONS, ids=lambda changes: "-".join(map(str, list(changes.values())[:3])))
def test_all_combinations_of_scopes_equal_the_independent_model(changes):
    model = random_model({**changes, "encoder_layers": 1, "decoder_layers": 1})
    with torch.no_grad():
        assert_same_logits(both_logits(model, [rows[:1] for rows in LONG]))


@pytest.mark.parametrize(
    "name", ["sentence_scope", "conditional", "conditional_own_sentence", "block", "heads_post_norm"]
)
def test_a_sentence_without_tokens_is_never_read(name):
    source_ids, target_ids = [1, 1, 3, 3, 4, 4, 4, 4, 4, 6, 6, 6, 6, 6], [1, 1, 1, 2, 2, 2, 4, 4, 5, 5, 5, 5, 5]
    source, target = torch.ones(1, 17, dtype=torch.long), torch.ones(1, 17, dtype=torch.long)
    source[0, : len(source_ids)] = torch.tensor(source_ids)
    target[0, : len(target_ids)] = torch.tensor(target_ids)
    given = {"sentence_ids": source, "decoder_sentence_ids": target}
    alone = {0: {"sentence_ids": source_ids, "decoder_sentence_ids": target_ids}}
    assert_same(name, {**VARIANTS, **MORE_VARIANTS}[name], ([LONG_SOURCE], [LONG_TARGET]), (given, alone))


def number(value):
    return torch.tensor([float(value)], dtype=torch.float64)


def values(numbers):
    return [None if entry is None else float(entry) for entry in numbers]


def identity_encoder(name, query):
    """A sentence encoder of width 1 that gives a mean weighted by softmax(query * member)."""
    one = torch.ones(1, 1, dtype=torch.float64)
    projections = {f"{name}.{part}_proj.weight": one for part in ("k", "v", "out")}
    return {f"{name}.query": query * one, **projections}


def test_sentence_encoding_is_the_softmax_weighted_mean_of_its_tokens():
    weights = identity_encoder("encoder", query=0.5)
    tokens = [number(2), number(4), number(-1)]
    first = (2 * math.exp(1) + 4 * math.exp(2)) / (math.exp(1) + math.exp(2))
    assert source2token(weights, "encoder", tokens[:2]).item() == pytest.approx(first)
    assert source2token(weights, "encoder", []) is None
    encodings = encode_sentences(weights, "encoder", tokens, [1, 1, 3])
    assert values(encodings) == [pytest.approx(first), None, pytest.approx(-1)]


def test_highest_scores_are_kept_and_the_first_of_equal_ones():
    assert keep_top_t([1, 3, None, 3, 3], 2) == [None, 3, None, 3, None]
    assert keep_top_t([1, None, 2], 4) == [1, None, 2]
    assert best_indices([5, 1, 4, 3], 2, always=1) == [0, 1]
    assert best_indices([5, 1, 5, 5], 2, always=2) == [0, 2]


def test_tree_over_eleven_sentences_has_levels_of_11_6_3_2_and_1_nodes():
    # A zero query makes the merge a mean; the eleventh leaf is copied up once, the third node of three too.
    levels = build_tree(identity_encoder("merge", query=0.0), "merge", [number(leaf) for leaf in range(1, 12)])
    assert [len(level) for level in levels] == [11, 6, 3, 2, 1]
    assert values(levels[1]) == [1.5, 3.5, 5.5, 7.5, 9.5, 11]
    assert values(levels[2]) == [2.5, 6.5, (9.5 + 11) / 2]
    assert values(levels[3]) == [4.5, 10.25]
    assert values(levels[4]) == [(4.5 + 10.25) / 2]


def test_leaf_scores_are_summed_from_the_root_and_only_children_of_kept_nodes_are_reached():
    # Means of pairs; the fifth leaf is copied up twice and counts on each level.
    levels = build_tree(identity_encoder("merge", query=0.0), "merge", [number(leaf) for leaf in (3, 1, 2, 8, 5)])
    assert [values(level) for level in levels] == [[3, 1, 2, 8, 5], [2, 5, 5], [3.5, 5], [4.25]]
    assert values(traverse_tree(number(1), levels, 1, "cumulative")) == [None, None, None, None, 4.25 + 5 + 5 + 5]
    kept = [None, None, None, 4.25 + 3.5 + 5 + 8, 4.25 + 5 + 5 + 5]
    assert values(traverse_tree(number(1), levels, 2, "cumulative")) == kept
    scores = [9.75 + 3, 9.75 + 1, 12.75 + 2, 12.75 + 8, 14.25 + 5]
    assert values(traverse_tree(number(1), levels, 9, "cumulative")) == scores


def test_own_path_takes_the_place_of_the_worst_node_on_every_level():
    levels = [[number(node) for node in level] for level in ([3, 1, 2, 8, 5], [2, 5, 5], [3.5, 5], [4.25])]
    # Nodes 0 and 1 are kept on the third level; on the second 2 (14.25) and, for the worse 1, the own path's 0.
    kept = [None, 4.25 + 3.5 + 2 + 1, None, None, 4.25 + 5 + 5 + 5]
    assert values(traverse_tree(number(1), levels, 2, "cumulative", own=1)) == kept
    assert values(traverse_tree(number(1), levels, 1, "cumulative", own=1)) == [None, 10.75, None, None, None]


def test_tree_selection_by_node_ignores_the_parents_scores_in_the_choice_alone():
    levels = [[number(node) for node in level] for level in ([1, 2, 3, 4], [10, 1], [0])]
    assert values(traverse_tree(number(1), levels, 2, "cumulative")) == [11, 12, None, None]
    assert values(traverse_tree(number(1), levels, 2, "node")) == [None, None, 4, 5]


def test_ties_in_the_tree_go_to_the_lowest_index():
    levels = [[number(1)] * 4, [number(1)] * 2, [number(1)]]
    assert values(traverse_tree(number(1), levels, 3, "cumulative")) == [3, 3, 3, None]


def test_decoder_chooses_among_complete_sentences_and_adds_nothing_for_its_own():
    keys = [number(key) for key in (2, 7, 7, 9, 9)]
    assert values(choose_earlier_sentences(number(1), keys, 1, own=3)) == [None, 7, None, 0, None]
    assert values(choose_earlier_sentences(number(1), keys, 2, own=0)) == [0, None, None, None, None]


@pytest.mark.parametrize("is_causal", [False, True])
def test_conditional_attention_adds_the_relevance_to_the_logits_of_a_kept_sentences_tokens(is_causal):
    one = torch.ones(1, 1, dtype=torch.float64)
    weights = {f"slot.{part}_proj.weight": one for part in ("q", "k", "v", "out", "sentence_q", "sentence_k")}
    slot = Slot("slot", "conditional", num_heads=1, width=1, num_selected=1, is_causal=is_causal)
    tokens, ids, encodings = [number(token) for token in (1, 2, 3, -1, 4)], [1, 1, 2, 3, 3], [1.0, 1.5, -2.0]
    encodings = [number(encoding) for encoding in encodings]
    output = attend_slot(weights, slot, tokens, ids, tokens, ids, encodings)[3].item()
    # The query is -1, in sentence 3: relevances -1, -1.5 and 2.
    terms = {-1: math.exp(1 + 2), 4: math.exp(-4 + 2)}
    if is_causal:
        terms = {1: math.exp(-1 - 1), 2: math.exp(-2 - 1), -1: math.exp(1)}
    assert output == pytest.approx(sum(token * weight for token, weight in terms.items()) / sum(terms.values()))
