# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Big Bird: all its forms equal the loop over pairs of tokens, it becomes full attention, and it holds no square."""

import shutil

import pytest
import torch
from independent_han_model import big_bird_sees, random_blocks
from largest_tensor import LargestTensor
from references import attention_reference
from tiny_han_models import tiny_config, tiny_model
from tiny_models import window_inputs

from hier_nmt.attention.attention_plan import AttentionInputs
from hier_nmt.attention.big_bird_attention import BLOCKED_PAYS_FROM, BigBirdAttention
from hier_nmt.attention.multi_head_attention import DocumentAttention
from hier_nmt.ops.big_bird_pattern import BigBirdPattern, BigBirdPlan
from hier_nmt.ops.block_sparse_attention import BlockUnits, blocked_attention
from hier_nmt.ops.document_structure import DocumentStructure

D_MODEL, HEADS = 8, 2
# Numbers of tokens of a batch, and on which side its padding is.
BATCHES = {
    "one token": ([1], False),
    "seven tokens": ([7], False),
    "uneven": ([13, 5, 8, 0], False),
    "padding on the left": ([3, 11], True),
}
PATTERNS = {
    "small": {},
    "no global tokens": {"big_bird_global_tokens": 0},
    "more global tokens than a block": {"big_bird_global_tokens": 5},
    "nothing random": {"big_bird_random_blocks": 0},
    "much random, no window": {"big_bird_random_blocks": 3, "big_bird_window_blocks": 0},
    "blocks of one": {"big_bird_block_size": 1, "big_bird_seed": 7},
    "blocks of three": {"big_bird_block_size": 3},
}


def config_of(**changes):
    sizes = {"d_model": D_MODEL, "encoder_attention_heads": HEADS, "decoder_attention_heads": HEADS}
    small = {"big_bird_block_size": 2, "big_bird_global_tokens": 1, "big_bird_random_blocks": 1}
    config = tiny_config(**{**sizes, **small, "encoder_self_attention": "big_bird", **changes})
    config._attn_implementation = "sdpa"
    return config


def mask_of(lengths: list[int], is_left: bool) -> torch.Tensor:
    longest = max(lengths) + 2
    rows = [[0] * (longest - n) + [1] * n if is_left else [1] * n + [0] * (longest - n) for n in lengths]
    return torch.tensor(rows)


