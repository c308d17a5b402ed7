# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""`generate` in its modes: cached decoding equals decoding without a cache, batched equals alone."""

import warnings
from typing import Any

import pytest
import torch
from tiny_models import (
    BOS,
    EOS,
    NUM_TOKENS,
    PAD,
    PAR,
    SEP,
    SOURCES,
    TARGETS,
    VARIANTS,
    padded,
    source_inputs,
    tiny_model,
)
from transformers import CompileConfig, GenerationConfig
from transformers.cache_utils import EncoderDecoderCache

from hier_nmt import HierNMTForConditionalGeneration
from hier_nmt.configuration.library_internals import CACHE_NAME

every_variant = pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS.keys())
READING = VARIANTS["sentence_scope_multi_level"]
LENGTH = 8


def punctuated(row: int, prefix: torch.Tensor) -> list[int]:
    """What a translation may go on with: every third token closes a sentence, every sixth a paragraph."""
    num_tokens = int((prefix != PAD).sum())
    if num_tokens % 3 == 0:
        return [SEP if num_tokens % 6 else PAR]
    return [EOS, *range(PAR + 1, NUM_TOKENS)]


def generate(model: HierNMTForConditionalGeneration, rows: list[list[int]] = SOURCES, **kwargs: Any) -> Any:
    """Translations of exactly 8 new tokens with some separators, start token and forced prefix in front."""
    values = {"max_new_tokens": LENGTH, "min_new_tokens": LENGTH, "do_sample": False}
    values["prefix_allowed_tokens_fn"] = punctuated
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.generate(**source_inputs(rows), **{**values, **kwargs})


def best_continuation(model: HierNMTForConditionalGeneration, prefix: list[int], source: list[int]) -> list[int]:
    """Greedy decoding as a loop of whole forwards, without `generate`; the end token is never taken."""
    target = list(prefix)
    for _ in range(LENGTH):
        with torch.no_grad():
            scores = model(**source_inputs([source]), decoder_input_ids=torch.tensor([target])).logits[0, -1]
        allowed = [token_id for token_id in punctuated(0, torch.tensor(target)) if token_id != EOS]
        target.append(max(allowed, key=lambda token_id: scores[token_id].item()))
    return target


def log_probabilities(
    model: HierNMTForConditionalGeneration, sources: list[list[int]], translations: torch.Tensor
) -> torch.Tensor:
    """Sums [B] of the log probabilities of all tokens behind the first, up to the end token, by one forward."""
    labels = translations[:, 1:]
    is_behind_end = ((labels == EOS).cumsum(-1) - (labels == EOS).long()) > 0
    with torch.no_grad():
        scores = model(**source_inputs(sources), decoder_input_ids=translations[:, :-1]).logits.log_softmax(-1)
    taken = scores.gather(-1, labels[..., None])[..., 0]
    return taken.masked_fill(is_behind_end, 0.0).sum(-1)


@every_variant
def test_greedy_equals_a_loop_of_whole_forwards(changes):
    model = tiny_model(**changes)
    assert generate(model).tolist() == [best_continuation(model, [BOS], source) for source in SOURCES]


@every_variant
@pytest.mark.parametrize(
    "kwargs",
    [
        {},
        {"num_beams": 3},
        {"num_beams": 4, "num_return_sequences": 3, "length_penalty": 0.6},
        {"do_sample": True, "top_k": 8, "num_return_sequences": 2},
        {"do_sample": True, "num_beams": 2},
    ],
    ids=["greedy", "beam", "beam list", "sampling", "beam sampling"],
)
def test_cached_equals_uncached(changes, kwargs):
    model = tiny_model(**changes)
    results = []
    for use_cache in (True, False):
        torch.manual_seed(5)
        results.append(generate(model, use_cache=use_cache, **kwargs).tolist())
    assert results[0] == results[1]
    assert len(results[0]) == len(SOURCES) * kwargs.get("num_return_sequences", 1)


