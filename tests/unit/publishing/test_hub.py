# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import pytest
import torch
from command_line import run_command
from huggingface_hub import ModelCard
from published_models import first_of, two_vocabularies, write_checkpoint
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
from word_translation import word_tokenizer

from hier_nmt.publishing.hub import HubError, complete_card, write_repository


@pytest.fixture
def checkpoint(tmp_path):
    """A checkpoint among other files of a training run."""
    folder = write_checkpoint(tmp_path / "checkpoint", first_of("rnn_nmt"))
    for path in folder.glob("*.py"):
        path.unlink()
    (folder / "training_args.bin").write_bytes(b"private")
    (folder / "checkpoint-1").mkdir()
    return folder


def test_a_repository_holds_what_a_model_needs_and_nothing_else(checkpoint, tmp_path) -> None:
    write_repository(checkpoint, tmp_path / "repository", "somebody/model")
    names = {path.name for path in (tmp_path / "repository").iterdir()}
    code = {name for name in names if name.endswith(".py")}
    assert {"configuration_rnn_nmt.py", "modeling_rnn_nmt.py", "pipeline_document_translation.py"} <= code
    weights = {"config.json", "generation_config.json", "model.safetensors"}
    assert names - code == weights | {"tokenizer.json", "tokenizer_config.json", "README.md"}
    given = AutoModelForSeq2SeqLM.from_pretrained(checkpoint).state_dict()
    written = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "repository").state_dict()
    assert all(torch.equal(weight, written[name]) for name, weight in given.items())


def test_a_repository_holds_both_tokenizers(tmp_path) -> None:
    folder = write_checkpoint(tmp_path / "checkpoint", two_vocabularies())
    target = word_tokenizer()
    target.add_tokens(["bonjour"])
    target.save_pretrained(folder / "target_tokenizer")
    write_repository(folder, tmp_path / "repository", "somebody/model")
    assert "bonjour" in AutoTokenizer.from_pretrained(tmp_path / "repository" / "target_tokenizer").get_vocab()


def test_a_new_card_says_what_the_hub_runs_and_how(checkpoint, tmp_path) -> None:
    write_repository(checkpoint, tmp_path / "repository", "somebody/model")
    card = ModelCard.load(tmp_path / "repository" / "README.md")
    assert card.data.pipeline_tag == "translation"
    assert card.data.library_name == "transformers"
    assert card.data.language == ["en", "fr"]
    assert card.data.tags == ["hier_nmt", "document-level-translation"]
    assert 'pipeline("translation", model="somebody/model", trust_remote_code=True)' in card.text


def test_a_card_that_is_there_is_completed_and_keeps_its_text(checkpoint, tmp_path) -> None:
    card = "---\nlanguage: de\nlicense: mit\ntags:\n- mine\n- hier_nmt\n---\n\n# My model\n\nIts own text.\n"
    (checkpoint / "README.md").write_text(card)
    (checkpoint / "attention.png").write_bytes(b"a figure")
    write_repository(checkpoint, tmp_path / "repository", "somebody/model")
    assert (tmp_path / "repository" / "attention.png").read_bytes() == b"a figure"
    completed = ModelCard.load(tmp_path / "repository" / "README.md")
    assert completed.text.strip() == "# My model\n\nIts own text."
    assert (completed.data.language, completed.data.license) == ("de", "mit")
    assert completed.data.tags == ["mine", "hier_nmt", "document-level-translation"]
    assert completed.data.pipeline_tag == "translation"
    assert (checkpoint / "README.md").read_text() == card


def test_completing_a_card_twice_changes_nothing(tmp_path) -> None:
    complete_card(tmp_path / "README.md", first_of("hier_nmt"), "somebody/model")
    once = (tmp_path / "README.md").read_text()
    complete_card(tmp_path / "README.md", first_of("hier_nmt"), "somebody/model")
    assert (tmp_path / "README.md").read_text() == once


def test_missing_weights_are_named(checkpoint, tmp_path) -> None:
    weights = load_file(checkpoint / "model.safetensors")
    dropped = next(name for name in weights if "encoder" in name)
    save_file({name: weight for name, weight in weights.items() if name != dropped}, checkpoint / "model.safetensors")
    with pytest.raises(HubError, match=rf"lacks weights of its model: {dropped}"):
        write_repository(checkpoint, tmp_path / "repository", "somebody/model")


def test_the_script_writes_a_repository_to_look_at(repository, monkeypatch, checkpoint, tmp_path, capsys) -> None:
    folder = tmp_path / "repository"
    assert run_command("push", checkpoint, "somebody/model", "--write-only", folder) == 0
    assert capsys.readouterr().out.strip() == str(folder)
    assert (folder / "model.safetensors").is_file()


def test_the_script_names_a_checkpoint_without_tokenizer(repository, monkeypatch, checkpoint, capsys) -> None:
    (checkpoint / "tokenizer.json").unlink()
    assert run_command("push", checkpoint, "somebody/model") == 1
    assert f"error: no tokenizer in {checkpoint}" in capsys.readouterr().err
