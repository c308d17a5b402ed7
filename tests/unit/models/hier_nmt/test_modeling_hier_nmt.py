# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import pytest
import torch
from tiny_models import (
    BOS,
    EOS,
    NUM_TOKENS,
    PAD,
    PAR,
    SENTENCE_SCOPE,
    SEP,
    SOURCES,
    TARGETS,
    VARIANTS,
    padded,
    source_inputs,
    tiny_config,
    tiny_model,
    window_inputs,
)
from transformers import AutoModel, AutoModelForSeq2SeqLM
from transformers.cache_utils import DynamicCache, EncoderDecoderCache, StaticCache

from hier_nmt import HierNMTForConditionalGeneration, HierNMTModel
from hier_nmt.configuration.library_internals import CACHE_NAME
from hier_nmt.models.common.target_labels import shift_tokens_right

every_variant = pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS.keys())
# A model of sentences only: positions restart in each sentence, and nothing else says where the sentence stands.
SENTENCES_ONLY = {
    **SENTENCE_SCOPE,
    "position_encoding": "multi_level",
    "structure_levels": ["token"],
    "token_position_origin": "sentence",
}


def logits(model: HierNMTForConditionalGeneration, **inputs: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return model(**inputs).logits


def loss_and_gradients(model: HierNMTForConditionalGeneration, **inputs: torch.Tensor):
    model.zero_grad()
    loss = model(**inputs).loss
    loss.backward()
    return loss.detach(), {name: parameter.grad.clone() for name, parameter in model.named_parameters()}


def assert_same_losses_and_gradients(first, second):
    torch.testing.assert_close(first[0], second[0])
    torch.testing.assert_close(first[1], second[1])


# One document in a batch


@every_variant
def test_batched_equals_alone_in_logits_and_states(changes):
    model = tiny_model(**changes)
    inputs = window_inputs(length=13)
    with torch.no_grad():
        batched = model(**inputs)
        for row, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
            alone = model(**window_inputs([source], [target]))
            torch.testing.assert_close(batched.logits[row, : len(target)], alone.logits[0])
            states = batched.encoder_last_hidden_state[row, : len(source)]
            torch.testing.assert_close(states, alone.encoder_last_hidden_state[0])


@every_variant
def test_padding_content_is_irrelevant(changes):
    model = tiny_model(**changes)
    inputs = window_inputs(length=13)
    inputs["decoder_attention_mask"] = (inputs["decoder_input_ids"] != PAD).long()
    other = dict(inputs)
    for ids, mask in (("input_ids", "attention_mask"), ("decoder_input_ids", "decoder_attention_mask")):
        is_padding = inputs[mask] == 0
        assert is_padding.any()
        other[ids] = torch.where(is_padding, torch.tensor([SEP, 7, PAR] * 5)[: is_padding.shape[1]], inputs[ids])
    is_token = inputs["labels"] != -100
    torch.testing.assert_close(logits(model, **inputs)[is_token], logits(model, **other)[is_token])
    assert_same_losses_and_gradients(loss_and_gradients(model, **inputs), loss_and_gradients(model, **other))


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
    right_logits = logits(model, **right)[right["labels"] != -100]
    torch.testing.assert_close(logits(model, **left)[left["decoder_attention_mask"] == 1], right_logits)


def test_without_a_mask_padding_is_found_by_its_id():
    model = tiny_model()
    inputs = window_inputs()
    unmasked = {name: value for name, value in inputs.items() if name != "attention_mask"}
    torch.testing.assert_close(logits(model, **inputs), logits(model, **unmasked))


# Nothing to the right


@every_variant
@pytest.mark.parametrize("replacement", [28, SEP, PAR])
def test_logits_never_look_at_later_target_tokens(changes, replacement):
    model = tiny_model(**changes)
    inputs = window_inputs(SOURCES[:1], TARGETS[:1])
    before = logits(model, **inputs)
    for position in range(1, before.shape[1]):
        changed = inputs["decoder_input_ids"].clone()
        changed[0, position] = replacement
        after = logits(model, **{**inputs, "decoder_input_ids": changed})
        torch.testing.assert_close(after[:, :position], before[:, :position])


def test_sentence_scope_reads_its_own_sentences_only():
    model = tiny_model(**SENTENCE_SCOPE)
    inputs = window_inputs(SOURCES[:1], TARGETS[:1])
    before = logits(model, **inputs)
    # The target inputs are <s> 16 17 <sep> | 18 19 20 <par> | 21 22; <par> still sees the second sentence.
    changed = inputs["decoder_input_ids"].clone()
    changed[0, 5] = 28
    after = logits(model, **{**inputs, "decoder_input_ids": changed})
    differs = (after != before).any(-1)[0]
    assert differs.tolist() == [False] * 5 + [True] * 3 + [False] * 2
    # What is written behind <sep> and up to <par> reads the second source sentence, 9 10 <par>; so does, by way of the
    # tokens before it, <par>.
    changed = inputs["input_ids"].clone()
    changed[0, 4] = 28
    differs = (logits(model, **{**inputs, "input_ids": changed}) != before).any(-1)[0]
    assert differs.tolist() == [False] * 3 + [True] * 5 + [False] * 2


# The simpler model each variant becomes


def test_sentence_scope_on_a_document_equals_each_sentence_alone():
    encoder = tiny_model(**SENTENCES_ONLY).get_encoder()
    sentences = [[6, 7, 8, SEP], [9, 10, PAR], [SEP], [11, EOS]]
    with torch.no_grad():
        document = encoder(torch.tensor([[token for sentence in sentences for token in sentence]])).last_hidden_state[0]
        alone = [encoder(torch.tensor([sentence])).last_hidden_state[0] for sentence in sentences]
    torch.testing.assert_close(document, torch.cat(alone))


def test_one_sentence_document_under_sentence_scope_equals_document_scope():
    inputs = window_inputs(SOURCES[1:2], TARGETS[1:2])
    results = [loss_and_gradients(tiny_model(**changes), **inputs) for changes in ({}, SENTENCE_SCOPE)]
    assert_same_losses_and_gradients(*results)


def test_segment_shift_of_zero_equals_sequential():
    shifted = {"position_encoding": "segment_shifted", "segment_shift": 0}
    results = [loss_and_gradients(tiny_model(**changes), **window_inputs()) for changes in ({}, shifted)]
    assert_same_losses_and_gradients(*results)


def test_one_sentence_windows_are_not_shifted():
    shifted = {"position_encoding": "segment_shifted", "segment_shift": 9}
    inputs = window_inputs(SOURCES[1:2], TARGETS[1:2])
    results = [loss_and_gradients(tiny_model(**changes), **inputs) for changes in ({}, shifted)]
    assert_same_losses_and_gradients(*results)


# Structure given by the caller


@every_variant
def test_explicit_numbers_equal_to_the_derived_ones_change_nothing(changes):
    model = tiny_model(**changes)
    inputs = window_inputs(SOURCES[:1], TARGETS[:1])
    explicit = {
        "sentence_ids": torch.tensor([[1, 1, 1, 1, 2, 2, 2, 3, 3]]),
        "paragraph_ids": torch.tensor([[1, 1, 1, 1, 1, 1, 1, 2, 2]]),
        "decoder_sentence_ids": torch.tensor([[1, 1, 1, 1, 2, 2, 2, 2, 3, 3]]),
        "decoder_paragraph_ids": torch.tensor([[1, 1, 1, 1, 1, 1, 1, 1, 2, 2]]),
    }
    assert torch.equal(logits(model, **inputs), logits(model, **inputs, **explicit))


@pytest.mark.parametrize("name", ["sentence_ids", "paragraph_ids", "decoder_sentence_ids", "decoder_paragraph_ids"])
def test_explicit_numbers_win_over_the_separators(name):
    model = tiny_model(**VARIANTS["sentence_scope_multi_level"])
    inputs = window_inputs(SOURCES[:1], TARGETS[:1])
    length = inputs["decoder_input_ids" if name.startswith("decoder") else "input_ids"].shape[1]
    explicit = torch.tensor([[1] * 2 + [2] * (length - 2)])
    assert not torch.equal(logits(model, **inputs), logits(model, **inputs, **{name: explicit}))


@every_variant
def test_embeddings_with_numbers_equal_their_tokens(changes):
    model = tiny_model(**changes)
    inputs = window_inputs(SOURCES[:1], TARGETS[:1])
    source, target = inputs["input_ids"], inputs["decoder_input_ids"]
    embedded = {
        "inputs_embeds": model.get_input_embeddings()(source),
        "decoder_inputs_embeds": model.get_input_embeddings()(target),
        "sentence_ids": torch.tensor([[1, 1, 1, 1, 2, 2, 2, 3, 3]]),
        "paragraph_ids": torch.tensor([[1, 1, 1, 1, 1, 1, 1, 2, 2]]),
        "decoder_sentence_ids": torch.tensor([[1, 1, 1, 1, 2, 2, 2, 2, 3, 3]]),
        "decoder_paragraph_ids": torch.tensor([[1, 1, 1, 1, 1, 1, 1, 1, 2, 2]]),
    }
    torch.testing.assert_close(logits(model, **embedded), logits(model, **inputs))


@pytest.mark.parametrize("side", ["", "decoder_"])
def test_tokens_and_embeddings_together_are_an_error(side):
    model = tiny_model()
    inputs = window_inputs()
    embeddings = model.get_input_embeddings()(inputs[f"{side}input_ids"])
    with pytest.raises(ValueError, match=f"exactly one of {side}input_ids and {side}inputs_embeds"):
        model(**inputs, **{f"{side}inputs_embeds": embeddings})


def test_numbers_of_the_wrong_shape_are_an_error_with_their_name():
    model = tiny_model()
    with pytest.raises(ValueError, match="decoder_sentence_ids has 2 columns for 10 tokens"):
        model(**window_inputs(), decoder_sentence_ids=torch.ones(3, 2, dtype=torch.long))
    with pytest.raises(ValueError, match="paragraph_ids must be integers"):
        model(**window_inputs(), paragraph_ids=torch.ones(3, 9))


def test_a_mask_of_another_length_is_an_error_with_both_shapes():
    with pytest.raises(ValueError, match=r"shape \(3, 4\) .* shape \(3, 9\)"):
        tiny_model()(**{**window_inputs(), "attention_mask": torch.ones(3, 4)})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"position_embedding_type": "learned", "max_position_embeddings": 8},
            "token position 8 is beyond .* 8 positions",
        ),
        (
            {
                "position_encoding": "segment_shifted",
                "segment_shift": 5,
                "position_embedding_type": "learned",
                "max_position_embeddings": 18,
            },
            "token position 18 is beyond .* 18 positions",
        ),
        (
            {"position_encoding": "multi_level", "max_paragraph_positions": 1},
            "paragraph position 1 is beyond .* 1 positions",
        ),
    ],
)
def test_a_window_beyond_a_learned_table_is_an_error(changes, message):
    with pytest.raises(ValueError, match=message):
        tiny_model(**changes)(**window_inputs(SOURCES[:1], TARGETS[:1]))