@every_variant
@pytest.mark.parametrize("kwargs", [{}, {"num_beams": 3}], ids=["greedy", "beam"])
def test_static_cache_equals_uncached(changes, kwargs):
    model = tiny_model(**changes)
    static = generate(model, cache_implementation="static", **kwargs)
    assert static.tolist() == generate(model, use_cache=False, **kwargs).tolist()


@every_variant
@pytest.mark.parametrize("num_beams", [1, 3])
def test_batched_equals_alone(changes, num_beams):
    model = tiny_model(**changes)
    # Rows end at different steps: what is appended to a finished one must not matter to the others.
    ends = {"min_new_tokens": 1, "max_new_tokens": 14, "num_beams": num_beams}
    batched = generate(model, **ends).tolist()
    for row, source in zip(batched, SOURCES, strict=True):
        alone = generate(model, [source], **ends)[0].tolist()
        assert row[: len(alone)] == alone
        assert set(row[len(alone) :]) <= {PAD, EOS}  # beam search fills up with the end token where padding has id 0


@every_variant
@pytest.mark.parametrize("num_beams", [1, 3])
@pytest.mark.parametrize("use_cache", [True, False])
def test_forced_prefixes_with_left_padding_equal_each_alone(changes, num_beams, use_cache):
    model = tiny_model(**changes)
    prefixes = [[BOS, *target[:-1]] for target in TARGETS]
    forced = padded(prefixes, left=True)
    with_mask = {"decoder_attention_mask": (forced != PAD).long()}
    kwargs = {"num_beams": num_beams, "use_cache": use_cache, "max_new_tokens": 4, "min_new_tokens": 4}
    for mask in (with_mask, {}):
        batched = generate(model, decoder_input_ids=forced, **mask, **kwargs)
        assert torch.equal(batched[:, : forced.shape[1]], forced)
        for row, source, prefix in zip(batched.tolist(), SOURCES, prefixes, strict=True):
            alone = generate(model, [source], decoder_input_ids=torch.tensor([prefix]), **kwargs)[0].tolist()
            assert row[forced.shape[1] - len(prefix) :] == alone


@every_variant
def test_a_forced_prefix_equals_a_loop_of_whole_forwards(changes):
    model = tiny_model(**changes)
    prefix = [BOS, *TARGETS[0][:-1]]
    forced = generate(model, SOURCES[:1], decoder_input_ids=torch.tensor([prefix]))
    assert forced[0].tolist() == best_continuation(model, prefix, SOURCES[0])


@every_variant
def test_forced_scoring_of_a_translation_equals_its_decoding_score(changes):
    model = tiny_model(**changes)
    # With a length penalty of 0 the score of a beam is the sum of its log probabilities.
    output = generate(
        model,
        num_beams=3,
        num_return_sequences=2,
        length_penalty=0.0,
        min_new_tokens=0,
        max_new_tokens=14,
        return_dict_in_generate=True,
        output_scores=True,
    )
    sources = [source for source in SOURCES for _ in range(2)]
    torch.testing.assert_close(
        output.sequences_scores.double(), log_probabilities(model, sources, output.sequences), rtol=1e-5, atol=1e-5
    )


@every_variant
def test_scores_of_greedy_decoding_are_the_logits_of_a_forward(changes):
    model = tiny_model(**changes)
    output = generate(model, return_dict_in_generate=True, output_logits=True, min_new_tokens=0)
    with torch.no_grad():
        forward = model(**source_inputs(), decoder_input_ids=output.sequences[:, :-1])
    stepwise = torch.stack(output.logits, dim=1)
    is_written = output.sequences[:, 1:] != PAD
    torch.testing.assert_close(stepwise.double()[is_written], forward.logits[is_written], rtol=1e-5, atol=1e-5)


