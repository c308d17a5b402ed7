# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import sys
from pathlib import Path

import pytest

from hier_nmt.cli.main import main, parse


@pytest.mark.parametrize("name", ["starlette", "uvicorn", "python_multipart"])
def test_without_the_extra_it_is_named(monkeypatch, capsys, name: str) -> None:
    for needed in ("starlette", "uvicorn", "python_multipart"):
        if needed != name:
            monkeypatch.setitem(sys.modules, needed, sys)
    monkeypatch.setitem(sys.modules, name, None)
    assert main(["serve", "--model", "no-model"]) == 1
    assert capsys.readouterr().err.strip().endswith("pip install 'hier_nmt[serve]'")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "no-model"], "no such checkpoint directory: no-model"),
        (["--api-keys", "no-file"], "no-file"),
        (["--api-keys", "empty.txt"], "empty.txt has no API key: write one a line"),
        (["--api-keys", "spaces.txt"], "spaces.txt:2: an API key has no spaces"),
        (["--memory", "no-file.tmx"], "no-file.tmx"),
        (["--memory", "spaces.txt"], "spaces.txt"),
    ],
)
def test_a_wrong_option_is_named_before_the_model_is_loaded(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch, capsys, repository: Path
) -> None:
    for name in ("starlette", "uvicorn", "python_multipart"):
        pytest.importorskip(name)
    monkeypatch.chdir(tmp_path)
    Path("empty.txt").write_text("# none\n\n")
    Path("spaces.txt").write_text("good\ntwo words\n")
    model = [] if "--model" in arguments else ["--model", str(repository / "checkpoints" / "hier-nmt-en-fr")]
    monkeypatch.setattr("hier_nmt.cli.serve.load_pipeline", None)
    assert main(["serve", "--device", "cpu", *arguments, *model]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--port", "--max-characters", "--timeout"])
def test_numbers_are_above_zero(option: str, capsys) -> None:
    with pytest.raises(SystemExit):
        parse(["serve", option, "0"])
    assert "'0' is not a whole number above 0" in capsys.readouterr().err


def test_only_this_machine_reaches_it_unless_it_is_told_otherwise() -> None:
    assert parse(["serve"]).host == "127.0.0.1"


def test_the_command_makes_a_server_of_the_shipped_model(repository: Path) -> None:
    pytest.importorskip("starlette")
    pytest.importorskip("python_multipart")
    uvicorn = pytest.importorskip("uvicorn")
    from starlette.testclient import TestClient

    from hier_nmt.cli.serve import make_server

    model = str(repository / "checkpoints" / "hier-nmt-en-fr")
    server = make_server(parse(["serve", "--model", model, "--device", "cpu", "--beams", "1"]))
    assert isinstance(server, uvicorn.Server)
    with TestClient(server.config.app, base_url="http://localhost") as client:
        found = client.post("/translate", json={"q": "Hello!\n\n12", "source": "en", "target": "fr"})
        assert found.status_code == 200
        first, *rest = found.json()["translatedText"].split("\n")
        assert first
        assert rest == ["", "12"]
        assert client.get("/health", headers={"Host": "elsewhere.example"}).status_code == 400
