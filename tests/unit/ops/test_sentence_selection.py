# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The t most relevant sentences are those that all scores, sorted, would give; and all scores are never held."""

import math

import pytest
import torch
from largest_tensor import LargestTensor
from references import scores_by_sentence, select_by_relevance_reference

from hier_nmt.kernels.torch_cpu import sentence_search, stable_topk
from hier_nmt.ops.sentence_selection import keep_top_t, select_by_relevance, select_top_sentences
from hier_nmt.ops.sentence_tree import traverse_tree

NO = -math.inf
# Three documents: full, padded, with a sentence without tokens; and one that has no sentences at all.
MASK = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [1, 0, 1, 1, 0], [0, 0, 0, 0, 0]]).bool()
OWN = torch.tensor([[1, 5, 3], [2, 1, 4], [2, 3, 0], [1, 1, 1]])
CHOOSABLE = torch.tensor([[0, 4, 2], [1, 2, 0], [5, 3, 1], [0, 1, 5]])


def assert_same_scores_and_gradients(fast, slow, leaves):
    """Scores are equal, minus infinities too, and so are the gradients of a weighting of the others."""
    torch.testing.assert_close(fast, slow, rtol=1e-10, atol=1e-10)
    weighting = torch.linspace(-1, 2, fast.numel(), dtype=fast.dtype).view_as(fast)
    gradients = []
    for scores in (fast, slow):
        finite = torch.where(scores > NO, scores, 0.0)
        gradients.append(torch.autograd.grad((finite * weighting).sum(), leaves, allow_unused=True))
    for of_fast, of_slow, leaf in zip(*gradients, leaves, strict=True):
        expected = torch.zeros_like(leaf) if of_slow is None else of_slow
        torch.testing.assert_close(of_fast, expected, rtol=1e-10, atol=1e-10)


# Of scores


@pytest.mark.parametrize(
    ("row", "t", "kept"),
    [
        ([1, 5, 3, 4], 2, [NO, 5, NO, 4]),
        ([1, 3, NO, 3, 3], 2, [NO, 3, NO, 3, NO]),
        ([2, 2, 2], 1, [2, NO, NO]),
        ([1, NO, 2], 3, [1, NO, 2]),
        ([1, 2], 5, [1, 2]),
        ([NO, NO], 1, [NO, NO]),
        ([-7], 1, [-7]),
    ],
)
def test_keep_top_t_keeps_the_t_highest_and_of_equal_ones_the_first(row, t, kept):
    scores = torch.tensor([row, row[:1] * len(row)], dtype=torch.float32)
    assert keep_top_t(scores, t)[0].tolist() == kept
    # A row of equal scores keeps exactly its first t.
    assert keep_top_t(scores, t)[1].tolist() == [row[0] if index < t else NO for index in range(len(row))]


@pytest.mark.parametrize(
    ("row", "t", "indices", "best"),
    [
        ([1, 5, 3, 4], 2, [1, 3], [5, 4]),
        ([1, 3, NO, 3, 3], 2, [1, 3], [3, 3]),
        ([1, NO, 2], 3, [2, 0, 0], [2, 1, NO]),
        ([1, 2], 4, [1, 0, 0, 0], [2, 1, NO, NO]),
        ([NO, NO], 1, [0], [NO]),
        ([-7], 1, [0], [-7]),
    ],
)
def test_selected_sentences_are_best_first_and_unfilled_places_score_minus_infinity(row, t, indices, best):
    found = select_top_sentences(torch.tensor([[row]], dtype=torch.float64), t)
    assert found[0].tolist() == [[indices]]
    assert found[1].tolist() == [[best]]


@pytest.mark.parametrize("t", [0, -1])
def test_selecting_less_than_one_sentence_is_an_error(t):
    states, mask = torch.zeros(1, 2, 3, 4), torch.ones(1, 3, dtype=torch.bool)
    for select in (
        lambda: keep_top_t(torch.zeros(2, 3), t),
        lambda: select_top_sentences(torch.zeros(2, 3), t),
        lambda: select_by_relevance(states, states, mask, t),
        lambda: traverse_tree(states, [states], [mask], t),
    ):
        with pytest.raises(ValueError, match=f"t={t} sentences cannot be selected"):
            select()


