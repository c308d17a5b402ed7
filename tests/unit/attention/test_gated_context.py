# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Gated blocks that read the tokens of other sentences."""

from typing import Any

import pytest
import torch

from hier_nmt import HierNMTConfig, HierNMTForConditionalGeneration
from hier_nmt.text.windows import join_window

KINDS = ("document", "conditional", "hierarchical")
SEP, PAR, EOS, BOS = 4, 5, 2, 1
SOURCE = join_window([[7, 8, 9], [10, 11, 12, 13], [14], [15, 16, 17]], [False, True, False, False], SEP, PAR, EOS)
TARGET = join_window([[20, 21], [22], [23, 24, 25], [26, 27]], [False, True, False, False], SEP, PAR, EOS)


def tiny_model(kind: str, gate: float, **changes: Any) -> HierNMTForConditionalGeneration:
    """A model in float64 whose gates have that value."""
    torch.manual_seed(0)
    fields: dict[str, Any] = {
        "vocab_size": 40,
        "d_model": 16,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
        "encoder_ffn_dim": 24,
        "decoder_ffn_dim": 24,
        "dropout": 0.0,
        "init_std": 0.3,
        "encoder_self_attention": "sentence",
        "decoder_self_attention": "sentence",
        "cross_attention": "sentence",
        "token_position_origin": "sentence",
        "restart_target_sentences": True,
        "num_selected_sentences": 2,
        "window_sentences": 0,
        "context_block": kind,
    }
    model = HierNMTForConditionalGeneration(HierNMTConfig(**{**fields, **changes})).double().eval()
    for name, parameter in model.named_parameters():
        if name.endswith(".gate"):
            torch.nn.init.constant_(parameter, gate)
    return model


def loss(model: HierNMTForConditionalGeneration) -> torch.Tensor:
    return model(input_ids=torch.tensor([SOURCE]), labels=torch.tensor([TARGET])).loss


