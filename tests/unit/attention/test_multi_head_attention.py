# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0

import shutil
from dataclasses import replace

import pytest
import torch
from references import attention_reference, may_look_reference
from tiny_models import EOS, PAR, SENTENCE_SCOPE, SEP, SOURCES, TARGETS, tiny_config, tiny_model, window_inputs

from hier_nmt.attention.attention_plan import AttentionInputs, SelectionPlan
from hier_nmt.attention.multi_head_attention import (
    DocumentAttention,
    MultiHeadAttention,
    SentenceAttention,
    eager_attention_forward,
)
from hier_nmt.ops import selected_attention
from hier_nmt.ops.document_structure import DocumentStructure

# Sentences of uneven lengths, a document of one sentence, and one of padding only.
SOURCE_IDS = torch.tensor([[1, 1, 1, 2, 3, 3, 0], [1, 1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0, 0]])
TARGET_IDS = torch.tensor([[1, 1, 2, 3, 4], [0, 0, 1, 1, 2], [1, 2, 2, 2, 3]])
# As above, where a sentence that the source does not have reads its last one.
READ_IDS = torch.tensor([[1, 1, 2, 3, 3], [1, 1, 1, 1, 1], [-1, -1, -1, -1, -1]])
DENSE_ATTENTIONS = {"document": DocumentAttention, "sentence": SentenceAttention}
SCOPES = list(DENSE_ATTENTIONS)
IMPLEMENTATIONS = ["eager", "sdpa"]
# In long documents, sentence scope is computed sentence by sentence, whatever the implementation.
FORMS = [*IMPLEMENTATIONS, "grouped"]


def structure(sentence_ids: torch.Tensor) -> DocumentStructure:
    return DocumentStructure.from_ids(sentence_ids, sentence_ids)


def states(sentence_ids: torch.Tensor, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    torch.manual_seed(3)
    return torch.randn(*sentence_ids.shape, 16, dtype=dtype, requires_grad=True)


def attention(scope: str, implementation: str, dtype: torch.dtype = torch.float64, **kwargs) -> MultiHeadAttention:
    config = tiny_config(attention_kernel="grouped" if implementation == "grouped" else "auto")
    config._attn_implementation = "eager" if implementation == "grouped" else implementation
    torch.manual_seed(4)
    return DENSE_ATTENTIONS[scope](config, num_heads=2, head_dim=8, layer_idx=0, **kwargs).to(dtype).eval()


def self_attention_inputs(
    module: MultiHeadAttention, hidden_states: torch.Tensor, ids: torch.Tensor
) -> AttentionInputs:
    places = structure(ids)
    return AttentionInputs(module.config, hidden_states, ids > 0, places, places, is_causal=module.is_causal)


def attend_slowly(
    module: MultiHeadAttention, queries: torch.Tensor, keys: torch.Tensor, attend_mask: torch.Tensor
) -> torch.Tensor:
    """What the module gives, by the loop."""

    def heads(projected: torch.Tensor) -> torch.Tensor:
        return torch.stack(projected.split(8, dim=-1), dim=1)

    output = attention_reference(
        heads(module.q_proj(queries)), heads(module.k_proj(keys)), heads(module.v_proj(keys)), attend_mask, 8**-0.5
    )
    return module.out_proj(torch.cat(output.unbind(1), dim=-1))


def assert_same_values_and_gradients(module, fast, slow, inputs):
    leaves = [*inputs, *module.parameters()]
    weights = torch.linspace(-1, 1, fast.numel(), dtype=fast.dtype).view_as(fast)
    torch.testing.assert_close(fast, slow)
    fast_gradients = torch.autograd.grad((fast * weights).sum(), leaves)
    slow_gradients = torch.autograd.grad((slow * weights).sum(), leaves)
    torch.testing.assert_close(fast_gradients, slow_gradients)


@pytest.mark.parametrize("implementation", FORMS)
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


@pytest.mark.parametrize("implementation", FORMS)
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("scope", SCOPES)
def test_without_padding_no_mask_is_needed(scope, is_causal, implementation):
    ids = torch.tensor([[1, 1, 2, 2, 2, 3, 3], [1, 2, 2, 2, 2, 2, 4]])
    module = attention(scope, implementation, is_causal=is_causal)
    hidden_states = states(ids)
    plan = module.plan(replace(self_attention_inputs(module, hidden_states, ids), attention_mask=None))
    slow = attend_slowly(module, hidden_states, hidden_states, may_look_reference(scope, ids, ids, is_causal))
    torch.testing.assert_close(module(hidden_states, plan)[0], slow)


@pytest.mark.parametrize("implementation", FORMS)
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


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="FlexAttention is compiled")
@pytest.mark.parametrize("is_causal", [False, True], ids=["source", "target"])
@pytest.mark.parametrize("scope", SCOPES)
def test_flex_attention_gives_the_same(scope, is_causal):
    module = attention(scope, "flex_attention", torch.float32, is_causal=is_causal)
    hidden_states, is_token = states(SOURCE_IDS, torch.float32), SOURCE_IDS > 0
    attend_mask = may_look_reference(scope, SOURCE_IDS, SOURCE_IDS, is_causal)
    with torch.no_grad():
        fast = module(hidden_states, module.plan(self_attention_inputs(module, hidden_states, SOURCE_IDS)))[0]
        slow = attend_slowly(module, hidden_states, hidden_states, attend_mask)
    torch.testing.assert_close(fast[is_token], slow[is_token], rtol=1e-5, atol=1e-5)