def test_without_sentences_no_place_is_filled():
    indices, scores = select_top_sentences(torch.zeros(2, 0), 2)
    assert indices.tolist() == [[0, 0]] * 2
    assert scores.tolist() == [[NO, NO]] * 2


@pytest.mark.parametrize("t", [1, 2, 5, 9])
def test_selected_scores_stand_for_what_keep_top_t_keeps_with_its_gradients(t):
    torch.manual_seed(2)
    scores = torch.randint(-2, 3, (4, 3, 5)).double().masked_fill(~MASK[:, None], NO).requires_grad_()
    assert_same_scores_and_gradients(
        scores_by_sentence(*select_top_sentences(scores, t), 5), keep_top_t(scores, t), [scores]
    )


# Of relevance


@pytest.fixture
def searching_as_many(monkeypatch):
    """All queries are searched for as many are."""
    monkeypatch.setattr(sentence_search, "FEW_QUERIES", 0)
    monkeypatch.setattr(sentence_search, "FEW_SCORES", 0)


@pytest.fixture(params=["few", "few of many documents", "many"])
def each_search(request, monkeypatch):
    """All queries are searched for as few, whose scores are few or many, and as many are."""
    if request.param == "many":
        request.getfixturevalue("searching_as_many")
        return
    monkeypatch.setattr(sentence_search, "FEW_SCORES", 2**30)
    if request.param != "few":
        monkeypatch.setattr(stable_topk, "FEW_SCORES", 0)
        monkeypatch.setattr(stable_topk, "FEW_ROWS", 0)


def query_and_key(num_queries=3, num_sentences=5, num_heads=2, width=4, dtype=torch.float64):
    torch.manual_seed(3)
    shapes = [(len(MASK), num_heads, num_queries, width), (len(MASK), num_heads, num_sentences, width)]
    return [torch.randn(shape, dtype=dtype).requires_grad_() for shape in shapes]


@pytest.mark.usefixtures("each_form_of_relevance", "each_search")
@pytest.mark.parametrize("own", [None, OWN], ids=["", "own"])
@pytest.mark.parametrize("choosable", [None, CHOOSABLE], ids=["", "choosable"])
@pytest.mark.parametrize("t", [1, 2, 3, 5, 8])
def test_selection_by_relevance_equals_the_loop_in_values_and_gradients(t, choosable, own):
    query, key = query_and_key()
    options = {"own_sentence_ids": own, "num_choosable": choosable}
    indices, scores = select_by_relevance(query, key, MASK, t, **options)
    assert indices.shape == scores.shape == (4, 2, 3, t)
    assert (indices[scores == NO] == 0).all()
    fast = scores_by_sentence(indices, scores, 5)
    assert_same_scores_and_gradients(fast, select_by_relevance_reference(query, key, MASK, t, **options), [query, key])


@pytest.mark.usefixtures("each_form_of_relevance", "each_search")
@pytest.mark.parametrize("own", [None, OWN], ids=["", "own"])
@pytest.mark.parametrize("choosable", [None, CHOOSABLE], ids=["", "choosable"])
@pytest.mark.parametrize("slope", [0.3, 5])
@pytest.mark.parametrize("t", [1, 2, 8])
def test_near_sentences_are_preferred_and_scores_are_as_they_were(t, slope, choosable, own):
    query, key = query_and_key()
    query_ids = torch.tensor([[1, 3, 5]]).expand(4, 3)
    options = {"own_sentence_ids": own, "num_choosable": choosable, "query_sentence_ids": query_ids, "slope": slope}
    fast = scores_by_sentence(*select_by_relevance(query, key, MASK, t, **options), 5)
    assert_same_scores_and_gradients(fast, select_by_relevance_reference(query, key, MASK, t, **options), [query, key])


def test_with_a_steep_slope_the_nearest_sentences_are_selected():
    query, key = query_and_key(num_queries=1, num_sentences=9)
    indices, _ = select_by_relevance(
        query, key, torch.ones(4, 9).bool(), 3, query_sentence_ids=torch.full((4, 1), 7), slope=1e3
    )
    assert (indices.sort(-1).values == torch.tensor([5, 6, 7])).all()
    with pytest.raises(ValueError, match=r"^slope=0.5 needs query_sentence_ids\.$"):
        select_by_relevance(query, key, torch.ones(4, 9).bool(), 3, slope=0.5)


