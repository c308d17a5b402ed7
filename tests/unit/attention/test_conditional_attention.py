# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Slots that choose sentences, and the context block: what they learn from, what they tell, what they become."""

import math
from typing import Any

import pytest
import torch
from tiny_models import (
    CONDITIONAL,
    EOS,
    HIERARCHICAL,
    PAR,
    SENTENCE_SCOPE,
    SEP,
    SOURCES,
    TARGETS,
    source_inputs,
    tiny_config,
    tiny_model,
    window_inputs,
)
from torch.utils.flop_counter import FlopCounterMode

from hier_nmt import HierNMTForConditionalGeneration
from hier_nmt.attention import conditional_attention, sentence_encoder
from hier_nmt.attention.average_keys import AverageKeys
from hier_nmt.attention.sentence_encoder import source2token
from hier_nmt.ops import sentence_tree
from hier_nmt.ops.sentence_tree import path_summed_keys

NO = -math.inf
CHOOSING = {"conditional": CONDITIONAL, "hierarchical": HIERARCHICAL}
every_choosing_variant = pytest.mark.parametrize("changes", CHOOSING.values(), ids=CHOOSING)
every_kernel = pytest.mark.parametrize("kernel", ["reference", "grouped"])
# Five sentences, so that the tree has a left-over leaf and a left-over node, and two.
LONG_SOURCES = [[6, 7, SEP, 8, PAR, 9, 10, 11, SEP, 12, SEP, 13, 14, EOS], [6, SEP, 7, 8, EOS]]
LONG_TARGETS = [[16, SEP, 17, 18, PAR, 19, 20, SEP, 21, SEP, 22, EOS], [23, 24, SEP, 25, EOS]]
ALL = {"num_selected_sentences": 9}
ONE_LAYER = {"encoder_layers": 1, "decoder_layers": 1}
RELEVANCE = ("sentence_q_proj", "sentence_k_proj")
# The own sentences of the tokens of SOURCES[0], and the sentences that the tokens in front of TARGETS[0] write.
OWN = [1, 1, 1, 1, 2, 2, 2, 3, 3]
WRITTEN = [1, 1, 1, 2, 2, 2, 2, 3, 3, 3]


def long_inputs() -> dict[str, torch.Tensor]:
    return window_inputs(LONG_SOURCES, LONG_TARGETS, length=15)


def logits(model: HierNMTForConditionalGeneration, **inputs: Any) -> torch.Tensor:
    with torch.no_grad():
        return model(**inputs).logits


def with_the_weights_of(simple: HierNMTForConditionalGeneration, **changes: Any) -> HierNMTForConditionalGeneration:
    """A model of another variant with the weights of the simple one, wherever that has them."""
    model = tiny_model(seed=1, **changes)
    missing, unexpected = model.load_state_dict(simple.state_dict(), strict=False)
    assert not unexpected
    assert all(not name.startswith("model.shared") for name in missing)
    return model


