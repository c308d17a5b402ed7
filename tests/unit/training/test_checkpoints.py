# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import json
import logging
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny_training import tiny_model, tiny_trainer, tiny_windows
from word_translation import word_tokenizer

from hier_nmt.training.checkpoints import (
    CheckpointError,
    average_checkpoints,
    check_same_tokenizer,
    checkpoint_damage,
    checkpoint_directories,
    last_complete_checkpoint,
    load_initial_weights,
)


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """A run with the checkpoints of steps 2, 4 and 10."""
    folder = tmp_path_factory.mktemp("run")
    trainer = tiny_trainer(folder, tiny_windows(8), max_steps=4, save_strategy="steps", save_steps=2, learning_rate=0.1)
    trainer.train()
    later = folder / "checkpoint-10"
    (folder / "checkpoint-4").rename(later)
    state = json.loads((later / "trainer_state.json").read_text())
    (later / "trainer_state.json").write_text(json.dumps({**state, "global_step": 10}))
    (folder / "checkpoint-of-mine").mkdir()
    return folder


@pytest.fixture
def damaged(run, tmp_path):
    """A copy of the run whose last checkpoint can be damaged."""
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    return folder


def test_checkpoints_are_ordered_by_step(run):
    assert [path.name for path in checkpoint_directories(run)] == ["checkpoint-2", "checkpoint-10"]


def test_the_last_complete_checkpoint_is_the_last_one(run):
    assert last_complete_checkpoint(run) == run / "checkpoint-10"


def test_a_run_without_checkpoints_has_none(tmp_path):
    assert last_complete_checkpoint(tmp_path) is None
    assert last_complete_checkpoint(tmp_path / "absent") is None


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("trainer_state.json", "trainer_state.json cannot be read"),
        ("model.safetensors", "model.safetensors is truncated"),
        ("optimizer.pt", "optimizer.pt is truncated"),
        ("rng_state.pth", "rng_state.pth is truncated"),
    ],
)
def test_a_truncated_file_makes_the_earlier_checkpoint_the_last_complete_one(damaged, caplog, name, damage):
    path = damaged / "checkpoint-10" / name
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with caplog.at_level(logging.WARNING):
        assert last_complete_checkpoint(damaged) == damaged / "checkpoint-2"
    assert f"checkpoint-10 is not used: {damage}" in caplog.text


@pytest.mark.parametrize("name", ["trainer_state.json", "optimizer.pt"])
def test_a_missing_file_makes_the_earlier_checkpoint_the_last_complete_one(damaged, name):
    (damaged / "checkpoint-10" / name).unlink()
    assert last_complete_checkpoint(damaged) == damaged / "checkpoint-2"


@pytest.mark.parametrize("name", ["optimizer.bin", "optimizer_0/__0_0.distcp", "global_step2/states.pt"])
def test_training_continues_from_the_states_that_fsdp_and_deepspeed_save(damaged, name):
    checkpoint = damaged / "checkpoint-10"
    (checkpoint / "optimizer.pt").unlink()
    assert checkpoint_damage(checkpoint) == "it has no optimizer state"
    state = checkpoint / name
    state.parent.mkdir(exist_ok=True)
    torch.save({}, state)
    assert checkpoint_damage(checkpoint) is None


def test_a_state_of_another_step_is_damage(damaged):
    path = damaged / "checkpoint-10"
    assert checkpoint_damage(path.rename(damaged / "checkpoint-12")) == "trainer_state.json is of step 10"


def test_the_average_is_the_mean_of_each_weight(tmp_path):
    for name, values in (("a", [1.0, 2.0]), ("b", [3.0, 6.0]), ("c", [5.0, 1.0])):
        (tmp_path / name).mkdir()
        save_file({"weight": torch.tensor(values)}, tmp_path / name / "model.safetensors")
    average = average_checkpoints([tmp_path / name for name in "abc"])
    assert average["weight"].tolist() == [3.0, 3.0]
    assert average["weight"].dtype == torch.float32


def test_checkpoints_of_different_models_are_not_averaged(tmp_path):
    for name, size in (("a", 2), ("b", 3)):
        (tmp_path / name).mkdir()
        save_file({"weight": torch.zeros(size)}, tmp_path / name / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"b has other weights than .*a"):
        average_checkpoints([tmp_path / "a", tmp_path / "b"])
    with pytest.raises(CheckpointError, match="no checkpoint to average"):
        average_checkpoints([])


def test_a_document_model_starts_from_the_weights_of_a_sentence_model(tmp_path):
    sentence_model = tiny_model(window_sentences=1)
    torch.nn.init.normal_(sentence_model.model.shared.weight)
    sentence_model.save_pretrained(tmp_path)
    model = tiny_model(window_sentences=4, position_encoding="segment_shifted", segment_shift=8)
    load_initial_weights(model, tmp_path)
    assert model.config.window_sentences == 4
    for name, weight in sentence_model.state_dict().items():
        assert torch.equal(weight, model.state_dict()[name]), name
    assert model.lm_head.weight is model.model.shared.weight


