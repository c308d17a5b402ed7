# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import math

import pytest
import torch
from tiny_models import tiny_config
from torch import nn

from hier_nmt.attention.multi_head_attention import MultiHeadAttention
from hier_nmt.attention.positions import POSITION_ENCODING_CLASSES
from hier_nmt.configuration.configuration_choices import (
    CROSS_ATTENTIONS,
    DECODER_SELF_ATTENTIONS,
    ENCODER_SELF_ATTENTIONS,
    POSITION_ENCODINGS,
    RNN_ATTENTIONS,
    RNN_TYPES,
    SENTENCE_ENCODERS,
)
from hier_nmt.models.hier_nmt.transformer_layers import (
    CROSS_ATTENTION_CLASSES,
    DECODER_SELF_ATTENTION_CLASSES,
    ENCODER_SELF_ATTENTION_CLASSES,
    SENTENCE_ENCODER_CLASSES,
    FeedForward,
    HierNMTDecoderLayer,
    HierNMTEncoderLayer,
    Residual,
)
from hier_nmt.models.rnn.additive_attention import ATTENTION_CLASSES
from hier_nmt.models.rnn.recurrent_layers import RNN_CLASSES


def test_feed_forward_is_two_linear_maps_around_the_activation():
    block = FeedForward(tiny_config(d_model=2, encoder_attention_heads=1, decoder_attention_heads=1), ffn_dim=3)
    with torch.no_grad():
        block.fc1.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]))
        block.fc1.bias.copy_(torch.tensor([0.0, -5.0, 1.0]))
        block.fc2.weight.copy_(torch.tensor([[1.0, 2.0, 3.0], [0.0, 1.0, 1.0]]))
        block.fc2.bias.copy_(torch.tensor([0.5, 0.0]))
    # [2, 7] -> [2, 7 - 5, 1 - 9] -> ReLU: [2, 2, 0] -> [2 + 4 + 0.5, 2]
    torch.testing.assert_close(block(torch.tensor([[[2.0, 7.0]]])), torch.tensor([[[6.5, 2.0]]]))


@pytest.mark.parametrize(("normalize_before", "expected"), [(True, [1.0, 5.0]), (False, [-1.0, 1.0])])
def test_residual_normalizes_in_front_of_the_block_or_behind_the_sum(normalize_before, expected):
    config = tiny_config(
        d_model=2, encoder_attention_heads=1, decoder_attention_heads=1, normalize_before=normalize_before
    )
    # In front: [1, 3] is normalized to [-1, 1], the block doubles it, the sum is [1 - 2, 3 + 2] plus the constant 2, 0.
    output = Residual(config).eval()(
        torch.tensor([[[1.0, 3.0]]]), lambda entering: 2 * entering + torch.tensor([2.0, 0.0])
    )
    scale = 1 / math.sqrt(1 + 1e-5) if normalize_before else 1.0
    shown = [3.0 - 2 * scale, 3.0 + 2 * scale] if normalize_before else expected
    torch.testing.assert_close(output, torch.tensor([[shown]]), rtol=1e-4, atol=1e-4)
    assert output.flatten().tolist() == pytest.approx(expected, abs=1e-4)


def test_dropout_works_in_training_only():
    config = tiny_config(dropout=0.5, attention_dropout=0.5, activation_dropout=0.5)
    ones = torch.ones(1, 400, 16)
    residual = Residual(config)
    assert 0.3 < (residual(torch.zeros_like(ones), lambda _: ones) == 0).double().mean() < 0.7
    assert (residual.eval()(torch.zeros_like(ones), lambda _: ones) == 1).all()
    block = FeedForward(config, 8)
    assert not torch.equal(block(ones), block(ones))
    assert torch.equal(block.eval()(ones), block(ones))
    module = ENCODER_SELF_ATTENTION_CLASSES["document"](config, 2, 8, 0)
    assert not torch.equal(module(ones[:, :5], None)[0], module(ones[:, :5], None)[0])
    module.eval()
    assert torch.equal(module(ones[:, :5], None)[0], module(ones[:, :5], None)[0])


SLOTS = {
    "encoder_self_attention": (ENCODER_SELF_ATTENTIONS, ENCODER_SELF_ATTENTION_CLASSES),
    "decoder_self_attention": (DECODER_SELF_ATTENTIONS, DECODER_SELF_ATTENTION_CLASSES),
    "cross_attention": (CROSS_ATTENTIONS, CROSS_ATTENTION_CLASSES),
}


@pytest.mark.parametrize("slot", SLOTS)
def test_every_row_of_the_tables_answers_the_same_call(slot):
    choices, classes = SLOTS[slot]
    assert list(choices) == list(classes)
    dense = {f"{map}_proj.{part}" for map in ["q", "k", "v", "out"] for part in ("weight", "bias")}
    for name, module_class in classes.items():
        module = module_class(tiny_config(), 2, 8, 0)
        assert isinstance(module, MultiHeadAttention)
        assert isinstance(module.q_proj, nn.Linear)
        own = {name for name, _ in module.named_parameters()} - dense
        assert bool(own) == (name in ("conditional", "hierarchical")) == choices[name].reads_sentence_encodings


def test_every_other_choice_has_its_class():
    assert set(SENTENCE_ENCODER_CLASSES) == set(SENTENCE_ENCODERS)
    assert set(POSITION_ENCODING_CLASSES) == set(POSITION_ENCODINGS)
    assert set(RNN_CLASSES) == set(RNN_TYPES)
    assert set(ATTENTION_CLASSES) == set(RNN_ATTENTIONS)


def test_sentence_heads_take_the_place_of_heads_that_read_tokens():
    config = tiny_config(context_block="heads", num_sentence_heads=1)
    encoder, decoder = HierNMTEncoderLayer(config, 0), HierNMTDecoderLayer(config, 0)
    # Two heads of width 8 in the encoder, four of width 4 in the decoder.
    assert (encoder.self_attn.q_proj.out_features, encoder.sentence_heads.q_proj.out_features) == (8, 8)
    assert (decoder.encoder_attn.q_proj.out_features, decoder.sentence_heads.q_proj.out_features) == (12, 4)
    assert decoder.self_attn.q_proj.out_features == 16
    assert encoder.sentence_heads.out_proj.bias is None
