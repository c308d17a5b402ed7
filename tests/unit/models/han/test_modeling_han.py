# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The HAN network equals its slow form, and is a Transformers model like any other."""

import pytest
import torch
from independent_han_model import independent_forward
from tiny_han_models import VARIANTS, tiny_config, tiny_model
from tiny_models import BOS, EOS, PAD, PAR, SEP, SOURCES, TARGETS, padded, source_inputs, window_inputs
from transformers import AutoConfig, AutoModel, AutoModelForSeq2SeqLM
from transformers.cache_utils import EncoderDecoderCache, StaticCache
from transformers.modeling_outputs import BaseModelOutput

from hier_nmt import HANConfig, HANForConditionalGeneration, HANModel
from hier_nmt.configuration.library_internals import CACHE_NAME

every_variant = pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS.keys())
# Of a document of nine tokens, and of one of a token.
LONG = [[6, 7, 8, SEP, 9, 10, PAR, 11, 12, 13, 14, 15, 16, 17, 18, 19, EOS], [20, EOS]]
LONG_TARGETS = [[16, 17, SEP, 18, 19, 20, PAR, 21, 22, 23, 24, 25, 26, 27, EOS], [8, 9, SEP, 7, EOS]]


def logits(model: HANForConditionalGeneration, **inputs: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return model(**inputs).logits


def loss_and_gradients(model: HANForConditionalGeneration, **inputs: torch.Tensor):
    model.zero_grad()
    loss = model(**inputs).loss
    loss.backward()
    trained = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    return loss.detach(), {name: parameter.grad.clone() for name, parameter in trained.items()}


@every_variant
def test_the_model_equals_the_independent_one_in_values_and_gradients(changes):
    model = tiny_model(**changes)
    weights = dict(model.named_parameters(remove_duplicate=False))
    inputs = window_inputs(LONG, LONG_TARGETS, length=18)
    labels = inputs.pop("labels")
    in_batch = model(**inputs).logits[labels != -100]
    slow = torch.cat(
        [
            independent_forward(model.config, weights, source, [BOS, *target[:-1]])
            for source, target in zip(LONG, LONG_TARGETS, strict=True)
        ]
    )
    torch.testing.assert_close(in_batch, slow, rtol=1e-9, atol=1e-9)
    weighting = torch.randn(slow.shape, generator=torch.Generator().manual_seed(1), dtype=slow.dtype)
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    both = [torch.autograd.grad((out * weighting).sum(), parameters) for out in (in_batch, slow)]
    for fast, expected in zip(*both, strict=True):
        torch.testing.assert_close(fast, expected, rtol=1e-8, atol=1e-8 * max(1.0, float(expected.abs().max())))


@every_variant
def test_batched_equals_alone(changes):
    model = tiny_model(**changes)
    batched = logits(model, **window_inputs(length=13))
    for row, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        torch.testing.assert_close(batched[row, : len(target)], logits(model, **window_inputs([source], [target]))[0])


@every_variant
def test_padding_content_is_irrelevant(changes):
    model = tiny_model(**changes)
    inputs = window_inputs(length=13)
    inputs["decoder_attention_mask"] = (inputs["decoder_input_ids"] != PAD).long()
    other = dict(inputs)
    for ids, mask in (("input_ids", "attention_mask"), ("decoder_input_ids", "decoder_attention_mask")):
        other[ids] = torch.where(inputs[mask] == 0, torch.tensor([SEP, 7, PAR] * 5)[:13], inputs[ids])
        assert not torch.equal(other[ids], inputs[ids])
    torch.testing.assert_close(loss_and_gradients(model, **inputs), loss_and_gradients(model, **other))


@every_variant
def test_padding_on_the_left_equals_padding_on_the_right(changes):
    model = tiny_model(**changes)
    right = window_inputs()
    left = {
        "input_ids": padded(SOURCES, left=True),
        "decoder_input_ids": padded([[BOS, *target[:-1]] for target in TARGETS], left=True),
    }
    left["attention_mask"] = (left["input_ids"] != PAD).long()
    left["decoder_attention_mask"] = (left["decoder_input_ids"] != PAD).long()
    expected = logits(model, **right)[right["labels"] != -100]
    torch.testing.assert_close(logits(model, **left)[left["decoder_attention_mask"] == 1], expected)


@every_variant
@pytest.mark.parametrize("replacement", [27, SEP])
def test_logits_never_look_at_later_target_tokens(changes, replacement):
    model = tiny_model(**changes)
    inputs = window_inputs(LONG[:1], LONG_TARGETS[:1])
    before = logits(model, **inputs)
    for position in range(1, before.shape[1]):
        changed = inputs["decoder_input_ids"].clone()
        changed[0, position] = replacement
        after = logits(model, **{**inputs, "decoder_input_ids": changed})
        torch.testing.assert_close(after[:, :position], before[:, :position])


@every_variant
@pytest.mark.parametrize("cache", ["dynamic", "static"])
def test_cached_decoding_equals_the_full_forward(changes, cache):
    model = tiny_model(**changes)
    inputs = window_inputs(LONG[:1], LONG_TARGETS[:1])
    target = inputs.pop("decoder_input_ids")
    inputs.pop("labels")
    full = logits(model, **inputs, decoder_input_ids=target)
    past_key_values = None
    if cache == "static":
        caches = [StaticCache(config=model.config, max_cache_len=length) for length in (16, 17)]
        past_key_values = EncoderDecoderCache(*caches)
    numbers = torch.ones_like(target)
    with torch.no_grad():
        encoder_outputs = model.get_encoder()(**inputs)
        for start, stop in ((0, 3), (3, 4), (4, 8), (8, 9), (9, 15)):
            missing = 16 - stop if cache == "static" else 0
            output = model(
                encoder_outputs=encoder_outputs,
                attention_mask=inputs["attention_mask"],
                decoder_input_ids=target[:, start:stop],
                decoder_sentence_ids=torch.nn.functional.pad(numbers[:, :stop], (0, missing)),
                past_key_values=past_key_values,
                use_cache=True,
            )
            past_key_values = output[CACHE_NAME]
            torch.testing.assert_close(output.logits, full[:, start:stop])


@pytest.mark.parametrize("name", [name for name in VARIANTS if name != "kernel_beyond_the_documents"])
def test_every_trainable_parameter_gets_a_gradient(name):
    # With a single summary there is nothing to compare, so that variant is left out.
    model = tiny_model(**VARIANTS[name])
    _, gradients = loss_and_gradients(model, **window_inputs(LONG, LONG_TARGETS))
    # A bias of the keys shifts all logits of a query alike, which the softmax does not see.
    unmoved = {name for name, gradient in gradients.items() if gradient.abs().max() < 1e-12}
    assert all(name.endswith("k_proj.bias") for name in unmoved)
    assert sum(name.endswith("_proj.bias") for name in gradients) > len(unmoved)


@every_variant
def test_save_and_load_give_the_same_weights_and_logits(changes, tmp_path):
    model = tiny_model(**changes)
    model.save_pretrained(tmp_path)
    loaded = AutoModelForSeq2SeqLM.from_pretrained(tmp_path, dtype=torch.float64)
    assert type(loaded) is HANForConditionalGeneration
    assert type(AutoConfig.from_pretrained(tmp_path)) is HANConfig
    weights, expected = loaded.state_dict(), model.state_dict()
    assert weights.keys() == expected.keys()
    assert all(torch.equal(weights[name], expected[name]) for name in weights)
    inputs = window_inputs(LONG, LONG_TARGETS)
    torch.testing.assert_close(logits(loaded, **inputs), logits(model, **inputs))
    again = AutoModelForSeq2SeqLM.from_pretrained(tmp_path, dtype=torch.float64)
    assert torch.equal(logits(again, **inputs), logits(loaded, **inputs))
    base = AutoModel.from_pretrained(tmp_path, dtype=torch.float64)
    assert type(base) is HANModel


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_gradient_checkpointing_gives_the_same_gradients(use_reentrant):
    model = tiny_model().train()
    plain = loss_and_gradients(model, **window_inputs())
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": use_reentrant})
    torch.testing.assert_close(plain, loss_and_gradients(model, **window_inputs()))


def test_eager_and_fused_attention_agree():
    inputs = window_inputs()
    results = []
    for implementation in ("eager", "sdpa"):
        model = tiny_model()
        model.set_attn_implementation(implementation)
        results.append(loss_and_gradients(model, **inputs))
    torch.testing.assert_close(*results)


def test_without_summaries_the_decoder_says_what_it_lacks():
    model = tiny_model()
    inputs = window_inputs()
    states = model.get_encoder()(**source_inputs()).last_hidden_state
    inputs.pop("input_ids")
    with pytest.raises(ValueError, match="summaries of the source: pass as encoder_outputs all"):
        model(**inputs, encoder_outputs=BaseModelOutput(states), sentence_ids=inputs["attention_mask"])


def test_encoder_outputs_may_be_a_tuple():
    model = tiny_model()
    inputs = window_inputs()
    expected = logits(model, **inputs)
    inputs.pop("input_ids")
    parts = model.get_encoder()(**source_inputs(), output_hidden_states=True, return_dict=False)
    torch.testing.assert_close(logits(model, **inputs, encoder_outputs=parts), expected)


def test_attentions_to_tokens_and_summaries_are_returned():
    model = tiny_model()
    model.set_attn_implementation("eager")
    output = model(**window_inputs(LONG, LONG_TARGETS), output_attentions=True, output_context_attentions=True)
    # 17 and 15 tokens; windows of 4 tokens, 2 apart: 1 + ceil(13 / 2) = 8.
    assert [tuple(weights.shape) for weights in output.encoder_attentions] == [(2, 2, 17, 17)] * 2
    assert [tuple(weights.shape) for weights in output.cross_attentions] == [(2, 4, 15, 17)] * 2
    assert [tuple(weights.shape) for weights in output.encoder_context_attentions] == [(2, 2, 17, 8)] * 2
    assert [tuple(weights.shape) for weights in output.decoder_context_attentions] == [(2, 4, 15, 8)] * 2
    assert (output.encoder_context_attentions[0][1, :, :, 1:] == 0).all()
    for weights in (*output.encoder_context_attentions, *output.decoder_context_attentions):
        torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"encoder_self_attention": "sentence"},
            "encoder_self_attention='sentence' is unknown; choose one of document, big_bird",
        ),
        ({"summary_kernel_size": 0}, "summary_kernel_size=0 must be at least 1"),
        ({"decoder_attention_heads": 3}, "decoder_attention_heads=3 must divide d_model=16"),
        ({"dropout": 1.0}, "dropout=1.0 must be at least 0 and below 1"),
        ({"window_sentences": -1}, "window_sentences=-1 must not be negative"),
        ({"decoder_vocab_size": 7}, "separate vocabularies need share_encoder_decoder_embeddings=False"),
        ({"position_embedding_type": "none"}, "position_embedding_type='none' is unknown"),
        ({"word_vector_size": 0}, "word_vector_size=0 must be at least 1"),
        ({"word_vector_size": 5}, "word_vector_size=5 needs share_encoder_decoder_embeddings=False"),
    ],
)
def test_a_bad_value_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        tiny_config(**changes)
