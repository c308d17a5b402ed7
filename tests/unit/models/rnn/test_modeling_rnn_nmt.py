# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The recurrent network: equal to its independent form, blind to padding, trained by the loss it says."""

import pytest
import torch
from independent_recurrent_model import decode
from tiny_models import BOS, EOS, PAD, padded
from tiny_recurrent_models import (
    NUM_TOKENS,
    SOURCES,
    TARGETS,
    VARIANTS,
    pair_inputs,
    source_inputs,
    tiny_config,
    tiny_model,
)
from transformers import AutoModel, AutoModelForSeq2SeqLM
from transformers.cache_utils import DynamicCache, EncoderDecoderCache

from hier_nmt import RNNNMTForConditionalGeneration
from hier_nmt.configuration.library_internals import CACHE_NAME
from hier_nmt.models.rnn.recurrent_cache import RecurrentCache

every_variant = pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS.keys())


def logits_of(model: RNNNMTForConditionalGeneration, **inputs: torch.Tensor) -> torch.Tensor:
    inputs.pop("labels", None)
    with torch.no_grad():
        return model(**inputs).logits


@pytest.mark.parametrize(
    "changes",
    [*VARIANTS.values(), {**VARIANTS["deep_gru_untied"], "decoder_vocab_size": 13}],
    ids=[*VARIANTS, "separate vocabularies"],
)
def test_the_network_equals_its_independent_form_in_values_and_gradients(changes):
    model = tiny_model(**changes)
    inputs = pair_inputs()
    output = model(**{name: value for name, value in inputs.items() if name != "labels"}, output_attentions=True)
    direction = torch.randn_like(output.logits) * (inputs["labels"] != -100)[..., None]
    (output.logits * direction).sum().backward()
    weights = {name: tensor.detach().clone().requires_grad_() for name, tensor in model.state_dict().items()}
    total = torch.zeros((), dtype=torch.float64)
    for row, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        logits, attended = decode(model.config, weights, source, [BOS, *target[:-1]])
        torch.testing.assert_close(output.logits[row, : len(target)], logits)
        if attended is None:
            assert output.cross_attentions is None
        else:
            torch.testing.assert_close(output.cross_attentions[0][row, 0, : len(target), : len(source)], attended)
        total = total + (logits * direction[row, : len(target)]).sum()
    total.backward()
    for name, parameter in model.named_parameters():
        # Each use of a shared matrix has its own gradient in the independent form.
        twins = [weight for other, weight in weights.items() if is_tied(model, name, other)]
        expected = sum(twin.grad for twin in twins if twin.grad is not None)
        torch.testing.assert_close(parameter.grad, expected, msg=lambda text, name=name: f"{name}: {text}")


def is_tied(model: RNNNMTForConditionalGeneration, name: str, other: str) -> bool:
    tensors = model.state_dict(keep_vars=True)
    return tensors[name] is tensors[other]


@every_variant
def test_batched_equals_alone(changes):
    model = tiny_model(**changes)
    batched = logits_of(model, **pair_inputs(length=9))
    for row, pair in enumerate(zip(SOURCES, TARGETS, strict=True)):
        alone = logits_of(model, **pair_inputs([pair[0]], [pair[1]]))
        torch.testing.assert_close(batched[row, : len(pair[1])], alone[0])


@every_variant
def test_padding_content_is_irrelevant(changes):
    model = tiny_model(**changes)
    inputs = pair_inputs(length=9)
    changed = {**inputs, "input_ids": torch.where(inputs["attention_mask"] == 0, 9, inputs["input_ids"])}
    changed["decoder_input_ids"] = torch.where(inputs["labels"] == -100, 7, inputs["decoder_input_ids"])
    is_token = inputs["labels"] != -100
    assert torch.equal(logits_of(model, **inputs)[is_token], logits_of(model, **changed)[is_token])