def logits(model: HierNMTForConditionalGeneration, source: list[int], target: list[int]) -> torch.Tensor:
    with torch.inference_mode():
        return model(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([[BOS, *target[:-1]]])).logits[0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_closed_gate_leaves_the_model_as_it_is_without_the_block(kind: str) -> None:
    model = tiny_model(kind, 0.0)
    plain = tiny_model("none", 0.0)
    plain.load_state_dict({name: value for name, value in model.state_dict().items() if name in plain.state_dict()})
    torch.testing.assert_close(logits(model, SOURCE, TARGET), logits(plain, SOURCE, TARGET), atol=0, rtol=0)


def with_weights_of(document: HierNMTForConditionalGeneration, kind: str, **changes: Any) -> Any:
    """A model with blocks of that kind, and the weights of one with `document` where it has the same."""
    model = tiny_model(kind, 0.7, **changes)
    unexpected = model.load_state_dict(document.state_dict(), strict=False).unexpected_keys
    assert not unexpected
    return model


@pytest.mark.parametrize("kind", ["conditional", "hierarchical"])
def test_all_sentences_of_no_relevance_are_read_as_the_whole_document(kind: str) -> None:
    document = tiny_model("document", 0.7)
    model = with_weights_of(document, kind, num_selected_sentences=4)
    for name, parameter in model.named_parameters():
        if "sentence_q_proj" in name:
            torch.nn.init.zeros_(parameter)
    torch.testing.assert_close(logits(model, SOURCE, TARGET), logits(document, SOURCE, TARGET), atol=1e-10, rtol=0)
    for one in (model, document):
        loss(one).backward()
    found = dict(model.named_parameters())
    for name, parameter in document.named_parameters():
        torch.testing.assert_close(found[name].grad, parameter.grad, atol=1e-10, rtol=0, msg=name)


@pytest.mark.parametrize("kind", ["conditional", "hierarchical"])
def test_the_only_sentence_of_a_document_is_read_whatever_the_kind(kind: str) -> None:
    document = tiny_model("document", 0.7)
    source, target = [7, 8, 9, EOS], [20, 21, EOS]
    found = logits(with_weights_of(document, kind), source, target)
    torch.testing.assert_close(found, logits(document, source, target), atol=1e-10, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_the_gates_have_a_gradient_from_the_first_step_on(kind: str) -> None:
    model = tiny_model(kind, 0.0)
    loss(model).backward()
    gates = {name: parameter.grad for name, parameter in model.named_parameters() if name.endswith(".gate")}
    assert len(gates) == 6  # two encoder layers with one block, two decoder layers with two
    assert all(gradient is not None and gradient.abs().max() > 0 for gradient in gates.values())


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_of_gate_relevance_and_sentence_encoder_are_differences_of_the_loss(kind: str) -> None:
    model = tiny_model(kind, 0.6)
    loss(model).backward()
    parts = (".gate", "attention.v_proj.weight", "sentence_q_proj.weight", "sentence_encoder.query", "tree_merge.query")
    checked = 0
    for name, parameter in model.named_parameters():
        if "context." not in name or not name.endswith(parts):
            continue
        place = int(parameter.grad.abs().argmax())
        step, difference = 1e-6, 0.0
        for sign in (1, -1):
            with torch.no_grad():
                parameter.view(-1)[place] += sign * step
                difference += sign * loss(model).item()
                parameter.view(-1)[place] -= sign * step
        assert parameter.grad.view(-1)[place].item() == pytest.approx(difference / (2 * step), rel=1e-4, abs=1e-9), name
        checked += 1
    assert checked == {"document": 12, "conditional": 24, "hierarchical": 28}[kind]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("num_beams", [1, 3])
def test_decoding_with_a_cache_equals_decoding_without(kind: str, num_beams: int) -> None:
    model = tiny_model(kind, 0.7)
    options: dict[str, Any] = {"max_new_tokens": 12, "num_beams": num_beams, "do_sample": False}
    prefix = torch.tensor([[BOS, 20, 21, SEP, 22, PAR]])
    for given in ({}, {"decoder_input_ids": prefix}):
        cached = model.generate(torch.tensor([SOURCE]), **given, **options)
        assert torch.equal(model.generate(torch.tensor([SOURCE]), use_cache=False, **given, **options), cached)


@pytest.mark.parametrize("kind", KINDS)
def test_no_token_depends_on_a_later_one(kind: str) -> None:
    model = tiny_model(kind, 0.7)
    changed = [*TARGET[:5], *(30 for _ in TARGET[5:])]
    one, other = logits(model, SOURCE, TARGET), logits(model, SOURCE, changed)
    torch.testing.assert_close(one[:6], other[:6], atol=1e-12, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_gives_each_document_what_it_gets_alone(kind: str) -> None:
    model = tiny_model(kind, 0.7)
    short_source, short_target = [7, SEP, 8, EOS], [20, SEP, 21, EOS]
    pad = model.config.pad_token_id
    source = torch.tensor([SOURCE, short_source + [pad] * (len(SOURCE) - 4)])
    target = torch.tensor([[BOS, *TARGET[:-1]], [BOS, *short_target[:-1]] + [pad] * (len(TARGET) - 4)])
    with torch.inference_mode():
        both = model(input_ids=source, decoder_input_ids=target).logits
    torch.testing.assert_close(both[0], logits(model, SOURCE, TARGET), atol=1e-10, rtol=0)
    torch.testing.assert_close(both[1, :4], logits(model, short_source, short_target), atol=1e-10, rtol=0)


@pytest.mark.parametrize("kind", ["conditional", "hierarchical"])
def test_fast_attention_equals_the_reference(kind: str) -> None:
    grouped, reference = (tiny_model(kind, 0.7, attention_kernel=kernel) for kernel in ("grouped", "reference"))
    torch.testing.assert_close(logits(grouped, SOURCE, TARGET), logits(reference, SOURCE, TARGET), atol=1e-10, rtol=0)
    for model in (grouped, reference):
        loss(model).backward()
    for (name, one), other in zip(grouped.named_parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, atol=1e-10, rtol=1e-7, msg=name)


def test_bfloat16_stays_finite() -> None:
    model = tiny_model("conditional", 0.7).to(torch.bfloat16)
    assert torch.isfinite(loss(model))


def test_a_static_cache_is_refused() -> None:
    with pytest.raises(ValueError, match="do not work with a static cache"):
        tiny_model("conditional", 0.7).generate(torch.tensor([SOURCE]), cache_implementation="static", max_new_tokens=3)


def test_a_restarting_decoder_needs_a_start_token() -> None:
    with pytest.raises(ValueError, match="restart_target_sentences=True needs a decoder_start_token_id"):
        HierNMTConfig(restart_target_sentences=True, decoder_start_token_id=None)