# Caches


@every_variant
@pytest.mark.parametrize("cache", ["dynamic", "static"])
def test_cached_decoding_equals_the_full_forward(changes, cache):
    model = tiny_model(**changes)
    inputs = window_inputs(SOURCES[:1], TARGETS[:1])
    target = inputs.pop("decoder_input_ids")
    inputs.pop("labels")
    full = logits(model, **inputs, decoder_input_ids=target)
    numbers = {
        "decoder_sentence_ids": torch.tensor([[1, 1, 1, 1, 2, 2, 2, 2, 3, 3]]),
        "decoder_paragraph_ids": torch.tensor([[1, 1, 1, 1, 1, 1, 1, 1, 2, 2]]),
    }
    past_key_values = None
    if cache == "static":
        caches = [StaticCache(config=model.config, max_cache_len=length) for length in (12, 9)]
        past_key_values = EncoderDecoderCache(*caches)
    with torch.no_grad():
        encoder_outputs = model.get_encoder()(**inputs)
        for start, stop in ((0, 3), (3, 4), (4, 8), (8, 10)):
            prefix = {name: value[:, :stop] for name, value in numbers.items()}
            if cache == "static":
                prefix = {name: torch.nn.functional.pad(value, (0, 12 - stop)) for name, value in prefix.items()}
            output = model(
                encoder_outputs=encoder_outputs,
                attention_mask=inputs["attention_mask"],
                decoder_input_ids=target[:, start:stop],
                past_key_values=past_key_values,
                use_cache=True,
                **prefix,
            )
            past_key_values = output[CACHE_NAME]
            torch.testing.assert_close(output.logits, full[:, start:stop])


