# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The command line as a whole: commands, help, exit statuses, completion, and what it brings along."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from hier_nmt.cli import resources
from hier_nmt.cli.main import COMMANDS, Command, main, make_parser, parse

ALL_COMMANDS = {
    **{name: command for name, command in COMMANDS.items() if isinstance(command, Command)},
    **{
        f"{group} {name}": command
        for group, nested in COMMANDS.items()
        if isinstance(nested, dict)
        for name, command in nested.items()
    },
}
every_command = pytest.mark.parametrize("name", ALL_COMMANDS)


@every_command
def test_the_help_of_a_command_shows_how_it_is_called(name: str, capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*name.split(), "--help"])
    assert ended.value.code == 0
    help_text = capsys.readouterr().out
    assert help_text.startswith(f"usage: hier-nmt {name} [-h]")
    assert re.search(rf"^(\S.* \| |accelerate launch .*-m )?(hier-nmt|hier_nmt) {name}( \S|$)", help_text, re.MULTILINE)


def test_the_help_names_every_command(capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    assert set(re.findall(r"^    (\S+)", capsys.readouterr().out, re.MULTILINE)) >= set(COMMANDS)


@pytest.mark.parametrize("arguments", [[], ["tranlsate"], ["corpus"], ["translate", "--beam", "4"], ["train"]])
def test_a_command_line_that_says_nothing_known_ends_with_2(arguments: list[str], capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage: hier-nmt" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["translate", "absent.txt", "--model", "no-model"], "error: "),
        (
            ["train", "en-fr/no-recipe"],
            "error: en-fr/no-recipe is neither a file nor one of the recipes adapt, en-fr/annotated, ",
        ),
        (["card", "texts.yaml"], "error: give --model, --output or both"),
        (["push", "no-checkpoint", "me/model"], "error: "),
    ],
)
def test_an_input_at_fault_is_one_line_and_1(arguments: list[str], message: str, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 1
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert line.startswith(message)


def test_an_interruption_is_130(monkeypatch, capsys) -> None:
    def interrupt(options):
        raise KeyboardInterrupt

    monkeypatch.setattr("hier_nmt.cli.split_pairs.run", interrupt)
    assert main(["corpus", "split", "a", "b"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_a_fault_of_ours_keeps_its_traceback(monkeypatch) -> None:
    def fail(options):
        raise RuntimeError("a bug")

    monkeypatch.setattr("hier_nmt.cli.split_pairs.run", fail)
    with pytest.raises(RuntimeError, match="a bug"):
        main(["corpus", "split", "a", "b"])


def test_one_command_imports_no_other() -> None:
    program = (
        "import sys; from hier_nmt.cli.main import parse; parse(['corpus', 'split', 'a', 'b']); "
        "print(*sorted(name for name in sys.modules if name.startswith('hier_nmt.cli.')))"
    )
    found = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.split()
    assert found == ["hier_nmt.cli.main", "hier_nmt.cli.split_pairs"]


def test_completion_knows_commands_and_their_options(capsys) -> None:
    pytest.importorskip("shtab")
    with pytest.raises(SystemExit) as ended:
        main(["--print-completion", "bash"])
    assert ended.value.code == 0
    script = capsys.readouterr().out
    assert all(re.search(rf"(?<![\w-]){name}(?![\w-])", script) for name in (*COMMANDS, "make-discourse"))
    assert "--teacher-forced" in script


def test_completion_without_shtab_names_the_extra(monkeypatch, capsys) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    with pytest.raises(SystemExit):
        main(["--print-completion", "bash"])
    assert "pip install 'hier_nmt[completion]'" in capsys.readouterr().err


def test_the_scripts_in_training_are_the_commands(repository: Path) -> None:
    scripts = {path: path.read_text(encoding="utf-8") for path in (repository / "training").glob("*.py")}
    named = {
        tuple(re.findall(r'"([\w-]+)"', text.rpartition("main([")[2].partition("*")[0])) for text in scripts.values()
    }
    assert {" ".join(words) for words in named} == set(ALL_COMMANDS) - {"compile", "serve"}
    assert all(len(text.splitlines()) < 15 for text in scripts.values())


def test_a_script_in_training_runs_its_command(repository: Path) -> None:
    command = [sys.executable, repository / "training" / "split_pairs.py", "no-file", "out"]
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.returncode == 1
    assert found.stderr.startswith("error: ")


def test_an_unknown_option_shows_the_usage_of_its_command(capsys) -> None:
    with pytest.raises(SystemExit):
        main(["corpus", "split", "a", "b", "--nope"])
    assert capsys.readouterr().err.startswith("usage: hier-nmt corpus split ")


def test_settings_are_the_options_of_the_command_alone() -> None:
    settings = resources.settings_of(parse(["corpus", "split", "a.tsv", "out", "--dev", "3"]))
    assert settings == {"file": "a.tsv", "output_dir": "out", "first": None, "dev": 3, "test": 2500, "seed": 1}


def test_every_parser_can_be_made_at_once() -> None:
    assert "hier-nmt" in make_parser().format_usage()


def test_recipes_are_found_by_path_and_by_name(repository: Path, tmp_path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("")
    assert resources.find_recipe(str(own)) == own
    recipes = {path.stem for path in (repository / "training" / "recipes" / "en-fr").glob("*.yaml")}
    assert "demo" in recipes
    for name in recipes:
        assert resources.find_recipe(f"en-fr/{name}").read_text(encoding="utf-8")


def test_without_a_shipped_model_the_missing_option_is_named(monkeypatch, tmp_path) -> None:
    assert resources.model_or_shipped("mine") == "mine"
    monkeypatch.setattr(resources, "SHIPPED_MODEL", tmp_path / "none")
    with pytest.raises(ValueError, match="give --model: a checkpoint directory or the name of a model on the Hub"):
        resources.model_or_shipped(None)