def without_relevance(model: HierNMTForConditionalGeneration) -> HierNMTForConditionalGeneration:
    """The model with zero relevance projections."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if any(part in name for part in RELEVANCE):
                parameter.zero_()
    return model


def assert_same_losses_and_gradients(simple, model, inputs):
    """The losses, and the gradients of the weights that both models have, are equal."""
    losses = [some(**inputs).loss for some in (simple, model)]
    torch.testing.assert_close(*losses)
    shared = dict(simple.named_parameters())
    parameters = dict(model.named_parameters())
    expected = torch.autograd.grad(losses[0], list(shared.values()))
    found = torch.autograd.grad(losses[1], [parameters[name] for name in shared])
    torch.testing.assert_close(dict(zip(shared, found, strict=True)), dict(zip(shared, expected, strict=True)))


# Gradients


def slope(model: HierNMTForConditionalGeneration, parameter: torch.Tensor, direction: torch.Tensor) -> float:
    """How fast the loss rises when the parameter moves in that direction, by a central difference."""
    size, losses = 1e-6, []
    with torch.no_grad():
        for step in (size, -2 * size):
            parameter.add_(step * direction)
            losses.append(model(**long_inputs()).loss.item())
        parameter.add_(size * direction)
    return (losses[0] - losses[1]) / (2 * size)


@pytest.mark.parametrize(
    "changes",
    [
        CONDITIONAL,
        {**CONDITIONAL, "attention_kernel": "grouped"},
        {**CONDITIONAL, "relevance_bias": -2},
        HIERARCHICAL,
        {**HIERARCHICAL, "tree_selection": "node", "always_keep_own_sentence": True, "attention_kernel": "grouped"},
        {**HIERARCHICAL, "sentence_encoder_sharing": "model", "sentence_encoder_heads": 2},
        {**SENTENCE_SCOPE, "context_block": "block"},
        {"context_block": "heads", "num_sentence_heads": 1},
    ],
    ids=[
        "conditional",
        "conditional grouped",
        "conditional biased",
        "hierarchical",
        "hierarchical own",
        "shared encoder",
        "block",
        "heads",
    ],
)
def test_gradients_reach_all_that_chooses_sentences_and_equal_finite_differences(changes):
    model = tiny_model(**changes, **ONE_LAYER)
    parts = ("sentence_encoder", "tree_merge", "context_attn.", "sentence_heads", *RELEVANCE)
    parameters = {name: parameter for name, parameter in model.named_parameters() if any(p in name for p in parts)}
    # Keys may be shifted alike without any effect, so that their biases have no gradient.
    parameters = {name: parameter for name, parameter in parameters.items() if not name.endswith("k_proj.bias")}
    gradients = torch.autograd.grad(model(**long_inputs()).loss, list(parameters.values()))
    torch.manual_seed(2)
    for (name, parameter), gradient in zip(parameters.items(), gradients, strict=True):
        assert gradient.abs().max() > 1e-7, name
        direction = torch.randn_like(parameter)
        expected = slope(model, parameter, direction)
        assert (gradient * direction).sum().item() == pytest.approx(expected, rel=1e-4, abs=1e-8), name


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            CONDITIONAL,
            {
                "encoder.self_attn.sentence": 2,
                "encoder.sentence_encoder": 4,
                "decoder.self_attn.sentence": 2,
                "decoder.sentence_encoder": 4,
                "decoder.encoder_attn.sentence": 2,
                "decoder.source_sentence_encoder": 4,
            },
        ),
        (HIERARCHICAL, {"encoder.self_attn.tree_merge": 4, "decoder.encoder_attn.tree_merge": 4}),
    ],
    ids=CHOOSING,
)
def test_every_slot_has_weights_of_its_own_to_choose_by(changes, expected):
    names = [name.replace("layers.0.", "") for name, _ in tiny_model(**changes, **ONE_LAYER).named_parameters()]
    for prefix, number in expected.items():
        assert sum(name.startswith(f"model.{prefix}") for name in names) == number, prefix


def test_with_one_sentence_selected_its_score_cancels_and_relevance_gets_no_gradient():
    # The decoder's self-attention is not among them: it reads its own sentence, too.
    model = tiny_model(**{**CONDITIONAL, "decoder_self_attention": "document", "num_selected_sentences": 1})
    model(**long_inputs()).loss.backward()
    gradients = [p.grad for name, p in model.named_parameters() if any(part in name for part in RELEVANCE)]
    assert len(gradients) == 8
    for gradient in gradients:
        torch.testing.assert_close(gradient, torch.zeros_like(gradient), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("num_selected", "is_training", "warns"), [(1, True, True), (1, False, False), (2, True, False)]
)
def test_training_with_one_selected_sentence_warns(monkeypatch, num_selected, is_training, warns):
    messages = []
    monkeypatch.setattr(conditional_attention.logger, "warning_once", messages.append)
    model = tiny_model(**{**CONDITIONAL, "num_selected_sentences": num_selected}).train(is_training)
    model(**window_inputs())
    assert bool(messages) == warns
    assert all("num_selected_sentences=1" in message for message in messages)


# How many sentences


@every_choosing_variant
def test_reading_more_sentences_is_for_training_only_and_can_be_ended(changes):
    model = tiny_model(**changes)
    inputs = long_inputs()
    chosen, everything = logits(model, **inputs), logits(tiny_model(**{**changes, **ALL}), **inputs)
    assert not torch.allclose(chosen, everything)
    model.widen_selection()
    torch.testing.assert_close(logits(model, **inputs), chosen)
    torch.testing.assert_close(logits(model.train(), **inputs), everything)
    model.widen_selection(0.0)
    torch.testing.assert_close(logits(model, **inputs), chosen)


@every_choosing_variant
def test_selection_is_widened_by_a_factor_that_depends_on_the_document(changes):
    model = tiny_model(**changes).train()
    # Of five sentences 2, 2 (5 / 2)^0.5 and 5.
    for widening, number in [(0.0, 2), (0.5, 3), (1.0, 5)]:
        model.widen_selection(widening)
        selected = model(**long_inputs(), output_selected_sentences=True).encoder_selected_sentences
        assert {one.shape[-1] for one in selected} == {number}


def test_a_compiled_model_reads_more_sentences_too():
    changes = {"encoder_self_attention": "conditional", "num_selected_sentences": 2, **ONE_LAYER}
    model, inputs = tiny_model(**changes).train(), long_inputs()
    compiled = torch.compile(model, backend="eager")
    # 2 (15 / 2)^widening with 15 tokens.
    for widening, number in [(0.75, 9), (0.3, 4)]:
        model.widen_selection(widening)
        output = compiled(**inputs, output_selected_sentences=True)
        assert {one.shape[-1] for one in output.encoder_selected_sentences} == {number}
        expected = tiny_model(**{**changes, "num_selected_sentences": number}).train()
        torch.testing.assert_close(output.logits, expected(**inputs).logits)


@pytest.mark.parametrize("widening", [-0.1, 1.5])
def test_an_impossible_widening_is_an_error(widening):
    with pytest.raises(ValueError, match=str(widening)):
        tiny_model(**CONDITIONAL).widen_selection(widening)


@every_choosing_variant
def test_every_slot_has_its_own_number_of_sentences_or_the_common_one(changes):
    model = tiny_model(**changes, num_selected_sentences_decoder=1, num_selected_sentences_cross=4)
    output = model(**long_inputs(), output_selected_sentences=True)
    for slot, number in [("encoder", 2), ("decoder", 1), ("cross", 4)]:
        assert {selected.shape[-1] for selected in output[f"{slot}_selected_sentences"]} == {number}


@every_choosing_variant
@pytest.mark.parametrize("slot", ["", "_encoder", "_decoder", "_cross"])
def test_the_number_of_sentences_can_be_changed_on_a_loaded_model(changes, slot, tmp_path):
    inputs = long_inputs()
    tiny_model(**changes).save_pretrained(tmp_path)
    loaded = HierNMTForConditionalGeneration.from_pretrained(tmp_path, dtype=torch.float64)
    before = logits(loaded, **inputs)
    setattr(loaded.config, f"num_selected_sentences{slot}", 1)
    after = logits(loaded, **inputs)
    torch.testing.assert_close(after, logits(tiny_model(**{**changes, f"num_selected_sentences{slot}": 1}), **inputs))
    assert not torch.allclose(after, before)


@every_choosing_variant
@pytest.mark.parametrize("num_selected", [1, 2])
def test_the_own_sentence_is_kept_where_asked_for(changes, num_selected):
    changes = {**changes, "num_selected_sentences": num_selected}
    inputs = window_inputs(SOURCES[:1], TARGETS[:1])
    is_kept = {}
    for keeps in (False, True):
        model = tiny_model(**changes, always_keep_own_sentence=keeps)
        output = model(**inputs, output_selected_sentences=True)
        for slot, own in [("encoder", OWN), ("cross", WRITTEN)]:
            indices = torch.stack(output[f"{slot}_selected_sentences"])  # [layers, 1, H, Q, t]
            is_own = indices == torch.tensor(own)[:, None] - 1
            is_kept[slot, keeps] = is_own.any(-1)
    for slot in ("encoder", "cross"):
        assert is_kept[slot, True].all()
        assert not is_kept[slot, False].all()


# The simpler model each variant becomes


@every_kernel
@every_choosing_variant
def test_all_sentences_without_relevance_equal_document_scope(changes, kernel):
    document = tiny_model()
    model = with_the_weights_of(document, **{**changes, **ALL}, attention_kernel=kernel)
    for inputs in (window_inputs(), long_inputs()):
        assert_same_losses_and_gradients(document, without_relevance(model), inputs)


@every_kernel
@every_choosing_variant
def test_one_sentence_document_equals_sentence_scope_whatever_its_relevance(changes, kernel):
    sentence = tiny_model(**SENTENCE_SCOPE)
    model = with_the_weights_of(sentence, **changes, attention_kernel=kernel)
    inputs = window_inputs(SOURCES[1:2], TARGETS[1:2])
    assert_same_losses_and_gradients(sentence, model, inputs)
    assert_same_losses_and_gradients(sentence, without_relevance(model), inputs)


@every_kernel
@every_choosing_variant
def test_a_very_low_bias_equals_sentence_scope_whatever_its_relevance(changes, kernel):
    sentence = tiny_model(**SENTENCE_SCOPE)
    low = {"relevance_bias": -1e4, "always_keep_own_sentence": True, "attention_kernel": kernel}
    assert_same_losses_and_gradients(sentence, with_the_weights_of(sentence, **changes, **low), long_inputs())


@pytest.mark.parametrize("changes", [{}, SENTENCE_SCOPE, CONDITIONAL], ids=["document", "sentence", "conditional"])
def test_zero_sentence_heads_equal_no_context(changes):
    plain = tiny_model(**changes)
    model = tiny_model(**changes, context_block="heads", num_sentence_heads=0)
    assert model.state_dict().keys() == plain.state_dict().keys()
    assert_same_losses_and_gradients(plain, model, window_inputs())


def test_a_tree_that_keeps_all_equals_flat_selection_where_only_leaves_are_relevant():
    # With relevance the two differ by what the nodes above the leaves add.
    flat = tiny_model(**{**CONDITIONAL, **ALL})
    tree = with_the_weights_of(flat, **{**HIERARCHICAL, **ALL})
    inputs = window_inputs([[6, 7, SEP, 8, EOS]], [[16, SEP, 17, EOS]])
    # Two sentences have nothing above them but the root, whose relevance is added to both alike.
    assert_same_losses_and_gradients(flat, tree, inputs)
    assert not torch.allclose(logits(flat, **long_inputs()), logits(tree, **long_inputs()))


# Outputs on request


@every_kernel
@every_choosing_variant
def test_chosen_sentences_scores_and_weights_have_the_documented_shapes(changes, kernel):
    encoder = tiny_model(**changes, attention_kernel=kernel).get_encoder()
    output = encoder(
        **source_inputs(),
        output_selected_sentences=True,
        output_sentence_attentions=True,
        output_attentions=True,
        output_hidden_states=True,
    )
    assert [indices.shape for indices in output.selected_sentences] == [(3, 2, 9, 2)] * 2
    assert [scores.shape for scores in output.sentence_attentions] == [(3, 2, 9, 2)] * 2
    assert [weights.shape for weights in output.attentions] == [(3, 2, 9, 9)] * 2
    assert [states.shape for states in output.hidden_states] == [(3, 9, 16)] * 3
    assert encoder(**source_inputs()).selected_sentences is None


@every_choosing_variant
def test_the_model_passes_on_what_every_slot_chose(changes):
    model = tiny_model(**changes)
    requests = {"output_selected_sentences": True, "output_sentence_attentions": True, "output_attentions": True}
    output = model(**window_inputs(), **requests)
    shapes = {"encoder": (3, 2, 9), "decoder": (3, 4, 10), "cross": (3, 4, 10)}
    for slot, shape in shapes.items():
        for name in ("selected_sentences", "sentence_attentions"):
            assert [part.shape for part in output[f"{slot}_{name}"]] == [(*shape, 2)] * 2
    attentions = (output.encoder_attentions, output.decoder_attentions, output.cross_attentions)
    for slot, parts, num_keys in zip(shapes, attentions, (9, 10, 9), strict=True):
        assert [weights.shape for weights in parts] == [(*shapes[slot], num_keys)] * 2
        # They are a part of what the output is made of.
        assert all(grad.any() for grad in torch.autograd.grad(output.logits.sum(), parts, retain_graph=True))
    torch.testing.assert_close(output.logits, logits(model, **window_inputs()))


@pytest.mark.parametrize("name", ["selected_sentences", "sentence_attentions"])
@every_choosing_variant
def test_the_configuration_can_ask_for_what_every_slot_chose(changes, name):
    model = tiny_model(**changes)
    expected = model(**window_inputs(), **{f"output_{name}": True})
    setattr(model.config, f"output_{name}", True)
    output = model(**window_inputs())
    for slot in ("encoder", "decoder", "cross"):
        torch.testing.assert_close(output[f"{slot}_{name}"], expected[f"{slot}_{name}"])


@every_choosing_variant
def test_weights_lie_on_the_chosen_sentences_tokens_and_sum_to_one(changes):
    requests = {"output_selected_sentences": True, "output_sentence_attentions": True, "output_attentions": True}
    output = tiny_model(**changes).get_encoder()(**source_inputs(SOURCES[:1]), **requests)
    numbers = torch.tensor(OWN)
    for indices, scores, weights in zip(
        output.selected_sentences, output.sentence_attentions, output.attentions, strict=True
    ):
        assert scores.isfinite().all()
        is_chosen = (indices[..., None] == numbers - 1).any(-2)
        assert torch.equal(weights > 0, is_chosen)
        torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))


def test_the_decoder_chooses_among_complete_sentences_only():
    model = tiny_model(**CONDITIONAL)
    requests = {"output_selected_sentences": True, "output_sentence_attentions": True}
    output = model(**window_inputs(SOURCES[:1], TARGETS[:1]), **requests)
    own = torch.tensor([1, 1, 1, 1, 2, 2, 2, 2, 3, 3])  # <s> 16 17 <sep> | 18 19 20 <par> | 21 22
    for indices, scores in zip(output.decoder_selected_sentences, output.decoder_sentence_attentions, strict=True):
        is_filled = scores > NO
        assert torch.equal(is_filled.sum(-1), (own - 1).expand(1, 4, -1))
        assert (indices[is_filled] < (own[:, None] - 1).expand_as(indices)[is_filled]).all()


@pytest.mark.parametrize(
    ("changes", "num_heads"),
    [
        ({**SENTENCE_SCOPE, "context_block": "block"}, (2, 4)),
        ({"context_block": "heads", "num_sentence_heads": 1}, (1, 1)),
    ],
    ids=["block", "heads"],
)
def test_weights_of_the_context_sum_to_one_over_the_documents_sentences(changes, num_heads):
    model = tiny_model(**changes, attn_implementation="eager")
    output = model(**window_inputs(), output_context_attentions=True, output_attentions=True)
    num_sentences = [3, 1, 3]
    sides = (output.encoder_context_attentions, output.decoder_context_attentions)
    for parts, heads, length in zip(sides, num_heads, (9, 10), strict=True):
        assert [weights.shape for weights in parts] == [(3, heads, length, 3)] * 2
        for weights in parts:
            torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))
            for row, number in enumerate(num_sentences):
                assert (weights[row, ..., :number] > 0).all()
                assert (weights[row, ..., number:] == 0).all()


@pytest.mark.parametrize("name", ["selected_sentences", "sentence_attentions", "attentions"])
def test_asking_for_what_was_chosen_changes_nothing(name):
    model = tiny_model(**HIERARCHICAL, attention_kernel="grouped")
    expected = logits(model, **long_inputs())
    torch.testing.assert_close(logits(model, **long_inputs(), **{f"output_{name}": True}), expected)


@pytest.mark.parametrize("num_tokens", [1, 6])
def test_decoding_sums_the_keys_of_a_tree_once_whatever_it_writes(monkeypatch, num_tokens):
    calls = []

    def count(*arguments):
        calls.append(arguments)
        return path_summed_keys(*arguments)

    for module in (conditional_attention, sentence_tree):
        monkeypatch.setattr(module, "path_summed_keys", count)
    model = tiny_model(**HIERARCHICAL)
    model.generate(**source_inputs(), min_new_tokens=num_tokens, max_new_tokens=num_tokens)
    assert len(calls) == model.config.encoder_layers + model.config.decoder_layers


@every_choosing_variant
def test_decoding_encodes_the_sentences_of_the_source_once(changes, monkeypatch):
    calls = []

    def count(*arguments):
        calls.append(arguments)
        return source2token(*arguments)

    monkeypatch.setattr(sentence_encoder, "source2token", count)
    # A decoder that encodes no sentences of its own.
    model = tiny_model(**{**changes, "decoder_self_attention": "sentence"})
    model.generate(**source_inputs(), min_new_tokens=1, max_new_tokens=1)
    num_calls = len(calls)
    assert num_calls > 0
    model.generate(**source_inputs(), min_new_tokens=6, max_new_tokens=6)
    assert len(calls) == 2 * num_calls


def operations_of_a_step(model: HierNMTForConditionalGeneration, num_sentences: int) -> int:
    """Floating-point operations of products in one decoding step below so many source sentences of five tokens."""
    source = source_inputs([[6, 7, 8, 9, SEP] * (num_sentences - 1) + [6, 7, 8, 9, EOS]])
    counts = []
    for num_tokens in (4, 5):
        with FlopCounterMode(display=False) as counter:
            model.generate(**source, min_new_tokens=num_tokens, max_new_tokens=num_tokens)
        counts.append(counter.get_total_flops())
    return counts[1] - counts[0]


@every_choosing_variant
def test_what_a_decoding_step_costs_grows_by_the_scores_of_sentences_alone(changes):
    sizes = {"max_position_embeddings": 1024, "max_sentence_positions": 256, "max_source_tokens": 2048}
    # In `auto`, documents of less than 448 tokens are read in the dense form, which is faster.
    model = tiny_model(**{**changes, "decoder_self_attention": "sentence"}, **sizes)
    growth = operations_of_a_step(model, 200) - operations_of_a_step(model, 100)
    one_score_in_all_heads = 2 * model.config.d_model
    assert growth <= 100 * one_score_in_all_heads * model.config.decoder_layers
    # Full attention multiplies queries with all keys and weights with all values.
    full = tiny_model(**sizes)
    full.set_attn_implementation("eager")
    growth = operations_of_a_step(full, 200) - operations_of_a_step(full, 100)
    assert growth == 100 * 5 * 2 * one_score_in_all_heads * full.config.decoder_layers


# Errors


def test_a_tree_over_the_target_is_an_error():
    with pytest.raises(ValueError, match="decoder_self_attention='hierarchical' is impossible"):
        tiny_config(decoder_self_attention="hierarchical")


@every_choosing_variant
def test_a_ready_mask_of_the_encoder_is_an_error_with_its_shape(changes):
    inputs = source_inputs()
    mask = inputs["attention_mask"].bool()[:, None, None, :].expand(3, 1, 9, 9)
    with pytest.raises(ValueError, match=r"shape \(batch, keys\), not \(3, 1, 9, 9\)"):
        tiny_model(**changes).get_encoder()(input_ids=inputs["input_ids"], attention_mask=mask)


@pytest.mark.parametrize("name", ["sentence_ids", "decoder_sentence_ids"])
@every_choosing_variant
def test_a_sentence_number_beyond_the_number_of_tokens_is_an_error(changes, name):
    inputs = window_inputs(SOURCES[:1], TARGETS[:1])
    num_tokens = 9 if name == "sentence_ids" else 10
    numbers = torch.ones(1, num_tokens, dtype=torch.long)
    numbers[0, -1] = num_tokens + 1
    with pytest.raises(ValueError, match=f"Sentence id {num_tokens + 1} with {num_tokens} tokens"):
        tiny_model(**changes)(**inputs, **{name: numbers})


@pytest.mark.parametrize("name", ["sentence_ids", "decoder_sentence_ids"])
@every_choosing_variant
def test_a_negative_sentence_number_is_an_error(changes, name):
    numbers = torch.ones(1, 9 if name == "sentence_ids" else 10, dtype=torch.long)
    numbers[0, 2] = -3
    with pytest.raises(ValueError, match="Sentence id -3 is negative"):
        tiny_model(**changes)(**window_inputs(SOURCES[:1], TARGETS[:1]), **{name: numbers})


@pytest.mark.parametrize("t", [0, -1])
@every_choosing_variant
def test_a_number_of_sentences_below_one_is_an_error_on_a_loaded_model_too(changes, t):
    model = tiny_model(**changes)
    model.config.num_selected_sentences = t
    with pytest.raises(ValueError, match=f"t={t} sentences cannot be selected"):
        model(**window_inputs())


def test_a_source_without_tokens_is_an_error():
    with pytest.raises(ValueError, match=r"The source has no tokens: its embeddings have the shape \(2, 0, 16\)"):
        tiny_model(**CONDITIONAL)(input_ids=torch.tensor([[], []]).long(), decoder_input_ids=torch.tensor([[EOS]] * 2))


def test_target_sentences_whose_numbers_fall_are_an_error():
    # What a sentence that goes on later says could be chosen before it is written.
    model = tiny_model(decoder_self_attention="conditional")
    target = torch.full((1, 5), 7)
    with pytest.raises(ValueError, match=r"id 1 at position 4 of target 0 follows a higher one"):
        model(**source_inputs(), decoder_input_ids=target, decoder_sentence_ids=torch.tensor([[1, 1, 2, 2, 1]]))


@pytest.mark.parametrize("parts", [[9], [1] * 9, [4, 1, 1, 3]])
@pytest.mark.parametrize("scale", [1.0, 300.0])
def test_relevance_keys_that_grow_with_the_tokens_equal_those_of_whole_sentences(parts: list[int], scale: float):
    # Logits of hundreds have exponentials beyond any float, one way or the other.
    attention = conditional_attention.ConditionalAttention(tiny_config(), 4, 4, 0).double()
    encoder = sentence_encoder.SentenceEncoder(tiny_config()).double()
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in [*attention.parameters(), *encoder.parameters()]:
            parameter.normal_()
        encoder.query.mul_(scale)
    states = torch.randn(3, 9, tiny_config().d_model, dtype=torch.float64)
    sentence_ids = torch.tensor([[1, 1, 2, 2, 2, 3, 4, 4, 4], [0, 0, 1, 1, 3, 3, 3, 3, 3], [1, 1, 0, 0, 0, 0, 0, 0, 0]])
    expected = attention._relevance_keys(encoder(states, sentence_ids, 5))
    averages = AverageKeys.none(expected, 5)
    for newest, ids in zip(states.split(parts, dim=1), sentence_ids.split(parts, dim=1), strict=True):
        encodings, logits = encoder.of_tokens(newest)
        averages = averages.extended(attention._relevance_keys(encodings), logits[..., 0], ids)
    torch.testing.assert_close(averages.keys(), expected, rtol=1e-9, atol=1e-9)
    assert (averages.keys()[2, :, 1:] == 0).all()
