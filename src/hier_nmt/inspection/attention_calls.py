# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Recomputes what attention modules computed from their inputs, without changing the modules.

Dimensions: B batch, H heads, Q queries, C queries of a chunk, K keys, N_l nodes of level l, t selected sentences, E
head width, R queries whose walks are recorded, G pooling queries, S tokens.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from transformers import PreTrainedModel

from ..attention.attention_plan import SelectionPlan
from ..attention.conditional_attention import HierarchicalAttention, SentenceContextAttention, SentenceKeys
from ..attention.multi_head_attention import MultiHeadAttention
from ..attention.sentence_encoder import PairMerge, SentenceEncoder, weights_in_sentence
from ..configuration.library_internals import configured_attention
from ..ops.numerics import full_precision
from ..ops.sentence_tree import existing, search_tree
from .attention_records import TreeRecord

# Maximum number of weights of one layer in memory at a time.
WEIGHTS_PER_CHUNK = 2**25


class Call(NamedTuple):
    """The arguments of a module's last call."""

    arguments: tuple[Any, ...]
    options: dict[str, Any]


Calls = dict[nn.Module, Call]


@contextmanager
def recorded_calls(network: nn.Module) -> Iterator[Calls]:
    """The last call of every attention module and sentence encoder of the network, within the context."""
    calls: Calls = {}

    def keep(module: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        calls[module] = Call(arguments, options)

    kinds = (MultiHeadAttention, SentenceContextAttention, SentenceEncoder)
    modules = [module for module in network.modules() if isinstance(module, kinds) and type(module) is not PairMerge]
    handles = [module.register_forward_pre_hook(keep, with_kwargs=True) for module in modules]
    try:
        yield calls
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def attention_implementation(model: PreTrainedModel, name: str) -> Iterator[None]:
    """The model with another implementation of dense attention, within the context."""
    config: Any = model.config
    before = configured_attention(config)
    model.set_attn_implementation(name)
    try:
        yield
    finally:
        model.set_attn_implementation(before)


def chunks(start: int, stop: int, num_weights: int) -> list[slice]:
    """Slices of [start, stop) with at most `WEIGHTS_PER_CHUNK` weights each, given `num_weights` per position."""
    size = max(WEIGHTS_PER_CHUNK // max(num_weights, 1), 1)
    return [slice(first, min(first + size, stop)) for first in range(start, stop, size)]


def attend_chunk(module: Any, call: Call, queries: slice) -> tuple[Any, ...]:
    """Weights [H, C, K], selected sentences and scores [H, C, t] (or None) of some queries of an encoder module, from
    the module's own computation."""
    states = call.arguments[0]
    if isinstance(module, SentenceContextAttention):
        weights = module.forward(states[:, queries], call.arguments[1], output_context_attentions=True)[1]
        assert weights is not None
        return weights[0], None, None
    output = module.forward(
        states[:, queries],
        _plan_chunk(call.arguments[1], queries),
        key_value_states=states,
        sentence_keys=call.options["sentence_keys"],
        output_attentions=True,
    )
    selected, scores = (part[0] for part in output[2:4]) if len(output) == 4 else (None, None)
    return output[1][0], selected, scores


def _plan_chunk(plan: Any, queries: slice) -> Any:
    """The plan of an encoder's slot for some of its queries."""
    if isinstance(plan, SelectionPlan):
        own = plan.own_sentence_ids
        own = None if own is None else own[:, queries]
        return replace(plan, query_sentence_ids=plan.query_sentence_ids[:, queries], own_sentence_ids=own)
    return plan if plan is None or plan.shape[2] == 1 else plan[:, :, queries]


def decoder_layers(output: Any) -> dict[str, list[tuple[Any, ...]]]:
    """For each slot of the decoder the layers' weights [H, C, K], selected sentences and scores [H, C, t]."""
    slots = {}
    for slot, name in (("decoder", "decoder"), ("cross", "cross")):
        weights = getattr(output, f"{name}_attentions")
        selected, scores = (getattr(output, f"{name}_{kind}") for kind in ("selected_sentences", "sentence_attentions"))
        nothing = (None,) * len(weights)
        slots[slot] = [
            tuple(None if part is None else part[0] for part in parts)
            for parts in zip(weights, selected or nothing, scores or nothing, strict=True)
        ]
    if output.decoder_context_attentions:
        slots["decoder_context"] = [(weights[0], None, None) for weights in output.decoder_context_attentions]
    return slots


def walk_record(
    module: HierarchicalAttention, call: Call, rows: torch.Tensor, queries: np.ndarray, first: int
) -> TreeRecord:
    """The walks of one layer's queries, for L = 1.

    Args:
        module: the attention module.
        call: its last call.
        rows: positions [R] of the queries in the call.
        queries: their positions [R] in the document.
        first: sentence of the document that is leaf 0.
    """
    keys: SentenceKeys = call.options["sentence_keys"]
    plan: SelectionPlan = call.arguments[1]
    states = call.arguments[0][:, rows]
    query = full_precision(module.sentence_q_proj(states).unflatten(-1, (module.num_heads, -1)).transpose(1, 2))
    own = None
    if module.config.always_keep_own_sentence:
        own = existing(plan.query_sentence_ids[:, rows], keys.masks[0])
    summed = keys.summed
    assert summed is not None
    deciding = summed if module.config.tree_selection == "cumulative" else keys.levels
    kept = kept_by_level(query, deciding, keys.masks, module.config.selected_sentences(module.slot), own)
    # The walk scores the root and the children of kept nodes.
    scored = [
        above.repeat_interleave(2, dim=-1)[..., : one.shape[-1]] for above, one in zip(kept[1:], kept, strict=False)
    ]
    scored.append(torch.ones_like(kept[-1]))
    scaling = query.shape[-1] ** -0.5
    relevance, cumulative = (
        torch.cat([(query @ level.transpose(2, 3)) * scaling for level in levels], dim=-1)
        .masked_fill(~torch.cat(scored, dim=-1), torch.nan)[0]
        .cpu()
        .numpy()
        for levels in (keys.levels, summed)
    )
    sizes = tuple(mask.shape[1] for mask in keys.masks)
    is_kept = torch.cat(kept, dim=-1)[0].cpu().numpy()
    return TreeRecord(first, sizes, queries, relevance[None], cumulative[None], is_kept[None])


def kept_by_level(
    query: torch.Tensor, keys: Sequence[torch.Tensor], masks: Sequence[torch.Tensor], t: int, own: torch.Tensor | None
) -> list[torch.Tensor]:
    """Which nodes the walk of each query keeps on each level, boolean [B, H, Q, N_l], leaves first.

    The nodes kept on a level depend only on the levels above it, so they are those that the model's search finds in the
    tree cut off at that level.

    Args:
        query: [B, H, Q, E].
        keys: the keys of the nodes' relevance [B, H, N_l, E].
        masks: [B, N_l].
        t: maximum number of nodes kept on a level.
        own: ids of the own sentences [B, Q], from 1, with 0 for none; or None.
    """
    kept = []
    for level, mask in enumerate(masks):
        own_here = None if own is None else ((own - 1) >> level) + 1
        nodes, is_kept = search_tree(query, keys[level:], masks[level:], t, own_here)
        row = torch.zeros(*query.shape[:3], mask.shape[1] + 1, dtype=torch.bool, device=query.device)
        kept.append(row.scatter(-1, nodes.masked_fill(~is_kept, mask.shape[1]), True)[..., :-1])
    return kept


def pooling_weights(module: SentenceEncoder, call: Call) -> np.ndarray:
    """The share of each token in the encoding of its sentence [G, S] (Trankova et al. 2024, eq. 2)."""
    states, sentence_ids, num_sentences = call.arguments
    num_heads, head_dim = module.query.shape
    keys = functional.linear(states[0], module.k_proj.weight).unflatten(-1, (num_heads, head_dim))  # [S, G, E]
    logits = (keys * module.query).sum(-1) * head_dim**-0.5
    return weights_in_sentence(logits, sentence_ids[0], num_sentences + 1).float().T.cpu().numpy()


def sentence_encoders(network: Any) -> dict[str, list[SentenceEncoder]]:
    """The modules that encode sentences, for each slot that attends to encodings: of the source for encoder and
    cross-attention, of the target for the decoder's self-attention. Shared modules are listed once."""
    encoder, decoder = network.encoder, network.decoder
    found = {
        "encoder": [encoder.sentence_encoder]
        if encoder.sentence_encoder
        else [layer.sentence_encoder for layer in encoder.layers],
        "cross": [layer.source_sentence_encoder for layer in decoder.layers],
        "decoder": [decoder.sentence_encoder]
        if decoder.sentence_encoder
        else [layer.sentence_encoder for layer in decoder.layers],
    }
    # Summaries of a convolution do not represent sentences.
    encoders = {slot: [one for one in modules if isinstance(one, SentenceEncoder)] for slot, modules in found.items()}
    return {slot: modules for slot, modules in encoders.items() if modules}


def context_of(layer: Any) -> SentenceContextAttention | None:
    """The part of a layer that attends to all sentence encodings: a block or heads."""
    return layer.context_attn if layer.context_attn is not None else layer.sentence_heads


def merged(layers: Sequence[TreeRecord]) -> TreeRecord:
    """The records of single layers merged into one."""
    relevance, cumulative, kept = (
        np.concatenate([getattr(one, name) for one in layers]) for name in ("relevance", "cumulative", "kept")
    )
    return replace(layers[0], relevance=relevance, cumulative=cumulative, kept=kept)
