# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Sharding within one process; tests/integration has the others."""

from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file
from tiny_training import tiny_model
from torch.distributed.fsdp import StateDictType

from hier_nmt import HierNMTForConditionalGeneration
from hier_nmt.training.sharding import check_full_state_dict, load_full_weights, modules_with_tied_weights


def test_all_embeddings_of_a_joint_vocabulary_share_a_weight():
    model = tiny_model()
    core = model.model
    (tied,) = modules_with_tied_weights(model)
    assert set(tied) == {core.shared, core.encoder.embed_tokens, core.decoder.embed_tokens, model.lm_head}


def test_of_two_vocabularies_the_target_alone_is_tied():
    model = tiny_model(share_encoder_decoder_embeddings=False, decoder_vocab_size=30)
    (tied,) = modules_with_tied_weights(model)
    assert set(tied) == {model.model.decoder.embed_tokens, model.lm_head}


def test_untied_weights_are_no_group():
    assert modules_with_tied_weights(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))) == []


@pytest.mark.parametrize("name", ["SHARDED_STATE_DICT", "LOCAL_STATE_DICT"])
def test_sharded_checkpoints_are_refused(name):
    state = SimpleNamespace(fsdp_plugin=SimpleNamespace(state_dict_type=StateDictType[name]))
    with pytest.raises(ValueError, match=f"fsdp_state_dict_type is {name}, .* set it to FULL_STATE_DICT"):
        check_full_state_dict(SimpleNamespace(state=state))
    state.fsdp_plugin.state_dict_type = StateDictType.FULL_STATE_DICT
    check_full_state_dict(SimpleNamespace(state=state))
    check_full_state_dict(SimpleNamespace(state=SimpleNamespace()))


def test_copies_of_a_tied_weight_are_saved_once(tmp_path):
    """As they come from several processes, where they no longer share memory."""
    model = tiny_model()
    model.save_pretrained(tmp_path / "own")
    gathered = {name: weight.clone() for name, weight in model.state_dict().items()}
    model.save_pretrained(tmp_path / "gathered", state_dict=gathered)
    own, saved = (load_file(tmp_path / name / "model.safetensors") for name in ("own", "gathered"))
    assert saved.keys() == own.keys()
    loaded = HierNMTForConditionalGeneration.from_pretrained(tmp_path / "gathered", dtype=torch.float64)
    assert all(torch.equal(weight, loaded.state_dict()[name]) for name, weight in gathered.items())


def test_full_weights_reach_every_name_of_a_tied_one():
    model = tiny_model()
    weights = {
        name: weight + 1 for name, weight in model.state_dict().items() if name not in model.all_tied_weights_keys
    }
    load_full_weights(model, weights)
    assert torch.equal(model.lm_head.weight, weights["model.shared.weight"])
    assert all(torch.equal(model.state_dict()[name], weight) for name, weight in weights.items())