@every_variant
def test_padding_on_the_left_equals_padding_on_the_right(changes):
    model = tiny_model(**changes)
    right = logits_of(model, **pair_inputs())
    rows = [[BOS, *target[:-1]] for target in TARGETS]
    target = padded(rows, left=True)
    left = logits_of(
        model,
        **source_inputs(left=True),
        decoder_input_ids=target,
        decoder_attention_mask=padded([[1] * len(row) for row in rows], value=0, left=True),
    )
    for row, ids in enumerate(rows):
        torch.testing.assert_close(left[row, -len(ids) :], right[row, : len(ids)])


def test_without_masks_padding_is_found_by_its_id():
    model = tiny_model()
    inputs = pair_inputs()
    target = padded([[BOS, *target[:-1]] for target in TARGETS], left=True)
    mask = (target != PAD).long()
    with_masks = logits_of(model, **source_inputs(), decoder_input_ids=target, decoder_attention_mask=mask)
    assert torch.equal(logits_of(model, input_ids=inputs["input_ids"], decoder_input_ids=target), with_masks)


def test_a_start_token_that_is_padding_is_read():
    model = tiny_model(decoder_start_token_id=PAD)
    inputs = source_inputs()
    once = torch.full((4, 1), PAD)
    twice = torch.full((4, 2), PAD)
    first, second = (logits_of(model, **inputs, decoder_input_ids=ids)[:, -1] for ids in (once, twice))
    assert not torch.allclose(first, second)


@every_variant
def test_logits_never_look_at_later_target_tokens(changes):
    model = tiny_model(**changes)
    inputs = pair_inputs()
    changed = inputs["decoder_input_ids"].clone()
    changed[:, 2:] = 9
    before, after = (
        logits_of(model, **{**inputs, "decoder_input_ids": ids}) for ids in (inputs["decoder_input_ids"], changed)
    )
    assert torch.equal(before[:, :2], after[:, :2])
    assert not torch.equal(before[1, 2:], after[1, 2:])


@every_variant
def test_cached_decoding_equals_the_full_forward(changes):
    model = tiny_model(**changes)
    inputs = pair_inputs()
    full = logits_of(model, **inputs)
    target = inputs["decoder_input_ids"]
    with torch.no_grad():
        encoded = model.model.encoder(inputs["input_ids"], inputs["attention_mask"])
        cache, steps = None, []
        for start, stop in ((0, 2), (2, 3), (3, 6)):
            output = model(
                attention_mask=inputs["attention_mask"],
                encoder_outputs=encoded,
                decoder_input_ids=target[:, start:stop],
                past_key_values=cache,
                use_cache=True,
            )
            cache = output[CACHE_NAME]
            steps.append(output.logits)
    torch.testing.assert_close(torch.cat(steps, 1), full, rtol=1e-12, atol=1e-12)
    assert isinstance(cache, RecurrentCache)
    assert cache.get_seq_length() == 6


def test_no_cache_is_made_where_none_is_wanted():
    model = tiny_model()
    inputs = pair_inputs()
    assert CACHE_NAME not in model(**inputs)
    del inputs["labels"]
    assert CACHE_NAME not in model(**inputs, use_cache=False)
    assert model(**inputs)[CACHE_NAME].get_seq_length() == 6


@every_variant
def test_loss_equals_the_arithmetic_of_the_logits(changes):
    model = tiny_model(**changes)
    inputs = pair_inputs()
    output = model(**inputs)
    total, num_tokens = 0.0, 0
    for row, target in enumerate(TARGETS):
        for position, label in enumerate(target):
            scores = output.logits[row, position].exp()
            total -= (scores[label] / scores.sum()).log().item()
            num_tokens += 1
    assert output.loss.item() == pytest.approx(total / num_tokens)
    assert model(**inputs, num_items_in_batch=5).loss.item() == pytest.approx(total / 5)


def test_labels_alone_are_shifted_right_behind_the_start_token():
    model = tiny_model()
    inputs = pair_inputs()
    shifted = model.prepare_decoder_input_ids_from_labels(inputs["labels"])
    assert shifted[0].tolist() == [BOS, 6, 7, EOS, PAD, PAD]
    with_inputs = model(**{**inputs, "decoder_input_ids": shifted}).loss
    del inputs["decoder_input_ids"]
    assert torch.equal(model(**inputs).loss, with_inputs)


