# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Benchmarks end before they measure for hours where their arguments are wrong, and resume what fits alone."""

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from hier_nmt.kernels.torch_cpu import BACKEND
from hier_nmt.ops.backends import backend_for, register_backend

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
NAMES = ("attention", "attention_systems", "documents", "measurement")
TINY = ["--quick", "--skip-memory", "--threads", "1", "--sizes", "2", "--selection-sizes", "4", "--only", "dense"]
ABOUT = {"processor": "one", "device": "cpu", "cores": 2, "threads": 1, "torch": "2", "transformers": "5"}


@pytest.fixture
def attention(monkeypatch: pytest.MonkeyPatch):
    """The benchmark; its modules, which are no package, are imported for one test."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import attention

    yield attention
    for name in NAMES:
        sys.modules.pop(name, None)


def written(attention: ModuleType, path: Path, systems=("dense",)) -> list:
    """Arguments that resume a run which measured the systems in one case."""
    options = attention.parse_arguments([*TINY, "--output", str(path)])
    case = attention.Case("core", "uniform", 2)
    rows = [attention.Measurement(case.group, 2, 50, name, mode, 1.0, 1.0, 2) for name in systems for mode in "ab"]
    attention.write_report(options, ABOUT, rows)
    return [*TINY, "--output", str(path), "--resume"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--threads", "0"], "--threads: '0' is not a whole number of at least 1"),
        (["--rounds", "-1"], "--rounds: '-1' is not"),
        (["--sizes", "8", "x"], "--sizes: 'x' is not"),
        (["--selection-sizes", "0"], "--selection-sizes: '0' is not"),
        (["--budget", "0"], "--budget: '0' is not a number above 0"),
        (["--budget", "nan"], "--budget: 'nan' is not"),
        (["--only", "nothing"], "--only: nothing unknown"),
        pytest.param(
            ["--device", "cuda"],
            "--device cuda: PyTorch finds no GPU",
            marks=pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU"),
        ),
        (["--resume"], "--resume needs --output"),
        (["--output", "FOLDER"], "FOLDER: is not a file"),
        (["--output", "FOLDER/file/a.json"], "--output FOLDER/file/a.json: "),
        (["--plot", "FOLDER/a.docx"], "--plot FOLDER/a.docx: "),
    ],
)
def test_wrong_argument_is_named(attention, tmp_path, capsys, arguments, message):
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit, match=r"^2$"):
        attention.parse_arguments([item.replace("FOLDER", str(tmp_path)) for item in arguments])
    assert message.replace("FOLDER", str(tmp_path)) in capsys.readouterr().err


def test_output_that_can_be_written_gets_its_folder_and_is_not_touched(attention, tmp_path):
    attention.parse_arguments(["--output", str(tmp_path / "new" / "a.json")])
    assert list((tmp_path / "new").iterdir()) == []


@pytest.mark.parametrize(
    ("changed", "threads", "message"),
    [
        ([], 2, "threads was 1 there and is 2 now"),
        (["--rounds", "7"], 1, "rounds was 2 there and is 7 now"),
        (["--steady-memory"], 1, "steady_memory was False there and is True now"),
    ],
)
def test_resume_refuses_what_was_measured_in_another_way(attention, tmp_path, changed, threads, message):
    path = tmp_path / "a.json"
    options = attention.parse_arguments([*written(attention, path), *changed])
    with pytest.raises(SystemExit, match=f"a.json: .*{message}"):
        attention.measured_before(options, {**ABOUT, "threads": threads})


@pytest.mark.parametrize("damage", [lambda text: text[:-20], lambda text: "[]", lambda text: '{"measurements": []}'])
def test_resume_refuses_a_file_that_is_not_whole(attention, tmp_path, damage):
    path = tmp_path / "a.json"
    options = attention.parse_arguments(written(attention, path))
    path.write_text(damage(path.read_text()))
    with pytest.raises(SystemExit, match=r"a.json: .*not a whole file"):
        attention.measured_before(options, ABOUT)


def test_resume_measures_further_systems_beside_those_measured(attention, tmp_path):
    options = attention.parse_arguments(written(attention, tmp_path / "a.json", ["dense", "sentence"]))
    rows = attention.measured_before(options, ABOUT)
    assert rows == [attention.Measurement(**row) for row in json.loads(options.output.read_text())["measurements"]]
    case, systems = attention.Case("core", "uniform", 2), ["dense", "sentence", "conditional", "other"]
    select = attention.systems_to_measure
    assert select(case, systems, ["dense"], rows) == []
    assert select(case, systems, ["conditional"], rows) == ["dense", "sentence", "conditional"]
    assert select(case, systems, None, rows) == systems
    larger = attention.Case("core", "uniform", 8)
    assert select(larger, systems, ["dense"], rows) == ["dense"]
    new = [rows[0]._replace(median_ms=5.0)]
    assert attention.with_case(rows, case, new) == new
    assert attention.with_case(rows, larger, []) == rows


def test_targets_stand_beside_what_was_measured_in_each_form(attention):
    times = {"dense": 25.0, "conditional-compiled": 10.0, "conditional": 10.1, "conditional-plain": 20.0}
    rows = [
        attention.Measurement("core, uniform, float32", 64, 1600, system, "forward", milliseconds, milliseconds, 2)
        for system, milliseconds in times.items()
    ]
    forms = {name: attention.targets(rows, form) for form, name in attention.FORMS.items()}
    title, _, head, first, *others, held, _ = attention.target_table("Targets", forms).split("\n")
    assert (title, head.split()) == ("Targets", ["target", "compiled", "tuned", "PyTorch", "plain"])
    assert first.split()[-8:] == [">=", "2.50", "2.500", "ok", "2.475", "missed", "1.250", "missed"]
    assert {tuple(row.split()[-6:]) for row in others} == {("not", "measured") * 3}
    num_targets = str(1 + len(others))
    assert held.split() == ["held", "1", "of", num_targets, "0", "of", num_targets, "0", "of", num_targets]


def test_a_form_is_computed_by_its_backend(attention):
    from attention_systems import PLAIN, TUNED, run_in_form

    def backend():
        return backend_for(torch.zeros(1, 1, 1, 16))

    try:
        assert run_in_form(PLAIN, backend) is None
        assert run_in_form(TUNED, backend) is BACKEND
    finally:
        register_backend(BACKEND)


def test_attention_to_selected_sentences_has_a_plain_form(attention):
    names = [name for name in attention.with_forms(["dense", "conditional-auto"]) if not name.endswith("-compiled")]
    assert names == ["dense", "conditional-auto", "conditional-auto-plain"]


def test_interrupt_ends_with_one_line(attention, capsys):
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(SystemExit, match=r"^130$"):
        attention.run_command_line(interrupted)
    assert capsys.readouterr().err.strip() == "interrupted; --resume goes on with what --output holds"
