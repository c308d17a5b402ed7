# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Summaries equal the loop over windows and tokens, and padding, wherever it is, never leaks into them."""

import pytest
import torch
from independent_model import summaries
from tiny_han_models import tiny_config

from hier_nmt.attention.convolutional_summaries import ConvolutionalSummaries, count_summaries, summary_stride

D_MODEL = 3
DOCUMENTS = {
    "seven tokens": [[1, 1, 1, 2, 3, 3, 3]],
    "one token": [[1]],
    "exactly one window": [[1, 1, 2, 2]],
    "uneven batch": [[1] * 9, [1] * 4 + [0] * 5, [1] * 5 + [0] * 4, [0] * 9],
    "padding on the left": [[0, 0, 1, 1, 2, 2, 2], [0, 0, 0, 0, 0, 1, 1]],
    "padding in between": [[1, 0, 1, 2, 0, 0, 2]],
}


def module_and_states(ids: list[list[int]], kernel_size: int) -> tuple[ConvolutionalSummaries, torch.Tensor]:
    torch.manual_seed(1)
    heads = {"encoder_attention_heads": 1, "decoder_attention_heads": 1}
    config = tiny_config(d_model=D_MODEL, summary_kernel_size=kernel_size, **heads)
    module = ConvolutionalSummaries(config).double()
    return module, torch.randn(len(ids), len(ids[0]), D_MODEL, dtype=torch.float64, requires_grad=True)


def summarise(module: ConvolutionalSummaries, states: torch.Tensor, ids: torch.Tensor) -> list[torch.Tensor]:
    """The summaries [n, D] that each document has."""
    config = tiny_config(summary_kernel_size=module.kernel_size)
    units = module.units(config, ids)
    found = module(states, units.sentence_ids, units.num_sentences)
    assert found.shape == (len(ids), units.num_sentences, D_MODEL)
    return [row[mask] for row, mask in zip(found, units.mask, strict=True)]


@pytest.mark.parametrize("kernel_size", [1, 2, 3, 4, 5, 12])
@pytest.mark.parametrize("ids", DOCUMENTS.values(), ids=DOCUMENTS)
def test_summaries_equal_the_loop_in_values_and_gradients(ids, kernel_size):
    module, states = module_and_states(ids, kernel_size)
    fast = torch.cat(summarise(module, states, torch.tensor(ids)))
    weights = {f"conv.{name}": parameter for name, parameter in module.named_parameters()}
    documents = [
        [state for state, number in zip(row, numbers, strict=True) if number]
        for row, numbers in zip(states, ids, strict=True)
    ]
    slow = torch.stack([summary for tokens in documents for summary in summaries(weights, "conv", tokens)])
    torch.testing.assert_close(fast, slow, rtol=1e-10, atol=1e-10)
    weighting = torch.linspace(-1, 2, fast.numel(), dtype=torch.float64).view_as(fast)
    both = [torch.autograd.grad((out * weighting).sum(), [states, *weights.values()]) for out in (fast, slow)]
    torch.testing.assert_close(*both, rtol=1e-10, atol=1e-10)


def test_a_summary_is_the_weighted_sum_of_its_window():
    # Width 1, kernel 4 and stride 2: the weights 1, 10, 100, 1000 spell the tokens of each window backwards.
    module = ConvolutionalSummaries(
        tiny_config(d_model=1, summary_kernel_size=4, encoder_attention_heads=1, decoder_attention_heads=1)
    )
    with torch.no_grad():
        module.convolution.weight.copy_(torch.tensor([[[1.0, 10.0, 100.0, 1000.0]]]))
        module.convolution.bias.fill_(0.5)
    states = torch.tensor([1.0, 2, 3, 4, 5, 6, 7])[None, :, None]
    found = module(states, torch.ones(1, 7, dtype=torch.long), 3)
    assert found.flatten().tolist() == [4321.5, 6543.5, 765.5]


@pytest.mark.parametrize("kernel_size", range(1, 8))
def test_the_windows_cover_every_token_and_no_fewer_would(kernel_size):
    stride = summary_stride(kernel_size)
    for num_tokens in range(1, 30):
        count = int(count_summaries(torch.tensor(num_tokens), kernel_size))
        covered = [{*range(first * stride, first * stride + kernel_size)} for first in range(count)]
        tokens = set(range(num_tokens))
        assert set.union(*covered) >= tokens
        assert count == 1 or not set.union(*covered[:-1]) >= tokens
    assert int(count_summaries(torch.tensor(0), kernel_size)) == 0


@pytest.mark.parametrize("kernel_size", [2, 3, 6])
def test_batched_equals_alone_and_padding_content_is_irrelevant(kernel_size):
    ids = torch.tensor(DOCUMENTS["uneven batch"][:3])
    module, states = module_and_states(ids.tolist(), kernel_size)
    noisy = states.masked_fill(ids[..., None] == 0, 1e6)
    noisy.retain_grad()
    found = summarise(module, noisy, ids)
    for row, own in enumerate(found):
        length = int((ids[row] > 0).sum())
        alone = summarise(module, states[row : row + 1, :length], ids[row : row + 1, :length])[0]
        torch.testing.assert_close(own, alone)
    torch.cat(found).sum().backward()
    assert (noisy.grad[ids == 0] == 0).all()
    assert (noisy.grad[ids > 0] != 0).all()