def module_inputs(batch: str, is_causal: bool, kernel: str, **changes):
    """An attention in float64, states [B, S, D] with noise as padding, their plan and their mask [B, S]."""
    torch.manual_seed(2)
    config = config_of(attention_kernel=kernel, **changes)
    module = BigBirdAttention(config, HEADS, D_MODEL // HEADS, layer_idx=1, is_causal=is_causal).double()
    mask = mask_of(*BATCHES[batch])
    states = torch.randn(*mask.shape, D_MODEL, dtype=torch.float64, requires_grad=True)
    structure = DocumentStructure.unstructured(mask)
    plan = BigBirdAttention.plan(AttentionInputs(config, states, mask, structure, structure, is_causal))
    return module, states, plan, mask


def seen(config, mask: torch.Tensor, is_causal: bool, head: int) -> torch.Tensor:
    """Who sees whom in layer 1, pair by pair: boolean [B, S, S]."""
    attend_mask = torch.zeros(*mask.shape, mask.shape[1], dtype=torch.bool)
    for row, is_token in enumerate(mask.tolist()):
        places = [index for index, token in enumerate(is_token) if token]
        for query, query_index in enumerate(places):
            for key, key_index in enumerate(places):
                attend_mask[row, query_index, key_index] = big_bird_sees(
                    config, 1, query, key, head, len(places), is_causal
                )
    return attend_mask


@pytest.mark.parametrize("kernel", ["reference", "grouped"])
@pytest.mark.parametrize("is_causal", [False, True], ids=["source", "target"])
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("batch", BATCHES)
def test_every_form_equals_the_loop_over_pairs_in_values_and_gradients(batch, pattern, is_causal, kernel):
    module, states, plan, mask = module_inputs(batch, is_causal, kernel, **PATTERNS[pattern])
    output = module(states, plan)[0]
    projected = [
        module._split_heads(projection(states)) for projection in (module.q_proj, module.k_proj, module.v_proj)
    ]
    heads = [
        attention_reference(
            *(part[:, [head]] for part in projected), seen(module.config, mask, is_causal, head), module.scaling
        )
        for head in range(HEADS)
    ]
    expected = module.out_proj(torch.cat(heads, dim=1).transpose(1, 2).flatten(2))
    is_token = mask.bool()
    torch.testing.assert_close(output[is_token], expected[is_token], rtol=1e-10, atol=1e-10)
    weighting = torch.randn(output.shape, dtype=torch.float64) * mask[..., None]
    inputs = [states, *module.parameters()]
    both = [torch.autograd.grad((out * weighting).sum(), inputs) for out in (output, expected)]
    torch.testing.assert_close(*both, rtol=1e-9, atol=1e-9)
    assert (both[0][0][~is_token] == 0).all()


@pytest.mark.parametrize("is_causal", [False, True], ids=["source", "target"])
@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_blocks_equal_masking_with_the_same_dropped_weights(dropout, is_causal, monkeypatch):
    # Instead of random numbers: a weight is dropped or not by what it would be without dropout.
    monkeypatch.setattr(torch, "rand_like", lambda weights: (weights * 1000) % 1)
    module, states, plan, mask = module_inputs("uneven", is_causal, "grouped")
    query, key, value = (
        module._split_heads(part(states)).detach().requires_grad_()
        for part in (module.q_proj, module.k_proj, module.v_proj)
    )
    units = BlockUnits.from_plan(plan, 1, HEADS, mask.shape[1])
    output = blocked_attention(query, key, value, units, 0.7, dropout)
    attend_mask = plan.dense_mask(1, HEADS, mask.shape[1])
    if not is_causal:  # these are computed apart
        first = plan.query_positions < module.config.big_bird_global_tokens
        attend_mask = attend_mask & ~first[:, None, :, None]
        output = output * ~first[..., None, None]
    attend_mask = attend_mask & mask[:, None, :, None].bool()
    weights = (query @ key.mT * 0.7).masked_fill(~attend_mask, -torch.inf).softmax(-1).nan_to_num()
    kept = (weights.detach() * 1000) % 1 >= dropout
    expected = ((weights * kept / (1 - dropout)) @ value).transpose(1, 2)
    torch.testing.assert_close(output, expected)
    weighting = torch.randn_like(expected)
    both = [torch.autograd.grad((out * weighting).sum(), [query, key, value]) for out in (output, expected)]
    torch.testing.assert_close(*both)


@pytest.mark.parametrize("is_causal", [False, True], ids=["source", "target"])
@pytest.mark.parametrize("kernel", ["reference", "grouped"])
@pytest.mark.parametrize(
    "everything", [{"big_bird_window_blocks": 7}, {"big_bird_random_blocks": 7}, {"big_bird_block_size": 13}]
)
def test_a_window_over_everything_is_full_attention(everything, kernel, is_causal):
    module, states, plan, mask = module_inputs("uneven", is_causal, kernel, **everything)
    full = DocumentAttention(module.config, HEADS, D_MODEL // HEADS, layer_idx=1, is_causal=is_causal).double()
    full.load_state_dict(module.state_dict())
    structure = DocumentStructure.unstructured(mask)
    mask_of_all = DocumentAttention.plan(AttentionInputs(module.config, states, mask, structure, structure, is_causal))
    outputs = module(states, plan)[0], full(states, mask_of_all)[0]
    is_token = mask.bool()
    torch.testing.assert_close(outputs[0][is_token], outputs[1][is_token])
    both = [torch.autograd.grad(output[is_token].square().sum(), states) for output in outputs]
    torch.testing.assert_close(*both)


def test_a_model_with_a_window_over_everything_is_the_one_with_full_attention():
    window = {"big_bird_window_blocks": 9, "big_bird_block_size": 2, "attention_kernel": "grouped"}
    both = {"encoder_self_attention": "big_bird", "decoder_self_attention": "big_bird"}
    results = []
    for changes in ({}, {**window, **both}):
        model = tiny_model(**changes)
        output = model(**window_inputs())
        output.loss.backward()
        results.append((output.loss, {name: parameter.grad for name, parameter in model.named_parameters()}))
    torch.testing.assert_close(*results)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="FlexAttention is compiled")
@pytest.mark.parametrize("is_causal", [False, True], ids=["source", "target"])
def test_flex_attention_gives_the_same(is_causal):
    results = []
    for implementation in ("sdpa", "flex_attention"):
        module, states, plan, mask = module_inputs("uneven", is_causal, "auto")
        module.config._attn_implementation = implementation
        states = states.detach().float()
        assert module._is_flexible(states[:, None], 0.0) == (implementation == "flex_attention")
        with torch.no_grad():
            results.append(module.float()(states, plan)[0][mask.bool()])
    torch.testing.assert_close(*results, rtol=1e-5, atol=1e-5)


# The random blocks


def pattern_of(is_causal: bool = False, **changes: int) -> BigBirdPattern:
    return BigBirdPattern.from_config(config_of(**changes), is_causal)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("num_random", [1, 2, 5])
def test_random_blocks_equal_the_loop_and_none_comes_twice(is_causal, num_random):
    config = config_of(big_bird_random_blocks=num_random, big_bird_seed=12345678901)
    pattern = BigBirdPattern.from_config(config, is_causal)
    num_blocks = torch.tensor([1, 4, 20])
    blocks = torch.arange(20).expand(3, -1)
    found = pattern.random_blocks(blocks, num_blocks, layer_idx=3, num_heads=2)
    assert found.shape == (3, 2, 20, num_random)
    for row, count in enumerate(num_blocks.tolist()):
        for head in range(2):
            for block in range(count):
                own = [other for other in found[row, head, block].tolist() if other >= 0]
                assert own == random_blocks(config, 3, head, block, count, is_causal)
                others = [other for other in range(block if is_causal else count) if abs(other - block) > 1]
                assert len(set(own)) == len(own) == min(num_random, len(others))
                assert all(abs(other - block) > 1 and other < count for other in own)
                assert not is_causal or all(other < block for other in own)


def test_random_blocks_differ_between_seeds_layers_heads_and_blocks_and_reach_everywhere():
    blocks, num_blocks = torch.arange(200)[None], torch.tensor([200])
    first = pattern_of(big_bird_seed=1).random_blocks(blocks, num_blocks, 0, 2)
    assert torch.equal(first, pattern_of(big_bird_seed=1).random_blocks(blocks, num_blocks, 0, 2))
    for other in (
        pattern_of(big_bird_seed=2).random_blocks(blocks, num_blocks, 0, 2),
        pattern_of(big_bird_seed=1).random_blocks(blocks, num_blocks, 1, 2),
        first.flip(1),
    ):
        assert (first != other).float().mean() > 0.9
    # 400 draws out of 200 blocks leave about 200 / e^2 = 27 out.
    assert 150 < len(first.unique()) < 195


def test_what_a_target_block_sees_does_not_depend_on_what_follows():
    pattern = pattern_of(is_causal=True)
    blocks = torch.arange(12)[None]
    short, long = (pattern.random_blocks(blocks, torch.tensor([length]), 0, 2) for length in (12, 400))
    assert torch.equal(short, long)


# What it costs


@pytest.mark.parametrize("is_causal", [False, True])
def test_no_tensor_grows_with_the_square_of_the_length(is_causal):
    sizes = []
    for length in (2000, 4000):
        config = config_of(big_bird_block_size=16)
        module = BigBirdAttention(config, HEADS, D_MODEL // HEADS, 0, is_causal)
        states = torch.randn(1, length, D_MODEL, requires_grad=True)
        structure = DocumentStructure.unstructured(torch.ones(1, length))
        plan = BigBirdAttention.plan(AttentionInputs(config, states, None, structure, structure, is_causal))
        with LargestTensor() as largest:
            module(states, plan)[0].sum().backward()
        sizes.append(largest.numbers)
    assert sizes[1] <= 2 * sizes[0] < length**2 / 4


def test_short_documents_are_masked_and_long_ones_cut_into_blocks():
    for length, is_blocked in ((10, False), (500, True)):
        module, states, _, _ = module_inputs("one token", False, "auto")
        structure = DocumentStructure.unstructured(torch.ones(1, length))
        states = torch.randn(1, length, D_MODEL)
        plan = BigBirdAttention.plan(AttentionInputs(module.config, states, None, structure, structure))
        assert isinstance(plan, BigBirdPlan)
        assert plan.pattern.num_keys == 1 + 4 * 2
        assert (length >= BLOCKED_PAYS_FROM * plan.pattern.num_keys) == is_blocked == module._is_blocked(length, plan)
