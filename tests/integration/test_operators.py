# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The translation script in pipes, on terminals of other encodings, run twice, killed, and with wrong options."""

import gzip
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import run_command
from pdf_files import paragraph, pdf

from hier_nmt.data.text_files import locked

pytest.importorskip("sentencex")

PAIRS = ["A b!", "C!", "D!"]


@pytest.fixture
def translate(repository, checkpoint, monkeypatch):
    """Runs the script in this process; its exit status."""

    def translate(*arguments) -> int:
        return run_command("translate", *arguments, "--model", checkpoint, "--beams", 1)

    return translate


@pytest.fixture
def never_loads(monkeypatch):
    """Makes loading a model an error: mistakes must be found before."""

    def fail(*_, **__):
        raise AssertionError("the model was loaded")

    monkeypatch.setattr("hier_nmt.cli.translation_task._pipeline", fail)


def started(repository, checkpoint, *arguments, **options) -> subprocess.Popen:
    """The script in a process of its own."""
    path = os.pathsep.join(filter(None, [str(repository / "src"), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path, **options.pop("environment", {})}
    command = [
        sys.executable,
        repository / "training" / "translate.py",
        "--model",
        checkpoint,
        "--beams",
        1,
        *arguments,
    ]
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen(list(map(str, command)), env=environment, **streams, **options)


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_what_comes_through_a_pipe_leaves_through_one(repository, checkpoint, tmp_path, translate, name) -> None:
    content = "\ufeffA b! C!\r\n\r\n  D!\n".encode()
    (tmp_path / "in.txt").write_bytes(content)
    assert translate(tmp_path / "in.txt", "--output", tmp_path / "out.txt") == 0
    # An ASCII terminal has no influence.
    process = started(repository, checkpoint, name, environment={"PYTHONIOENCODING": "ascii"})
    output, errors = process.communicate(content)
    assert (process.returncode, output) == (0, (tmp_path / "out.txt").read_bytes()), errors
    assert b"2 sentences" in errors or b"3 sentences" in errors


def test_a_file_of_another_format_goes_through_a_pipe(tmp_path, translate, capfdbinary) -> None:
    content = "1\n00:00:01,000 --> 00:00:02,000\nA b!\n"
    os.mkfifo(tmp_path / "film.srt")
    if os.fork() == 0:
        (tmp_path / "film.srt").write_text(content)
        os._exit(0)
    assert translate(tmp_path / "film.srt") == 0
    assert capfdbinary.readouterr().out.startswith(b"1\n00:00:01,000 --> 00:00:02,000\n")
    assert [path.name for path in tmp_path.iterdir()] == ["film.srt"]


def test_a_terminal_shows_what_it_cannot_write(repository, checkpoint, tmp_path) -> None:
    (tmp_path / "in.txt").write_text("\u00e9 b!")
    process = started(repository, checkpoint, tmp_path / "in.txt", environment={"PYTHONIOENCODING": "ascii"})
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    assert output.startswith(b"\\xe9 b!\n")


def test_an_output_that_closes_early_is_no_traceback(repository, checkpoint, tmp_path) -> None:
    (tmp_path / "in.txt").write_text("A b!\n" * 3)
    process = started(repository, checkpoint, tmp_path / "in.txt")
    process.stdout.close()
    errors = process.stderr.read()
    assert process.wait() == 1
    assert b"Traceback" not in errors


@pytest.mark.parametrize("device", ["cuda:99", "nonsense", "xpu"])
def test_a_device_that_is_not_there_is_named(tmp_path, translate, never_loads, capsys, device) -> None:
    (tmp_path / "in.txt").write_text("A!")
    assert translate(tmp_path / "in.txt", "--device", device) == 1
    assert f"error: --device {device} cannot be used: " in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--beams", "--batch-size"])
@pytest.mark.parametrize("value", ["0", "-1", "x", "1.5", ""])
def test_invalid_numbers_are_refused(tmp_path, repository, monkeypatch, capsys, option, value) -> None:
    with pytest.raises(SystemExit):
        run_command("translate", tmp_path / "in.txt", f"{option}={value}")
    assert f"argument {option}: '{value}' is not a whole number above 0" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["news.sgm", "a.tex", "a.stringsdict", "a.eps", "a.odg"])
def test_unknown_files_are_refused_before_the_model_is_loaded(tmp_path, translate, never_loads, capsys, name) -> None:
    (tmp_path / name).write_text("A b!\n")
    assert translate(tmp_path / name) == 1
    assert "unsupported format" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("options", [["a.pdf"], ["paper", "--format", "pdf", "--output", "a.fr.html"]])
def test_the_translation_of_a_pdf_file_is_a_page(tmp_path, translate, monkeypatch, options) -> None:
    pytest.importorskip("pdftext")
    monkeypatch.chdir(tmp_path)
    Path(options[0]).write_bytes(pdf(paragraph(50, 450, "A b", "a!")))
    assert translate(*options) == 0
    page = Path("a.fr.html").read_text(encoding="utf-8")
    assert '<html lang="fr">' in page
    assert re.search(r"<p>[^<]+</p>\n</body>", page)


def test_a_pdf_file_with_another_name_says_which_format_to_give(tmp_path, translate, never_loads, capsys) -> None:
    (tmp_path / "paper").write_bytes(pdf(paragraph(50, 450, "A b!")))
    assert translate(tmp_path / "paper") == 1
    assert "give --format pdf" in capsys.readouterr().err


def test_a_named_format_is_used(tmp_path, translate, capsys) -> None:
    (tmp_path / "notes.tex").write_text("A b!\n")
    assert translate(tmp_path / "notes.tex", "--format", "text") == 0
    assert capsys.readouterr().out.startswith("A b!\n")


def test_an_output_that_is_a_folder_is_refused_before_the_model_is_loaded(
    tmp_path, translate, never_loads, capsys
) -> None:
    (tmp_path / "in.txt").write_text("A!")
    assert translate(tmp_path / "in.txt", "--output", tmp_path) == 1
    assert "is a folder, so no file can be written there" in capsys.readouterr().err


def test_broken_files_and_unknown_languages_are_found_before_the_model_is_loaded(
    tmp_path, translate, never_loads, capsys
) -> None:
    (tmp_path / "a.tmx").write_text("<tmx>")
    assert translate(tmp_path / "a.tmx") == 1
    assert "a.tmx:1: not well-formed XML" in capsys.readouterr().err
    (tmp_path / "a.txt").write_text("A!")
    assert translate(tmp_path / "a.txt", "--join-lines", "--format", "moses") == 1
    assert "--join-lines is for plain text" in capsys.readouterr().err


def test_a_second_process_leaves_the_output_of_the_first_alone(tmp_path, translate, capsys) -> None:
    (tmp_path / "in.txt").write_text("A!")
    output = tmp_path / "out.txt"
    with locked(output):
        assert translate(tmp_path / "in.txt", "--output", output) == 1
    assert "out.txt is being written by another process" in capsys.readouterr().err
    assert translate(tmp_path / "in.txt", "--output", output) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt", "out.txt"]


def test_kept_translations_are_counted(tmp_path, translate, capsys) -> None:
    (tmp_path / "a.tsv").write_text("doc_id\tsource\ttarget\nx\tA b!\tby hand\nx\tC!\n")
    assert translate(tmp_path / "a.tsv", "--output", tmp_path / "out.tsv") == 0
    assert "existing translations kept: 1 (--retranslate replaces them)" in capsys.readouterr().err
    written = (tmp_path / "out.tsv").read_text().splitlines()
    assert written[:2] == ["doc_id\tsource\ttarget", "x\tA b!\tby hand"]
    assert written[2].startswith("x\tC!\t")
    assert translate(tmp_path / "a.tsv", "--output", tmp_path / "out.tsv", "--retranslate") == 0
    assert "existing translations kept" not in capsys.readouterr().err
    assert "by hand" not in (tmp_path / "out.tsv").read_text()


def test_skipped_text_is_counted(tmp_path, translate, capsys) -> None:
    (tmp_path / "a.html").write_text("<p>A!</p><svg><text>b</text></svg><textarea>c</textarea>")
    assert translate(tmp_path / "a.html", "--output", tmp_path / "out.html") == 0
    errors = capsys.readouterr().err
    assert "skipped: the text in 1 <svg>" in errors
    assert "skipped: the text in 1 <textarea>" in errors


def test_lines_are_joined_on_request(tmp_path, translate, capsys) -> None:
    (tmp_path / "a.txt").write_text("A b\nC d!\n\n- E\n  f!\n")
    assert translate(tmp_path / "a.txt", "--join-lines") == 0
    lines = capsys.readouterr().out.splitlines()
    assert (lines[0], lines[3]) == ("A b C d!", "E f!")


def test_a_compressed_output_is_compressed(tmp_path, translate) -> None:
    (tmp_path / "in.txt").write_text("A!\n")
    assert translate(tmp_path / "in.txt", "--output", tmp_path / "out.txt.gz") == 0
    assert gzip.decompress((tmp_path / "out.txt.gz").read_bytes()).endswith(b"\n")


def test_a_killed_translation_continues_with_the_same_command(repository, checkpoint, tmp_path, translate) -> None:
    sentences = [f"{first} {second} {third}!" for first in "abc" for second in "fgh" for third in "kl"]
    name = "page.html"
    (tmp_path / name).write_text("".join(f"<p>{text}</p>\n" for text in sentences))
    whole, output = tmp_path / "whole", tmp_path / "out"
    options = ["--batch-size", 2, "--print", "translation"]
    assert translate(tmp_path / name, "--output", whole, *options) == 0
    saved = tmp_path / "out.partial.jsonl.decoded.jsonl"
    chance = random.Random(name)
    process = started(repository, checkpoint, tmp_path / name, "--output", output, *options)
    while process.poll() is None and not (saved.exists() and saved.read_bytes().count(b"\n") > 1):
        time.sleep(0.002)
    time.sleep(chance.uniform(0, 0.05))
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not output.exists()
    assert saved.read_bytes().count(b"\n") > 1
    assert translate(tmp_path / name, "--output", output, *options) == 0
    assert output.read_bytes() == whole.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, "out", "whole"])