@every_variant
@pytest.mark.parametrize("num_beams", [1, 3])
def test_explicit_numbers_equal_to_the_derived_ones_change_nothing(changes, num_beams):
    model = tiny_model(**changes)
    prefixes = padded([[BOS, 16, SEP], [BOS, PAR]], left=True)
    numbers = {
        "sentence_ids": torch.tensor([[1, 1, 1, 1, 2, 2, 2, 3, 3], [1, 1, 1, 1, 1, 0, 0, 0, 0]]),
        "paragraph_ids": torch.tensor([[1, 1, 1, 1, 1, 1, 1, 2, 2], [1, 1, 1, 1, 1, 0, 0, 0, 0]]),
        "decoder_sentence_ids": torch.tensor([[1, 1, 1], [0, 1, 1]]),
        "decoder_paragraph_ids": torch.tensor([[1, 1, 1], [0, 1, 1]]),
    }
    derived = generate(model, SOURCES[:2], decoder_input_ids=prefixes, num_beams=num_beams)
    explicit = generate(model, SOURCES[:2], decoder_input_ids=prefixes, num_beams=num_beams, **numbers)
    assert explicit.tolist() == derived.tolist()


@pytest.mark.parametrize("name", ["sentence_ids", "paragraph_ids", "decoder_sentence_ids", "decoder_paragraph_ids"])
@pytest.mark.parametrize("num_beams", [1, 3])
def test_explicit_numbers_win_and_are_counted_on(name, num_beams):
    model = tiny_model(**READING)
    prefix = torch.tensor([[BOS, 16, SEP, 17, 18]])
    given = torch.tensor([[1, 1, 2, 2, 3]] if name.startswith("decoder") else [[1, 1, 1, 2, 2, 2, 2, 2, 2]])
    kwargs = {"decoder_input_ids": prefix, "num_beams": num_beams}
    kwargs |= {"output_logits": True, "return_dict_in_generate": True}
    scores = {}
    for use_cache in (True, False):
        for numbers in ({}, {name: given}):
            output = generate(model, SOURCES[:1], use_cache=use_cache, **kwargs, **numbers)
            scores[use_cache, bool(numbers)] = torch.stack(output.logits)
    for cached, uncached in (((True, False), (False, False)), ((True, True), (False, True))):
        torch.testing.assert_close(scores[cached], scores[uncached], rtol=1e-4, atol=1e-4)
    assert not torch.allclose(scores[True, True][0], scores[True, False][0])


def test_explicit_numbers_of_a_static_cache_equal_those_of_a_dynamic_one():
    model = tiny_model(**READING)
    kwargs = {
        "decoder_input_ids": torch.tensor([[BOS, 16, SEP, 17, 18]]),
        "decoder_sentence_ids": torch.tensor([[1, 1, 2, 2, 3]]),
    }
    static = generate(model, SOURCES[:1], cache_implementation="static", **kwargs)
    assert static.tolist() == generate(model, SOURCES[:1], **kwargs).tolist()


@every_variant
def test_encoder_outputs_may_stand_for_the_source(changes):
    model = tiny_model(**changes)
    inputs = source_inputs()
    with torch.no_grad():
        encoder_outputs = model.get_encoder()(**inputs)
    for num_beams in (1, 3):
        output = model.generate(
            encoder_outputs=encoder_outputs,
            attention_mask=inputs["attention_mask"],
            num_beams=num_beams,
            max_new_tokens=LENGTH,
            min_new_tokens=LENGTH,
            prefix_allowed_tokens_fn=punctuated,
        )
        assert output.tolist() == generate(model, num_beams=num_beams).tolist()


def test_embeddings_with_numbers_may_stand_for_the_source():
    model = tiny_model(**READING)
    output = model.generate(
        inputs_embeds=model.get_input_embeddings()(torch.tensor(SOURCES[:1])),
        sentence_ids=torch.tensor([[1, 1, 1, 1, 2, 2, 2, 3, 3]]),
        paragraph_ids=torch.tensor([[1, 1, 1, 1, 1, 1, 1, 2, 2]]),
        max_new_tokens=LENGTH,
        min_new_tokens=LENGTH,
        prefix_allowed_tokens_fn=punctuated,
    )
    assert output.tolist() == generate(model, SOURCES[:1]).tolist()


