# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Models run by onnxruntime: the translator gives what it gives with PyTorch."""

from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_models import tiny_model
from transformers import AutoModelForSeq2SeqLM, pipeline

from hier_nmt.data.tokenization import load_tokenizers
from hier_nmt.publishing import onnx_model
from hier_nmt.publishing.onnx_export import ExportError
from hier_nmt.publishing.onnx_model import with_engine
from hier_nmt.translation.document_translator import DocumentTranslator, SourceDocument

ROOT = Path(__file__).parents[3]
CHECKPOINT = ROOT / "checkpoints" / "hier-nmt-en-fr"
SAMPLE = ROOT / "examples" / "sample_document.en.txt"


def test_an_unknown_engine_is_named() -> None:
    with pytest.raises(ValueError, match="engine='tensorrt' is unknown; choose one of torch, onnx, onnx-int8, auto"):
        with_engine(tiny_model(), "tensorrt")


def test_torch_is_the_model_itself() -> None:
    model = tiny_model()
    assert with_engine(model, "torch") is model


def test_what_cannot_be_exported_is_refused_and_auto_leaves_it_to_torch() -> None:
    model = tiny_model(encoder_self_attention="conditional")
    with pytest.raises(ExportError, match="encoder_self_attention='conditional' is not exported"):
        with_engine(model, "onnx")
    assert with_engine(model, "auto") is model


@pytest.fixture(scope="module")
def engines() -> dict[str, Any]:
    """The shipped model with PyTorch and with onnxruntime."""
    for library in ("onnx", "onnxruntime", "onnxscript"):
        pytest.importorskip(library)
    model = AutoModelForSeq2SeqLM.from_pretrained(CHECKPOINT, dtype=torch.float32)
    return {"torch": model, "onnx": with_engine(model, "onnx")}


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["sentence", "document", "prefix", "current"])
@pytest.mark.parametrize("num_beams", [1, 4])
def test_translations_are_those_of_pytorch(engines: dict[str, Any], strategy: str, num_beams: int) -> None:
    tokenizer, _ = load_tokenizers(CHECKPOINT)
    paragraphs = [
        [f"{sentence.strip('. ')}." for sentence in line.split(". ")]
        for line in SAMPLE.read_text(encoding="utf-8").splitlines()
        if line
    ][:6]
    documents = [SourceDocument(paragraphs), SourceDocument([paragraphs[-1]])]
    outputs = {
        name: DocumentTranslator(
            model, tokenizer, strategy=strategy, window_sentences=3, generate_kwargs={"num_beams": num_beams}
        ).translate(documents)
        for name, model in engines.items()
    }
    texts = [[document.paragraphs for document in output] for output in outputs.values()]
    assert texts[0] == texts[1]


@pytest.mark.slow
def test_graphs_are_exported_once(engines: dict[str, Any], monkeypatch: Any) -> None:
    def fail(*args: Any) -> None:
        raise AssertionError("exported again")

    monkeypatch.setattr(onnx_model, "export_model", fail)
    assert with_engine(engines["torch"], "onnx").config is engines["torch"].config


@pytest.mark.slow
def test_the_pipeline_takes_an_engine(engines: dict[str, Any]) -> None:
    text = "The committee met on Monday.\n\nIt will report in May."
    expected, output = (
        pipeline("translation", model=str(CHECKPOINT), dtype=torch.float32, engine=engine)(text)
        for engine in ("torch", "onnx")
    )
    assert output == expected


@pytest.mark.slow
def test_int8_matrices_translate_almost_the_same(engines: dict[str, Any]) -> None:
    tokenizer, _ = load_tokenizers(CHECKPOINT)
    sentences = SAMPLE.read_text(encoding="utf-8").splitlines()[0].split(". ")
    words = [
        DocumentTranslator(model, tokenizer, strategy="sentence", generate_kwargs={"num_beams": 1})
        .translate([SourceDocument([sentences])])[0]
        .paragraphs[0]
        for model in (with_engine(engines["torch"], "onnx-int8"), engines["torch"])
    ]
    shared = [len({*one.split()} & {*other.split()}) / len({*other.split()}) for one, other in zip(*words, strict=True)]
    assert sum(shared) / len(shared) > 0.7


@pytest.mark.slow
def test_graphs_that_differ_are_refused(engines: dict[str, Any]) -> None:
    other = AutoModelForSeq2SeqLM.from_pretrained(CHECKPOINT, dtype=torch.float32)
    torch.nn.init.zeros_(other.model.decoder.layers[0].feed_forward.fc2.weight)
    with pytest.raises(ExportError, match="the exported graphs differ from the model"):
        onnx_model.check_equal(other, engines["onnx"])
