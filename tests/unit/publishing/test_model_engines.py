# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Models run by onnxruntime and CTranslate2: the translator gives what it gives with PyTorch."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_models import tiny_model
from transformers import AutoModelForSeq2SeqLM, LogitsProcessor, pipeline

from hier_nmt.data.tokenization import load_tokenizers
from hier_nmt.jobs.load_checkpoints import single_sentence_config
from hier_nmt.jobs.saved_translations import ResumeError
from hier_nmt.jobs.translate_corpus import translate_documents
from hier_nmt.models.hier_nmt.sentence_models import HIDDEN_LOGIT
from hier_nmt.publishing import model_engines
from hier_nmt.publishing.ctranslate2_export import check_equal_scores
from hier_nmt.publishing.model_engines import with_engine
from hier_nmt.publishing.onnx_export import ExportError
from hier_nmt.publishing.onnx_model import check_equal
from hier_nmt.translation.document_translator import DocumentTranslator
from hier_nmt.translation.translation_documents import SourceDocument, TranslatedDocument

ROOT = Path(__file__).parents[3]
CHECKPOINT = ROOT / "checkpoints" / "hier-nmt-en-fr"
SAMPLE = ROOT / "examples" / "sample_document.en.txt"
LIBRARIES = {"onnx": ("onnx", "onnxruntime", "onnxscript"), "ctranslate2": ("ctranslate2",)}


def test_an_unknown_engine_is_named() -> None:
    with pytest.raises(ValueError, match="engine='tensorrt' is unknown; choose one of torch, onnx, onnx-int8, ctr"):
        with_engine(tiny_model(), "tensorrt")


def test_torch_is_the_model_itself() -> None:
    model = tiny_model()
    assert with_engine(model, "torch") is model


@pytest.mark.parametrize("engine", LIBRARIES)
def test_what_cannot_be_exported_is_refused_and_auto_leaves_it_to_torch(engine: str) -> None:
    model = tiny_model(encoder_self_attention="big_bird")
    with pytest.raises(ExportError, match="encoder_self_attention='big_bird' is not exported"):
        with_engine(model, engine)
    assert with_engine(model, "auto") is model


def test_without_a_place_to_write_to_auto_leaves_the_model_to_pytorch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("ctranslate2")
    (tmp_path / "file").touch()
    monkeypatch.setenv("HIER_NMT_CACHE", str(tmp_path / "file" / "cache"))
    model = tiny_model()
    assert with_engine(model, "auto") is model
    assert "PyTorch runs the model, as another engine failed" in caplog.text
    with pytest.raises(OSError, match="file"):
        with_engine(model, "ctranslate2")


def shipped_model(dtype: torch.dtype = torch.float32) -> Any:
    """The shipped model, as a Transformer of single sentences, which every engine can run."""
    config = single_sentence_config(CHECKPOINT)
    return AutoModelForSeq2SeqLM.from_pretrained(CHECKPOINT, config=config, dtype=dtype)


@pytest.fixture(scope="module")
def pytorch_model() -> Any:
    """The model of `shipped_model`, run by PyTorch."""
    return shipped_model()


@pytest.fixture(scope="module", params=[pytest.param("onnx", marks=pytest.mark.slow), "ctranslate2"])
def engine(request: pytest.FixtureRequest) -> str:
    """The name of an engine that is installed."""
    for library in LIBRARIES[request.param]:
        pytest.importorskip(library)
    return request.param


@pytest.fixture(scope="module")
def model(engine: str, pytorch_model: Any) -> Any:
    """The shipped model, run by the engine."""
    return with_engine(pytorch_model, engine)


@pytest.mark.parametrize("strategy", ["sentence", "document", "prefix", "current"])
@pytest.mark.parametrize("num_beams", [1, 4])
def test_translations_are_those_of_pytorch(
    engine: str, model: Any, pytorch_model: Any, strategy: str, num_beams: int
) -> None:
    tokenizer, _ = load_tokenizers(CHECKPOINT)
    paragraphs = [
        [f"{sentence.strip('. ')}." for sentence in line.split(". ")]
        for line in SAMPLE.read_text(encoding="utf-8").splitlines()
        if line
    ]
    # In windows this model, which reads sentences one by one here, repeats itself to the end of each: that takes long.
    paragraphs = paragraphs[: 6 if strategy == "sentence" else 2]
    documents = [SourceDocument(paragraphs), SourceDocument([paragraphs[-1]])]
    options: dict[str, Any] = {"window_sentences": 3, "generate_kwargs": {"num_beams": num_beams}}
    expected, outputs = (
        DocumentTranslator(one, tokenizer, strategy=strategy, **options).translate(documents)
        for one in (pytorch_model, model)
    )
    pairs = list(zip(sentences_of(outputs), sentences_of(expected), strict=True))
    # The beams of CTranslate2 end their search by another rule.
    at_least = 0.9 if engine == "ctranslate2" and num_beams > 1 else 1.0
    assert sum(one == other for one, other in pairs) >= at_least * len(pairs)


