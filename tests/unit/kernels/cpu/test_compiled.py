# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The compiled form of attention to selected sentences equals the loops, in float32."""

import os
import shutil
import subprocess
import sys

import pytest
import torch
from references import (
    scores_by_sentence,
    select_by_relevance_reference,
    selected_attention_reference,
    traverse_tree_reference,
)
from tiny_models import SOURCES, tiny_model, window_inputs
from torch.autograd import grad

from hier_nmt.cli.main import main
from hier_nmt.kernels.cpu import compiled
from hier_nmt.kernels.torch_cpu import grouped_attention, tree_search
from hier_nmt.kernels.torch_cpu.block_plan import rank_sentences
from hier_nmt.kernels.torch_cpu.grouped_attention import Dropout
from hier_nmt.ops import sentence_tree
from hier_nmt.ops.backends import backend_for, unregister_backend
from hier_nmt.ops.selected_attention import attend_selected_sentences, is_grouped
from hier_nmt.ops.sentence_selection import relevance_of_selected, select_by_relevance
from hier_nmt.ops.sentence_tree import traverse_tree

HAS_COMPILER = shutil.which(compiled.compiler()) is not None
DOCUMENTS = {
    "uneven": [[1, 1, 1, 2, 3, 3, 3, 3, 4, 4]],
    "one token": [[1]],
    "empty sentences, in any order": [[5, 5, 2, 6, 2, 5]],
    "padded batch": [[1, 1, 2, 2, 2, 3, 4], [1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 2, 2, 3], [0, 0, 0, 0, 0, 0, 0]],
    "sentences of more than one piece": [[*[1] * 33, *[2] * 16, *[3] * 17, *[4] * 81, *[5] * 32]],
    "more queries than a block": [[*[1] * 9, *[2] * 8, *[3] * 10]],
}
# Types and head widths for which the processor's matrix tiles are used, where it has them.
TILES = [(torch.bfloat16, width) for width in (32, 64, 96)]
TOLERANCES = {torch.float32: 2e-5, torch.bfloat16: 6e-2}


@pytest.fixture(autouse=True)
def compiled_attention():
    """Has the compiled form used, and takes it away again."""
    if not HAS_COMPILER:
        pytest.skip(f"there is no C++ compiler {compiled.compiler()}")
    compiled.use_compiled_attention()
    yield
    unregister_backend("compiled")


def random_leaves(*shapes: tuple[int, ...]) -> list[torch.Tensor]:
    torch.manual_seed(5)
    return [torch.randn(shape).requires_grad_() for shape in shapes]


