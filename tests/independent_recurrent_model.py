# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The recurrent translation network written once more, row by row and token by token, from its weights alone.

Vectors only, no batches, no padding and no layers of torch, so that a mistake in those of the package shows.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

Weights = Mapping[str, torch.Tensor]
Vectors = list[torch.Tensor]


def additive_attention_reference(
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    is_token: torch.Tensor,
    query_weight: torch.Tensor,
    energy_weight: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Contexts [B, D] and weights [B, S], number by number (Bahdanau et al. 2014, section 3.1); arguments as there."""
    contexts, all_weights = [], []
    for row in range(len(query)):
        energies = {}
        for place in range(keys.shape[1]):
            if not is_token[row, place]:
                continue
            energy = query.new_zeros(())
            for unit in range(len(energy_weight)):
                projected = sum(query_weight[unit, index] * query[row, index] for index in range(query.shape[1]))
                energy = energy + energy_weight[unit] * torch.tanh(projected + keys[row, place, unit])
            energies[place] = energy
        total = sum(energy.exp() for energy in energies.values())
        weights = [
            energies[place].exp() / total if place in energies else query.new_zeros(())
            for place in range(keys.shape[1])
        ]
        contexts.append(sum(weight * value for weight, value in zip(weights, values[row], strict=True)))
        all_weights.append(torch.stack(weights))
    return torch.stack(contexts), torch.stack(all_weights)


def linear(weights: Weights, name: str, vector: torch.Tensor) -> torch.Tensor:
    """The product with a matrix, and its bias if it has one."""
    product = weights[f"{name}.weight"] @ vector
    return product + weights[f"{name}.bias"] if f"{name}.bias" in weights else product


def recurrent_step(
    weights: Weights, name: str, ending: str, rnn_type: str, inputs: torch.Tensor, state: Vectors
) -> Vectors:
    """The state behind one input (Hochreiter and Schmidhuber 1997; Cho et al. 2014), gates in the order of torch.

    Args:
        weights, name: where the matrices are; `ending` follows their names.
        rnn_type: `lstm`: state and result are hidden state and cell; `gru`: the hidden state.
        inputs, state: vectors.
    """
    from_input = weights[f"{name}.weight_ih{ending}"] @ inputs + weights[f"{name}.bias_ih{ending}"]
    from_state = weights[f"{name}.weight_hh{ending}"] @ state[0] + weights[f"{name}.bias_hh{ending}"]
    if rnn_type == "lstm":
        enters, stays, candidate, leaves = (from_input + from_state).chunk(4)
        cell = torch.sigmoid(stays) * state[1] + torch.sigmoid(enters) * torch.tanh(candidate)
        return [torch.sigmoid(leaves) * torch.tanh(cell), cell]
    reset, update, _ = (from_input + from_state).chunk(3)
    candidate = torch.tanh(from_input.chunk(3)[2] + torch.sigmoid(reset) * from_state.chunk(3)[2])
    return [(1 - torch.sigmoid(update)) * candidate + torch.sigmoid(update) * state[0]]


def num_states(config: Any) -> int:
    """Vectors of a state."""
    return 2 if config.rnn_type == "lstm" else 1


def run_direction(config: Any, weights: Weights, layer: int, inputs: Vectors, ending: str) -> Vectors:
    """The hidden states of one layer behind each input, in the order given."""
    width = config.hidden_size // 2 if config.bidirectional else config.hidden_size
    state = [inputs[0].new_zeros(width) for _ in range(num_states(config))]
    outputs = []
    for vector in inputs:
        state = recurrent_step(weights, f"model.encoder.layers.{layer}", ending, config.rnn_type, vector, state)
        outputs.append(state[0])
    return outputs


def encode(config: Any, weights: Weights, source: Sequence[int]) -> tuple[Vectors, torch.Tensor]:
    """The states of the source tokens, and the state in which the encoder ended."""
    states = [weights["model.encoder.embed_tokens.weight"][token_id] for token_id in source]
    ends: Vectors = []
    for layer in range(config.encoder_layers):
        forward = run_direction(config, weights, layer, states, "_l0")
        if not config.bidirectional:
            states, ends = forward, [forward[-1]]
            continue
        backward = run_direction(config, weights, layer, states[::-1], "_l0_reverse")[::-1]
        ends = [forward[-1], backward[0]]
        states = [torch.cat(pair) for pair in zip(forward, backward, strict=True)]
    return states, torch.cat(ends)


def context_of(
    config: Any, weights: Weights, query: torch.Tensor, states: Vectors, summary: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """What the decoder reads of the source, and by which weights (Ogunnaike 2022, eq. 5 to 7)."""
    if config.attention == "none":
        return summary, None
    name = "model.decoder.attention"
    keys = torch.stack([linear(weights, f"{name}.key_proj", state) for state in states])
    context, attended = additive_attention_reference(
        query[None],
        keys[None],
        torch.stack(states)[None],
        torch.ones(1, len(states), dtype=torch.bool),
        weights[f"{name}.query_proj.weight"],
        weights[f"{name}.energy_proj.weight"][0],
    )
    return context[0], attended[0]


def decode(
    config: Any, weights: Weights, source: Sequence[int], target: Sequence[int]
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Logits [T, V] of the token behind each target token, and the attention weights [T, S], of one sentence pair."""
    states, summary = encode(config, weights, source)
    parts = torch.tanh(linear(weights, "model.decoder.start_proj", summary)).split(config.hidden_size)
    each = num_states(config)
    layers = [list(parts[layer * each : (layer + 1) * each]) for layer in range(config.decoder_layers)]
    vector = summary.new_zeros(config.embedding_size)
    logits, all_weights = [], []
    for token_id in target:
        embedding = weights["model.decoder.embed_tokens.weight"][token_id]
        context, attended = context_of(config, weights, layers[-1][0], states, summary)
        inputs = torch.cat([embedding, context, *([vector] if config.input_feeding else [])])
        for layer in range(config.decoder_layers):
            name = f"model.decoder.layers.{layer}"
            layers[layer] = recurrent_step(weights, name, "", config.rnn_type, inputs, layers[layer])
            inputs = layers[layer][0]
        vector = torch.tanh(linear(weights, "model.decoder.output_proj", torch.cat([inputs, context, embedding])))
        logits.append(weights["lm_head.weight"] @ vector)
        all_weights.append(attended)
    known = [one for one in all_weights if one is not None]
    return torch.stack(logits), torch.stack(known) if known else None