def sentences_of(documents: Sequence[TranslatedDocument]) -> list[str]:
    """All sentences of translated documents."""
    return [sentence for item in documents for paragraph in item.paragraphs for sentence in paragraph]


def test_confidences_are_those_of_pytorch(model: Any, pytorch_model: Any) -> None:
    tokenizer, _ = load_tokenizers(CHECKPOINT)
    document = SourceDocument([["The committee met on Monday.", "It will report in May."]])
    options: dict[str, Any] = {"confidence": True, "generate_kwargs": {"num_beams": 1}}
    expected, found = (
        DocumentTranslator(one, tokenizer, **options).translate([document])[0].confidences
        for one in (pytorch_model, model)
    )
    assert found == expected


@pytest.mark.parametrize("num_beams", [1, 4])
def test_pytorch_decodes_nothing_that_the_engine_can(engine: str, num_beams: int, monkeypatch: Any) -> None:
    pytorch_model = shipped_model()
    # In windows this model, which reads sentences one by one here, repeats separators, and loops are left to PyTorch.
    torch.nn.init.constant_(pytorch_model.lm_head.bias[4:6], HIDDEN_LOGIT)
    model = with_engine(pytorch_model, engine)

    def fail(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("decoded by PyTorch")

    monkeypatch.setattr(pytorch_model, "generate", fail)
    monkeypatch.setattr(pytorch_model, "forward", fail)
    tokenizer, _ = load_tokenizers(CHECKPOINT)
    options: dict[str, Any] = {"generate_kwargs": {"num_beams": num_beams}}
    document = SourceDocument([["The committee met on Monday.", "It will report in May."]])
    strategies = ["sentence", "document", "current"]
    for strategy in strategies if num_beams > 1 else [*strategies, "prefix"]:
        DocumentTranslator(model, tokenizer, strategy=strategy, window_sentences=2, **options).translate([document])


def test_a_model_is_exported_once(model: Any, pytorch_model: Any, engine: str, monkeypatch: Any) -> None:
    def fail(*args: Any) -> None:
        raise AssertionError("exported again")

    for export in ("export_model", "export_ctranslate2"):
        monkeypatch.setattr(model_engines, export, fail)
    assert with_engine(pytorch_model, engine).config is pytorch_model.config


def test_the_pipeline_takes_an_engine(model: Any, engine: str) -> None:
    text = "The committee met on Monday.\n\nIt will report in May."
    expected, output = (pipeline("translation", model=shipped_model(), engine=name)(text) for name in ("torch", engine))
    assert output == expected


def test_weights_in_half_precision_are_run_in_float32(model: Any, engine: str) -> None:
    # As the pipeline loads them: in the precision in which they were saved.
    half = shipped_model(torch.bfloat16)
    tokenizer, _ = load_tokenizers(CHECKPOINT)
    document = SourceDocument([["The committee met on Monday.", "It will report in May."]])
    expected, found = (
        DocumentTranslator(one, tokenizer, generate_kwargs={"num_beams": 1}).translate([document])[0].paragraphs
        for one in (model, with_engine(half, engine))
    )
    assert found == expected


def test_what_pytorch_decodes_gets_no_other_limit_of_length(pytorch_model: Any, monkeypatch: Any) -> None:
    pytest.importorskip("ctranslate2")
    model = with_engine(pytorch_model, "ctranslate2")
    own = pytorch_model.generation_config.max_length
    assert own is not None
    limits = []

    def generate(*args: Any, **kwargs: Any) -> Any:
        limits.append(pytorch_model.generation_config.max_length)
        return type(pytorch_model).generate(pytorch_model, *args, **kwargs)

    monkeypatch.setattr(pytorch_model, "generate", generate)
    tokenizer, _ = load_tokenizers(CHECKPOINT)
    options: dict[str, Any] = {"generate_kwargs": {"num_beams": 2, "no_repeat_ngram_size": 3}}
    DocumentTranslator(model, tokenizer, **options).translate([SourceDocument([["The committee met."]])])
    # Transformers warns of two limits.
    assert limits == [None]
    assert pytorch_model.generation_config.max_length == own


def test_int8_matrices_translate_almost_the_same(engine: str, pytorch_model: Any) -> None:
    tokenizer, _ = load_tokenizers(CHECKPOINT)
    sentences = SAMPLE.read_text(encoding="utf-8").splitlines()[0].split(". ")
    words = [
        DocumentTranslator(one, tokenizer, strategy="sentence", generate_kwargs={"num_beams": 1})
        .translate([SourceDocument([sentences])])[0]
        .paragraphs[0]
        for one in (with_engine(pytorch_model, f"{engine}-int8"), pytorch_model)
    ]
    shared = [len({*one.split()} & {*other.split()}) / len({*other.split()}) for one, other in zip(*words, strict=True)]
    assert sum(shared) / len(shared) > 0.7


def test_a_run_is_not_continued_with_another_model(model: Any, pytorch_model: Any, engine: str, tmp_path: Path) -> None:
    tokenizer, _ = load_tokenizers(CHECKPOINT)
    other = shipped_model()
    torch.nn.init.ones_(other.lm_head.weight[10:20])
    options: dict[str, Any] = {
        "output_file": tmp_path / "translations.jsonl",
        "progress": False,
        "generate_kwargs": {"num_beams": 1},
    }
    documents = [[["It will report in May."]]]
    first = translate_documents(model, tokenizer, documents, **options)
    assert translate_documents(model, tokenizer, documents, **options) == first
    with pytest.raises(ResumeError, match="model: then"):
        translate_documents(with_engine(other, engine), tokenizer, documents, **options)


def test_an_export_that_differs_is_refused(model: Any, engine: str) -> None:
    other = shipped_model()
    torch.nn.init.zeros_(other.model.decoder.layers[0].feed_forward.fc2.weight)
    check: Any = check_equal if engine == "onnx" else check_equal_scores
    with pytest.raises(ExportError, match="differ"):
        check(other, model if engine == "onnx" else model.translator)


def up_to_end(rows: torch.Tensor) -> list[list[int]]:
    """The tokens [B, L] of each row without the ends and padding behind it, which depend on the kind of search."""
    return [list(map(int, re.sub(r"( 2| 0)+$", "", " ".join(map(str, row))).split())) for row in rows.tolist()]


class Forbids(LogitsProcessor):
    """Forbids one token."""

    def __init__(self, token_id: int) -> None:
        self.token_id = token_id

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        """Scores [B, V] without the token."""
        scores[:, self.token_id] = -torch.inf
        return scores


@pytest.mark.parametrize(
    "options",
    [
        {"min_new_tokens": 20},
        {"max_new_tokens": 3},
        {"length_penalty": 0.2, "num_beams": 3},
        {"no_repeat_ngram_size": 2},
        {"forced_bos_token_id": 9},
        {"eos_token_id": [2, 12]},
        # Separators, which this model would write behind a sentence.
        {"suppress_tokens": [4, 5], "num_beams": 4},
        {"suppress_tokens": [4, 5], "num_beams": 4, "renormalize_logits": True},
        {"logits_processor": [Forbids(12)]},
        {"do_sample": True, "top_k": 1},
        {"num_beams": 2, "num_return_sequences": 2},
    ],
)
def test_options_of_generate_do_what_they_do_with_pytorch(
    model: Any, pytorch_model: Any, options: dict[str, Any]
) -> None:
    tokenizer, _ = load_tokenizers(CHECKPOINT)
    inputs = tokenizer(["The committee met on Monday.", "It will report in May, and then again in June."], padding=True)
    tensors = {name: torch.tensor(inputs[name]) for name in ("input_ids", "attention_mask")}
    options = {"max_new_tokens": 40, "num_beams": 1, **options}
    expected, output = (one.generate(**tensors, **options) for one in (pytorch_model, model))
    assert up_to_end(output) == up_to_end(expected)


def test_tokens_that_are_given_stand_first(model: Any, pytorch_model: Any) -> None:
    tokenizer, _ = load_tokenizers(CHECKPOINT)
    inputs = tokenizer(["The committee met on Monday.", "It will report in May, and then again in June."], padding=True)
    tensors = {name: torch.tensor(inputs[name]) for name in ("input_ids", "attention_mask")}
    start, pad = pytorch_model.config.decoder_start_token_id, pytorch_model.config.pad_token_id
    given = torch.tensor([[start, 100, 200, 300], [pad, pad, start, 400]])
    options = {"decoder_input_ids": given, "decoder_attention_mask": (given != pad).long(), "max_new_tokens": 20}
    for num_beams in (1, 3):
        expected, output = (one.generate(**tensors, **options, num_beams=num_beams) for one in (pytorch_model, model))
        assert up_to_end(output) == up_to_end(expected)