def gradients(output: torch.Tensor, leaves: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    weighting = torch.linspace(-1, 2, output.numel()).view(output.shape).to(output.dtype)
    total = (output.masked_fill(output == -torch.inf, 0) * weighting).sum()
    if not total.requires_grad:  # nothing was read
        return tuple(map(torch.zeros_like, leaves))
    return grad(total, leaves, materialize_grads=True)


def assert_equal(fast: torch.Tensor, slow: torch.Tensor, fast_leaves, slow_leaves, tolerance: float = 2e-5) -> None:
    """Values and gradients; the slow ones are in float64."""
    close = {"rtol": tolerance, "atol": tolerance, "check_dtype": False}
    torch.testing.assert_close(fast, slow, **close)
    grads = [gradients(*some) for some in ((fast, fast_leaves), (slow, slow_leaves))]
    torch.testing.assert_close(*grads, **close)


# Attention


@pytest.mark.parametrize(("dtype", "width"), [(torch.float32, 16), (torch.float32, 64), (torch.float32, 80), *TILES])
@pytest.mark.parametrize("options", ["", "own", "causal", "own causal"])
@pytest.mark.parametrize("ids", DOCUMENTS.values(), ids=DOCUMENTS)
def test_attention_equals_the_dense_form_in_float64_in_values_and_gradients(ids, options, dtype, width):
    ids = torch.tensor(ids)
    (batch_size, num_keys), num_sentences = ids.shape, int(ids.max())
    leaves = random_leaves(*[(batch_size, 2, num_keys, width)] * 3, (batch_size, 2, num_keys, 3))
    leaves = [leaf.detach().to(dtype).requires_grad_() for leaf in leaves]
    indices = torch.rand(batch_size, 2, num_keys, max(num_sentences, 3)).argsort(-1)[..., :3]
    is_filled = (indices < num_sentences) & (torch.rand(indices.shape) < 0.8)
    given = {"own_sentence_ids": ids if "own" in options else None}
    given["query_positions"] = torch.arange(num_keys) if "causal" in options else None
    doubles = [leaf.detach().double().requires_grad_() for leaf in leaves]
    fast, slow = (
        attend_selected_sentences(
            *some[:3], ids, indices.masked_fill(~is_filled, 0), some[3].masked_fill(~is_filled, -torch.inf),
            **given, kernel=kernel,
        )
        for kernel, some in (("grouped", leaves), ("reference", doubles))
    )  # fmt: skip
    assert_equal(fast, slow, leaves, doubles, TOLERANCES[dtype])


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("options", [{}, {"query_positions": torch.arange(1100)}])
def test_a_long_document_whose_states_are_put_side_by_side(options, dtype):
    num_tokens, width, num_sentences = 1100, 256, 50  # more numbers than that asks for
    ids = (torch.arange(num_tokens) * num_sentences // num_tokens + 1)[None]
    leaves = random_leaves(*[(1, 3, num_tokens, width)] * 3, (1, 3, num_tokens, 4))
    leaves = [leaf.detach().to(dtype).requires_grad_() for leaf in leaves]
    indices = torch.rand(1, 3, num_tokens, num_sentences).argsort(-1)[..., :4]
    doubles = [leaf.detach().double().requires_grad_() for leaf in leaves]
    fast, slow = (
        attend_selected_sentences(*some[:3], ids, indices, some[3], **options, kernel=kernel)
        for kernel, some in (("grouped", leaves), ("reference", doubles))
    )
    assert_equal(fast, slow, leaves, doubles, TOLERANCES[dtype])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("num_tokens", [90, 1100])  # the second has more numbers than are left where they are
@pytest.mark.parametrize("width", [48, 256])
@pytest.mark.parametrize(
    "given", ["batch, tokens, heads", "tokens, heads, batch", "one for all heads", "parts", "mixed"]
)
def test_states_may_lie_in_memory_in_any_order(given, width, num_tokens, dtype):
    layouts = {
        "batch, tokens, heads": lambda some: some.transpose(1, 2).contiguous().transpose(1, 2),
        "tokens, heads, batch": lambda some: some.permute(2, 1, 0, 3).contiguous().permute(2, 1, 0, 3),
        "one for all heads": lambda some: some[:, :1].expand_as(some),
        "parts": lambda some: torch.cat([some, some], dim=-1)[..., : some.shape[-1]],
    }
    names = list(layouts) if given == "mixed" else [given] * 3
    ids = (torch.arange(num_tokens) * 9 // num_tokens + 1).expand(2, -1)
    states = [leaf.detach().to(dtype) for leaf in random_leaves(*[(2, 3, num_tokens, width)] * 3)]
    states = [layouts[name](some) for name, some in zip(names, states, strict=False)]
    indices, scores = torch.rand(2, 3, num_tokens, 9).argsort(-1)[..., :3], torch.randn(2, 3, num_tokens, 3)
    found = []
    for in_order in (False, True):
        leaves = [(some.contiguous() if in_order else some).requires_grad_() for some in states]
        output = attend_selected_sentences(*leaves, ids, indices, scores, kernel="grouped")
        found.append((output, *gradients(output, leaves)))
    torch.testing.assert_close(*found, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("dtype", "width", "dropout", "uses_tiles"),
    [
        (torch.bfloat16, 64, 0.0, True),
        (torch.bfloat16, 64, 0.1, False),
        (torch.bfloat16, 48, 0.0, False),
        (torch.float16, 64, 0.0, False),
        (torch.float32, 64, 0.0, False),
    ],
)
def test_tiles_are_used_for_what_they_can_do(monkeypatch, dtype, width, dropout, uses_tiles):
    class Recorder:
        def __init__(self, library):
            self.library, self.called = library, []

        def __getattr__(self, name):
            self.called.append(name)
            return getattr(self.library, name)

    uses_tiles, recorder = uses_tiles and compiled.has_tiles(), Recorder(compiled.library())
    monkeypatch.setattr(compiled, "library", lambda: recorder)
    states = [leaf.detach().to(dtype) for leaf in random_leaves(*[(1, 2, 6, width)] * 3)]
    ids = torch.tensor([[1, 1, 2, 2, 3, 3]])
    chosen = select_by_relevance(states[0], states[1][:, :, :3], torch.ones(1, 3, dtype=torch.bool), 2)
    attend_selected_sentences(*states, ids, *chosen, dropout=dropout, kernel="grouped")
    assert ("attend_forward_bfloat16" in recorder.called) == uses_tiles
    # Nothing is dropped from a choice.
    assert ("select_sentences_bfloat16" in recorder.called) == (uses_tiles or (dropout > 0 and compiled.has_tiles()))
    before = len(recorder.called)
    select_by_relevance(states[0], states[1], torch.ones(1, 6, dtype=torch.bool), 9)
    near = {"query_sentence_ids": ids, "slope": 0.5}
    select_by_relevance(states[0], states[1], torch.ones(1, 6, dtype=torch.bool), 2, **near)
    assert recorder.called[before:] == ["select_sentences", "select_near_sentences"]
    if dtype == torch.float32:  # only for many queries: the keys are prepared first
        select_by_relevance(states[0].repeat(1, 1, 11, 1), states[1], torch.ones(1, 6, dtype=torch.bool), 2)
        assert recorder.called[-1] == ("select_sentences_tiles" if compiled.has_tiles() else "select_sentences")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_type_and_device_that_new_tensors_have_change_nothing(dtype):
    states = [leaf.detach().to(dtype) for leaf in random_leaves(*[(1, 2, 8, 64)] * 3)]
    ids, mask = torch.arange(8)[None] // 2 + 1, torch.ones(1, 4, dtype=torch.bool)

    def run() -> tuple[torch.Tensor, ...]:
        chosen = select_by_relevance(states[0], states[1][:, :, :4], mask, 2)
        levels = [states[1][:, :, :size] for size in (4, 2, 1)]
        of_tree = traverse_tree(states[0], levels, [mask[:, : level.shape[2]] for level in levels], 2)
        return attend_selected_sentences(*states, ids, *chosen, kernel="grouped"), *chosen, *of_tree

    expected = run()
    torch.set_default_dtype(torch.float64)
    try:
        with torch.device("meta"):
            found = run()
    finally:
        torch.set_default_dtype(torch.float32)
    torch.testing.assert_close(found, expected, rtol=0, atol=0)


def test_tiles_leave_the_work_of_others_alone():
    matrices = torch.randn(64, 64, dtype=torch.bfloat16), torch.randn(64, 64, dtype=torch.bfloat16)
    states = [leaf.detach().to(torch.bfloat16) for leaf in random_leaves(*[(1, 2, 40, 64)] * 3)]
    ids, indices = torch.arange(40)[None] // 5 + 1, torch.randint(0, 8, (1, 2, 40, 1))
    dense = torch.nn.functional.scaled_dot_product_attention(*states)
    before = [matrices[0] @ matrices[1], attend_selected_sentences(*states, ids, indices, indices.float())]
    for _ in range(3):
        after = [matrices[0] @ matrices[1], attend_selected_sentences(*states, ids, indices, indices.float())]
        torch.testing.assert_close(after, before, rtol=0, atol=0)
        torch.testing.assert_close(torch.nn.functional.scaled_dot_product_attention(*states), dense, rtol=0, atol=0)


def test_the_compiled_form_is_what_is_used(monkeypatch):
    monkeypatch.setattr(grouped_attention, "GroupedAttention", None)
    ids = torch.tensor([[1, 1, 2]])
    states = random_leaves(*[(1, 2, 3, 16)] * 3)
    chosen = torch.zeros(1, 2, 3, 1, dtype=torch.int64), torch.zeros(1, 2, 3, 1)
    for kernel in ("auto", "grouped"):
        attend_selected_sentences(*states, ids, *chosen, kernel=kernel).sum().backward()
    assert not is_grouped("auto", 3)
    assert is_grouped("auto", 3, backend_for(states[0]))
    assert not is_grouped("reference", 3, backend_for(states[0]))


@pytest.mark.parametrize(("dtype", "width"), [(torch.float64, 16), (torch.float32, 24)])
def test_other_types_and_widths_keep_the_form_in_pytorch(dtype, width):
    assert backend_for(torch.zeros(1, 1, 1, width, dtype=dtype)).name == "torch_cpu"
    assert backend_for(torch.zeros(1, 1, 1, 16)).name == "compiled"


@pytest.mark.parametrize(("dtype", "width"), [(torch.float16, 16), (torch.bfloat16, 16), *TILES])
def test_half_types_stay_finite_where_nothing_is_read(dtype, width):
    ids = torch.tensor([[1, 1, 1, 2, 2], [0, 0, 0, 0, 0]])
    halves = [leaf.detach().to(dtype).requires_grad_() for leaf in random_leaves(*[(2, 2, 5, width)] * 3)]
    singles = [leaf.detach().float().requires_grad_() for leaf in halves]
    indices = torch.randint(0, 2, (2, 2, 5, 1))
    outputs = [
        attend_selected_sentences(*some, ids, indices, indices.float(), kernel="grouped") for some in (halves, singles)
    ]
    assert outputs[0].dtype == dtype
    assert (outputs[0][1] == 0).all()
    grads = [gradients(output, leaves) for output, leaves in zip(outputs, (halves, singles), strict=True)]
    torch.testing.assert_close(outputs[0], outputs[1].to(dtype), rtol=2e-2, atol=2e-2)
    torch.testing.assert_close(grads[0], tuple(some.to(dtype) for some in grads[1]), rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize(("dtype", "width"), [(torch.float32, 16), *TILES])
def test_large_logits_and_scores_stay_finite(dtype, width):
    ids = torch.tensor([[1, 1, 2, 2]])
    query, key, value = (
        (factor * leaf.detach()).to(dtype).requires_grad_()
        for factor, leaf in zip((100, 100, 1), random_leaves(*[(1, 1, 4, width)] * 3), strict=True)
    )
    chosen = torch.tensor([0, 1]).expand(1, 1, 4, 2), torch.tensor([300.0, -300.0]).expand(1, 1, 4, 2)
    output = attend_selected_sentences(query, key, value, ids, *chosen, kernel="grouped")
    slow = selected_attention_reference(*(part.double() for part in (query, key, value)), ids, *chosen)
    tolerance = 50 * TOLERANCES[torch.float32] if dtype == torch.float32 else TOLERANCES[dtype]
    torch.testing.assert_close(output, slow, rtol=tolerance, atol=tolerance, check_dtype=False)
    assert all(torch.isfinite(part).all() for part in grad(output.sum(), (query, key, value)))


# Dropout


def attend_with_dropout(query, key, value, ids, dropout):
    numbers, scores = torch.ones(*query.shape[:3], 1, dtype=torch.int64), torch.zeros(*query.shape[:3], 1)
    return compiled.CompiledAttention.apply(
        query, key, value, scores, numbers, rank_sentences(ids), None, 0.25, dropout
    )


def test_dropout_drops_the_asked_share_of_weights_and_scales_the_others():
    num_tokens = 256
    ids = torch.ones(1, num_tokens, dtype=torch.int64)
    query, key = (torch.zeros(1, 2, num_tokens, num_tokens) for _ in range(2))
    value = torch.eye(num_tokens).expand(1, 2, -1, -1)  # so that outputs are weights
    weights = attend_with_dropout(query, key, value, ids, Dropout(0.25, 7)) * num_tokens
    kept = weights[weights > 0]
    torch.testing.assert_close(kept, torch.full_like(kept, 4 / 3))
    # 131,072 weights: the standard deviation of the share is 0.0012.
    assert (weights == 0).float().mean().item() == pytest.approx(0.25, abs=0.006)
    for left, right in ((weights[0, 0], weights[0, 1]), (weights[0, 0, :128], weights[0, 0, 128:])):
        assert ((left == 0) & (right == 0)).float().mean().item() == pytest.approx(0.0625, abs=0.006)
    other = attend_with_dropout(query, key, value, ids, Dropout(0.25, 8)) * num_tokens
    assert ((weights == 0) & (other == 0)).float().mean().item() == pytest.approx(0.0625, abs=0.006)


def test_the_backward_pass_drops_the_same_weights():
    num_tokens, width = 40, 48
    ids = torch.ones(1, num_tokens, dtype=torch.int64)
    query, key, value = random_leaves(*[(1, 2, num_tokens, width)] * 3)
    dropout = Dropout(0.4, 11)
    output = attend_with_dropout(query, key, value, ids, dropout)
    basis = torch.eye(num_tokens, width).expand(1, 2, -1, -1)
    dropped, kept = (
        attend_with_dropout(query, key, basis, ids, some)[..., :num_tokens] for some in (dropout, Dropout(0.0, 0))
    )
    factors = (dropped / kept).detach().double()
    doubles = [leaf.detach().double().requires_grad_() for leaf in (query, key, value)]
    weights = (doubles[0] @ doubles[1].transpose(2, 3) * 0.25).softmax(-1)
    assert_equal(output, (weights * factors) @ doubles[2], (query, key, value), doubles)


# Selection


@pytest.mark.parametrize(
    ("dtype", "num_queries"),
    [*((dtype, 11) for dtype in TOLERANCES), (torch.float32, compiled.MIN_QUERIES_WITH_TILES + 3)],
)
@pytest.mark.parametrize("t", [1, 2, 3, 4, 5, 6, 7, 8, 9, 40])
@pytest.mark.parametrize("num_sentences", [1, 5, 16, 37])
def test_selection_equals_the_loop_in_indices_scores_and_gradients(num_sentences, t, dtype, num_queries):
    batch_size, width = 2, 32
    leaves = random_leaves((batch_size, 2, num_queries, width), (batch_size, 2, num_sentences, width))
    leaves = [leaf.detach().to(dtype).requires_grad_() for leaf in leaves]
    doubles = [leaf.detach().double().requires_grad_() for leaf in leaves]
    mask = torch.rand(batch_size, num_sentences) < 0.8
    own = torch.randint(0, num_sentences + 1, (batch_size, num_queries))
    choosable = torch.randint(-1, num_sentences + 1, (batch_size, num_queries))  # -1: padding, before all sentences
    near = {"query_sentence_ids": torch.randint(1, num_sentences + 1, (batch_size, num_queries)), "slope": 0.6}
    of_both = {"own_sentence_ids": own, "num_choosable": choosable, **near}
    for limits in ({}, {"own_sentence_ids": own}, {"num_choosable": choosable}, near, of_both):
        fast = scores_by_sentence(*select_by_relevance(*leaves, mask, t, **limits), num_sentences)
        slow = select_by_relevance_reference(*doubles, mask, t, **limits)
        torch.testing.assert_close(fast, slow, rtol=2e-5, atol=2e-5, check_dtype=False)  # in float32 for all types
        assert_equal(fast, slow, leaves, doubles, TOLERANCES[dtype])


@pytest.mark.parametrize(("dtype", "width"), [(torch.float32, 16), *TILES])
@pytest.mark.parametrize("t", [1, 3, 8, 10])
def test_of_equal_sentences_the_first_are_selected(t, dtype, width):
    query, key = torch.ones(1, 1, 9, width, dtype=dtype), torch.ones(1, 1, 70, width, dtype=dtype)
    key[:, :, [3, 20, 21, 40]] = 2.0
    key[:, :, 35] = 3.0  # pushes sentence 3 from the first place of the same lane
    indices = select_by_relevance(query, key, torch.ones(1, 70, dtype=torch.bool), t)[0]
    expected = [35, 3, 20, 21, 40, 0, 1, 2, 4, 5][:t]
    assert indices.sort(-1).values.eq(torch.tensor(sorted(expected))).all()


MANY_SENTENCES = 259  # so many that products of rounded numbers come first, and no multiple of a vector
KEYS_OF_MANY = {
    "any": lambda key: key,
    "far from zero": lambda key: key + 100.0,
    "one that is long": lambda key: key * torch.where(torch.arange(MANY_SENTENCES) == 7, 1e4, 1.0)[:, None],
    "alike": lambda key: 1.0 + 1e-4 * key,
    "each four times": lambda key: key[..., torch.arange(MANY_SENTENCES) // 4, :],
    "zeros": torch.zeros_like,
}


@pytest.mark.parametrize("t", [1, 4, 8])
@pytest.mark.parametrize(("dtype", "width"), [(torch.float32, 16), (torch.float32, 64), *TILES])
@pytest.mark.parametrize("keys", KEYS_OF_MANY)
def test_selection_among_many_sentences_gives_the_largest_products(keys, dtype, width, t):
    query, key = (leaf.detach() for leaf in random_leaves((2, 2, 131, width), (2, 2, MANY_SENTENCES, width)))
    query, key, numbers = query.to(dtype), KEYS_OF_MANY[keys](key).to(dtype), torch.arange(MANY_SENTENCES)
    mask = torch.rand(2, MANY_SENTENCES) < torch.tensor([[0.9], [0.02]])
    own, choosable = (torch.randint(-1, MANY_SENTENCES + 1, (2, 131)) for _ in range(2))
    close = {"rtol": 1e-5, "atol": 1e-5 * key.abs().max().item(), "check_dtype": False}
    all_products = (query.double()[..., None, :] * key.double()[:, :, None]).sum(-1) * width**-0.5
    query_ids, slope = torch.randint(1, MANY_SENTENCES + 1, (2, 131)), 0.01
    between = ((numbers - query_ids[..., None] + 1).abs() - 1).clamp(min=0)[:, None]
    near = {"query_sentence_ids": query_ids, "slope": slope}
    for limits in ({}, {"own_sentence_ids": own.clamp(min=0)}, {"num_choosable": choosable}, near):
        indices, scores = select_by_relevance(query, key, mask, t, **limits)
        products = all_products.masked_fill(~mask[:, None, None], -torch.inf)
        if "num_choosable" in limits:
            products = products.masked_fill((numbers >= choosable[..., None])[:, None], -torch.inf)
        is_filled = scores > -torch.inf
        torch.testing.assert_close(scores, products.gather(-1, indices).masked_fill(~is_filled, -torch.inf), **close)
        if "slope" in limits:
            products = products - slope * between
        if "own_sentence_ids" in limits:
            is_own = (numbers == own[..., None] - 1)[:, None] & (products > -torch.inf)
            products = products.masked_fill(is_own, torch.inf)
        chosen = products.gather(-1, indices).masked_fill(~is_filled, -torch.inf).sort(-1, descending=True).values
        best = products.sort(dim=-1, descending=True, stable=True)
        torch.testing.assert_close(chosen, best.values[..., :t], **close)
        names = indices.masked_fill(~is_filled, -1).sort(-1).values
        assert ((names.diff(dim=-1) > 0) | (names[..., 1:] == -1)).all()  # none twice
        if keys in ("each four times", "zeros"):  # of equal ones the first
            firsts = best.indices[..., :t].masked_fill(best.values[..., :t] == -torch.inf, -1)
            torch.testing.assert_close(names, firsts.sort(-1).values)


@pytest.mark.parametrize(("dtype", "width"), [(torch.float32, 16), *TILES])
@pytest.mark.parametrize("number", [torch.nan, torch.inf, -torch.inf])
def test_numbers_that_are_none_change_nothing_for_others(number, dtype, width):
    leaves = random_leaves((1, 1, 70, width), (1, 1, MANY_SENTENCES, width))
    query, key = (leaf.detach().to(dtype) for leaf in leaves)
    is_other = torch.arange(MANY_SENTENCES)[None] != 5
    expected = select_by_relevance(query, key, is_other, 4)[0].sort(-1).values
    key[0, 0, 5] = number
    torch.testing.assert_close(select_by_relevance(query, key, is_other, 4)[0].sort(-1).values, expected)
    query[0, 0, 5, 3] = number
    found = select_by_relevance(query, key, is_other, 4)[0].sort(-1).values
    torch.testing.assert_close(found[..., is_other[0, :70], :], expected[..., is_other[0, :70], :])
    if number != number:  # a sentence that may be chosen and has no number for a key is not hidden
        query[0, 0, 5, 3] = 0.0
        assert select_by_relevance(query, key, torch.ones_like(is_other), 4)[1].isnan().any(-1).all()


@pytest.mark.parametrize("selection", ["cumulative", "node"])
@pytest.mark.parametrize("t", [1, 2, 3, 5, 9, 14])
@pytest.mark.parametrize("num_sentences", [1, 2, 7, 13, 70])
def test_the_walk_down_the_tree_equals_the_loop(num_sentences, t, selection):
    sizes = [num_sentences]
    while sizes[-1] > 1:
        sizes.append((sizes[-1] + 1) // 2)
    leaves = random_leaves((2, 2, 5, 16), *[(2, 2, size, 16) for size in sizes])
    doubles = [leaf.detach().double().requires_grad_() for leaf in leaves]
    masks = [torch.arange(num_sentences) < torch.tensor([[num_sentences], [max(num_sentences - 3, 1)]])]
    while masks[-1].shape[1] > 1:
        padded = torch.nn.functional.pad(masks[-1], (0, masks[-1].shape[1] % 2))
        masks.append(padded[:, 0::2] | padded[:, 1::2])
    for own in (None, torch.randint(0, num_sentences + 2, (2, 5))):
        indices, scores = traverse_tree(leaves[0], leaves[1:], masks, t, selection, own_sentence_ids=own)
        is_filled = scores > -torch.inf
        assert (indices.diff(dim=-1)[is_filled[..., 1:]] > 0).all()
        fast = scores_by_sentence(indices, scores, num_sentences)
        slow = traverse_tree_reference(doubles[0], doubles[1:], masks, t, selection, own)
        assert_equal(fast, slow, leaves, doubles)


@pytest.mark.parametrize("t", [1, 4, 9])
def test_of_nodes_that_are_equally_relevant_the_walk_keeps_the_first(t):
    query, keys = torch.ones(1, 1, 1, 16), [torch.ones(1, 1, size, 16) for size in (40, 20, 10, 5, 3, 2, 1)]
    masks = [torch.ones(1, some.shape[2], dtype=torch.bool) for some in keys]
    for selection in ("cumulative", "node"):
        assert traverse_tree(query, keys, masks, t, selection)[0].tolist() == [[[list(range(t))]]]


def spoilt_walk(number: float, width: int = 16, num_sentences: int = 40):
    """A query and keys with this number in some places, and the masks of all levels."""
    sizes = [num_sentences]
    while sizes[-1] > 1:
        sizes.append((sizes[-1] + 1) // 2)
    leaves = random_leaves((1, 2, 20, width), *[(1, 2, size, width) for size in sizes])
    query, *keys = (leaf.detach() for leaf in leaves)
    query[:, 0, 3, 5] = number
    keys[0][:, :, [5, 17, 30]] = number
    keys[2][:, 1, 3, 2] = number
    return query, keys, [torch.ones(1, size, dtype=torch.bool) for size in sizes]


@pytest.mark.parametrize("has_own", [False, True], ids=["", "own"])
@pytest.mark.parametrize("t", [1, 4, 9])  # up to 8, several queries walk together
@pytest.mark.parametrize("number", [torch.nan, torch.inf, -torch.inf])
def test_nodes_without_a_finite_score_rank_as_in_the_plain_form(number, t, has_own):
    query, keys, masks = spoilt_walk(number)
    own = torch.arange(1, 21)[None] if has_own else None
    indices, is_kept = sentence_tree.search_tree(query, keys, masks, t, own)
    for backend in (compiled, tree_search):
        found = backend.search_tree(query, keys, masks, t, own)
        torch.testing.assert_close(found, (indices, is_kept), rtol=0, atol=0)


@pytest.mark.parametrize("t", [1, 4, 9])
def test_a_nan_changes_no_walk_but_those_that_meet_it_and_is_kept_by_them(t):
    sizes = (40, 20, 10, 5, 3, 2, 1)
    query, *keys = (leaf.detach() for leaf in random_leaves((1, 2, 20, 16), *[(1, 2, size, 16) for size in sizes]))
    masks = [torch.ones(1, size, dtype=torch.bool) for size in sizes]
    expected = traverse_tree(query, keys, masks, t)
    query[:, :, 3] = torch.nan
    indices, scores = traverse_tree(query, keys, masks, t)
    is_other = torch.arange(20) != 3
    torch.testing.assert_close(indices[:, :, is_other], expected[0][:, :, is_other])
    torch.testing.assert_close(scores[:, :, is_other], expected[1][:, :, is_other])
    assert ((indices >= 0) & (indices < 40)).all()
    spoilt = [keys[0].index_fill(2, torch.tensor(17), torch.nan), *keys[1:]]
    for selection in ("cumulative", "node"):
        before = traverse_tree(query, keys, masks, t, selection)[0]
        after = traverse_tree(query, spoilt, masks, t, selection)[0]
        # Every walk that kept leaf 17 met it, and still keeps it.
        keeps = (after == 17).any(-1, keepdim=True)
        assert keeps[(before == 17).any(-1, keepdim=True)].all()
        assert (after == before)[~keeps.expand_as(before)].all()


def test_relevance_of_sentences_named_twice_adds_up_in_the_gradient():
    leaves = random_leaves((2, 3, 5, 32), (2, 3, 4, 32))
    doubles = [leaf.detach().double().requires_grad_() for leaf in leaves]
    indices = torch.randint(0, 4, (2, 3, 5, 6))
    fast, slow = (relevance_of_selected(*some, indices) for some in (leaves, doubles))
    assert_equal(fast, slow, leaves, doubles)


# The whole model, and building


@pytest.mark.parametrize("attention", ["conditional", "hierarchical"])
def test_a_model_computes_the_same_with_it_and_without(attention):
    slots = {"encoder_self_attention": attention, "cross_attention": attention, "decoder_self_attention": "conditional"}
    model = tiny_model(**slots, d_model=32, decoder_attention_heads=2)
    model.float().train()
    inputs = window_inputs(SOURCES, SOURCES)
    losses = {}
    for name in ("compiled", "not compiled"):
        model.zero_grad()
        losses[name] = model(**inputs).loss
        losses[name].backward()
        losses[f"{name} gradients"] = [weight.grad.clone() for weight in model.parameters() if weight.grad is not None]
        unregister_backend("compiled")
    torch.testing.assert_close(losses["compiled"], losses["not compiled"], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(losses["compiled gradients"], losses["not compiled gradients"], rtol=1e-4, atol=1e-5)


def test_the_library_is_built_once(tmp_path, monkeypatch):
    monkeypatch.setenv("HIER_NMT_CACHE", str(tmp_path))
    path = compiled.library_path()
    compiled.build(path)
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    monkeypatch.setenv("CXX", "another-compiler")
    assert compiled.library_path() != path


def test_a_compiler_that_is_missing_or_fails_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(RuntimeError, match="no-such-compiler"):
        compiled.build(tmp_path / "library.so")
    monkeypatch.setenv("CXX", "false")
    with pytest.raises(RuntimeError, match=r"false .* failed"):
        compiled.build(tmp_path / "library.so")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("choice", "expected"), [("1", "compiled"), (None, "compiled"), ("0", "torch_cpu")])
def test_what_has_been_compiled_is_used_from_the_import_on_unless_it_is_not_wanted(choice, expected):
    compiled.library()
    assert name_of_backend(choice) == expected


def test_nothing_is_compiled_unasked(tmp_path):
    assert name_of_backend(None, HIER_NMT_CACHE=str(tmp_path)) == "torch_cpu"
    assert list(tmp_path.iterdir()) == []


def test_a_library_that_cannot_be_loaded_is_named_and_not_used(tmp_path, monkeypatch):
    monkeypatch.setenv("HIER_NMT_CACHE", str(tmp_path))
    compiled.library_path().write_bytes(b"cut off")
    process = new_process(None, HIER_NMT_CACHE=str(tmp_path))
    assert process.stdout.strip() == "torch_cpu"
    assert f"not used; remove {compiled.library_path()}: " in process.stderr


def name_of_backend(choice, **variables):
    """The backend that is used in a new process under the given HIER_NMT_COMPILED_ATTENTION."""
    return new_process(choice, **variables).stdout.strip()


def new_process(choice, **variables):
    """A process that imported the package and printed the name of its backend."""
    code = (
        "import hier_nmt, torch; from hier_nmt.ops.backends import backend_for;"
        "print(backend_for(torch.zeros(1, 1, 1, 16)).name)"
    )
    environment = {name: value for name, value in os.environ.items() if name != "HIER_NMT_COMPILED_ATTENTION"}
    environment |= variables if choice is None else {"HIER_NMT_COMPILED_ATTENTION": choice}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)


def test_the_command_compiles_once(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HIER_NMT_CACHE", str(tmp_path))
    compiled.library.cache_clear()
    assert main(["compile"]) == 0
    assert capsys.readouterr().out == f"compiled: {compiled.library_path()}\n"
    assert main(["compile"]) == 0
    assert capsys.readouterr().out == f"compiled before: {compiled.library_path()}\n"
    compiled.library.cache_clear()