@pytest.mark.parametrize("changes", [{}, READING], ids=["document", "sentence"])
@pytest.mark.parametrize("mask", [{}, {"decoder_attention_mask": torch.ones(1, 4)}], ids=["no mask", "mask"])
def test_generation_goes_on_from_a_cache(changes, mask):
    model = tiny_model(**changes)
    whole = generate(model, SOURCES[:1])
    first = generate(model, SOURCES[:1], max_new_tokens=3, min_new_tokens=3, return_dict_in_generate=True)
    assert isinstance(first[CACHE_NAME], EncoderDecoderCache)
    rest = generate(
        model,
        SOURCES[:1],
        decoder_input_ids=first.sequences,
        past_key_values=first[CACHE_NAME],
        **mask,
        max_new_tokens=LENGTH - 3,
        min_new_tokens=LENGTH - 3,
    )
    assert rest.tolist() == whole.tolist()


# Constraints


@pytest.mark.parametrize("changes", [{}, READING], ids=["document", "sentence"])
@pytest.mark.parametrize("num_beams", [1, 3])
def test_bad_words_are_not_written(changes, num_beams):
    model = tiny_model(**changes)
    free = set(generate(model, num_beams=num_beams)[:, 1:].flatten().tolist()) - {SEP, PAR}
    bad_words_ids = [[token_id] for token_id in free]
    results = [
        generate(model, num_beams=num_beams, bad_words_ids=bad_words_ids, use_cache=use_cache).tolist()
        for use_cache in (True, False)
    ]
    assert results[0] == results[1]
    assert not free & {token_id for row in results[0] for token_id in row[1:]}


@pytest.mark.parametrize("changes", [{}, READING], ids=["document", "sentence"])
@pytest.mark.parametrize("num_beams", [1, 3])
def test_allowed_tokens_alone_are_written(changes, num_beams):
    model = tiny_model(**changes)

    def allowed(row: int, prefix: torch.Tensor) -> list[int]:
        return [SEP] if len(prefix) % 3 == 0 else [10 + row, 11 + row]

    results = [
        generate(model, num_beams=num_beams, prefix_allowed_tokens_fn=allowed, use_cache=use_cache).tolist()
        for use_cache in (True, False)
    ]
    assert results[0] == results[1]
    for row, tokens in enumerate(results[0]):
        assert [tokens[3], tokens[6]] == [SEP, SEP]
        assert {tokens[1], tokens[2], tokens[4], tokens[5], tokens[7], tokens[8]} <= {10 + row, 11 + row}


def test_forced_first_and_last_tokens_and_biases_are_kept():
    model = tiny_model()
    output = generate(
        model,
        num_beams=2,
        min_new_tokens=0,
        prefix_allowed_tokens_fn=None,
        forced_bos_token_id=9,
        forced_eos_token_id=EOS,
        sequence_bias={(27,): 1e3},
        no_repeat_ngram_size=0,
    )
    assert output[:, 1].tolist() == [9] * 3
    assert output[:, -1].tolist() == [EOS] * 3
    assert (output[:, 2:-1] == 27).all()


# Speed-ups


@pytest.mark.parametrize("changes", [{}, VARIANTS["segment_shifted"], READING], ids=["document", "shifted", "sentence"])
@pytest.mark.parametrize("mode", ["prompt lookup", "assistant"])
def test_speculative_decoding_equals_greedy(changes, mode):
    model = tiny_model(**changes)
    source = [6, 7, SEP, 6, 7, SEP, 8, EOS]
    helper: dict[str, Any] = {"prompt_lookup_num_tokens": 3, "max_matching_ngram_size": 2}
    if mode == "assistant":
        helper = {"assistant_model": tiny_model(seed=1, **changes)}
    prefix = {"decoder_input_ids": torch.tensor([[BOS, 6, 7, SEP, 6, 7, SEP]])}
    assert generate(model, [source], **prefix, **helper).tolist() == generate(model, [source], **prefix).tolist()


