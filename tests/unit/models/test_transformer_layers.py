# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import math

import pytest
import torch
from references import attention_reference, may_look_reference
from tiny_models import tiny_config
from torch import nn

from hier_nmt.models.document_structure import DocumentStructure
from hier_nmt.models.transformer_layers import (
    ATTENTION_CLASSES,
    AttentionInputs,
    FeedForward,
    MultiHeadAttention,
    Residual,
    eager_attention_forward,
)

# Sentences of uneven lengths, a document of one sentence, and one of padding only.
SOURCE_IDS = torch.tensor([[1, 1, 1, 2, 3, 3, 0], [1, 1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0, 0]])
TARGET_IDS = torch.tensor([[1, 1, 2, 3, 4], [0, 0, 1, 1, 2], [1, 2, 2, 2, 3]])
# As above, where a sentence that the source does not have reads its last one.
READ_IDS = torch.tensor([[1, 1, 2, 3, 3], [1, 1, 1, 1, 1], [-1, -1, -1, -1, -1]])
SCOPES = list(ATTENTION_CLASSES)
IMPLEMENTATIONS = ["eager", "sdpa"]


def structure(sentence_ids: torch.Tensor) -> DocumentStructure:
    return DocumentStructure.from_ids(sentence_ids, sentence_ids)


def states(sentence_ids: torch.Tensor, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    torch.manual_seed(3)
    return torch.randn(*sentence_ids.shape, 16, dtype=dtype, requires_grad=True)


def attention(scope: str, implementation: str, dtype: torch.dtype = torch.float64, **kwargs) -> MultiHeadAttention:
    config = tiny_config()
    config._attn_implementation = implementation
    torch.manual_seed(4)
    return ATTENTION_CLASSES[scope](config, num_heads=2, layer_idx=0, **kwargs).to(dtype).eval()


def self_attention_inputs(
    module: MultiHeadAttention, hidden_states: torch.Tensor, ids: torch.Tensor
) -> AttentionInputs:
    places = structure(ids)
    return AttentionInputs(module.config, hidden_states, ids > 0, places, places, is_causal=module.is_causal)


def attend_slowly(
    module: MultiHeadAttention, queries: torch.Tensor, keys: torch.Tensor, may_look: torch.Tensor
) -> torch.Tensor:
    """What the module gives, by the loop."""

    def heads(projected: torch.Tensor) -> torch.Tensor:
        return torch.stack(projected.split(8, dim=-1), dim=1)

    output = attention_reference(
        heads(module.q_proj(queries)), heads(module.k_proj(keys)), heads(module.v_proj(keys)), may_look, 8**-0.5
    )
    return module.out_proj(torch.cat(output.unbind(1), dim=-1))


def assert_same_values_and_gradients(module, fast, slow, inputs):
    leaves = [*inputs, *module.parameters()]
    weights = torch.linspace(-1, 1, fast.numel(), dtype=fast.dtype).view_as(fast)
    torch.testing.assert_close(fast, slow)
    fast_gradients = torch.autograd.grad((fast * weights).sum(), leaves)
    slow_gradients = torch.autograd.grad((slow * weights).sum(), leaves)
    torch.testing.assert_close(fast_gradients, slow_gradients)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("ids", [SOURCE_IDS, TARGET_IDS], ids=["right", "left"])
def test_self_attention_equals_the_reference(scope, is_causal, implementation, ids):
    module = attention(scope, implementation, is_causal=is_causal)
    hidden_states = states(ids)
    plan = module.plan(self_attention_inputs(module, hidden_states, ids))
    fast = module(hidden_states, plan)[0]
    slow = attend_slowly(module, hidden_states, hidden_states, may_look_reference(scope, ids, ids, is_causal))
    # What padding looks at is nobody's business; only the tokens' rows are promised.
    is_token = (ids > 0)[..., None]
    assert_same_values_and_gradients(module, fast * is_token, slow * is_token, [hidden_states])


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("scope", SCOPES)
def test_cross_attention_equals_the_reference(scope, implementation):
    module = attention(scope, implementation)
    queries, keys = states(TARGET_IDS), states(SOURCE_IDS)
    inputs = AttentionInputs(
        module.config, queries, SOURCE_IDS > 0, structure(TARGET_IDS), structure(SOURCE_IDS), encoder_hidden_states=keys
    )
    fast = module(queries, module.plan(inputs), keys)[0]
    slow = attend_slowly(module, queries, keys, may_look_reference(scope, READ_IDS, SOURCE_IDS))
    assert_same_values_and_gradients(module, fast, slow, [queries, keys])


def test_a_query_that_may_see_nothing_gets_zeros():
    module = attention("document", "eager")
    query = torch.randn(1, 2, 3, 8, dtype=torch.float64)
    may_look = torch.tensor([[[[True, False, True], [False, False, False], [True, True, True]]]])
    for mask in (may_look, torch.zeros(1, 1, 3, 3).double().masked_fill(~may_look, torch.finfo(torch.float64).min)):
        output, weights = eager_attention_forward(module, query, query, query, mask, scaling=1.0)
        assert (output[0, 1] == 0).all()
        torch.testing.assert_close(weights.sum(-1)[0, 0], torch.tensor([1.0, 0.0, 1.0]).double())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("scope", SCOPES)
def test_eager_equals_sdpa_and_both_are_finite_where_whole_rows_are_masked(scope, dtype):
    outputs, gradients = [], []
    for implementation in IMPLEMENTATIONS:
        module = attention(scope, implementation, dtype)
        hidden_states = states(SOURCE_IDS, dtype)
        output = module(hidden_states, module.plan(self_attention_inputs(module, hidden_states, SOURCE_IDS)))[0]
        output.float().square().sum().backward()
        outputs.append(output)
        gradients.append(hidden_states.grad)
    assert all(part.isfinite().all() for part in (*outputs, *gradients))
    tolerance = {"rtol": 1e-5, "atol": 1e-6} if dtype == torch.float32 else {"rtol": 2e-2, "atol": 2e-2}
    torch.testing.assert_close(outputs[0], outputs[1], **tolerance)
    torch.testing.assert_close(gradients[0], gradients[1], **tolerance)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bool], ids=str)
