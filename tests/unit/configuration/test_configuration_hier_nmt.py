# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import pytest
from tiny_models import PAR, SEP, tiny_config
from transformers import AutoConfig

from hier_nmt import HierNMTConfig
from hier_nmt.configuration.configuration_hier_nmt import PRESETS


def error_of(**changes) -> str:
    with pytest.raises(ValueError, match=r"must|choose|separate") as caught:
        tiny_config(**changes)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "possible"),
    [
        ("encoder_self_attention", "dokument", "document, sentence"),
        ("decoder_self_attention", "full", "document, sentence"),
        ("cross_attention", "", "document, sentence"),
        ("position_encoding", "rotary", "sequential, segment_shifted, multi_level"),
        ("position_embedding_type", "none", "sinusoidal, learned"),
        ("segment_embedding", "random", "none, sinusoidal, learned"),
        ("token_position_origin", "paragraph", "document, sentence"),
        ("activation_function", "relux", "relu"),
        ("structure_levels", ["token", "word"], "token, sentence, paragraph"),
        ("structure_levels", ["token", "token"], "token, sentence, paragraph"),
        ("structure_levels", [], "token, sentence, paragraph"),
    ],
)
def test_an_unknown_name_is_an_error_that_lists_the_known_ones(name, value, possible):
    message = error_of(**{name: value})
    assert f"{name}={value!r}" in message
    assert possible in message


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"encoder_attention_heads": 3}, "encoder_attention_heads=3 must divide d_model=16"),
        ({"decoder_attention_heads": 0}, "decoder_attention_heads=0 must divide d_model=16"),
        ({"dropout": 1.0}, "dropout=1.0 must be at least 0 and below 1"),
        ({"encoder_layerdrop": -0.1}, "encoder_layerdrop=-0.1 must be at least 0"),
        ({"segment_shift": -1}, "segment_shift=-1 must not be negative"),
        ({"relevance_slope": -0.5}, "relevance_slope=-0.5 must not be negative"),
        ({"encoder_layers": -1}, "encoder_layers=-1 must not be negative"),
        ({"init_std": -0.1}, "init_std=-0.1 must not be negative"),
        ({"window_sentences": -2}, "window_sentences=-2 must not be negative"),
        ({"max_position_embeddings": 0}, "max_position_embeddings=0 must be at least 1"),
        ({"max_source_tokens": 0}, "max_source_tokens=0 must be at least 1"),
        ({"vocab_size": 0}, "vocab_size=0 must be at least 1"),
        ({"decoder_vocab_size": 0}, "decoder_vocab_size=0 must be at least 1"),
        ({"decoder_vocab_size": 31}, "decoder_vocab_size=31 differs from vocab_size=30"),
    ],
)
def test_an_impossible_number_is_an_error_that_names_it(changes, expected):
    assert expected in error_of(**changes)


@pytest.mark.parametrize("changes", [{"d_model": "big"}, {"segment_shift": 2.5}, {"normalize_before": "yes"}])
def test_a_value_of_the_wrong_type_is_an_error_that_names_the_field(changes):
    with pytest.raises(Exception, match=f"'{next(iter(changes))}' expected"):
        tiny_config(**changes)


def test_the_target_vocabulary_is_the_sources_unless_said_otherwise():
    assert tiny_config().target_vocab_size == tiny_config().decoder_vocab_size == 30
    separate = tiny_config(share_encoder_decoder_embeddings=False, decoder_vocab_size=25)
    assert (separate.vocab_size, separate.target_vocab_size) == (30, 25)


def test_separators_are_the_ids_that_are_set():
    assert tiny_config().separator_token_ids == (SEP, PAR)
    assert tiny_config().paragraph_token_ids == (PAR,)
    assert tiny_config(par_token_id=None).separator_token_ids == (SEP,)
    assert tiny_config(par_token_id=None).paragraph_token_ids == ()
    assert tiny_config(sep_token_id=None, par_token_id=None).separator_token_ids == ()


