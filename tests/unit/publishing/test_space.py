# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest
from command_line import run_command
from huggingface_hub import ModelCard
from published_models import first_of, write_checkpoint

import hier_nmt
from hier_nmt.cli.main import parse
from hier_nmt.publishing.space import dockerfile, write_space

WHEEL = "hier_nmt-0.1.0-py3-none-any.whl"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory) -> Path:
    folder = write_checkpoint(tmp_path_factory.mktemp("space") / "checkpoint", first_of("rnn_nmt"))
    (folder / "README.md").write_text("---\nlicense: mit\n---\n\n# My model\n")
    return folder


def command_of(text: str) -> list[str]:
    """The words of the command that a container runs."""
    (command,) = (line for line in text.replace("\\\n", "").splitlines() if line.startswith("CMD exec "))
    return command.removeprefix("CMD exec ").replace('"', "").split()


def test_a_space_is_a_card_a_dockerfile_and_the_model(checkpoint, tmp_path) -> None:
    write_space(checkpoint, tmp_path, "somebody/my-space")
    assert {path.name for path in tmp_path.iterdir()} == {"README.md", "Dockerfile", "model"}
    assert {"config.json", "model.safetensors", "tokenizer.json", "README.md"} <= {
        path.name for path in (tmp_path / "model").iterdir()
    }
    card = ModelCard.load(tmp_path / "README.md", ignore_metadata_errors=False)
    expected = {"title": "my-space", "sdk": "docker", "app_port": 7860, "license": "mit"}
    assert {name: card.data.to_dict()[name] for name in expected} == expected


def test_the_container_runs_the_server_as_another_user_than_root() -> None:
    lines = dockerfile().splitlines()
    assert lines.index("RUN useradd -m -d /srv/user -u 1000 user") < lines.index("USER user") < len(lines)
    assert [line for line in lines if line.startswith("USER")] == ["USER user"]
    install = next(index for index, line in enumerate(lines) if "pip install" in line)
    assert lines.index("USER user") < install < lines.index("COPY --chown=user model model")
    assert f'"hier_nmt[markdown,serve]=={hier_nmt.__version__}"' in lines[install]


def test_the_command_of_the_container_is_one_of_ours() -> None:
    program, *arguments = command_of(dockerfile())
    assert program == "hier-nmt"
    options = parse(arguments)
    assert (options.model, options.host, options.port) == ("model", "0.0.0.0", 7860)
    assert options.allow_frame == ["https://huggingface.co"]
    # The shell of the container puts the name of the Space here.
    assert options.allow_origin == ["https://${SPACE_HOST:-localhost}"]


def test_a_wheel_is_installed_in_place_of_the_release(checkpoint, tmp_path) -> None:
    (tmp_path / WHEEL).write_bytes(b"a wheel")
    write_space(checkpoint, tmp_path / "space", "somebody/my-space", tmp_path / WHEEL)
    assert (tmp_path / "space" / WHEEL).read_bytes() == b"a wheel"
    text = (tmp_path / "space" / "Dockerfile").read_text()
    assert f"COPY --chown=user {WHEEL} ./\n" in text
    assert f'"./{WHEEL}[markdown,serve]"' in text
    assert "==" not in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give either the name of a repository or --space with that of a Space"),
        (["me/model", "--space", "me/space"], "give either the name of a repository or --space with that of a Space"),
        (["me/model", "--wheel", WHEEL], "--wheel is for --space"),
        (["--space", "me/space", "--wheel", WHEEL], f"no such wheel: {WHEEL}"),
        (["--space", "me/space", "--wheel", "my.whl"], "my.whl is not a wheel of hier_nmt"),
    ],
)
def test_what_does_not_go_together_is_named(arguments, message, checkpoint, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_command("push", checkpoint, *arguments) == 1
    assert message in capsys.readouterr().err


def test_the_command_writes_a_space_to_look_at(checkpoint, tmp_path, capsys) -> None:
    folder = tmp_path / "space"
    assert run_command("push", checkpoint, "--space", "somebody/my-space", "--write-only", folder) == 0
    assert capsys.readouterr().out.strip() == str(folder)
    assert (folder / "Dockerfile").is_file()