def test_cached_decoding_that_reads_sentences_and_is_not_told_them_is_an_error():
    model = tiny_model(**SENTENCE_SCOPE)
    inputs = window_inputs(SOURCES[:1], TARGETS[:1])
    inputs.pop("labels")
    past_key_values = model(**inputs, use_cache=True)[CACHE_NAME]
    with pytest.raises(ValueError, match="pass decoder_sentence_ids"):
        model(**{**inputs, "decoder_input_ids": torch.tensor([[7]])}, past_key_values=past_key_values)


def test_a_cache_of_the_wrong_kind_is_an_error():
    model = tiny_model()
    with pytest.raises(ValueError, match="EncoderDecoderCache, not a DynamicCache"):
        model(**window_inputs(), past_key_values=DynamicCache(config=model.config))


def test_encoder_outputs_may_be_a_tuple():
    model = tiny_model(**VARIANTS["sentence_scope_multi_level"])
    inputs = window_inputs()
    expected = logits(model, **inputs)
    rest = {name: value for name, value in inputs.items() if name != "input_ids"}
    for kwargs in ({}, {"output_hidden_states": True}, {"output_hidden_states": True, "output_attentions": True}):
        parts = model.get_encoder()(**source_inputs(), **kwargs, return_dict=False)
        assert isinstance(parts, tuple)
        output = model(**rest, encoder_outputs=parts)
        torch.testing.assert_close(output.logits, expected)
        assert len(output.encoder_hidden_states or ()) == (3 if kwargs else 0)


