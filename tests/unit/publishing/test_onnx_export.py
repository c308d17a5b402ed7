# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from tiny_models import tiny_config, tiny_model
from tiny_recurrent_models import tiny_config as tiny_recurrent_config
from transformers import AutoModelForSeq2SeqLM

from hier_nmt import HierNMTConfig
from hier_nmt.data.tokenization import load_tokenizers
from hier_nmt.publishing import onnx_export
from hier_nmt.publishing.onnx_export import (
    ExportError,
    check_exportable,
    export_model,
    num_graph_sentences,
    quantize_model,
)
from hier_nmt.publishing.onnx_model import OnnxModel, check_equal
from hier_nmt.publishing.onnx_translator import OnnxTranslator, Search

ROOT = Path(__file__).parents[3]
CHECKPOINT = ROOT / "checkpoints" / "hier-nmt-en-fr"
WINDOWS = [
    ["The committee met on Monday."],
    ["The committee met on Monday.", "It will report in May.", "Mr President, I should like to thank the rapporteur."],
    ["Yes."],
]


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        (
            {"encoder_self_attention": "big_bird"},
            "encoder_self_attention='big_bird' is not exported: its blocks depend",
        ),
        ({"context_block": "block", "sentence_encoder": "conv"}, "sentence_encoder='conv' is not exported"),
    ],
)
def test_a_network_without_onnx_form_is_refused_with_the_reason(changes, complaint) -> None:
    with pytest.raises(ExportError, match=complaint):
        check_exportable(tiny_config(**changes))


def test_another_family_is_refused_with_the_reason() -> None:
    with pytest.raises(ExportError, match="model_type 'rnn_nmt' is not exported"):
        check_exportable(tiny_recurrent_config())


@pytest.mark.slow
def test_the_script_says_what_it_does_not_export(tmp_path) -> None:
    tiny_model(encoder_self_attention="big_bird").save_pretrained(tmp_path)
    command = [sys.executable, str(ROOT / "training" / "export.py"), str(tmp_path), str(tmp_path / "onnx")]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 1
    assert "error: encoder_self_attention='big_bird' is not exported" in result.stderr


def source_ids() -> list[list[int]]:
    tokenizer, _ = load_tokenizers(CHECKPOINT)
    sep, eos = tokenizer.sep_token_id, tokenizer.eos_token_id
    encoded = [tokenizer(window, add_special_tokens=False)["input_ids"] for window in WINDOWS]
    return [[*[token for ids in window for token in [*ids, sep]][:-1], eos] for window in encoded]


def greedy(model, ids: list[int]) -> list[int]:
    with torch.inference_mode():
        output = model.generate(torch.tensor([ids]), num_beams=1, do_sample=False, max_new_tokens=60)[0, 1:].tolist()
    return without_end(model, output)


def without_end(model, ids: list[int]) -> list[int]:
    return [token for token in ids if token != model.config.eos_token_id]


