# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The engine that `hier-nmt translate` takes by itself: one that must be exported for where there is much text."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import run_command
from tiny_models import tiny_model

from hier_nmt.cli import translate
from hier_nmt.cli.translation_task import _pipeline, _start
from hier_nmt.publishing import model_engines


@pytest.fixture(scope="module")
def document_model(tmp_path_factory: pytest.TempPathFactory, write_checkpoint: Callable[..., str]) -> str:
    """A tiny untrained model that reads whole documents, which CTranslate2 does not run."""
    changes = {"window_sentences": 0, "max_source_tokens": 40, "segment_embedding": "sinusoidal"}
    return write_checkpoint(tmp_path_factory.mktemp("document_model"), **changes)


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that counts as much text, and an empty cache."""
    monkeypatch.setattr(translate, "_EXPORT_FROM_BYTES", 20)
    monkeypatch.setenv("HIER_NMT_CACHE", str(tmp_path / "cache"))
    _pipeline.cache_clear()
    _start.cache_clear()
    path = tmp_path / "text.txt"
    path.write_text("A b. C d e.\n\nB b a. D.\n", encoding="utf-8")
    return path


def test_a_long_text_has_the_model_exported_once(
    document_model: str, text: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for library in ("onnx", "onnxruntime", "onnxscript"):
        pytest.importorskip(library)
    line: list[Any] = ["translate", text, "--model", document_model, "--beams", 1]
    assert run_command(*line, "--engine", "torch") == 0
    expected = capsys.readouterr().out
    assert run_command(*line) == 0
    output = capsys.readouterr()
    assert "exporting the model for onnxruntime, once" in output.err
    assert output.out == expected
    assert isinstance(_pipeline(document_model, "cpu", "auto", None).model, model_engines.OnnxModel)

    monkeypatch.setattr(model_engines, "export_model", None)
    _pipeline.cache_clear()
    _start.cache_clear()
    assert run_command(*line) == 0
    output = capsys.readouterr()
    assert "exporting" not in output.err
    assert output.out == expected


@pytest.mark.parametrize(
    ("bytes_needed", "limit", "environment", "options"),
    [
        (1000, 100, {}, []),
        (20, 0, {}, []),
        (20, 100, {}, ["--engine", "torch"]),
        (20, 100, {"RANK": "0", "WORLD_SIZE": "2"}, ["--output", "elsewhere.txt"]),
    ],
    ids=["little text", "a large model", "another engine", "started by another program"],
)
def test_nothing_is_exported_otherwise(
    document_model: str,
    text: Path,
    bytes_needed: int,
    limit: int,
    environment: dict[str, str],
    options: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(text.parent)
    monkeypatch.setattr(translate, "_EXPORT_FROM_BYTES", bytes_needed)
    monkeypatch.setattr(model_engines, "_MAX_PARAMETERS", 10**6 * limit)
    monkeypatch.setattr(model_engines, "_LIBRARIES", {"onnx": ("torch",)})
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert run_command("translate", text, "--model", document_model, "--beams", 1, *options) == 0
    assert "exporting" not in capsys.readouterr().err


def test_models_that_walk_down_a_tree_are_not_exported_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_engines, "_LIBRARIES", {"onnx": ("torch",)})
    announced: list[str] = []
    exported: list[str] = []
    monkeypatch.setattr(model_engines, "_cached_export", lambda model, engine: exported.append(engine))
    for attention in ("hierarchical", "conditional"):
        model = tiny_model(encoder_self_attention=attention, cross_attention=attention)
        model_engines.export_for_auto(model, announced.append)
    assert len(announced) == 1
    assert exported == ["onnx"]


def test_an_export_that_fails_leaves_the_text_to_pytorch(
    document_model: str, text: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*arguments: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(model_engines, "_LIBRARIES", {"onnx": ("torch",)})
    monkeypatch.setattr(model_engines, "_cached_export", fail)
    assert run_command("translate", text, "--model", document_model, "--beams", 1) == 0
    assert "PyTorch runs the model, as its export failed: no space left" in caplog.text