def test_encoder_outputs_that_do_not_know_their_sentences_can_be_told_them():
    model = tiny_model(**SENTENCE_SCOPE)
    inputs = window_inputs()
    expected = logits(model, **inputs)
    states = model.get_encoder()(**source_inputs()).last_hidden_state
    torch.testing.assert_close(logits(model, **inputs, encoder_outputs=(states,)), expected)
    rest = {name: value for name, value in inputs.items() if name != "input_ids"}
    with pytest.raises(ValueError, match="with encoder_outputs alone, pass sentence_ids"):
        model(**rest, encoder_outputs=(states,))


# The loss


def test_forward_divides_by_num_items_in_batch():
    model = tiny_model()
    inputs = window_inputs()
    num_tokens = sum(map(len, TARGETS))
    mean = model(**inputs).loss
    torch.testing.assert_close(model(**inputs, num_items_in_batch=1).loss, mean * num_tokens)
    torch.testing.assert_close(model(**inputs, num_items_in_batch=torch.tensor(50)).loss, mean * num_tokens / 50)


def test_accumulated_losses_and_gradients_equal_those_of_the_whole_batch():
    model = tiny_model()
    num_tokens = sum(map(len, TARGETS))
    whole = loss_and_gradients(model, **window_inputs())
    model.zero_grad()
    losses = []
    for source, target in zip(SOURCES, TARGETS, strict=True):
        loss = model(**window_inputs([source], [target]), num_items_in_batch=num_tokens).loss
        loss.backward()
        losses.append(loss.detach())
    assert_same_losses_and_gradients(whole, (sum(losses), {name: p.grad for name, p in model.named_parameters()}))


def test_labels_alone_are_shifted_right_behind_the_start_token():
    labels = torch.tensor([[7, SEP, EOS, -100], [8, 9, 10, EOS]])
    assert shift_tokens_right(labels, PAD, BOS).tolist() == [[BOS, 7, SEP, EOS], [BOS, 8, 9, 10]]
    model = tiny_model()
    inputs = window_inputs()
    derived = {name: value for name, value in inputs.items() if name != "decoder_input_ids"}
    torch.testing.assert_close(model(**inputs).loss, model(**derived).loss)


# Weights


@every_variant
def test_save_and_load_gives_the_same_logits(changes, tmp_path):
    model = tiny_model(**changes)
    inputs = window_inputs()
    model.save_pretrained(tmp_path)
    loaded = AutoModelForSeq2SeqLM.from_pretrained(tmp_path, dtype=torch.float64)
    assert isinstance(loaded, HierNMTForConditionalGeneration)
    torch.testing.assert_close(logits(model, **inputs), logits(loaded, **inputs))
    base = AutoModel.from_pretrained(tmp_path, dtype=torch.float64)
    assert isinstance(base, HierNMTModel)
    inputs.pop("labels")
    with torch.no_grad():
        torch.testing.assert_close(base(**inputs).last_hidden_state, model.model(**inputs).last_hidden_state)


