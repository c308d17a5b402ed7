# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What was exported to ONNX is translated with without PyTorch, and in the same way."""

import json
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from command_line import run_command
from fresh_processes import TESTS, environment, run

from hier_nmt.cli import translation_task
from hier_nmt.cli.translation_task import _pipeline, _start
from hier_nmt.jobs import load_checkpoints, onnx_start
from hier_nmt.jobs.load_checkpoints import default_device, load_pipeline
from hier_nmt.jobs.onnx_start import note_export, start_without_pytorch
from hier_nmt.jobs.saved_translations import _settings
from hier_nmt.publishing import model_engines
from hier_nmt.publishing.onnx_runs import OnnxRuns
from hier_nmt.translation.document_translator import DocumentTranslator
from hier_nmt.translation.translation_documents import SourceDocument, TranslatedDocument

# Untrained models repeat themselves, so loops are forbidden in nearly every sentence.
DOCUMENTS = [
    SourceDocument([["A b c 12 d.", "B b a.", "C a d c d."], ["D a 4567 b."]]),
    SourceDocument([["E b a. c"], ["A"], ["B c d e f g h. a b", "C."]]),
]


@pytest.fixture(scope="module")
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where models are exported to."""
    for library in ("onnx", "onnxruntime", "onnxscript"):
        pytest.importorskip(library)
    return tmp_path_factory.mktemp("engines")


@pytest.fixture(scope="module")
def exported(cache_folder: Path, tmp_path_factory: pytest.TempPathFactory, write_checkpoint: Callable[..., str]) -> str:
    """A tiny model that writes what closes a sentence as its source has it, exported and noted."""
    folder = tmp_path_factory.mktemp("exported")
    changes = {"restart_target_sentences": True, "token_position_origin": "sentence", "init_std": 0.5}
    path = write_checkpoint(folder, **changes, max_source_tokens=60, max_target_tokens=60)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HIER_NMT_CACHE", str(cache_folder))
        note_export(path, "onnx", None, load_pipeline(path, "cpu", "onnx"))
    return path


@pytest.fixture(scope="module")
def with_pytorch(exported: str) -> Any:
    """The pipeline of that model."""
    return load_pipeline(exported, "cpu", "torch")


@pytest.fixture(autouse=True)
def cache(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That folder, and no model in memory."""
    monkeypatch.setenv("HIER_NMT_CACHE", str(cache_folder))
    _pipeline.cache_clear()
    _start.cache_clear()


def fail() -> None:
    """In the place of loading a model."""
    raise AssertionError("loaded with PyTorch")


def texts(documents: Sequence[TranslatedDocument]) -> Any:
    """Sentences, counts and events."""
    return [(one.paragraphs, one.statistics, one.events) for one in documents]