@pytest.mark.usefixtures("each_search")
@pytest.mark.parametrize("t", [1, 2, 5, 8])
def test_selection_by_relevance_equals_keep_top_t_of_all_relevances(t):
    query, key = query_and_key()
    relevance = (query @ key.transpose(2, 3) / math.sqrt(4)).masked_fill(~MASK[:, None, None, :], NO)
    fast = scores_by_sentence(*select_by_relevance(query, key, MASK, t), 5)
    assert_same_scores_and_gradients(fast, keep_top_t(relevance, t), [query, key])


@pytest.mark.usefixtures("each_search")
def test_own_sentence_is_always_one_of_the_t_if_it_may_be_chosen():
    query, key = query_and_key(num_queries=40)
    own = torch.arange(1, 6).repeat(4, 8)
    for t in (1, 2, 4):
        scores = scores_by_sentence(*select_by_relevance(query, key, MASK, t, own_sentence_ids=own), 5)
        is_kept = (scores > NO).gather(-1, (own - 1)[:, None, :, None].expand(-1, 2, -1, 1))[..., 0]
        assert torch.equal(is_kept, MASK.gather(1, own - 1)[:, None].expand_as(is_kept))
        assert ((scores > NO).sum(-1) == MASK.sum(-1)[:, None, None].clamp_max(t)).all()


@pytest.mark.usefixtures("each_search")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_of_sentences_with_equal_keys_the_first_are_chosen(dtype):
    query, key = query_and_key(dtype=dtype)
    key = key[:, :, :1].expand(-1, -1, 5, -1)
    indices, scores = select_by_relevance(query, key, MASK, 2)
    expected = torch.tensor([[0, 1], [0, 1], [0, 2]])[:, None, None, :].expand(-1, 2, 3, -1)
    assert torch.equal(indices[:3].sort(-1).values, expected)
    assert (scores[:3] > NO).all()
    assert (scores[3] == NO).all()


@pytest.mark.usefixtures("each_search")
def test_negative_and_positive_zeros_are_equal_scores():
    query = torch.ones(1, 1, 1, 1)
    key = torch.tensor([-0.0, -1.0, 0.0, -0.0, 0.0])[None, None, :, None]
    indices, _ = select_by_relevance(query, key, torch.ones(1, 5).bool(), 2)
    assert sorted(indices.flatten().tolist()) == [0, 2]


def all_chosen(query, key, mask, t):
    """Which sentences a stable sort of exact scores chooses: boolean [B, H, Q, N]."""
    scores = (query.double() @ key.double().transpose(2, 3)).masked_fill(~mask[:, None, None, :], NO)
    return keep_top_t(scores, t) > NO


@pytest.mark.usefixtures("each_search")
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("width", [4, 8, 12, 32])
def test_equal_products_are_a_tie_whatever_the_width(width, dtype):
    torch.manual_seed(0)
    query, key = (torch.randint(-2, 3, (1, 4, num, width)).to(dtype) for num in (50, 40))
    indices, scores = select_by_relevance(query, key, torch.ones(1, 40, dtype=torch.bool), 3)
    products = (query @ key.transpose(2, 3)).long()
    first = sorted(range(40), key=lambda sentence: (-products[0, 2, 7, sentence].item(), sentence))[:3]
    assert sorted(indices[0, 2, 7].tolist()) == sorted(first)
    expected = products.argsort(dim=-1, descending=True, stable=True)[..., :3].sort(-1).values
    assert torch.equal(indices.sort(-1).values, expected)
    torch.testing.assert_close(scores, products.gather(-1, indices).to(dtype) / math.sqrt(width))


@pytest.mark.usefixtures("each_search")
def test_relevance_that_is_nan_is_not_hidden():
    states = torch.randn(1, 2, 5, 16, requires_grad=True)
    mask = torch.ones(1, 5, dtype=torch.bool)
    for query, key in ((states * math.nan, states), (states, states * math.nan)):
        assert select_by_relevance(query, key, mask, 2)[1].isnan().all()
    assert select_top_sentences(torch.tensor([math.nan, 1.0]), 1)[1].isnan().all()