@pytest.mark.parametrize(
    ("changes", "num_matrices"),
    [
        ({}, 1),
        ({"tie_word_embeddings": False}, 3),
        ({"share_encoder_decoder_embeddings": False}, 2),
        ({"share_encoder_decoder_embeddings": False, "decoder_vocab_size": 25}, 2),
        ({"share_encoder_decoder_embeddings": False, "tie_word_embeddings": False}, 3),
    ],
)
def test_tied_matrices_are_one_before_and_after_loading(changes, num_matrices, tmp_path):
    model = tiny_model(**changes)
    model.save_pretrained(tmp_path)
    for instance in (model, HierNMTForConditionalGeneration.from_pretrained(tmp_path)):
        matrices = (
            instance.model.encoder.embed_tokens.weight,
            instance.model.decoder.embed_tokens.weight,
            instance.lm_head.weight,
        )
        assert len({id(matrix) for matrix in matrices}) == num_matrices
        assert matrices[1].shape[0] == matrices[2].shape[0] == instance.config.target_vocab_size


@pytest.mark.parametrize("num_tokens", [NUM_TOKENS + 7, NUM_TOKENS - 2])
def test_resizing_a_joint_vocabulary_resizes_both_sides(num_tokens):
    model = tiny_model()
    inputs = window_inputs()
    before = logits(model, **inputs)
    model.resize_token_embeddings(num_tokens)
    config = model.config
    assert config.vocab_size == config.decoder_vocab_size == model.lm_head.weight.shape[0] == num_tokens
    assert model.lm_head.weight is model.model.decoder.embed_tokens.weight is model.model.encoder.embed_tokens.weight
    kept = min(num_tokens, NUM_TOKENS)
    torch.testing.assert_close(logits(model, **inputs)[..., :kept], before[..., :kept])
    assert model(**inputs).loss.isfinite()
    type(config)(**config.to_dict())


def test_resizing_separate_vocabularies_resizes_the_named_side_only():
    model = tiny_model(share_encoder_decoder_embeddings=False, decoder_vocab_size=31)
    inputs = window_inputs()
    before = logits(model, **inputs)
    model.resize_token_embeddings(40)
    assert (model.config.vocab_size, model.config.decoder_vocab_size) == (40, 31)
    torch.testing.assert_close(logits(model, **inputs), before)
    model.resize_decoder_token_embeddings(33)
    assert (model.config.vocab_size, model.config.decoder_vocab_size) == (40, 33)
    assert model.lm_head.weight is model.model.decoder.embed_tokens.weight
    after = logits(model, **inputs)
    assert after.shape[-1] == 33
    torch.testing.assert_close(after[..., :31], before)


def test_resizing_the_target_side_of_a_joint_vocabulary_is_an_error():
    with pytest.raises(ValueError, match="use resize_token_embeddings"):
        tiny_model().resize_decoder_token_embeddings(33)


# Ways to compute the same


@every_variant
def test_eager_equals_sdpa(changes):
    model = tiny_model(**changes)
    inputs = window_inputs()
    results = []
    for implementation in ("eager", "sdpa"):
        model.set_attn_implementation(implementation)
        results.append(loss_and_gradients(model, **inputs))
    assert_same_losses_and_gradients(*results)


GATED = {f"gated_{kind}": {**SENTENCE_SCOPE, "context_block": kind} for kind in ("conditional", "hierarchical")}


@pytest.mark.parametrize("changes", [*VARIANTS.values(), *GATED.values()], ids=[*VARIANTS, *GATED])
def test_every_parameter_has_a_gradient_also_in_a_document_of_one_sentence(changes):
    """Distributed training needs them: PyTorch waits for each, and reduces sharded ones together."""
    model = tiny_model(**changes).train()
    inputs = {"input_ids": torch.tensor([[7, 8, EOS]]), "labels": torch.tensor([[16, 17, EOS]])}
    loss = model(**inputs).loss
    loss.backward()
    assert [name for name, parameter in model.named_parameters() if parameter.grad is None] == []
    torch.testing.assert_close(loss, model.eval()(**inputs).loss)


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_gradient_checkpointing_gives_the_same_gradients(use_reentrant):
    model = tiny_model(**VARIANTS["sentence_scope_multi_level"]).train()
    inputs = window_inputs()
    plain = loss_and_gradients(model, **inputs)
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": use_reentrant})
    assert model.is_gradient_checkpointing
    assert_same_losses_and_gradients(plain, loss_and_gradients(model, **inputs))


