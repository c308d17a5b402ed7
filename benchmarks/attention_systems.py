# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The attentions that are compared, on random input.

Core: queries, keys, values and relevance vectors are given. Layer: one encoder self-attention with its projections,
sentence encoder included, without layer norm and residual. Selection: the search for sentences alone. Every module is
in evaluation mode (no dropout, and Big Bird draws no random blocks).

Attention to selected sentences is measured in each form that it has: tuned PyTorch (`hier_nmt.kernels.torch_cpu`), C++
(`hier_nmt.kernels.cpu`; names that end in -compiled) and the plain form of `hier_nmt.ops`, which a model on the Hub
carries (names that end in -plain).

Dimensions: B batch (1), S tokens, N sentences, H heads, E head width, D model width, L tokens of a sentence.
"""

import shutil
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from measurement import DTYPES, Case, Workload, is_on_gpu
from torch import nn
from torch.nn import functional
from transformers import BigBirdPegasusConfig, LEDConfig, LongT5Config
from transformers.models.bigbird_pegasus.modeling_bigbird_pegasus import (
    BigBirdPegasusEncoder,
    BigBirdPegasusEncoderAttention,
)
from transformers.models.led.modeling_led import LEDEncoderAttention
from transformers.models.longt5.modeling_longt5 import LongT5LocalAttention, LongT5TransientGlobalAttention

from hier_nmt.attention.attention_plan import SelectionPlan
from hier_nmt.attention.conditional_attention import SentenceContextAttention
from hier_nmt.attention.multi_head_attention import DocumentAttention
from hier_nmt.attention.sentence_encoder import SentenceEncoder
from hier_nmt.configuration.configuration_hier_nmt import HierNMTConfig
from hier_nmt.kernels.cpu.compiled import BACKEND as COMPILED_BACKEND
from hier_nmt.kernels.cpu.compiled import compiler, use_compiled_attention
from hier_nmt.kernels.torch_cpu import BACKEND as TUNED_BACKEND
from hier_nmt.models.hier_nmt.transformer_layers import ENCODER_SELF_ATTENTION_CLASSES
from hier_nmt.ops.backends import register_backend, unregister_backend
from hier_nmt.ops.document_structure import Sentences
from hier_nmt.ops.selected_attention import attend_selected_sentences
from hier_nmt.ops.sentence_selection import select_by_relevance
from hier_nmt.ops.sentence_spans import SentenceSpans
from hier_nmt.ops.sentence_tree import traverse_tree

D_MODEL, NUM_HEADS = 512, 8
HEAD_DIM = D_MODEL // NUM_HEADS
NUM_SELECTED = 4
# `relevance_slope` where near sentences come first.
SLOPE = 1.2
LED_WINDOW = 512
BIG_BIRD_BLOCK = 64
# Big Bird with at most as many tokens is full attention.
BIG_BIRD_SHORTEST = 704

# How the names of systems end in each form.
TUNED, COMPILED, PLAIN = "", "-compiled", "-plain"
DENSE = functional.scaled_dot_product_attention


class CoreInputs(NamedTuple):
    """What all core attentions read.

    Attributes:
        lengths: numbers of tokens of the sentences.
        sentence_ids: number of the sentence of each token [1, S], from 1.
        query, key, value: [1, H, S, E].
        sentence_query: [1, H, S, E].
        node_keys: keys [1, H, N_l, E] of the levels of the tree, leaves first; flat selection reads the leaves.
        node_masks: [1, N_l].
    """

    lengths: list[int]
    sentence_ids: torch.Tensor
    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    sentence_query: torch.Tensor
    node_keys: list[torch.Tensor]
    node_masks: list[torch.Tensor]

    @property
    def tensors(self) -> list[torch.Tensor]:
        """The inputs that have gradients."""
        return [self.query, self.key, self.value, self.sentence_query, *self.node_keys]


def numbers_of_sentences(lengths: Sequence[int]) -> torch.Tensor:
    """Number of the sentence of each token [1, S], from 1."""
    return torch.arange(1, len(lengths) + 1).repeat_interleave(torch.tensor(lengths))[None]


def random_core_inputs(case: Case, chosen_by_all: Sequence[int] = ()) -> CoreInputs:
    """Inputs of a document; with `chosen_by_all` all queries find these sentences most relevant."""
    torch.manual_seed(0)
    lengths = case.lengths
    shape = (1, NUM_HEADS, sum(lengths), HEAD_DIM)
    query, key, value, sentence_query = (torch.randn(shape, dtype=DTYPES[case.dtype]) for _ in range(4))
    sizes = [len(lengths)]
    while sizes[-1] > 1:
        sizes.append((sizes[-1] + 1) // 2)
    node_keys = [torch.randn(1, NUM_HEADS, size, HEAD_DIM, dtype=DTYPES[case.dtype]) for size in sizes]
    if chosen_by_all:
        sentence_query[..., 0] = 10.0
        node_keys[0][..., 0] = 0.0
        node_keys[0][:, :, list(chosen_by_all), 0] = 10.0
    masks = [torch.ones(1, size, dtype=torch.bool) for size in sizes]
    inputs = CoreInputs(
        lengths, numbers_of_sentences(lengths), query, key, value, sentence_query, node_keys, masks
    )  # fmt: skip
    for tensor in inputs.tensors:
        tensor.requires_grad_()
    return inputs


def attend_in_sentences(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, lengths: Sequence[int]
) -> torch.Tensor:
    """Dense attention [1, H, S, E] inside each sentence, sentences of equal length together, without padding."""
    if len(set(lengths)) == 1:
        states = [
            part[0].unflatten(1, (-1, lengths[0])).transpose(0, 1) for part in (query, key, value)
        ]  # [N, H, L, E]
        return DENSE(*states).transpose(0, 1).flatten(1, 2)[None]
    sentences = [part.split(list(lengths), dim=2) for part in (query, key, value)]
    outputs: list[torch.Tensor] = [query] * len(lengths)
    for length in set(lengths):
        members = [index for index, other in enumerate(lengths) if other == length]
        states = [torch.cat([part[index] for index in members]) for part in sentences]
        for index, output in zip(members, DENSE(*states).split(1), strict=True):
            outputs[index] = output
    return torch.cat(outputs, dim=2)


def select(inputs: CoreInputs, is_tree: bool = False, slope: float = 0.0) -> tuple[torch.Tensor, torch.Tensor]:
    """Indices and scores [1, H, S, t] of the sentences that flat or tree search finds; near ones first with a slope."""
    if is_tree:
        return traverse_tree(inputs.sentence_query, inputs.node_keys, inputs.node_masks, NUM_SELECTED)
    return select_by_relevance(
        inputs.sentence_query,
        inputs.node_keys[0],
        inputs.node_masks[0],
        NUM_SELECTED,
        query_sentence_ids=inputs.sentence_ids,
        slope=slope,
    )


def select_and_attend(
    inputs: CoreInputs, kernel: str = "grouped", is_tree: bool = False, slope: float = 0.0
) -> torch.Tensor:
    """Attention [1, H, S, E] to the tokens of the selected sentences."""
    indices, scores = select(inputs, is_tree, slope)
    return attend_selected_sentences(
        inputs.query, inputs.key, inputs.value, inputs.sentence_ids, indices, scores, kernel=kernel
    )


CORE_SYSTEMS: dict[str, Callable[[CoreInputs], torch.Tensor]] = {
    "dense": lambda inputs: DENSE(inputs.query, inputs.key, inputs.value),
    "sentence": lambda inputs: attend_in_sentences(inputs.query, inputs.key, inputs.value, inputs.lengths),
    "conditional": select_and_attend,
    "conditional-auto": partial(select_and_attend, kernel="auto"),
    "conditional-near": partial(select_and_attend, slope=SLOPE),
    "conditional-skewed": select_and_attend,
    "triton": partial(select_and_attend, kernel="triton"),
    "hierarchical": partial(select_and_attend, is_tree=True),
}


def prepare_core(case: Case, system: str) -> Workload:
    """A core attention on random input; in `conditional-skewed` all queries choose the same sentences."""
    same = range(0, case.num_sentences, max(case.num_sentences // NUM_SELECTED, 1))[:NUM_SELECTED]
    inputs = random_core_inputs(case, same if system == "conditional-skewed" else ())
    return Workload(partial(CORE_SYSTEMS[system], inputs), inputs.tensors, inputs.query.shape, inputs.query.dtype)


SELECTION_SYSTEMS: dict[str, Callable[[CoreInputs], torch.Tensor]] = {
    "flat-selection": lambda inputs: select(inputs)[1],
    "near-selection": lambda inputs: select(inputs, slope=SLOPE)[1],
    "tree-selection": lambda inputs: select(inputs, is_tree=True)[1],
}


def prepare_selection(case: Case, system: str) -> Workload:
    """A search for sentences on random input."""
    inputs = random_core_inputs(case)
    shape = (*inputs.query.shape[:3], NUM_SELECTED)
    return Workload(partial(SELECTION_SYSTEMS[system], inputs), inputs.tensors, shape)


def layer_config(**fields: Any) -> HierNMTConfig:
    """Configuration of a layer of the common width."""
    config = HierNMTConfig(
        d_model=D_MODEL, encoder_attention_heads=NUM_HEADS, num_selected_sentences=NUM_SELECTED, **fields
    )
    config._attn_implementation = "sdpa"
    return config


class DenseLayer(nn.Module):
    """Attention to the whole document."""

    def __init__(self, lengths: Sequence[int]):
        super().__init__()
        self.attention = DocumentAttention(layer_config(), NUM_HEADS, HEAD_DIM, 0)

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        """States [1, S, D] -> states [1, S, D]."""
        return self.attention(hidden_states, None)[0]  # type: ignore[return-value]


class SentenceLayer(nn.Module):
    """Attention inside each sentence, computed sentence by sentence."""

    def __init__(self, lengths: Sequence[int]):
        super().__init__()
        self.lengths = lengths
        self.in_proj = nn.Linear(D_MODEL, 3 * D_MODEL)
        self.out_proj = nn.Linear(D_MODEL, D_MODEL)

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        """States [1, S, D] -> states [1, S, D]."""
        projected = self.in_proj(hidden_states).unflatten(-1, (3, NUM_HEADS, HEAD_DIM))
        query, key, value = projected.transpose(1, 3).unbind(2)  # [1, H, S, E]
        output = attend_in_sentences(query, key, value, self.lengths)
        return self.out_proj(output.transpose(1, 2).flatten(2))


class ContextLayer(SentenceLayer):
    """Attention inside each sentence, and behind it the context block over all sentence encodings."""

    def __init__(self, lengths: Sequence[int]):
        super().__init__(lengths)
        config = layer_config()
        self.sentences = Sentences.from_ids(numbers_of_sentences(lengths))
        self.sentence_encoder = SentenceEncoder(config)
        self.context_attn = SentenceContextAttention(config, NUM_HEADS, HEAD_DIM)

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        """States [1, S, D] -> states [1, S, D]."""
        encodings = self.sentence_encoder(hidden_states, self.sentences.sentence_ids, self.sentences.num_sentences)
        keys = self.context_attn.sentence_keys(encodings, self.sentences.mask)
        return self.context_attn(super().forward(hidden_states), keys)[0]


class SelectingLayer(nn.Module):
    """Conditional or hierarchical attention, with the sentence encoder.

    Args:
        lengths: numbers of tokens of the sentences.
        attention: name of the slot's class.
        kernel: how it is computed.
    """

    def __init__(self, lengths: Sequence[int], attention: str, kernel: str = "grouped"):
        super().__init__()
        config = layer_config(encoder_self_attention=attention, attention_kernel=kernel)
        self.sentences = Sentences.from_ids(numbers_of_sentences(lengths))
        numbers = self.sentences.sentence_ids
        # As in a model, where it is made once for all layers.
        self.plan = SelectionPlan(numbers, numbers, SentenceSpans(numbers))
        self.sentence_encoder = SentenceEncoder(config)
        self.attention = ENCODER_SELF_ATTENTION_CLASSES[attention](config, NUM_HEADS, HEAD_DIM, 0)

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        """States [1, S, D] -> states [1, S, D]."""
        encodings = self.sentence_encoder(hidden_states, self.sentences.sentence_ids, self.sentences.num_sentences)
        keys = self.attention.sentence_keys(encodings, self.sentences.mask)
        return self.attention(hidden_states, self.plan, sentence_keys=keys)[0]  # type: ignore[return-value]


class LEDLayer(nn.Module):
    """LED's sliding window, without global tokens, padded to whole windows as LED does."""

    def __init__(self, lengths: Sequence[int]):
        super().__init__()
        config = LEDConfig(
            d_model=D_MODEL, encoder_attention_heads=NUM_HEADS, encoder_layers=1, attention_window=[LED_WINDOW]
        )
        self.attention = LEDEncoderAttention(config, 0)
        self.num_padding = -sum(lengths) % LED_WINDOW
        self.mask = functional.pad(torch.zeros(1, sum(lengths)), (0, self.num_padding), value=-10000.0)

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        """States [1, S, D] -> states [1, S, D]."""
        output = self.attention(
            functional.pad(hidden_states, (0, 0, 0, self.num_padding)),
            attention_mask=self.mask,
            is_index_masked=self.mask < 0,
            is_index_global_attn=self.mask > 0,
            is_global_attn=False,
        )[0]
        return output[:, : hidden_states.shape[1]]


