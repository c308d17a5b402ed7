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

from hier_nmt.data.tokenization import load_tokenizers
from hier_nmt.publishing.onnx_export import (
    ExportError,
    OnnxTranslator,
    check_exportable,
    export_model,
    quantize_model,
)

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
            {"encoder_self_attention": "conditional"},
            "encoder_self_attention='conditional' is not exported: it reads only",
        ),
        ({"cross_attention": "hierarchical"}, "cross_attention='hierarchical' is not exported: it reads only"),
        (
            {"cross_attention": "sentence"},
            "cross_attention='sentence' is not exported: the exported decoder has no sentence ids",
        ),
        ({"context_block": "block"}, "context_block='block' is not exported"),
        ({"position_encoding": "multi_level"}, "position_encoding='multi_level' with the level 'paragraph'"),
    ],
)
def test_a_network_without_onnx_form_is_refused_with_the_reason(changes, complaint, tmp_path) -> None:
    with pytest.raises(ExportError, match=complaint):
        check_exportable(tiny_config(**changes))


def test_another_family_is_refused_with_the_reason() -> None:
    with pytest.raises(ExportError, match="model_type 'rnn_nmt' is not exported"):
        check_exportable(tiny_recurrent_config())


@pytest.mark.slow
def test_the_script_says_what_it_does_not_export(tmp_path) -> None:
    tiny_model(encoder_self_attention="conditional").save_pretrained(tmp_path)
    command = [sys.executable, str(ROOT / "training" / "export.py"), str(tmp_path), str(tmp_path / "onnx")]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 1
    assert "error: encoder_self_attention='conditional' is not exported" in result.stderr


def source_ids() -> list[list[int]]:
    tokenizer, _ = load_tokenizers(CHECKPOINT)
    sep, eos = tokenizer.sep_token_id, tokenizer.eos_token_id
    encoded = [tokenizer(window, add_special_tokens=False)["input_ids"] for window in WINDOWS]
    return [[*[token for ids in window for token in [*ids, sep]][:-1], eos] for window in encoded]


def greedy(model, ids: list[int]) -> list[int]:
    with torch.inference_mode():
        output = model.generate(torch.tensor([ids]), num_beams=1, do_sample=False, max_new_tokens=60)[0, 1:].tolist()
    return [token for token in output if token != model.config.eos_token_id]


@pytest.mark.slow
def test_the_shipped_model_writes_the_same_through_onnx(tmp_path) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    model = AutoModelForSeq2SeqLM.from_pretrained(CHECKPOINT, dtype=torch.float32)
    translator = OnnxTranslator(export_model(model, tmp_path))
    windows = source_ids()
    expected = [greedy(model, ids) for ids in windows]
    assert [translator.generate([ids], 60)[0] for ids in windows] == expected
    assert translator.generate(windows, 60) == expected
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
        {"encoder_self_attention": "sentence", "decoder_self_attention": "sentence"},
        {"position_encoding": "segment_shifted", "segment_shift": 3},
        {"position_encoding": "multi_level", "structure_levels": ["token", "sentence"]},
        {"normalize_before": False},
    ],
)
def test_every_dense_network_writes_the_same_through_onnx(changes, tmp_path) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    model = tiny_model(**changes).float().eval()
    translator = OnnxTranslator(export_model(model, tmp_path))
    config = model.config
    sources = [[6, 7, config.sep_token_id, 8, 9, config.eos_token_id], [10, 7, config.eos_token_id]]
    with torch.inference_mode():
        expected = [
            model.generate(torch.tensor([ids]), num_beams=1, do_sample=False, max_new_tokens=9)[0, 1:].tolist()
            for ids in sources
        ]
    special = (config.eos_token_id, config.pad_token_id)
    assert translator.generate(sources, 9) == [[token for token in row if token not in special] for row in expected]
