# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Attention to selected sentences in Triton, run by its interpreter, equals the dense form."""

import importlib
import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from tiny_models import SOURCES, tiny_model, window_inputs
from torch.autograd import grad, gradcheck

from hier_nmt.ops import backends, selected_attention
from hier_nmt.ops.selected_attention import attend_selected_sentences, is_grouped

HAS_TRITON = importlib.util.find_spec("triton") is not None
needs_triton = pytest.mark.skipif(not HAS_TRITON, reason="Triton is not installed")
DOCUMENTS = {
    "uneven": [[1, 1, 1, 2, 3, 3, 3, 3, 4, 4]],
    "one token": [[1]],
    "empty sentences, in any order": [[5, 5, 2, 6, 2, 5]],
    "padded batch": [[1, 1, 2, 2, 2, 3, 4], [1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 2, 2, 3], [0, 0, 0, 0, 0, 0, 0]],
    "more tokens than are read at one time, and more queries than a block": [[*[1] * 33, *[2] * 65, *[3] * 32]],
}
# Compiles both kernels for a GPU (compute capability 9.0), which need not be there.
COMPILE = """
from triton import compile
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from hier_nmt.kernels.triton.triton_attention import attend_blocks, block_gradients

STATES = ("query", "key", "value", "grad_output")
TYPES = {"row": "*i32", "positions": "*i64", "seed": "i64"}
TYPES |= dict.fromkeys(("start", "length", "offset", "spans"), "*i64")
TYPES["probability"] = "fp32"
TYPES |= dict.fromkeys(("width", "num_queries", "num_keys"), "i32")
CONSTANTS = {"E": 64, "L": 64, "TOKENS": 32, "IS_CAUSAL": True, "HAS_DROPOUT": True}
CONSTANTS |= {"scaling": 0.125, "scaling_to_base_2": 0.18}
TYPES |= dict.fromkeys(CONSTANTS, "constexpr")
for dtype in ("*fp32", "*bf16"):
    for kernel in (attend_blocks, block_gradients):
        types = {name: dtype if name in STATES else TYPES.get(name, "*fp32") for name in kernel.arg_names}
        constants = {name: value for name, value in CONSTANTS.items() if name in kernel.arg_names}
        compile(ASTSource(kernel, types, constexprs=constants), target=GPUTarget("cuda", 90, 32))
        print("compiled")
"""
CONDITIONAL = {"encoder_self_attention": "conditional", "cross_attention": "conditional"}


def random_states(*shapes: tuple[int, ...], dtype: torch.dtype = torch.float64) -> list[torch.Tensor]:
    torch.manual_seed(5)
    return [torch.randn(shape, dtype=torch.float64).to(dtype).requires_grad_() for shape in shapes]


def random_choice(batch_size: int, num_queries: int, num_sentences: int, t: int = 3) -> tuple[torch.Tensor, ...]:
    """Indices of t sentences [B, 2, Q, t], and whether each is filled."""
    indices = torch.rand(batch_size, 2, num_queries, max(num_sentences, t)).argsort(-1)[..., :t]
    is_filled = (indices < num_sentences) & (torch.rand(indices.shape) < 0.8)
    return indices.masked_fill(~is_filled, 0), is_filled


def outputs_and_gradients(kernel, states, ids, indices, is_filled, **options):
    *of_words, scores = states
    output = attend_selected_sentences(
        *of_words, ids, indices, scores.masked_fill(~is_filled, -torch.inf), **options, kernel=kernel
    )
    weighting = torch.linspace(-1, 2, output.numel()).view(output.shape).to(output.dtype)
    return output, *grad((output * weighting).sum() + sum((state * 0).sum() for state in states), states)


@needs_triton
@pytest.mark.parametrize("width", [16, 24])
@pytest.mark.parametrize("options", ["", "own", "causal", "own causal"])
@pytest.mark.parametrize("ids", DOCUMENTS.values(), ids=DOCUMENTS)
def test_values_and_gradients_equal_those_of_the_dense_form(ids, options, width):
    ids = torch.tensor(ids)
    batch_size, num_keys = ids.shape
    states = random_states(*[(batch_size, 2, num_keys, width)] * 3, (batch_size, 2, num_keys, 3))
    chosen = random_choice(batch_size, num_keys, int(ids.max()))
    given = {"own_sentence_ids": ids if "own" in options else None}
    given["query_positions"] = torch.arange(num_keys) if "causal" in options else None
    fast, slow = (outputs_and_gradients(kernel, states, ids, *chosen, **given) for kernel in ("triton", "reference"))
    torch.testing.assert_close(fast, slow, rtol=1e-10, atol=1e-10)


@pytest.fixture
def interpreter_that_multiplies_bfloat16(monkeypatch):
    """A dot product of floats: Triton's interpreter keeps bfloat16 as the bits of integers, and multiplies those."""
    interpreter = importlib.import_module("triton.runtime.interpreter")
    create_dot = interpreter.InterpreterBuilder.create_dot

    def create_dot_of_floats(self, *arguments):
        floats = [
            interpreter.TensorHandle((some.data.astype(np.uint32) << 16).view(np.float32), interpreter.tl.float32)
            if some.dtype == interpreter.tl.bfloat16
            else some
            for some in arguments[:2]
        ]
        return create_dot(self, *floats, *arguments[2:])

    monkeypatch.setattr(interpreter.InterpreterBuilder, "create_dot", create_dot_of_floats)