@pytest.mark.parametrize("strategy", ["sentence", "current", "document"])
@pytest.mark.parametrize(
    ("num_beams", "options"), [(1, {}), (3, {}), (3, {"length_penalty": 0.6}), (3, {"max_new_tokens": 4})]
)
def test_translations_are_those_of_pytorch(
    exported: str,
    with_pytorch: Any,
    strategy: str,
    num_beams: int,
    options: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pipe = with_pytorch
    start = start_without_pytorch(exported, "onnx", None, lambda: pipe.model)
    assert start is not None
    num_decoded = [0]
    decode = OnnxRuns.decode

    def counting(self: OnnxRuns, batch: Any, ends: Any, on_written: Any = None) -> Any:
        num_decoded[0] += self._can_decode(batch, self._config(ends, num_beams, 9))
        return decode(self, batch, ends, on_written)

    monkeypatch.setattr(OnnxRuns, "decode", counting)
    how: dict[str, Any] = {"strategy": strategy, "generate_kwargs": {"num_beams": num_beams, **options}}
    written: list[list[int]] = [[], []]
    expected, found = (
        DocumentTranslator(
            model, tokenizer, window_sentences=3, batch_size=2, on_progress=counts.append, **how
        ).translate(DOCUMENTS)
        for (model, tokenizer), counts in zip(
            ((pipe.model, pipe.tokenizer), (start.model, start.tokenizer)), written, strict=True
        )
    )
    assert texts(found) == texts(expected)
    assert num_decoded[0] > 0
    # What was counted and taken back again may differ in beams, whose candidates PyTorch counts.
    assert sum(written[0]) == sum(written[1]) == 8


def test_an_interrupted_run_goes_on_either_way(exported: str) -> None:
    pipe = load_pipeline(exported, "cpu", "onnx")
    start = start_without_pytorch(exported, "onnx", None, fail)
    assert start is not None
    of_pytorch, others = (
        _settings(DocumentTranslator(model, pipe.tokenizer, generate_kwargs={"num_beams": 2}))
        for model in (pipe.model, start.model)
    )
    assert others == of_pytorch


def test_confidences_are_those_of_pytorch(exported: str) -> None:
    pipe = load_pipeline(exported, "cpu", "onnx")
    start = start_without_pytorch(exported, "onnx", None, lambda: pipe.model)
    assert start is not None
    expected, found = (
        DocumentTranslator(model, pipe.tokenizer, confidence=True).translate(DOCUMENTS)[0].confidences
        for model in (pipe.model, start.model)
    )
    assert found == expected is not None


def test_what_needs_pytorch_is_done_by_it(exported: str, with_pytorch: Any) -> None:
    pipe = with_pytorch
    start = start_without_pytorch(exported, "onnx", None, lambda: pipe.model)
    assert start is not None
    for options in (
        {"strategy": "prefix"},
        {"generate_kwargs": {"num_beams": 2, "repetition_penalty": 1.3}},
        {"generate_kwargs": {"num_beams": 2, "early_stopping": True}},
        {"generate_kwargs": {"num_beams": 1, "no_repeat_ngram_size": 2}},
    ):
        expected, found = (
            DocumentTranslator(model, pipe.tokenizer, window_sentences=2, **options).translate(DOCUMENTS)
            for model in (pipe.model, start.model)
        )
        assert texts(found) == texts(expected)


def test_only_the_content_that_was_exported_starts_so(exported: str, tmp_path: Path) -> None:
    assert start_without_pytorch(exported, "onnx", None, fail) is not None
    assert start_without_pytorch(exported, "onnx-int8", None, fail) is None
    assert start_without_pytorch(exported, "onnx", "sentence", fail) is None
    copy = shutil.copytree(exported, tmp_path / "copy")
    assert start_without_pytorch(copy, "onnx", None, fail) is not None
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**config, "window_sentences": 3}))
    assert start_without_pytorch(copy, "onnx", None, fail) is None