@every_variant
def test_every_parameter_gets_a_gradient(changes):
    model = tiny_model(**changes, dropout=0.1).train()
    model(**pair_inputs()).loss.backward()
    without = [name for name, weight in model.named_parameters() if weight.grad is None or not weight.grad.any()]
    assert without == []


def test_dropout_acts_in_training_only():
    model = tiny_model(dropout=0.5)
    inputs = pair_inputs()
    assert torch.equal(model(**inputs).loss, model(**inputs).loss)
    model.train()
    assert not torch.equal(model(**inputs).loss, model(**inputs).loss)


@every_variant
def test_loading_weights_into_another_model_gives_the_same_logits_to_the_bit(changes):
    model, other = tiny_model(**changes), tiny_model(seed=1, **changes)
    assert not torch.equal(logits_of(model, **pair_inputs()), logits_of(other, **pair_inputs()))
    other.load_state_dict(model.state_dict())
    assert torch.equal(logits_of(model, **pair_inputs()), logits_of(other, **pair_inputs()))


@every_variant
def test_save_and_load_gives_the_same_logits(changes, tmp_path):
    model = tiny_model(**changes)
    model.save_pretrained(tmp_path)
    loaded = AutoModelForSeq2SeqLM.from_pretrained(tmp_path, dtype=torch.float64)
    assert type(loaded) is RNNNMTForConditionalGeneration
    assert all(torch.equal(weight, loaded.state_dict()[name]) for name, weight in model.state_dict().items())
    # To the bit only where the loaded weights lie as the others do in memory, by which torch chooses its kernels.
    expected = logits_of(model, **pair_inputs())
    torch.testing.assert_close(logits_of(loaded, **pair_inputs()), expected, rtol=1e-12, atol=1e-12)
    base = AutoModel.from_pretrained(tmp_path, dtype=torch.float64)
    assert torch.equal(base.decoder.output_proj.weight, model.model.decoder.output_proj.weight)


@pytest.mark.parametrize(
    ("changes", "num_matrices"),
    [
        ({}, 1),
        ({"share_encoder_decoder_embeddings": False}, 2),
        ({"tie_word_embeddings": False}, 3),
        ({"tie_word_embeddings": False, "share_encoder_decoder_embeddings": False}, 3),
    ],
)
def test_tied_matrices_are_one_before_and_after_loading(changes, num_matrices, tmp_path):
    model = RNNNMTForConditionalGeneration(tiny_config(**changes))
    model.save_pretrained(tmp_path)
    for one in (model, AutoModelForSeq2SeqLM.from_pretrained(tmp_path)):
        matrices = (one.model.encoder.embed_tokens, one.model.decoder.embed_tokens, one.lm_head)
        assert len({matrix.weight.data_ptr() for matrix in matrices}) == num_matrices
        assert sum(weight.shape == (NUM_TOKENS, 5) for weight in one.parameters()) == num_matrices


@pytest.mark.parametrize("rnn_type", ["lstm", "gru"])
def test_initial_weights_are_drawn_for_every_layer_and_biases_are_zero(rnn_type):
    model = RNNNMTForConditionalGeneration(tiny_config(rnn_type=rnn_type, hidden_size=64, init_std=0.05))
    for name, weight in model.named_parameters():
        if "bias" in name:
            assert not weight.any(), name
        elif "weight_ih" in name or "weight_hh" in name:
            # Xavier: uniform up to sqrt(6 / (rows + columns)), of which the deviation is a third.
            bound = (6 / sum(weight.shape)) ** 0.5
            assert weight.abs().max() <= bound, name
            assert weight.std().item() == pytest.approx(bound / 3**0.5, rel=0.1), name


def test_resizing_a_joint_vocabulary_resizes_both_sides():
    model = tiny_model()
    model.resize_token_embeddings(18)
    assert (model.config.vocab_size, model.config.decoder_vocab_size) == (18, 18)
    assert logits_of(model, **pair_inputs()).shape[-1] == 18


