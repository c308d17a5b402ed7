# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Fails unless attention models compute on a device what they compute on the processor, and wait for it rarely.

The device is the argument: `pretended`, or `cuda`, a GPU, on which waiting is not counted.
"""

import os
import sys
from contextlib import nullcontext
from itertools import pairwise
from typing import Any

import pretended_device
import tiny_han_models
import tiny_models
import torch
from pretended_device import PretendedDevice
from tiny_models import BOS, CONDITIONAL, EOS, HIERARCHICAL, PAD, PAR, SEP, UNK, source_inputs, window_inputs
from transformers import PreTrainedModel

from hier_nmt.attention import gated_context, positions
from hier_nmt.kernels.torch_cpu import processor
from hier_nmt.ops.selected_attention import attend_selected_sentences

NAME = sys.argv[1]


class Gpu(nullcontext):  # type: ignore[type-arg]
    """A GPU, with the interface of `PretendedDevice`; what waits for it is not noted."""

    waits: list[str] = []


Device = PretendedDevice | Gpu
# A document of as many tokens as `attention_kernel="auto"` groups, and one that is read densely.
LONG = [[SEP if place % 10 == 9 else 6 + place % 20 for place in range(499)] + [EOS]]
SHORT = [LONG[0][-50:]]
BEAMS = {"num_beams": 2, "decoder_start_token_id": BOS}
LONG_SIZES = {"max_position_embeddings": 512, "max_sentence_positions": 64}


def take_sines_of_the_processor() -> None:
    """Lets all devices have the same sines: they are float32, and their last bit depends on the device."""
    encoding = positions.sinusoidal_encoding

    def encoding_of_the_processor(places: torch.Tensor, *options: Any) -> torch.Tensor:
        return encoding(places.cpu(), *options).to(places.device)

    for module in (gated_context, positions):
        module.sinusoidal_encoding = encoding_of_the_processor  # type: ignore[attr-defined]


def on_device(inputs: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: some.to(NAME) for name, some in inputs.items()}


def move(model: PreTrainedModel) -> None:
    """Moves the model to the device, without gradients."""
    model.zero_grad()
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    model.to(NAME).tie_weights()
    torch.__future__.set_overwrite_module_params_on_conversion(False)


def loss_and_gradients(model: PreTrainedModel, inputs: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The loss and the gradients of the weights that have one, on the processor."""
    loss = model(**inputs).loss
    loss.backward()
    gradients = {name: weight.grad.cpu() for name, weight in model.named_parameters() if weight.grad is not None}
    return {"loss": loss.detach().cpu(), **gradients}


def check(device: Device, model: PreTrainedModel, inputs: dict[str, torch.Tensor]) -> None:
    """One model: loss and gradients, and translations by beam search."""
    source = {name: inputs[name] for name in ("input_ids", "attention_mask")}
    expected, translation = loss_and_gradients(model, inputs), model.generate(**source, **BEAMS, max_new_tokens=6)
    with device:
        move(model)
        found = loss_and_gradients(model, on_device(inputs))
        found_translation = model.generate(**on_device(source), **BEAMS, max_new_tokens=6).cpu()
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)
    assert torch.equal(found_translation, translation)


def num_waits(device: PretendedDevice, rows: list[list[int]], num_layers: int, changes: dict[str, Any]) -> list[int]:
    """How often an encoder waits for the device: forward, backward, forward without gradients; and a translation."""
    sizes = {"encoder_layers": num_layers, "decoder_layers": num_layers}
    model = tiny_models.tiny_model(**changes, **LONG_SIZES, **sizes).train()
    # One sentence of so many tokens: a step that ends a sentence has waits of its own.
    options = {"max_new_tokens": 4, "min_new_tokens": 4, "suppress_tokens": [PAD, BOS, EOS, UNK, SEP, PAR]}
    with device:
        move(model)
        inputs, marks = on_device(source_inputs(rows)), [len(device.waits)]
        states = model.get_encoder()(**inputs).last_hidden_state
        marks.append(len(device.waits))
        states.backward(torch.ones_like(states))
        marks.append(len(device.waits))
        with torch.no_grad():
            encoded = model.eval().get_encoder()(**inputs)
            marks.append(len(device.waits))
            model.generate(**inputs, encoder_outputs=encoded, **BEAMS, **options)
        marks.append(len(device.waits))
    return [later - earlier for earlier, later in pairwise(marks)]


def check_popular_sentence(device: Device) -> None:
    """Attention of so many queries to one sentence that they are divided among blocks."""
    generator = torch.Generator().manual_seed(0)
    states = [torch.randn(1, 1, length, 4, generator=generator, dtype=torch.float64) for length in (1100, 20, 20)]
    sentence_ids = torch.tensor([[1] * 10 + [2] * 10])
    indices, scores = torch.zeros(1, 1, 1100, 1, dtype=torch.int64), torch.zeros(1, 1, 1100, 1, dtype=torch.float64)

    def output_and_gradients(name: str) -> tuple[list[torch.Tensor], int]:
        there = [some.to(name).requires_grad_() for some in states]
        others = [some.to(name) for some in (sentence_ids, indices, scores)]
        output = attend_selected_sentences(*there, *others, kernel="grouped")
        before = len(device.waits)
        gradients = torch.autograd.grad(output.square().sum(), there)
        return [output.detach(), *gradients], len(device.waits) - before

    expected, _ = output_and_gradients("cpu")
    with device:
        found, num_waits_backward = output_and_gradients(NAME)
        found = [some.cpu() for some in found]
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)
    assert num_waits_backward == 0, f"{num_waits_backward} waits of the backward pass"


def check_copies(device: PretendedDevice) -> None:
    """Copies from memory that is not pinned are waited for, unless the device is known to have read it."""
    with device:
        processor.copy_to_device(torch.arange(3), torch.device(NAME))
    assert len(device.waits) == 1
    # What follows counts the waits for CUDA.
    processor.DEVICES_THAT_READ_FIRST = (NAME,)
    with device:
        processor.copy_to_device(torch.arange(3), torch.device(NAME))
    assert len(device.waits) == 1


def check_waits(device: PretendedDevice, changes: dict[str, Any]) -> None:
    """A layer waits once for a long document, and not at all for one that is read densely."""
    for rows, waits_of_layer in ((LONG, 1), (SHORT, 0)):
        few, more = (num_waits(device, rows, num_layers, changes) for num_layers in (1, 3))
        of_layers = [(some - others) / 2 for some, others in zip(more, few, strict=True)]
        assert of_layers == [waits_of_layer, 0, waits_of_layer, 0], f"waits of a layer: {of_layers}"
        assert few[1] == 0, f"{few[1]} waits of the backward pass"


def main() -> None:
    device = PretendedDevice() if NAME == pretended_device.NAME else Gpu()
    if isinstance(device, PretendedDevice):
        check_copies(device)
    else:
        take_sines_of_the_processor()
    check_popular_sentence(device)
    for changes in tiny_models.VARIANTS.values():
        check(device, tiny_models.tiny_model(**changes), window_inputs())
    for changes in tiny_han_models.VARIANTS.values():
        check(device, tiny_han_models.tiny_model(**changes), window_inputs())
    for changes in (CONDITIONAL, {**HIERARCHICAL, "always_keep_own_sentence": True}):
        check(device, tiny_models.tiny_model(**changes, **LONG_SIZES), window_inputs(LONG, [[7, *LONG[0]]]))
        if isinstance(device, PretendedDevice):
            check_waits(device, changes)


if __name__ == "__main__":
    main()
    # PyTorch's thread for the device may not end by itself.
    os._exit(0)