def test_a_model_is_exported_once_wherever_it_lies(
    exported: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = shutil.copytree(exported, tmp_path / "copy")
    monkeypatch.setattr(model_engines, "export_model", None)
    expected, found = (load_pipeline(path, "cpu", "onnx").model.weights_digest for path in (exported, copy))
    assert found == expected


def copy_of(checkpoint: str, folder: Path) -> str:
    """The same model with other content, of which nothing is noted."""
    shutil.copytree(checkpoint, folder)
    (folder / "README.md").touch()
    return str(folder)


def installed(name: str, value: bool) -> Callable[[str], bool]:
    """Says of one library whether it is installed, and that all others are."""
    return lambda library: value if library == name else True


def test_without_onnxruntime_the_export_of_another_environment_is_left_alone(
    exported: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert start_without_pytorch(exported, "onnx", None, fail) is not None
    monkeypatch.setattr(onnx_start, "_is_installed", installed("onnxruntime", False))
    assert start_without_pytorch(exported, "onnx", None, fail) is None


def test_auto_starts_so_where_it_takes_onnxruntime(
    exported: str, with_pytorch: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = copy_of(exported, tmp_path / "model")
    note_export(path, "auto", None, with_pytorch)
    assert start_without_pytorch(path, "auto", None, fail) is None
    # CTranslate2 does not run it.
    pipe = load_pipeline(path, "cpu", "auto")
    for had_ctranslate2 in (False, True):
        monkeypatch.setattr(onnx_start, "_is_installed", installed("ctranslate2", had_ctranslate2))
        note_export(path, "auto", None, pipe)
        start = start_without_pytorch(path, "auto", None, fail)
        assert start is not None
        assert start.model.engine == "onnx"
        # Installed since, it might be faster.
        monkeypatch.setattr(onnx_start, "_is_installed", installed("ctranslate2", True))
        assert (start_without_pytorch(path, "auto", None, fail) is not None) == had_ctranslate2


def test_without_a_driver_the_device_is_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    for has_driver in (False, True):
        monkeypatch.setattr(load_checkpoints, "_may_have_gpu", lambda has=has_driver: has)
        assert default_device("auto") == default_device("torch") == ("cuda" if has_driver else "cpu")
        assert default_device("onnx") == default_device("ctranslate2-int8") == "cpu"


def test_a_tokenizer_of_the_target_alone_is_left_to_pytorch(exported: str, tmp_path: Path) -> None:
    path = copy_of(exported, tmp_path / "model")
    pipe = load_pipeline(path, "cpu", "onnx")
    pipe.target_tokenizer = type(pipe.tokenizer).from_pretrained(path)
    note_export(path, "onnx", None, pipe)
    assert start_without_pytorch(path, "onnx", None, fail) is None
    pipe.target_tokenizer = pipe.tokenizer
    note_export(path, "onnx", None, pipe)
    assert start_without_pytorch(path, "onnx", None, fail) is not None


def test_checkpoints_of_the_training_are_not_read(exported: str, tmp_path: Path) -> None:
    copy = shutil.copytree(exported, tmp_path / "copy")
    (copy / "checkpoint-100").mkdir()
    (copy / "checkpoint-100" / "optimizer.pt").touch()
    assert start_without_pytorch(copy, "onnx", None, fail) is not None


def test_without_a_place_to_write_to_nothing_is_noted(
    exported: str, with_pytorch: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = copy_of(exported, tmp_path / "model")
    pipe = load_pipeline(path, "cpu", "onnx")
    (tmp_path / "file").touch()
    monkeypatch.setenv("HIER_NMT_CACHE", str(tmp_path / "file" / "cache"))
    note_export(path, "onnx", None, pipe)
    assert start_without_pytorch(path, "onnx", None, fail) is None


def test_several_files_read_the_checkpoint_once(exported: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = [0]

    def counting(*arguments: Any) -> None:
        count[0] += 1

    for name in ("start_without_pytorch", "note_export"):
        monkeypatch.setattr(translation_task, name, counting)
    for name in ("one.txt", "two.txt"):
        (tmp_path / name).write_text("A b.\n", encoding="utf-8")
    line = ["--model", exported, "--engine", "onnx", "--output", tmp_path / "out", "--beams", 1]
    assert run_command("translate", tmp_path / "one.txt", tmp_path / "two.txt", *line) == 0
    assert count[0] == 2


def test_the_command_imports_no_pytorch(exported: str, cache_folder: Path, tmp_path: Path, capsys: Any) -> None:
    alone = run(
        [sys.executable, "-c", "import sys, transformers; print('torch' in sys.modules)"],
        environment(tmp_path),
        tmp_path,
    )
    # Transformers 5.4 imports it by itself.
    imported = "torch transformers" if alone.stdout == "True\n" else "transformers"
    text = tmp_path / "text.txt"
    text.write_text("A b. C d e.\n\nB b a. D.\n", encoding="utf-8")
    line = ["translate", text, "--model", exported, "--beams", 2]
    assert run_command(*map(str, line), "--engine", "torch") == 0
    expected = capsys.readouterr().out
    program = [sys.executable, str(TESTS / "programs" / "without_pytorch.py")]
    variables = environment(tmp_path, HIER_NMT_CACHE=str(cache_folder))
    result = run([*program, *map(str, line), "--engine", "onnx"], variables, tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout == f"{expected}imported: {imported}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["translate", "--help"], "usage: hier-nmt translate"),
        (["--version"], "hier-nmt "),
        (
            ["translate", "absent.txt", "--model", "absent", "--engine", "onnx"],
            "No such file or directory: 'absent.txt'",
        ),
    ],
)
def test_what_needs_no_model_comes_at_once(arguments: list[str], message: str, tmp_path: Path) -> None:
    program = "import sys; sys.argv = ['hier-nmt']; from hier_nmt.cli.main import main\n"
    program += "try:\n    main(sys.orig_argv[3:])\nfinally:\n    assert 'torch' not in sys.modules, 'torch'"
    result = run([sys.executable, "-c", program, *arguments], environment(tmp_path), tmp_path)
    assert message in result.stdout + result.stderr
    assert "AssertionError" not in result.stderr


def test_the_names_of_the_package_are_there_after_all(tmp_path: Path) -> None:
    program = (
        "import sys; sys.argv = ['hier-nmt']; import hier_nmt; assert 'torch' not in sys.modules\n"
        "from hier_nmt import HierNMTConfig\nfrom transformers import AutoConfig\n"
        "assert type(AutoConfig.for_model('hier_nmt')) is HierNMTConfig\n"
        "try:\n    hier_nmt.absent\nexcept AttributeError as error:\n    print(error)"
    )
    result = run([sys.executable, "-c", program], environment(tmp_path), tmp_path)
    assert result.stdout == "module 'hier_nmt' has no attribute 'absent'\n", result.stderr


def test_only_the_command_registers_later(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("import sys, hier_nmt.cli.main; print('torch' in sys.modules)")
    result = run([sys.executable, "script.py"], environment(tmp_path), tmp_path)
    assert result.stdout == "True\n", result.stderr
