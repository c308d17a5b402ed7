# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import pytest
import torch
from transformers import set_seed

from hier_nmt.configuration.configuration_hier_nmt import HierNMTConfig
from hier_nmt.models.hier_nmt.modeling_hier_nmt import HierNMTForConditionalGeneration
from hier_nmt.training.checkpoints import load_initial_weights
from hier_nmt.training.warm_start import continue_positions

SIZES = {
    **dict.fromkeys(("d_model", "encoder_ffn_dim", "decoder_ffn_dim"), 12),
    **dict.fromkeys(("encoder_layers", "decoder_layers", "encoder_attention_heads", "decoder_attention_heads"), 2),
    "vocab_size": 20,
    "dropout": 0.0,
}
TABLES = {"max_position_embeddings": 16, "max_sentence_positions": 8, "max_paragraph_positions": 4}
SENTENCE = {"input_ids": torch.tensor([[7, 8, 9, 2]]), "decoder_input_ids": torch.tensor([[1, 10, 11]])}
# The second sentence has the same tokens as the first.
DOCUMENT = torch.tensor([[7, 8, 9, 4, 7, 8, 9, 4, 7, 2]])


def model(config: HierNMTConfig, seed: int) -> HierNMTForConditionalGeneration:
    set_seed(seed)
    return HierNMTForConditionalGeneration(config).eval()


@pytest.fixture(scope="module")
def sentence_level(tmp_path_factory):
    """A sentence-level model, and the directory where it is saved."""
    trained = model(HierNMTConfig.preset("transformer", **SIZES), seed=1)
    directory = tmp_path_factory.mktemp("sentence-level")
    trained.save_pretrained(directory)
    return trained, directory


def started(directory, preset: str, **changes) -> HierNMTForConditionalGeneration:
    document_level = model(HierNMTConfig.preset(preset, **SIZES, **changes), seed=2)
    continue_positions(document_level, load_initial_weights(document_level, directory))
    return document_level


@torch.no_grad()
@pytest.mark.parametrize(
    ("preset", "changes"),
    [
        ("document", TABLES),
        ("s4to4", {"segment_shift": 5}),
        ("s4to4", {"segment_shift": 5, "segment_embedding": "learned"}),
        # With one sentence there is nothing to select, and adding its relevance to all its tokens changes nothing.
        ("conditional", TABLES),
        ("hierarchical", TABLES),
    ],
)
def test_a_document_model_translates_one_sentence_as_the_model_it_starts_from(sentence_level, preset, changes):
    trained, directory = sentence_level
    logits = started(directory, preset, **changes)(**SENTENCE).logits
    torch.testing.assert_close(logits, trained(**SENTENCE).logits)


@torch.no_grad()
def test_positions_restart_in_every_sentence(sentence_level):
    _, directory = sentence_level
    by_sentence = dict.fromkeys(("encoder_self_attention", "decoder_self_attention", "cross_attention"), "sentence")
    states = started(directory, "document", **TABLES, **by_sentence).model.encoder(DOCUMENT)[0]
    torch.testing.assert_close(states[:, :4], states[:, 4:8])


@torch.no_grad()
def test_tables_that_the_checkpoint_has_are_kept(tmp_path):
    config = HierNMTConfig.preset("document", **SIZES, **TABLES)
    first, second = model(config, seed=1), model(config, seed=2)
    first.save_pretrained(tmp_path)
    continue_positions(second, load_initial_weights(second, tmp_path))
    for name, weight in first.state_dict().items():
        assert torch.equal(weight, second.state_dict()[name]), name
