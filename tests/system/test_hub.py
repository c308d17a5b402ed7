# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What comes to lie on the Hub, and how it gets there and back, over HTTP between fresh processes and `hub_server`."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fresh_processes import environment, run
from hub_server import OTHER_TOKEN, OTHER_USER, TOKEN, USER, Blob
from published_models import FAMILIES, first_of, two_vocabularies, write_checkpoint
from word_translation import word_tokenizer

TRAINING = Path(__file__).parents[2] / "training"

LOAD = """
import sys
from transformers import pipeline
options = {} if len(sys.argv) < 3 else {"revision": sys.argv[2]}
pipe = pipeline("translation", model=sys.argv[1], trust_remote_code=True, **options)
print(pipe("A b!", max_new_tokens=3)[0]["translation_text"])
"""


def missing_files(files: dict[str, bytes]) -> set[str]:
    """What a repository lacks: weights, tokenizer and card, and all code that the configuration and other code name."""
    config = json.loads(files["config.json"])
    named = [*config["auto_map"].values(), *(one["impl"] for one in config["custom_pipelines"].values())]
    needed = {f"{reference.partition('.')[0]}.py" for reference in named}
    for name, content in files.items():
        if name.endswith(".py"):
            lines = content.decode().splitlines()
            needed |= {f"{line.split()[1][1:]}.py" for line in lines if line.lstrip().startswith("from .")}
    others = {"model.safetensors", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "README.md"}
    return (needed | others) - set(files)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_configuration_alone_is_pushed_with_its_code(place, published, family) -> None:
    lacking = missing_files(place.hub.files(f"{published[family].repository}-config"))
    assert not [name for name in lacking if name.endswith(".py")]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_push_leaves_a_whole_repository(place, published, family) -> None:
    one = published[family]
    assert missing_files(place.hub.files(one.repository)) == set()
    titles = place.hub.titles(one.training_repository)
    assert titles == ["Training in progress, step 1", "Training in progress, step 2", "End of training"]
    for commit in place.hub.repositories[one.training_repository].branches["main"][1:]:
        assert missing_files({path: blob.content for path, blob in commit.files.items()}) == set(), commit.title
        assert b"pipeline_tag: translation" in commit.files["README.md"].content, commit.title


def test_the_library_asks_nothing_that_the_server_does_not_know(place, published) -> None:
    assert place.hub.unknown_requests == []


def test_a_private_repository_is_pushed_for_its_owner_alone(place, published) -> None:
    """Who is refused, and with which words, `programs/publish.py` has checked."""
    (name,) = (name for name in place.hub.repositories if name.endswith("-private"))
    assert place.hub.repositories[name].private
    assert missing_files(place.hub.files(name)) == {"tokenizer.json", "tokenizer_config.json"}


@pytest.fixture
def push(place, tmp_path):
    """Runs `hier-nmt push` in a fresh process; gives the finished process."""

    def start(*arguments: str, token: str | None = None, wait: bool = True):
        script = str(TRAINING / "push_to_hub.py")
        given = place.hub.environment() if token is None else place.hub.environment(token)
        variables = environment(tmp_path / "home", **given)
        if wait:
            return run([sys.executable, script, *arguments], variables, tmp_path)
        return subprocess.Popen([sys.executable, script, *arguments], cwd=tmp_path, env=variables)

    return start


@pytest.fixture
def load(place, tmp_path):
    """Translates with a model in a fresh process without the package; gives the finished process."""

    def start(*arguments: str, token: str | None = TOKEN, **variables: str):
        given = {**place.hub.environment(token), **variables}
        process = environment(tmp_path / "bare-home", with_package=False, **given)
        return run([place.bare_python, "-c", LOAD, *arguments], process, tmp_path)

    return start


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_the_script_pushes_a_private_repository_that_only_its_owner_loads(family, push, load, place, tmp_path) -> None:
    folder = write_checkpoint(tmp_path / "model", first_of(family))
    repository = f"{USER}/{family}-private"
    pushed = push(str(folder), repository, "--private")
    assert pushed.returncode == 0, pushed.stderr
    assert pushed.stdout.strip() == f"{place.hub.endpoint}/{repository}/commit/{place.hub.last_commit(repository)}"
    assert place.hub.repositories[repository].private
    assert missing_files(place.hub.files(repository)) == set()
    assert place.hub.titles(repository) == ["Upload model"]
    loaded = load(repository)
    assert loaded.returncode == 0, loaded.stderr
    offline = load(repository, HF_HUB_OFFLINE="1", HF_ENDPOINT="http://127.0.0.1:9")
    assert offline.stdout == loaded.stdout, offline.stderr
    told = {None: "private repository", OTHER_TOKEN: "private repository", "hf_of_nobody": "Invalid credentials"}
    for token, reason in told.items():
        refused = load(repository, token=token, HF_HUB_CACHE=str(tmp_path / "empty"))
        assert refused.returncode == 1
        assert reason in refused.stderr