@pytest.mark.usefixtures("each_form_of_relevance", "each_search")
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("num_sentences", [9, 300])
@pytest.mark.parametrize("nan", [math.nan, -math.nan])  # which have bits of their own
def test_a_sentence_key_with_nan_is_selected_where_it_may_be(nan, num_sentences, dtype):
    query = torch.randn(1, 2, 8, 16, dtype=dtype)
    key = torch.randn(1, 2, num_sentences, 16, dtype=dtype)
    mask = torch.ones(1, num_sentences, dtype=torch.bool)
    expected = select_by_relevance(query, key[:, :, :6], mask[:, :6], 3)
    key[:, :, 6, 4] = nan
    assert select_by_relevance(query, key, mask, 3)[1].isnan().sum(-1).eq(1).all()
    # What may not be chosen has no effect.
    num_choosable = torch.tensor([[6, 7] * 4])
    near = {"query_sentence_ids": torch.full((1, 8), 2), "slope": 0.5}
    scores = select_by_relevance(query, key, mask, 3, num_choosable=num_choosable, **near)[1]
    assert scores.isnan().any(-1).eq(num_choosable[:, None] == 7).all()
    mask[:, 6:] = False
    found = select_by_relevance(query, key, mask, 3)
    assert torch.equal(found[0].sort(-1).values, expected[0].sort(-1).values)
    torch.testing.assert_close(found[1].sort(-1).values, expected[1].sort(-1).values)
    leaves = [query.requires_grad_(), key.requires_grad_()]
    gradients = torch.autograd.grad(select_by_relevance(*leaves, mask, 3)[1].sum(), leaves)
    assert all(gradient.isfinite().all() for gradient in gradients)


@pytest.mark.usefixtures("each_search")
@pytest.mark.parametrize("has_ties", [False, True], ids=["distinct", "ties"])
@pytest.mark.parametrize("num_sentences", [1, 5, 511, 512, 600])
def test_of_many_sentences_the_same_are_chosen_in_float32(num_sentences, has_ties):
    # Whole numbers of width 4 = 2 * 2: every score is exact.
    torch.manual_seed(4)
    if has_ties:
        query, key = torch.randint(-1, 2, (2, 2, 20, 4)), torch.randint(-1, 2, (2, 2, num_sentences, 4))
    else:
        query, key = torch.randint(1, 4, (2, 2, 20, 4)), torch.ones(2, 2, num_sentences, 4, dtype=torch.long)
        query[..., 0] *= 1 - 2 * torch.randint(0, 2, query.shape[:3])  # the order of keys, and that backwards
        key[..., 0] = torch.stack([torch.randperm(num_sentences) for _ in range(4)]).view(2, 2, -1)
    mask = torch.ones(2, num_sentences).bool()
    mask[1] = torch.rand(num_sentences) < 0.7
    for t in (1, 4, 17, 40, num_sentences):
        indices, scores = select_by_relevance(query.float(), key.float(), mask, t)
        chosen = scores_by_sentence(indices, scores, num_sentences) > NO
        assert torch.equal(chosen, all_chosen(query, key, mask, t))