@needs_triton
@pytest.mark.usefixtures("interpreter_that_multiplies_bfloat16")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_smaller_types_are_close_and_finite_where_nothing_is_read(dtype):
    ids = torch.tensor([[1] * 20 + [2] * 7, [0] * 27])
    states = random_states(*[(2, 2, 27, 16)] * 3, dtype=dtype) + random_states((2, 2, 27, 2), dtype=torch.float32)
    chosen = random_choice(2, 27, 2, t=2)
    fast, slow = (outputs_and_gradients(kernel, states, ids, *chosen) for kernel in ("triton", "grouped"))
    assert fast[0].dtype == dtype
    assert (fast[0][1] == 0).all()
    error = 1e-5 if dtype == torch.float32 else 3e-2
    torch.testing.assert_close(fast, slow, rtol=error, atol=error)


@needs_triton
def test_large_logits_and_scores_stay_finite():
    ids = torch.tensor([[1, 1, 2, 2]])
    states = [state.detach() for state in random_states(*[(1, 1, 4, 16)] * 3, dtype=torch.float32)]
    states = [(state * factor).requires_grad_() for state, factor in zip(states, (100, 100, 1), strict=True)]
    scores = torch.tensor([300.0, -300.0]).repeat(1, 1, 4, 1).requires_grad_()
    indices = torch.tensor([0, 1]).expand(1, 1, 4, 2)
    fast, slow = (
        outputs_and_gradients(kernel, [*states, scores], ids, indices, indices >= 0)
        for kernel in ("triton", "reference")
    )
    torch.testing.assert_close(fast, slow, rtol=1e-3, atol=1e-3)


@needs_triton
def test_gradients_under_dropout_equal_finite_differences_of_the_same_draw():
    ids = torch.tensor([[1, 2, 2]])
    states = random_states(*[(1, 2, 3, 1)] * 3, (1, 2, 3, 2))
    indices, is_filled = random_choice(1, 3, 2, t=2)

    def attend_with_the_same_draw(*states):
        torch.manual_seed(10)
        scores = states[3].masked_fill(~is_filled, -torch.inf)
        return attend_selected_sentences(*states[:3], ids, indices, scores, dropout=0.4, kernel="triton")

    assert gradcheck(attend_with_the_same_draw, states)


@needs_triton
def test_dropout_drops_the_share_that_was_asked_for_and_scales_the_others():
    # All read one sentence of one token: the output is its value, dropped as a whole or divided by 1 - p.
    value, scores = torch.ones(1, 8, 100, 1), torch.zeros(1, 8, 100, 1)
    outputs = attend_selected_sentences(
        value, value, value, torch.arange(1, 101)[None], scores.long(), scores, dropout=0.25, kernel="triton"
    )
    assert sorted(set(outputs.flatten().tolist())) == [0.0, pytest.approx(1 / 0.75)]
    assert (outputs == 0).double().mean().item() == pytest.approx(0.25, abs=5 * (0.25 * 0.75 / 800) ** 0.5)


@needs_triton
@pytest.mark.parametrize("changes", [{}, {"decoder_self_attention": "conditional"}], ids=["", "decoder"])
def test_a_model_gives_the_same_with_it(changes):
    fast, slow = (tiny_model(**CONDITIONAL, **changes, attention_kernel=kernel) for kernel in ("triton", "reference"))
    fast.load_state_dict(slow.state_dict())
    inputs = window_inputs(SOURCES, SOURCES)
    torch.testing.assert_close(fast(**inputs).logits, slow(**inputs).logits, rtol=1e-4, atol=1e-5)


@needs_triton
@pytest.mark.slow
def test_the_kernels_compile_for_a_gpu(tmp_path):
    environment = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path), "TRITON_INTERPRET": "0"}
    result = subprocess.run([sys.executable, "-c", COMPILE], env=environment, capture_output=True, text=True)
    assert result.stdout.split() == ["compiled"] * 4, result.stderr


@needs_triton
def test_it_is_taken_when_asked_for_by_name_alone(monkeypatch):
    monkeypatch.setattr(selected_attention, "triton_attention", None)
    states = random_states(*[(1, 2, 3, 16)] * 3)
    chosen = torch.zeros(1, 2, 3, 1, dtype=torch.int64), torch.zeros(1, 2, 3, 1)
    for kernel in ("auto", "grouped", "reference"):
        attend_selected_sentences(*states, torch.tensor([[1, 1, 2]]), *chosen, kernel=kernel)
    assert is_grouped("triton", 3)


@needs_triton
def test_without_its_interpreter_the_processor_is_an_error(monkeypatch):
    monkeypatch.delenv("TRITON_INTERPRET")
    states = random_states(*[(1, 1, 1, 1)] * 3)
    with pytest.raises(ValueError, match="runs on a GPU, but the model is on the CPU; choose 'auto'"):
        attend_selected_sentences(
            *states, torch.ones(1, 1, dtype=torch.int64), torch.zeros(1, 1, 1, 1).long(), torch.zeros(1, 1, 1, 1),
            kernel="triton",
        )  # fmt: skip


def test_without_triton_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "hier_nmt.kernels.triton.triton_attention", None)
    with pytest.raises(ImportError, match="attention_kernel='triton' needs Triton: pip install triton"):
        backends.triton_attention()


def test_without_the_package_the_message_says_so(monkeypatch):
    monkeypatch.setattr(backends, "_triton", [])
    with pytest.raises(ImportError, match="is part of the package hier_nmt; import it first"):
        backends.triton_attention()