def test_embeddings_may_stand_for_tokens():
    model = tiny_model()
    inputs = pair_inputs()
    table = model.get_input_embeddings()
    embedded = {
        "inputs_embeds": table(inputs["input_ids"]),
        "attention_mask": inputs["attention_mask"],
        "decoder_inputs_embeds": table(inputs["decoder_input_ids"]),
        "decoder_attention_mask": (inputs["decoder_input_ids"] != PAD).long(),
    }
    assert torch.equal(logits_of(model, **embedded), logits_of(model, **inputs))


def test_encoder_outputs_may_be_a_tuple():
    model = tiny_model()
    inputs = pair_inputs()
    expected = logits_of(model, **inputs)
    encoded = model.model.encoder(inputs["input_ids"], return_dict=False)
    assert isinstance(encoded, tuple)
    given = {name: inputs[name] for name in ("attention_mask", "decoder_input_ids")}
    assert torch.equal(logits_of(model, encoder_outputs=encoded, **given), expected)


def test_outputs_have_the_documented_shapes():
    model = tiny_model(**VARIANTS["deep_lstm_fed"])
    output = model(**pair_inputs(), output_hidden_states=True, output_attentions=True)
    assert output.logits.shape == (4, 6, NUM_TOKENS)
    assert output.encoder_last_hidden_state.shape == (4, 7, 6)
    assert [states.shape for states in output.encoder_hidden_states] == [(4, 7, 5), (4, 7, 6), (4, 7, 6)]
    assert [states.shape for states in output.decoder_hidden_states] == [(4, 6, 5)] + 3 * [(4, 6, 6)]
    assert [weights.shape for weights in output.cross_attentions] == [(4, 1, 6, 7)]
    plain = model(**pair_inputs())
    assert plain.encoder_hidden_states is None
    assert plain.decoder_hidden_states is None
    assert plain.cross_attentions is None


def test_autocast_to_bfloat16_trains():
    model = tiny_model(**VARIANTS["deep_lstm_fed"]).float()
    exact = model(**pair_inputs()).loss
    with torch.autocast("cpu", torch.bfloat16):
        loss = model(**pair_inputs()).loss
    loss.backward()
    assert loss.item() == pytest.approx(exact.item(), rel=0.05)
    assert all(weight.grad.isfinite().all() for weight in model.parameters())


def test_dummy_inputs_run():
    model = tiny_model()
    assert logits_of(model, **model.dummy_inputs).shape == (2, 5, NUM_TOKENS)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"attention_mask": torch.ones(4, 3)}, r"attention_mask must be \[4, 7\] like the source, got \[4, 3\]"),
        ({"input_ids": padded([[6], [7], [], [8]], 7)}, r"Rows \[2\] of the source have no token"),
        (
            {"decoder_attention_mask": torch.ones(4, 2)},
            r"decoder_attention_mask must be \[4, 6 or more\], got \[4, 2\]",
        ),
        ({"input_ids": None}, "Pass exactly one of input_ids and inputs_embeds"),
        ({"decoder_input_ids": None}, "Pass exactly one of decoder_input_ids and decoder_inputs_embeds"),
        (
            {"past_key_values": EncoderDecoderCache(DynamicCache(), DynamicCache())},
            "the cache must be a RecurrentCache, not a EncoderDecoderCache",
        ),
    ],
)
def test_a_bad_input_is_named(changes, message):
    inputs = {**pair_inputs(), **changes}
    del inputs["labels"]
    if changes.get("input_ids") is not None:
        del inputs["attention_mask"]
    with pytest.raises(ValueError, match=message):
        tiny_model()(**inputs)


def test_numbers_of_sentences_are_an_error():
    # It has no use for them, and a caller who passes them expects that it has.
    with pytest.raises(TypeError, match="sentence_ids"):
        tiny_model()(**pair_inputs(), sentence_ids=torch.ones(4, 7))