def test_paragraphs_are_read_by_a_paragraph_level_only():
    assert tiny_config(position_encoding="multi_level").reads_paragraphs
    assert not tiny_config(position_encoding="multi_level", structure_levels=["token", "sentence"]).reads_paragraphs
    assert not tiny_config().reads_paragraphs


def test_a_configuration_is_the_same_after_save_and_load(tmp_path):
    config = tiny_config(
        position_encoding="multi_level",
        structure_levels=["token", "sentence"],
        share_encoder_decoder_embeddings=False,
        decoder_vocab_size=25,
        window_sentences=4,
        source_language="en",
        target_language="fr",
    )
    config.save_pretrained(tmp_path)
    loaded = AutoConfig.from_pretrained(tmp_path)
    assert isinstance(loaded, HierNMTConfig)
    ignored = {"transformers_version", "_name_or_path"}
    assert {key: value for key, value in loaded.to_dict().items() if key not in ignored} == {
        key: value for key, value in config.to_dict().items() if key not in ignored
    }


def test_defaults_do_not_share_their_lists():
    first, second = HierNMTConfig(), HierNMTConfig()
    first.structure_levels.remove("paragraph")
    assert second.structure_levels == ["token", "sentence", "paragraph"]


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_configurations_whose_fields_can_be_changed(name):
    config = HierNMTConfig.preset(name, d_model=64)
    assert config.d_model == 64
    assert all(getattr(config, field) == value for field, value in PRESETS[name].items())


def test_presets_are_the_papers_systems():
    assert HierNMTConfig.preset("transformer").window_sentences == 1
    assert HierNMTConfig.preset("s4to4", segment_shift=9).segment_shift == 9
    hierarchical = HierNMTConfig.preset("hierarchical")
    slots = (hierarchical.encoder_self_attention, hierarchical.decoder_self_attention, hierarchical.cross_attention)
    assert slots == ("hierarchical", "conditional", "hierarchical")
    with pytest.raises(ValueError, match="preset 'none' is unknown; choose one of transformer, document"):
        HierNMTConfig.preset("none")
    with pytest.raises(ValueError, match="num_selected_sentence=3 changes nothing: HierNMTConfig has no such field"):
        HierNMTConfig.preset("conditional", num_selected_sentence=3)
    for derived in ("selected_sentences", "reads_sentences"):
        with pytest.raises(ValueError, match=derived):
            HierNMTConfig.preset("conditional", **{derived: 3})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_selected_sentences": 0}, "num_selected_sentences=0 must be at least 1"),
        ({"num_selected_sentences_cross": 0}, "num_selected_sentences_cross=0 must be at least 1"),
        (
            {"sentence_encoder": "conv", "cross_attention": "conditional"},
            "sentence_encoder='conv' with cross_attention='conditional' is impossible",
        ),
        ({"sentence_encoder": "mean"}, "sentence_encoder='mean' is unknown; choose one of source2token, conv"),
        ({"summary_kernel_size": 0}, "summary_kernel_size=0 must be at least 1"),
        ({"sentence_encoder_heads": 3}, "sentence_encoder_heads=3 must divide d_model=512"),
        ({"context_block": "heads", "num_sentence_heads": 8}, "num_sentence_heads=8 must leave at least one of 8"),
        ({"context_block": "heads", "num_sentence_heads": -1}, "num_sentence_heads=-1 must leave"),
    ],
)
def test_impossible_numbers_of_conditional_attention_are_errors(changes, message):
    with pytest.raises(ValueError, match=message):
        HierNMTConfig(**changes)


def test_each_slot_may_select_another_number_of_sentences():
    config = HierNMTConfig(num_selected_sentences=5, num_selected_sentences_cross=2)
    assert [config.selected_sentences(slot) for slot in ("encoder", "decoder", "cross")] == [5, 5, 2]
