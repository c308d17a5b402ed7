# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Models written for CTranslate2: the same log-probabilities, or a refusal that names the reason."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_models import tiny_model

from hier_nmt.cli.main import main
from hier_nmt.data.tokenization import load_tokenizers
from hier_nmt.publishing.ctranslate2_export import (
    check_equal_scores,
    check_expressible,
    export_ctranslate2,
    num_positions,
)
from hier_nmt.publishing.onnx_export import ExportError

ctranslate2 = pytest.importorskip("ctranslate2")
CHECKPOINT = Path(__file__).parents[3] / "checkpoints" / "hier-nmt-en-fr"


def random_model(**options: Any) -> Any:
    """A tiny model whose biases and norms are random, too."""
    torch.manual_seed(0)
    model = tiny_model(**options).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter) * 0.3)
    return model


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"normalize_before": False},
        {"normalize_before": False, "normalize_embedding": True},
        {"activation_function": "gelu"},
        {"activation_function": "swish"},
        {"scale_embedding": False},
        {"position_embedding_type": "learned", "max_position_embeddings": 40},
        {"position_offset": 2},
        {"sinusoid_endpoint": True},
        {"output_bias": True},
        {"tie_word_embeddings": False},
        {"encoder_layers": 3, "decoder_layers": 1},
    ],
)
def test_log_probabilities_are_those_of_the_model(options: dict[str, Any], tmp_path: Path) -> None:
    model = random_model(**options)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    export_ctranslate2(model, tmp_path)
    check_equal_scores(model, ctranslate2.Translator(str(tmp_path), compute_type="float32"))
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


def test_an_export_to_int8_leaves_the_model_as_it_was(tmp_path: Path) -> None:
    model = random_model()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    export_ctranslate2(model, tmp_path, quantization="int8")
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("encoder_self_attention", "conditional"),
        ("decoder_self_attention", "sentence"),
        ("cross_attention", "hierarchical"),
        ("context_block", "conditional"),
        ("position_encoding", "segment_shifted"),
        ("token_position_origin", "sentence"),
        ("segment_embedding", "learned"),
        ("activation_function", "tanh"),
    ],
)
def test_a_network_that_ctranslate2_does_not_have_is_refused(name: str, value: Any) -> None:
    config = tiny_model().config
    setattr(config, name, value)
    with pytest.raises(ExportError, match=f"{name}={value!r} is not exported"):
        check_expressible(config)


def test_the_command_writes_tokens_that_other_programs_know(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(CHECKPOINT), str(tmp_path), "--to", "ctranslate2", "--int8"]) == 0
    assert capsys.readouterr().out.count("written to") == 2
    tokenizer, _ = load_tokenizers(CHECKPOINT)
    source = tokenizer.tokenize("The committee met on Monday.")
    assert json.loads((tmp_path / "config.json").read_text())["unk_token"] == tokenizer.unk_token
    for folder in (tmp_path, tmp_path / "int8"):
        result = ctranslate2.Translator(str(folder)).translate_batch([[*source, tokenizer.eos_token]])[0]
        text = tokenizer.decode(tokenizer.convert_tokens_to_ids(result.hypotheses[0]))
        assert "lundi" in text


def test_texts_longer_than_the_table_of_positions_are_left_to_pytorch() -> None:
    learned = tiny_model(position_embedding_type="learned", max_position_embeddings=40)
    assert num_positions(learned.config) == 40