@pytest.mark.slow
def test_the_script_says_why_it_cannot_push(push, place, tmp_path) -> None:
    folder = str(write_checkpoint(tmp_path / "model", first_of("rnn_nmt")))
    refused = push(folder, f"{USER}/refused", token="hf_of_nobody")
    assert refused.returncode == 1
    assert "it refuses the token, or there is none (401); log in with `hf auth login` or set HF_TOKEN" in refused.stderr
    elsewhere = push(folder, f"{OTHER_USER}/refused")
    assert elsewhere.returncode == 1
    assert "the token may not write there (403)" in elsewhere.stderr
    assert not {f"{USER}/refused", f"{OTHER_USER}/refused"} & set(place.hub.repositories)
    assert push(folder, f"{USER}/public").returncode == 0
    public = push(folder, f"{USER}/public", "--private")
    assert f"{USER}/public exists and is public" in public.stderr
    assert place.hub.titles(f"{USER}/public") == ["Upload model"]


@pytest.mark.slow
def test_uploading_again_removes_the_code_of_an_earlier_upload_in_the_same_commit(push, place, tmp_path) -> None:
    repository = f"{USER}/uploaded-again"
    assert push(str(write_checkpoint(tmp_path / "recurrent", first_of("rnn_nmt"))), repository).returncode == 0
    earlier = place.hub.repositories[repository].commit("main").files
    earlier["my_model.py"], earlier["notes.txt"] = Blob(b"mine = 1\n", False), Blob(b"mine", False)
    again = push(str(write_checkpoint(tmp_path / "attention", first_of("hier_nmt"))), repository)
    assert again.returncode == 0, again.stderr
    files = place.hub.files(repository)
    assert place.hub.titles(repository) == ["Upload model", "Upload model"]
    assert missing_files(files) == set()
    assert {"my_model.py", "notes.txt"} <= files.keys()
    code = {name for name in files if name.endswith(".py")} - {"my_model.py"}
    assert code == {path.name for path in (tmp_path / "attention").glob("*.py")}
    assert "modeling_rnn_nmt.py" in earlier
    assert place.hub.unknown_requests == []


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_an_upload_that_was_broken_off_changes_nothing_and_is_completed_by_the_same_command(
    family, push, load, place, tmp_path
) -> None:
    # The Hub knows weights that were ever uploaded, and would not ask for them again.
    folder = write_checkpoint(tmp_path / "model", first_of(family), seed=1)
    repository = f"{USER}/{family}-interrupted"
    place.hub.upload_is_half_way.clear()
    place.hub.uploads_go_on.clear()
    process = push(str(folder), repository, wait=False)
    try:
        assert place.hub.upload_is_half_way.wait(timeout=120)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    finally:
        process.kill()
        place.hub.uploads_go_on.set()
    assert place.hub.files(repository) == {}
    again = push(str(folder), repository)
    assert again.returncode == 0, again.stderr
    assert place.hub.titles(repository) == ["Upload model"]
    assert missing_files(place.hub.files(repository)) == set()
    loaded = load(repository)
    assert loaded.returncode == 0, loaded.stderr
    num_uploads = len(place.hub.uploads())
    assert push(str(folder), repository).returncode == 0
    assert len(place.hub.uploads()) == num_uploads


@pytest.mark.slow
def test_a_revision_brings_both_tokenizers_of_its_own(push, place, tmp_path) -> None:
    """Without the package: the target tokenizer of an earlier commit, where that of the main branch differs."""
    folder = write_checkpoint(tmp_path / "model", two_vocabularies())
    repository = f"{USER}/two-tokenizers"
    revisions = []
    for words in ("early", "late"):
        target = word_tokenizer()
        target.add_tokens([words])
        target.save_pretrained(folder / "target_tokenizer")
        assert push(str(folder), repository).returncode == 0
        revisions.append(place.hub.last_commit(repository))
    program = """
import sys
from transformers import pipeline
for revision in sys.argv[2:]:
    pipe = pipeline("translation", model=sys.argv[1], revision=revision, trust_remote_code=True)
    print(pipe.target_tokenizer.convert_ids_to_tokens(len(pipe.target_tokenizer) - 1))
"""
    process = environment(tmp_path / "bare-home", with_package=False, **place.hub.environment())
    result = run([place.bare_python, "-c", program, repository, *revisions], process, tmp_path)
    assert result.stdout.split() == ["early", "late"], result.stderr


def test_a_space_is_pushed_and_pushed_again_without_what_is_old(push, place, tmp_path) -> None:
    folder, space = str(write_checkpoint(tmp_path / "model", first_of("rnn_nmt"))), f"{USER}/my-space"
    wheel = tmp_path / "hier_nmt-0.1.0-py3-none-any.whl"
    wheel.write_bytes(b"a wheel")
    pushed = push(folder, "--space", space, "--wheel", str(wheel), "--private")
    assert pushed.returncode == 0, pushed.stderr
    repository = place.hub.repositories[f"spaces/{space}"]
    assert (repository.private, repository.sdk) == (True, "docker")
    files = place.hub.files(f"spaces/{space}")
    assert {"README.md", "Dockerfile", wheel.name, "model/config.json", "model/model.safetensors"} <= files.keys()
    repository.commit("main").files["notes.txt"] = Blob(b"mine", False)
    again = push(folder, "--space", space)
    assert again.returncode == 0, again.stderr
    files = place.hub.files(f"spaces/{space}")
    assert wheel.name not in files
    assert {"notes.txt", "model/model.safetensors"} <= files.keys()
    assert place.hub.titles(f"spaces/{space}") == ["Upload model", "Upload model"]
    assert place.hub.unknown_requests == []
