# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What of the COMET runner can be tested without COMET's weights: its input, its output, its errors."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

SCRIPT = Path(__file__).parents[2] / "training" / "comet" / "score_comet.py"


@pytest.fixture
def runner() -> ModuleType:
    spec = importlib.util.spec_from_file_location("score_comet", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def segments(tmp_path) -> Path:
    lines = [{"system": name, "src": "a", "mt": mt, "ref": "b"} for name, mt in (("one", "c"), ("two", "d"))]
    path = tmp_path / "segments.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_each_system_is_scored_with_the_signature_of_the_model(runner, segments, tmp_path, monkeypatch) -> None:
    calls = []

    def predict(data, batch_size, gpus):
        calls.append((data, batch_size, gpus))
        return SimpleNamespace(system_score=0.5 if data[0]["mt"] == "c" else 0.75)

    comet = SimpleNamespace(
        download_model=lambda name: f"path of {name}",
        load_from_checkpoint=lambda path: SimpleNamespace(predict=predict),
    )
    monkeypatch.setitem(sys.modules, "comet", comet)
    output = tmp_path / "comet.json"
    assert runner.main([str(segments), "--model", "some/model", "--output", str(output)]) == 0
    results = json.loads(output.read_text(encoding="utf-8"))
    assert {result["system"]: result["comet"] for result in results} == {"one": 50.0, "two": 75.0}
    assert "model:some/model|segments:1" in results[0]["signature"]
    assert calls[0] == ([{"src": "a", "mt": "c", "ref": "b"}], 16, 0)


def test_a_missing_comet_is_reported_in_one_sentence(runner, segments, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "comet", None)
    with pytest.raises(SystemExit, match="COMET is not installed here"):
        runner.main([str(segments)])


def test_a_model_that_cannot_be_loaded_is_named(runner, segments, monkeypatch) -> None:
    def fail(name):
        raise OSError("no network")

    monkeypatch.setitem(sys.modules, "comet", SimpleNamespace(download_model=fail, load_from_checkpoint=None))
    with pytest.raises(SystemExit, match="model some/model cannot be loaded: no network"):
        runner.main([str(segments), "--model", "some/model"])


@pytest.mark.parametrize("line", ["[1]", '{"system": "a"}', "{"])
def test_a_broken_line_is_named(runner, tmp_path, capsys, line) -> None:
    path = tmp_path / "segments.jsonl"
    path.write_text(line, encoding="utf-8")
    assert runner.main([str(path)]) == 1
    assert f"{path}:1: not a segment" in capsys.readouterr().err