@pytest.mark.usefixtures("each_form_of_relevance", "each_search")
@pytest.mark.parametrize("own", [False, True], ids=["", "own"])
@pytest.mark.parametrize("num_sentences", [5, 511, 600])
def test_of_many_sentences_near_ones_are_preferred(num_sentences, own):
    # Whole numbers of width 4 = 2 * 2 and a slope of a half: every score is exact, and many are equal.
    torch.manual_seed(4)
    query, key = torch.randint(-3, 4, (2, 2, 20, 4)).float(), torch.randint(-3, 4, (2, 2, num_sentences, 4)).float()
    mask, query_ids = torch.rand(2, num_sentences) < 0.7, torch.randint(1, num_sentences + 1, (2, 20))
    choosable = torch.randint(num_sentences // 2, num_sentences + 1, (2, 20))
    options = {"query_sentence_ids": query_ids, "slope": 0.5, "num_choosable": choosable}
    options |= {"own_sentence_ids": query_ids} if own else {}
    numbers = torch.arange(num_sentences)
    may_choose = (mask[:, None] & (numbers < choosable[..., None]))[:, None]
    relevance = (query @ key.transpose(2, 3) / 2).masked_fill(~may_choose, NO)
    distance = (numbers - query_ids[..., None] + 1).abs()[:, None]
    ranked = relevance - 0.5 * (distance - 1).clamp(min=0)
    if own:
        ranked = ranked.masked_fill((distance == 0) & may_choose, math.inf)
    for t in (1, 4, 17):
        scores = scores_by_sentence(*select_by_relevance(query, key, mask, t, **options), num_sentences)
        torch.testing.assert_close(scores, relevance.masked_fill(keep_top_t(ranked, t) == NO, NO), rtol=0, atol=0)


@pytest.mark.usefixtures("each_search")
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("num_sentences", [9, 70, 300])
def test_scores_that_differ_in_their_last_digit_are_told_apart(num_sentences, sign):
    torch.manual_seed(5)
    query, key = torch.zeros(1, 2, 30, 4), torch.zeros(1, 2, num_sentences, 4)
    query[..., 0] = 1
    digits = torch.stack([torch.randperm(num_sentences), torch.randint(num_sentences // 2, (num_sentences,))])
    key[0, ..., 0] = sign * (1 + digits * torch.finfo(torch.float32).eps)
    mask = torch.ones(1, num_sentences).bool()
    for t in (1, 3, 8):
        indices, scores = select_by_relevance(query, key, mask, t)
        chosen = scores_by_sentence(indices, scores, num_sentences) > NO
        assert torch.equal(chosen, all_chosen(query, key, mask, t))


@pytest.mark.usefixtures("each_search")
def test_half_types_are_scored_in_float32():
    query, key = query_and_key(dtype=torch.bfloat16)
    indices, scores = select_by_relevance(query, key, MASK, 2)
    expected = select_by_relevance(query.float(), key.float(), MASK, 2)
    assert scores.dtype == torch.float32
    torch.testing.assert_close((indices, scores), expected)
    # 256 and 257 are one number in bfloat16, and their products with 1 would be a tie that the first wins.
    query, key = torch.ones(1, 1, 1, 2).bfloat16(), torch.tensor([[256.0, 0.0], [256.0, 1.0]])[None, None].bfloat16()
    assert select_by_relevance(query, key, torch.ones(1, 2).bool(), 1)[0].item() == 1
    scores[scores > NO].sum().backward()


@pytest.mark.usefixtures("searching_as_many")
def test_a_choice_made_in_parts_equals_the_choice_made_at_once(monkeypatch):
    query, key = query_and_key(num_queries=11)
    numbers = torch.randint(1, 6, (4, 11))
    options = {"own_sentence_ids": numbers, "num_choosable": numbers.flip(1)}
    options |= {"query_sentence_ids": numbers % 5 + 1, "slope": 0.5}
    whole = select_by_relevance(query, key, MASK, 2, **options)
    monkeypatch.setattr(sentence_search, "SCORES_AT_ONCE", 100)
    torch.testing.assert_close(select_by_relevance(query, key, MASK, 2, **options), whole)


def test_no_tensor_holds_the_scores_of_all_queries_and_sentences(monkeypatch):
    chunk_size = 2**16
    monkeypatch.setattr(sentence_search, "SCORES_AT_ONCE", chunk_size)
    num_queries, num_sentences, width = 2000, 700, 8
    query = torch.randn(1, 2, num_queries, width, requires_grad=True)
    key = torch.randn(1, 2, num_sentences, width, requires_grad=True)
    mask = torch.ones(1, num_sentences).bool()
    near = {"query_sentence_ids": torch.arange(num_queries)[None] // 3 + 1, "slope": 0.5}
    with LargestTensor() as largest:
        select_by_relevance(query, key, mask, 3)[1].sum().backward()
        select_by_relevance(query, key, mask, 3, **near)[1].sum().backward()
    # Padded to whole groups of 32 the sentences are 704.
    assert largest.numbers <= chunk_size * 704 / 700
    with LargestTensor() as largest:
        keep_top_t(query @ key.transpose(2, 3), 3)
    assert largest.numbers >= 2 * num_queries * num_sentences
