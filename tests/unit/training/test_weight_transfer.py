# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Weights of a checkpoint for a model with another vocabulary, more layers or wider feed-forward layers."""

from pathlib import Path
from typing import Any

import pytest
import torch

from hier_nmt import HierNMTConfig, HierNMTForConditionalGeneration
from hier_nmt.data.tokenization import save_tokenizers, train_tokenizer
from hier_nmt.training.checkpoints import CheckpointError
from hier_nmt.training.weight_transfer import transfer_weights

ENGLISH = ["the old house stands near the river", "the new house stands near the road", "an old road"]
OTHERS = ["the price of the ticket is high", "the price of a seat is higher", "tickets and seats"]


def model_for(tokenizer: Any, layers: int = 2, **changes: Any) -> HierNMTForConditionalGeneration:
    torch.manual_seed(layers)
    fields = {
        "vocab_size": len(tokenizer),
        "d_model": 16,
        "encoder_layers": layers,
        "decoder_layers": 2,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
        "encoder_ffn_dim": 24,
        "decoder_ffn_dim": 24,
        "init_std": 0.3,
    }
    return HierNMTForConditionalGeneration(HierNMTConfig(**{**fields, **changes})).eval()


@pytest.fixture
def checkpoint(tmp_path: Path) -> tuple[Path, Any, HierNMTForConditionalGeneration]:
    tokenizer = train_tokenizer(ENGLISH * 4, 300)
    model = model_for(tokenizer)
    model.save_pretrained(tmp_path)
    save_tokenizers(tmp_path, tokenizer)
    return tmp_path, tokenizer, model


@pytest.mark.parametrize("changes", [{}, {"encoder_ffn_dim": 40, "decoder_ffn_dim": 32}])
def test_more_layers_and_hidden_units_change_nothing_at_first(checkpoint: Any, changes: dict[str, int]) -> None:
    folder, tokenizer, model = checkpoint
    larger = model_for(tokenizer, layers=5, **changes)
    transfer_weights(larger, (tokenizer, tokenizer), folder)
    inputs = {"input_ids": torch.tensor([[270, 271, 2]]), "decoder_input_ids": torch.tensor([[1, 272]])}
    with torch.inference_mode():
        torch.testing.assert_close(larger(**inputs).logits, model(**inputs).logits)
    loss = larger(input_ids=inputs["input_ids"], labels=torch.tensor([[272, 2]])).loss
    loss.backward()
    assert larger.model.encoder.layers[4].feed_forward.fc2.weight.grad.abs().max() > 0
    if changes:
        assert larger.model.encoder.layers[0].feed_forward.fc2.weight.grad[:, 24:].abs().max() > 0


def test_tokens_of_both_vocabularies_keep_their_vectors_and_others_get_means(checkpoint: Any) -> None:
    folder, tokenizer, model = checkpoint
    other = train_tokenizer(OTHERS * 4, 310)
    moved = model_for(other)
    transfer_weights(moved, (other, other), folder)
    old_ids, new_ids = tokenizer.get_vocab(), other.get_vocab()
    old, new = model.model.shared.weight, moved.model.shared.weight
    shared = [token for token in new_ids if token in old_ids]
    assert len(shared) > 262
    for token in shared:
        assert torch.equal(new[new_ids[token]], old[old_ids[token]])
    spelled = tokenizer.backend_tokenizer.model.tokenize("▁price")
    assert "▁price" not in old_ids
    expected = torch.stack([old[piece.id] for piece in spelled]).mean(0)
    torch.testing.assert_close(new[new_ids["▁price"]], expected)
    assert torch.equal(moved.lm_head.weight, new)


def test_layers_with_norms_behind_cannot_be_added(tmp_path: Path) -> None:
    tokenizer = train_tokenizer(ENGLISH * 4, 300)
    model_for(tokenizer, normalize_before=False).save_pretrained(tmp_path)
    save_tokenizers(tmp_path, tokenizer)
    with pytest.raises(CheckpointError, match="has fewer layers, and with normalize_before: false"):
        transfer_weights(model_for(tokenizer, layers=3, normalize_before=False), (tokenizer, tokenizer), tmp_path)


@pytest.mark.parametrize("changes", [{"d_model": 32}, {"encoder_ffn_dim": 16}])
def test_another_width_and_fewer_hidden_units_are_refused(checkpoint: Any, changes: dict[str, int]) -> None:
    folder, tokenizer, _ = checkpoint
    with pytest.raises(CheckpointError, match="do not fit: model"):
        transfer_weights(model_for(tokenizer, **changes), (tokenizer, tokenizer), folder)