@pytest.mark.parametrize(
    "changes",
    [
        VARIANTS["segment_shifted"],
        VARIANTS["hierarchical"],
        pytest.param(VARIANTS["conditional_grouped"], marks=pytest.mark.slow),
        pytest.param(VARIANTS["context_block"], marks=pytest.mark.slow),
        pytest.param(READING, marks=pytest.mark.slow),
    ],
    ids=["segment_shifted", "hierarchical", "conditional", "context_block", "sentence_scope_multi_level"],
)
def test_compiled_generation_is_one_graph_per_kind_of_step_and_equal(changes):
    model = tiny_model(**changes)
    expected = generate(model)
    torch.compiler.reset()
    # Steps are captured as they are on a GPU, where `generate` compiles them; the backend runs the graph as it is.
    compile_config = CompileConfig(backend="eager", fullgraph=True)
    compile_config._compile_all_devices = True
    num_graphs = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    compiled = generate(model, cache_implementation="static", compile_config=compile_config)
    assert compiled.tolist() == expected.tolist()
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] > num_graphs


# Results and errors


@pytest.mark.parametrize("changes", [{}, READING], ids=["document", "sentence"])
@pytest.mark.parametrize("num_beams", [1, 2])
def test_everything_that_was_asked_for_is_returned(changes, num_beams):
    model = tiny_model(**changes)
    model.set_attn_implementation("eager")
    output = generate(
        model,
        num_beams=num_beams,
        return_dict_in_generate=True,
        output_scores=True,
        output_logits=True,
        output_attentions=True,
        output_hidden_states=True,
    )
    num_rows = len(SOURCES) * num_beams
    assert output.sequences.shape == (3, 1 + LENGTH)
    assert [scores.shape for scores in output.scores] == [(num_rows, NUM_TOKENS)] * LENGTH
    assert [scores.shape for scores in output.logits] == [(num_rows, NUM_TOKENS)] * LENGTH
    assert [len(layers) for layers in output.decoder_attentions] == [2] * LENGTH
    assert output.decoder_attentions[-1][0].shape == (num_rows, 4, 1, LENGTH)
    assert output.cross_attentions[-1][0].shape == (num_rows, 4, 1, 9)
    assert output.decoder_hidden_states[-1][0].shape == (num_rows, 1, 16)
    assert len(output.encoder_hidden_states) == 3
    assert len(output.encoder_attentions) == 2
    assert (num_beams > 1) == ("sequences_scores" in output)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"position_embedding_type": "learned", "max_position_embeddings": 10},
            "token position 10 is beyond .* 10 positions",
        ),
        (
            {
                "position_encoding": "segment_shifted",
                "segment_shift": 5,
                "position_embedding_type": "learned",
                "max_position_embeddings": 22,
            },
            "token position 25 is beyond .* 22 positions",
        ),
        (
            {"position_encoding": "multi_level", "max_sentence_positions": 4},
            "sentence position 4 is beyond .* 4 positions",
        ),
    ],
    ids=["token", "shifted", "sentence"],
)
def test_generation_beyond_a_learned_table_is_an_error(changes, message):
    # Sentences of three tokens: behind the start token, the tenth target token begins the fourth.
    with pytest.raises(ValueError, match=message):
        generate(tiny_model(**changes), max_new_tokens=20, min_new_tokens=20)


def test_a_misspelt_argument_is_an_error():
    with pytest.raises(ValueError, match="sentense_ids"):
        generate(tiny_model(), sentense_ids=torch.ones(3, 9, dtype=torch.long))


def test_generation_leaves_its_configuration_as_it_was():
    model = tiny_model()
    before = GenerationConfig.from_dict(model.generation_config.to_dict())
    generate(model, num_beams=2)
    assert model.generation_config.to_dict() == before.to_dict()