def test_a_query_that_may_see_nothing_gets_zeros():
    module = attention("document", "eager")
    query = torch.randn(1, 2, 3, 8, dtype=torch.float64)
    attend_mask = torch.tensor([[[[True, False, True], [False, False, False], [True, True, True]]]])
    for mask in (
        attend_mask,
        torch.zeros(1, 1, 3, 3).double().masked_fill(~attend_mask, torch.finfo(torch.float64).min),
    ):
        output, weights = eager_attention_forward(module, query, query, query, mask, scaling=1.0)
        assert (output[0, 1] == 0).all()
        torch.testing.assert_close(weights.sum(-1)[0, 0], torch.tensor([1.0, 0.0, 1.0]).double())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("scope", SCOPES)
def test_all_forms_are_equal_and_finite_where_whole_rows_are_masked(scope, dtype):
    outputs, gradients = [], []
    for implementation in FORMS:
        module = attention(scope, implementation, dtype)
        hidden_states = states(SOURCE_IDS, dtype)
        output = module(hidden_states, module.plan(self_attention_inputs(module, hidden_states, SOURCE_IDS)))[0]
        output.float().square().sum().backward()
        outputs.append(output)
        gradients.append(hidden_states.grad)
    assert all(part.isfinite().all() for part in (*outputs, *gradients))
    tolerance = {"rtol": 1e-5, "atol": 1e-6} if dtype == torch.float32 else {"rtol": 2e-2, "atol": 2e-2}
    for output, gradient in zip(outputs[1:], gradients[1:], strict=True):
        torch.testing.assert_close(output, outputs[0], **tolerance)
        torch.testing.assert_close(gradient, gradients[0], **tolerance)


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


# Sentence scope in long documents

# A document whose translation has a sentence more than it has, one of a single sentence, one of empty sentences.
SENTENCE_MODELS = {
    "sinusoidal": SENTENCE_SCOPE,
    "multi-level post-norm": {**SENTENCE_SCOPE, "position_encoding": "multi_level", "normalize_before": False},
    "encoder only": {"encoder_self_attention": "sentence"},
    "decoder only": {"decoder_self_attention": "sentence"},
    "cross only": {"cross_attention": "sentence"},
}
LONGER_TARGETS = [[16, SEP, 17, 18, PAR, 19, SEP, 20, 21, 22, EOS], *TARGETS[1:]]


@pytest.mark.parametrize("changes", SENTENCE_MODELS.values(), ids=SENTENCE_MODELS)
def test_sentence_scope_in_a_long_document_equals_its_dense_form(changes):
    results = []
    inputs = window_inputs(SOURCES, LONGER_TARGETS, length=13)
    for kernel in ("reference", "grouped"):
        model = tiny_model(**changes, attention_kernel=kernel)
        output = model(**inputs)
        gradients = torch.autograd.grad(output.loss, list(model.parameters()))
        is_target = (inputs["labels"] != -100)[..., None]
        is_source = inputs["attention_mask"][..., None]
        states = output.encoder_last_hidden_state * is_source
        results.append((output.loss, output.logits * is_target, states, *gradients))
    torch.testing.assert_close(results[1], results[0])


def test_sentence_scope_is_grouped_in_a_long_document(monkeypatch):
    module = attention("sentence", "eager")
    hidden_states = states(TARGET_IDS)
    inputs = self_attention_inputs(module, hidden_states, TARGET_IDS)
    assert isinstance(module.plan(inputs), torch.Tensor)
    monkeypatch.setattr(selected_attention, "MIN_GROUPED_KEYS", TARGET_IDS.shape[1])
    assert isinstance(module.plan(inputs), SelectionPlan)


def test_weights_of_sentence_scope_in_a_long_document_equal_those_of_its_dense_form():
    is_token = (SOURCE_IDS > 0)[:, None, :, None]
    weights = []
    for implementation in ("eager", "grouped"):
        module = attention("sentence", implementation)
        hidden_states = states(SOURCE_IDS)
        plan = module.plan(self_attention_inputs(module, hidden_states, SOURCE_IDS))
        weights.append(module(hidden_states, plan, output_attentions=True)[1] * is_token)
    torch.testing.assert_close(*weights)


@pytest.mark.parametrize("kernel", ["reference", "grouped"])
def test_cached_decoding_with_sentence_scope_in_a_long_document_equals_the_full_forward(kernel):
    model = tiny_model(**SENTENCE_SCOPE, attention_kernel=kernel)
    inputs = window_inputs(SOURCES[:1], TARGETS[:1])
    inputs.pop("labels")
    target = inputs.pop("decoder_input_ids")
    numbers = torch.tensor([[1, 1, 1, 1, 2, 2, 2, 2, 3, 3]])
    past_key_values = None
    with torch.no_grad():
        full = model(**inputs, decoder_input_ids=target).logits
        for start, stop in ((0, 3), (3, 4), (4, 8), (8, 10)):
            output = model(
                **inputs,
                decoder_input_ids=target[:, start:stop],
                decoder_sentence_ids=numbers[:, :stop],
                past_key_values=past_key_values,
                use_cache=True,
            )
            past_key_values = output.past_key_values
            torch.testing.assert_close(output.logits, full[:, start:stop])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("output_attentions", [False, True])
def test_sentence_scope_by_groups_is_finite_and_close_in_half_precision(dtype, output_attentions):
    outputs = []
    for kind in (torch.float32, dtype):
        module = attention("sentence", "eager", kind)
        module.config.attention_kernel = "grouped"
        hidden_states = states(SOURCE_IDS, kind)
        plan = module.plan(self_attention_inputs(module, hidden_states, SOURCE_IDS))
        output, weights = module(hidden_states, plan, output_attentions=output_attentions)
        assert (weights is not None) == output_attentions
        assert all(part.isfinite().all() for part in (output, *([weights] if output_attentions else [])))
        outputs.append(output.float())
    torch.testing.assert_close(*outputs, rtol=0.05, atol=0.05)