def test_new_parts_keep_their_initial_weights_and_are_named(tmp_path, caplog):
    tiny_model().save_pretrained(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    dropped = next(name for name in weights if "self_attn" in name)
    save_file({name: weight for name, weight in weights.items() if name != dropped}, tmp_path / "model.safetensors")
    model = tiny_model()
    with caplog.at_level(logging.WARNING):
        load_initial_weights(model, tmp_path)
    assert f"keep their initial values: {dropped}" in caplog.text
    assert "lm_head" not in caplog.text


def test_new_parts_of_several_layers_are_named_once(tmp_path, caplog):
    tiny_model(encoder_layers=2).save_pretrained(tmp_path)
    model = tiny_model(encoder_layers=2, context_block="block")
    with caplog.at_level(logging.WARNING):
        new = load_initial_weights(model, tmp_path)
    assert "model.encoder.layers.1.context_attn.q_proj.weight" in new
    assert caplog.text.count("model.encoder.layers.*.context_attn.q_proj.weight") == 1
    assert "model.encoder.layers.1" not in caplog.text
    # The decoder has one layer.
    assert "model.decoder.layers.0.context_attn.q_proj.weight" in caplog.text


def test_heads_that_read_sentences_begin_as_the_last_of_the_checkpoint(tmp_path):
    base = tiny_model(encoder_attention_heads=4, decoder_attention_heads=4)
    base.save_pretrained(tmp_path)
    sizes = {"encoder_attention_heads": 4, "decoder_attention_heads": 4, "context_block": "heads"}
    model = tiny_model(**sizes, num_sentence_heads=1, seed=1)
    new = load_initial_weights(model, tmp_path)
    assert [name for name in new if "sentence_heads" in name] == []
    own = model.state_dict()
    for layer, slot in (("encoder.layers.0", "self_attn"), ("decoder.layers.0", "encoder_attn")):
        for part in ("q_proj.weight", "q_proj.bias", "k_proj.weight", "v_proj.weight", "out_proj.weight"):
            words, sentences = own[f"model.{layer}.{slot}.{part}"], own[f"model.{layer}.sentence_heads.{part}"]
            dimension = 1 if part == "out_proj.weight" else 0
            assert (words.shape[dimension], sentences.shape[dimension]) == (12, 4)
            whole = base.state_dict()[f"model.{layer}.{slot}.{part}"]
            assert torch.equal(torch.cat([words, sentences], dimension), whole), (layer, part)
        assert torch.equal(
            own[f"model.{layer}.{slot}.out_proj.bias"], base.state_dict()[f"model.{layer}.{slot}.out_proj.bias"]
        )
    # Weights of such a model are continued as they are.
    model.save_pretrained(tmp_path / "heads")
    again = tiny_model(**sizes, num_sentence_heads=1, seed=2)
    assert load_initial_weights(again, tmp_path / "heads") == []
    assert all(torch.equal(weight, own[name]) for name, weight in again.state_dict().items())


def test_weights_that_do_not_fit_are_named(tmp_path):
    tiny_model(encoder_layers=3, encoder_ffn_dim=8, decoder_layers=2).save_pretrained(tmp_path)
    with pytest.raises(CheckpointError) as error:
        load_initial_weights(tiny_model(encoder_layers=3), tmp_path)
    # Once for all layers.
    assert str(error.value).count("is [8, 16] there and [16, 16] here") == 1
    assert "encoder.layers.*.feed_forward.fc1.weight is [8, 16]" in str(error.value)
    assert "is not in this model" in str(error.value)


def test_a_directory_without_weights_is_named(tmp_path):
    with pytest.raises(CheckpointError, match=r"there is no model\.safetensors in "):
        load_initial_weights(tiny_model(), tmp_path)


def test_a_pickle_is_refused_and_named(tmp_path):
    (tmp_path / "pytorch_model.bin").write_bytes(b"x")
    with pytest.raises(CheckpointError, match=r"; pytorch_model.bin is a pickle, which can run code, and is not read"):
        load_initial_weights(tiny_model(), tmp_path)
    with pytest.raises(CheckpointError, match=r"pytorch_model.bin is a pickle"):
        average_checkpoints([tmp_path])


def test_truncated_weights_are_named(tmp_path):
    tiny_model().save_pretrained(tmp_path)
    path = tmp_path / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CheckpointError, match=r"model.safetensors is not a complete safetensors file"):
        load_initial_weights(tiny_model(), tmp_path)


def test_training_does_not_continue_from_a_pickle(damaged):
    path = damaged / "checkpoint-10"
    (path / "model.safetensors").rename(path / "pytorch_model.bin")
    assert "pytorch_model.bin is a pickle" in checkpoint_damage(path)


def test_another_tokenizer_is_refused_and_its_tokens_named():
    tokenizer, other = word_tokenizer(), word_tokenizer()
    check_same_tokenizer(tokenizer, other, "somewhere")
    other.add_tokens(["extra"])
    with pytest.raises(CheckpointError, match=r"differs from that of somewhere in 1 tokens \(extra"):
        check_same_tokenizer(tokenizer, other, "somewhere")