class LongT5Layer(nn.Module):
    """LongT5's local or transient-global attention, with its position bias computed beforehand: in a model the first
    layer computes it for all.

    Args:
        lengths: numbers of tokens of the sentences.
        attention: the class.
    """

    def __init__(self, lengths: Sequence[int], attention: type[nn.Module]):
        super().__init__()
        config = LongT5Config(d_model=D_MODEL, d_kv=HEAD_DIM, num_heads=NUM_HEADS)
        self.attention = attention(config, has_relative_attention_bias=True).eval()
        self.mask = torch.ones(1, sum(lengths))
        with torch.no_grad():
            # The local attention takes its mask in another form; here it has nothing to mask.
            mask = self.mask if attention is LongT5TransientGlobalAttention else None
            self.position_bias = self.attention(torch.zeros(1, sum(lengths), D_MODEL), mask=mask)[1]

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        """States [1, S, D] -> states [1, S, D]."""
        return self.attention(hidden_states, position_bias=self.position_bias.to(hidden_states.dtype))[0]


class BigBirdLayer(nn.Module):
    """Big Bird's block-sparse attention, padded to whole blocks; for more than `BIG_BIRD_SHORTEST` tokens."""

    def __init__(self, lengths: Sequence[int]):
        super().__init__()
        config = BigBirdPegasusConfig(
            d_model=D_MODEL, encoder_attention_heads=NUM_HEADS, block_size=BIG_BIRD_BLOCK, attention_type="block_sparse"
        )
        self.attention = BigBirdPegasusEncoderAttention(config, seed=0)
        self.num_padding = -sum(lengths) % BIG_BIRD_BLOCK
        mask = functional.pad(torch.ones(1, sum(lengths)), (0, self.num_padding))
        self.masks = BigBirdPegasusEncoder.create_masks_for_block_sparse_attn(mask, BIG_BIRD_BLOCK)

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        """States [1, S, D] -> states [1, S, D]."""
        blocked_mask, band_mask, from_mask, to_mask = (mask.to(hidden_states.dtype) for mask in self.masks)
        output = self.attention(
            functional.pad(hidden_states, (0, 0, 0, self.num_padding)),
            band_mask=band_mask,
            from_mask=from_mask,
            to_mask=to_mask,
            from_blocked_mask=blocked_mask,
            to_blocked_mask=blocked_mask,
        )[0]
        return output[:, : hidden_states.shape[1]]