@every_variant
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half_precision_is_finite_and_near(changes, dtype):
    model = tiny_model(**changes, init_std=0.1)
    inputs = window_inputs()
    exact = logits(model, **inputs)
    half = logits(model.to(dtype), **inputs)
    assert half.dtype == dtype
    torch.testing.assert_close(half.double(), exact, rtol=0.1, atol=0.1)
    loss, gradients = loss_and_gradients(model, **inputs)
    assert loss.isfinite()
    assert all(gradient.isfinite().all() for gradient in gradients.values())


@every_variant
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_under_autocast_training_is_finite_and_near(changes, dtype):
    model = tiny_model(**changes, init_std=0.1).float()
    parameters = list(model.parameters())
    exact = model(**window_inputs()).loss
    with torch.autocast("cpu", dtype):
        loss = model(**window_inputs()).loss
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss, exact, rtol=0.01, atol=0.01)
    expected, gradients = (torch.autograd.grad(one, parameters, allow_unused=True) for one in (exact, loss))
    assert [gradient is None for gradient in gradients] == [gradient is None for gradient in expected]
    assert all(gradient.isfinite().all() for gradient in gradients if gradient is not None)


@pytest.mark.parametrize(
    "name",
    [
        name if name in ("sequential", "segment_shifted") else pytest.param(name, marks=pytest.mark.slow)
        for name in VARIANTS
    ],
)
def test_compiled_forward_is_one_graph_and_equal(name):
    model = tiny_model(**VARIANTS[name])
    inputs = window_inputs()
    expected = model(**inputs)
    # The graph is captured and run as it is: code generation would test the compiler, in a minute per variant.
    torch.compiler.reset()
    compiled = torch.compile(model, fullgraph=True, backend="eager")(**inputs)
    torch.testing.assert_close(compiled.logits, expected.logits)
    torch.testing.assert_close(compiled.loss, expected.loss)


def test_an_odd_width_works():
    model = tiny_model(d_model=15, encoder_attention_heads=3, decoder_attention_heads=1)
    inputs = window_inputs()
    assert model(**inputs).loss.isfinite()
    torch.testing.assert_close(
        logits(model, **inputs)[1, : len(TARGETS[1])], logits(model, **window_inputs(SOURCES[1:2], TARGETS[1:2]))[0]
    )


def test_layerdrop_leaves_layers_out_in_training_only():
    changes = {"encoder_layerdrop": 0.5, "decoder_layerdrop": 0.5}
    model = tiny_model(**changes)
    inputs = window_inputs()
    torch.testing.assert_close(logits(model, **inputs), logits(tiny_model(), **inputs))
    model.train()
    torch.manual_seed(0)
    assert len({model(**inputs).loss.item() for _ in range(20)}) > 1


def test_outputs_have_the_documented_shapes():
    model = tiny_model()
    model.set_attn_implementation("eager")
    output = model(**window_inputs(), output_hidden_states=True, output_attentions=True)
    num_sources, num_targets = max(map(len, SOURCES)), max(map(len, TARGETS))
    assert output.logits.shape == (3, num_targets, NUM_TOKENS)
    assert output.encoder_last_hidden_state.shape == (3, num_sources, 16)
    assert [states.shape for states in output.encoder_hidden_states] == [(3, num_sources, 16)] * 3
    assert [states.shape for states in output.decoder_hidden_states] == [(3, num_targets, 16)] * 3
    assert [weights.shape for weights in output.encoder_attentions] == [(3, 2, num_sources, num_sources)] * 2
    assert [weights.shape for weights in output.decoder_attentions] == [(3, 4, num_targets, num_targets)] * 2
    assert [weights.shape for weights in output.cross_attentions] == [(3, 4, num_targets, num_sources)] * 2


def test_dummy_inputs_run():
    model = tiny_model(pad_token_id=None, eos_token_id=[2, 3])
    assert model(**model.dummy_inputs).logits.shape == (2, 5, NUM_TOKENS)
    assert tiny_config().pad_token_id == PAD
