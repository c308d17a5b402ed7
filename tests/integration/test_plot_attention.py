# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import pytest
from training_scripts import run, script

pytest.importorskip("sentencex")
pytest.importorskip("matplotlib")


def test_plot_attention_translates_records_and_plots(repository, checkpoint, tmp_path, monkeypatch, capsys) -> None:
    plot_attention = script(repository, "plot_attention")
    output, kept = tmp_path / "a.html", tmp_path / "a.npz"
    options = ["--text", "A b! C!", "--model", checkpoint, "--output", output, "--record", kept]
    assert run(plot_attention, monkeypatch, *options) == 0
    assert "A" in output.read_text(encoding="utf-8")
    for kind in ("tokens", "sentences"):
        options = [kept, "--kind", kind, "--layer", 1, "--sentences", "1-2", "--output", tmp_path / f"{kind}.png"]
        assert run(plot_attention, monkeypatch, *options) == 0
        assert (tmp_path / f"{kind}.png").read_bytes().startswith(b"\x89PNG")
    assert f"written to {tmp_path / 'sentences.png'}" in capsys.readouterr().out


def test_plot_attention_reads_a_given_translation(repository, checkpoint, tmp_path, monkeypatch, capsys) -> None:
    plot_attention = script(repository, "plot_attention")
    (tmp_path / "fr.txt").write_text("a b.\n\nc.\n")
    options = ["--text", "A b! C!", "--model", checkpoint, "--translation", tmp_path / "fr.txt"]
    assert run(plot_attention, monkeypatch, *options, "--output", tmp_path / "a.html") == 0
    (tmp_path / "fr.txt").write_text("a b.\n")
    assert run(plot_attention, monkeypatch, *options, "--output", tmp_path / "a.html") == 1
    assert "2 source sentences and 1 target sentences" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--kind", "selected"], "slot 'cross' selects no sentences"),
        (["--kind", "tree", "--word", "zebra"], "there is no token 'zebra'"),
        (["--kind", "tokens", "--layer", "9"], "there is no layer 9; the slot has 1"),
        (["--kind", "tokens", "--layer", "0"], "there is no layer 0; the slot has 1"),
        (["--font", "absent.ttf"], "absent.ttf is no font"),
    ],
)
def test_plot_attention_names_what_is_wrong(
    repository, checkpoint, tmp_path, monkeypatch, capsys, options, message
) -> None:
    plot_attention = script(repository, "plot_attention")
    options = ["--text", "A!", "--model", checkpoint, "--output", tmp_path / "a.png", *options]
    assert run(plot_attention, monkeypatch, *options) == 1
    assert message in capsys.readouterr().err