LAYER_SYSTEMS: dict[str, Callable[[Sequence[int]], nn.Module]] = {
    "dense": DenseLayer,
    "sentence": SentenceLayer,
    "context": ContextLayer,
    "conditional": partial(SelectingLayer, attention="conditional"),
    "conditional-auto": partial(SelectingLayer, attention="conditional", kernel="auto"),
    "hierarchical": partial(SelectingLayer, attention="hierarchical"),
    "led": LEDLayer,
    "longt5-local": partial(LongT5Layer, attention=LongT5LocalAttention),
    "longt5-tglobal": partial(LongT5Layer, attention=LongT5TransientGlobalAttention),
    "bigbird": BigBirdLayer,
}


def prepare_layer(case: Case, system: str) -> Workload:
    """A layer with random weights on random states."""
    torch.manual_seed(0)
    layer = LAYER_SYSTEMS[system](case.lengths)
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=D_MODEL**-0.5)
    layer = layer.to(DTYPES[case.dtype]).eval()
    hidden_states = torch.randn(1, sum(case.lengths), D_MODEL, dtype=DTYPES[case.dtype], requires_grad=True)
    inputs = [hidden_states, *layer.parameters()]
    return Workload(partial(layer, hidden_states), inputs, hidden_states.shape, hidden_states.dtype)