@pytest.mark.slow
def test_the_shipped_model_writes_the_same_through_onnx(tmp_path) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    model = AutoModelForSeq2SeqLM.from_pretrained(CHECKPOINT, dtype=torch.float32)
    translator = OnnxTranslator(export_model(model, tmp_path))
    windows = source_ids()
    expected = [greedy(model, ids) for ids in windows]
    assert [without_end(model, translator.generate([ids], 60)[0]) for ids in windows] == expected
    assert [without_end(model, row) for row in translator.generate(windows, 60)] == expected
    assert all(expected)
    small = quantize_model(tmp_path, tmp_path / "int8")
    for name in ("encoder.onnx", "decoder.onnx"):
        assert (small / name).stat().st_size < 0.5 * (tmp_path / name).stat().st_size
    translated = OnnxTranslator(small).generate(windows, 60)
    shared = sum(len(set(one) & set(other)) / len(set(other)) for one, other in zip(translated, expected, strict=True))
    assert shared / len(windows) > 0.5


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"encoder_self_attention": "sentence", "decoder_self_attention": "sentence", "cross_attention": "sentence"},
        {"position_encoding": "segment_shifted", "segment_shift": 3},
        {"position_encoding": "multi_level"},
        {"normalize_before": False},
        {
            "encoder_self_attention": "conditional",
            "decoder_self_attention": "conditional",
            "cross_attention": "conditional",
            "always_keep_own_sentence": True,
        },
        {"decoder_self_attention": "conditional", "relevance_bias": -2, "relevance_slope": 0.5},
        {"encoder_self_attention": "hierarchical", "cross_attention": "hierarchical"},
        {"encoder_self_attention": "hierarchical", "cross_attention": "hierarchical", "tree_selection": "node"},
        {"context_block": "block", "sentence_encoder_sharing": "model"},
        {"context_block": "heads", "num_sentence_heads": 1},
        {"context_block": "document"},
        {"context_block": "conditional", "restart_target_sentences": True, "token_position_origin": "sentence"},
        {"context_block": "hierarchical"},
    ],
)
def test_a_network_writes_the_same_through_onnx(changes, tmp_path, monkeypatch) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    monkeypatch.setattr(onnx_export, "NUM_SENTENCES", 6)
    torch.manual_seed(0)
    model = tiny_model(**changes).float().eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith(".gate"):
                parameter.normal_()
    other = OnnxModel(model, export_model(model, tmp_path))
    check_equal(model, other)
    config = model.config
    sep, par, eos = config.sep_token_id, config.par_token_id, config.eos_token_id
    sources = [[6, 7, sep, 8, 9, par, 11, 12, 13, sep, 10, eos], [10, 7, eos]]
    batch = torch.tensor([sources[0], [*sources[1], *[config.pad_token_id] * (len(sources[0]) - len(sources[1]))]])
    options = {"attention_mask": (batch != config.pad_token_id).long(), "max_new_tokens": 9, "do_sample": False}
    for num_beams in (1, 3):
        expected, found = (
            one.generate(input_ids=batch, num_beams=num_beams, **options).tolist() for one in (model, other)
        )
        assert found == expected
    for num_beams in (1, 3):
        output = model.generate(input_ids=batch, num_beams=num_beams, length_penalty=0.7, **options)[:, 1:].tolist()
        rows = [[token for token in row if token != config.pad_token_id] for row in output]
        assert OnnxTranslator(tmp_path).generate(sources, 9, Search(num_beams, length_penalty=0.7)) == rows
    # A target prefix may close as many sentences as there is room for; the beams of finished rows go on and close more.
    full = torch.tensor([[*[6, sep] * 5, 7, eos]])
    start = config.decoder_start_token_id
    prefix = {"decoder_input_ids": torch.tensor([[start, *[8, sep] * 6]]), "max_new_tokens": 3}
    assert torch.equal(*(one.generate(input_ids=full, **prefix) for one in (model, other)))
    prefix["decoder_input_ids"] = torch.tensor([[start, *[8, sep] * 8]])
    assert other.generate(input_ids=full, **prefix)[0, :17].tolist() == [start, *[8, sep] * 8]
    many = torch.tensor([[6, sep] * 8 + [eos]])
    assert torch.equal(*(one.generate(input_ids=many, max_new_tokens=5) for one in (model, other)))
    if other.settings["max_sentences"] is not None:
        with pytest.raises(ValueError, match="a window of 9 sentences: the graphs have room for 6"):
            OnnxTranslator(tmp_path).generate(many.tolist(), 5)


@pytest.mark.parametrize(("tokens", "num_sentences"), [(16, 16), (400, 32), (512, 32), (513, 64), (65_536, 256)])
def test_graphs_have_room_for_the_sentences_of_a_window(tokens: int, num_sentences: int) -> None:
    assert num_graph_sentences(HierNMTConfig(max_source_tokens=tokens)) == num_sentences