def test_sentence_scope_restricts_a_ready_mask_too(dtype):
    module = attention("sentence", "eager")
    hidden_states = states(TARGET_IDS)
    causal = torch.ones(5, 5, dtype=torch.bool).tril()
    mask = (causal & (TARGET_IDS > 0)[:, None, None, :]).expand(3, 1, 5, 5)
    if dtype != torch.bool:
        mask = torch.zeros(3, 1, 5, 5, dtype=dtype).masked_fill(~mask, torch.finfo(dtype).min)
    places = structure(TARGET_IDS)
    plan = module.plan(AttentionInputs(module.config, hidden_states, mask, places, places, is_causal=True))
    expected = attend_slowly(
        module, hidden_states, hidden_states, may_look_reference("sentence", TARGET_IDS, TARGET_IDS, is_causal=True)
    )
    torch.testing.assert_close(module(hidden_states, plan)[0], expected)


def test_sentence_scope_without_the_keys_sentences_is_an_error():
    module = attention("sentence", "eager")
    inputs = AttentionInputs(module.config, states(TARGET_IDS), None, structure(TARGET_IDS), None)
    with pytest.raises(ValueError, match="decoder_sentence_ids"):
        module.plan(inputs)


def test_feed_forward_is_two_linear_maps_around_the_activation():
    block = FeedForward(tiny_config(d_model=2, encoder_attention_heads=1, decoder_attention_heads=1), ffn_dim=3)
    with torch.no_grad():
        block.fc1.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]))
        block.fc1.bias.copy_(torch.tensor([0.0, -5.0, 1.0]))
        block.fc2.weight.copy_(torch.tensor([[1.0, 2.0, 3.0], [0.0, 1.0, 1.0]]))
        block.fc2.bias.copy_(torch.tensor([0.5, 0.0]))
    # [2, 7] -> [2, 7 - 5, 1 - 9] -> ReLU: [2, 2, 0] -> [2 + 4 + 0.5, 2]
    torch.testing.assert_close(block(torch.tensor([[[2.0, 7.0]]])), torch.tensor([[[6.5, 2.0]]]))


@pytest.mark.parametrize(("normalize_before", "expected"), [(True, [1.0, 5.0]), (False, [-1.0, 1.0])])
def test_residual_normalizes_in_front_of_the_block_or_behind_the_sum(normalize_before, expected):
    config = tiny_config(
        d_model=2, encoder_attention_heads=1, decoder_attention_heads=1, normalize_before=normalize_before
    )
    # In front: [1, 3] is normalized to [-1, 1], the block doubles it, the sum is [1 - 2, 3 + 2] plus the constant 2, 0.
    output = Residual(config).eval()(
        torch.tensor([[[1.0, 3.0]]]), lambda entering: 2 * entering + torch.tensor([2.0, 0.0])
    )
    scale = 1 / math.sqrt(1 + 1e-5) if normalize_before else 1.0
    shown = [3.0 - 2 * scale, 3.0 + 2 * scale] if normalize_before else expected
    torch.testing.assert_close(output, torch.tensor([[shown]]), rtol=1e-4, atol=1e-4)
    assert output.flatten().tolist() == pytest.approx(expected, abs=1e-4)


def test_dropout_works_in_training_only():
    config = tiny_config(dropout=0.5, attention_dropout=0.5, activation_dropout=0.5)
    ones = torch.ones(1, 400, 16)
    residual = Residual(config)
    assert 0.3 < (residual(torch.zeros_like(ones), lambda _: ones) == 0).double().mean() < 0.7
    assert (residual.eval()(torch.zeros_like(ones), lambda _: ones) == 1).all()
    block = FeedForward(config, 8)
    assert not torch.equal(block(ones), block(ones))
    assert torch.equal(block.eval()(ones), block(ones))
    module = ATTENTION_CLASSES["document"](config, 2, 0)
    assert not torch.equal(module(ones[:, :5], None)[0], module(ones[:, :5], None)[0])
    module.eval()
    assert torch.equal(module(ones[:, :5], None)[0], module(ones[:, :5], None)[0])


def test_every_row_of_the_table_answers_the_same_call():
    for module_class in ATTENTION_CLASSES.values():
        assert issubclass(module_class, MultiHeadAttention)
        names = {name for name, _ in module_class(tiny_config(), 2, 0).named_parameters()}
        assert names == {f"{map}_proj.{part}" for map in ["q", "k", "v", "out"] for part in ("weight", "bias")}
        assert isinstance(module_class(tiny_config(), 2, 0).q_proj, nn.Linear)