PREPARE = {"core": prepare_core, "layer": prepare_layer, "selection": prepare_selection}


def with_forms(systems: Iterable[str]) -> list[str]:
    """The systems, each that has several forms followed by the others; the compiled form only with a compiler."""
    forms = [TUNED, *([COMPILED] if shutil.which(compiler()) and not is_on_gpu() else []), PLAIN]
    has_forms = ("conditional", "hierarchical", "flat-selection", "near-selection", "tree-selection")
    return [name + form for name in systems for form in (forms if name.startswith(has_forms) else [TUNED])]


def prepare(case: Case, system: str) -> Workload:
    """The system in the case."""
    form = next((form for form in (COMPILED, PLAIN) if system.endswith(form)), TUNED)
    workload = PREPARE[case.level](case, system.removesuffix(form))
    return workload._replace(run=partial(run_in_form, form, workload.run))


def run_in_form(form: str, run: Callable[[], torch.Tensor]) -> torch.Tensor:
    """What `run` gives with the backend of the form."""
    unregister_backend(COMPILED_BACKEND.name)
    unregister_backend(TUNED_BACKEND.name)
    if form != PLAIN:
        register_backend(TUNED_BACKEND)
    if form == COMPILED:
        use_compiled_attention()
    return run()


def systems_of(case: Case) -> list[str]:
    """The systems that are compared in the case."""
    if case.level == "selection":
        return with_forms(SELECTION_SYSTEMS)
    if case.level == "core":
        skipped = set() if case.document == "uniform" and case.num_sentences == 64 else {"conditional-skewed"}
        skipped |= set() if is_on_gpu() else {"triton"}
        return with_forms(name for name in CORE_SYSTEMS if name not in skipped)
    return with_forms(name for name in LAYER_SYSTEMS if name != "bigbird" or sum(case.lengths) > BIG_BIRD_SHORTEST)
