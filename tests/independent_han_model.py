# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The HAN network once more, slowly, out of the loops of `independent_model`, one document at a time.

Dimensions: S source tokens, T target tokens, N summaries, D model width, V vocabulary.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import independent_model
import torch
from independent_model import Vectors, Weights, attend_encodings, linear


class Source(NamedTuple):
    """S states and N summaries [D] of a source."""

    states: Vectors
    summaries: Vectors


def attend_tokens(
    config: Any, weights: Weights, name: str, num_heads: int, queries: Vectors, keys: Vectors, attend_mask: Any
) -> Vectors:
    """What attention of that name gives each query, [D]; `attend_mask(query, key, head)` says which keys it reads."""
    width = config.d_model // num_heads
    projected = {
        part: [linear(weights, f"{name}.{part}_proj", state) for state in states]
        for part, states in (("q", queries), ("k", keys), ("v", keys))
    }
    outputs = []
    for position, query in enumerate(projected["q"]):
        heads = []
        for head in range(num_heads):
            seen = [index for index in range(len(keys)) if attend_mask(position, index, head)]
            parts = [
                [independent_model.head_part(projected[part][index], head, width) for index in seen] for part in "kv"
            ]
            own = independent_model.head_part(query, head, width)
            heads.append(independent_model.attend(own, *parts, [0.0] * len(seen)))
        outputs.append(linear(weights, f"{name}.out_proj", torch.cat(heads)))
    return outputs


def tokens_and_summaries(
    config: Any, weights: Weights, name: str, num_heads: int, states: Vectors, summaries: Vectors, attend_mask: Any
) -> Vectors:
    """LayerNorm(x + self-attention(x) + attention(x to the summaries)), a vector [D] per token (section III.3)."""

    def block(inputs: Vectors) -> Vectors:
        own = attend_tokens(config, weights, f"{name}.self_attn", num_heads, inputs, inputs, attend_mask)
        width = config.d_model // num_heads
        context = attend_encodings(weights, f"{name}.context_attn", num_heads, width, inputs, summaries)
        return [first + second for first, second in zip(own, context, strict=True)]

    return independent_model.residual(config, weights, f"{name}.residual", states, block)


def embed(config: Any, weights: Weights, stack: str, token_ids: Sequence[int]) -> Vectors:
    """The scaled embeddings [D] with their positions."""
    return independent_model.embed(config, weights, stack, token_ids, [1] * len(token_ids))


def run_encoder(config: Any, weights: Weights, token_ids: Sequence[int]) -> Source:
    """The source with its summaries."""
    states = embed(config, weights, "model.encoder", token_ids)
    summaries = independent_model.summaries(weights, "model.encoder.sentence_encoder", states)
    attend_mask = pattern(config, config.encoder_self_attention, len(token_ids), is_causal=False)
    for index in range(config.encoder_layers):
        name = f"model.encoder.layers.{index}"
        heads = config.encoder_attention_heads
        states = tokens_and_summaries(
            config, weights, f"{name}.attention", heads, states, summaries, attend_mask(index)
        )
        states = independent_model.feed_forward(config, weights, name, states)
    return Source(independent_model.final_norm(config, weights, "model.encoder", states), summaries)


def run_decoder(config: Any, weights: Weights, token_ids: Sequence[int], source: Source) -> Vectors:
    """The decoder's output, a vector [D] for each of T tokens."""
    states = embed(config, weights, "model.decoder", token_ids)
    heads = config.decoder_attention_heads
    attend_mask = pattern(config, config.decoder_self_attention, len(token_ids), is_causal=True)
    for index in range(config.decoder_layers):
        name = f"model.decoder.layers.{index}"
        states = tokens_and_summaries(
            config, weights, f"{name}.attention", heads, states, source.summaries, attend_mask(index)
        )

        def cross(inputs: Vectors, name: str = name) -> Vectors:
            everything = lambda query, key, head: True  # noqa: E731
            return attend_tokens(
                config, weights, f"{name}.encoder_attn", heads, inputs, source.states, everything
            )  # fmt: skip

        states = independent_model.residual(config, weights, f"{name}.encoder_attn_residual", states, cross)
        states = independent_model.feed_forward(config, weights, name, states)
    return independent_model.final_norm(config, weights, "model.decoder", states)


def scrambled(number: int) -> int:
    """A number below 2**32 that looks random."""
    for _ in range(2):
        number = ((number >> 16) ^ number) * 0x45D9F3B % 2**32
    return (number >> 16) ^ number


def random_blocks(config: Any, layer: int, head: int, block: int, num_blocks: int, is_causal: bool) -> list[int]:
    """The blocks outside of its window that a block sees: one out of each of r stretches of equal length."""
    reach = config.big_bird_window_blocks
    others = [other for other in range(num_blocks) if other < block - reach or other > block + reach]
    if is_causal:
        others = [other for other in others if other < block]
    num_random = config.big_bird_random_blocks
    found = []
    for choice in range(num_random):
        stretch = others[choice * len(others) // num_random : (choice + 1) * len(others) // num_random]
        noise = config.big_bird_seed
        for number in (layer, head, block, choice):
            noise = scrambled((noise + number + 1) % 2**32)
        if stretch:
            found.append(stretch[noise % len(stretch)])
    return found


def big_bird_sees(
    config: Any, layer: int, query: int, key: int, head: int, num_tokens: int, is_causal: bool
) -> bool:  # fmt: skip
    """Whether a token at one position sees one at another, by Big Bird's three rules (section III.4)."""
    if is_causal and key > query:
        return False
    size, num_global = config.big_bird_block_size, config.big_bird_global_tokens
    if key < num_global or (query < num_global and not is_causal):
        return True
    block, other = query // size, key // size
    num_blocks = (num_tokens + size - 1) // size
    near = abs(block - other) <= config.big_bird_window_blocks
    return near or other in random_blocks(config, layer, head, block, num_blocks, is_causal)


def pattern(config: Any, kind: str, num_tokens: int, is_causal: bool) -> Any:
    """For the index of a layer: whether a query at one position may look at a key at another, in a head."""
    if kind == "big_bird":
        return lambda layer: (
            lambda query, key, head: big_bird_sees(config, layer, query, key, head, num_tokens, is_causal)
        )
    return lambda layer: lambda query, key, head: key <= query or not is_causal


def independent_forward(
    config: Any, weights: Weights, input_ids: Sequence[int], decoder_input_ids: Sequence[int]
) -> torch.Tensor:
    """Logits [T, V] of the target tokens of one document; of word vectors, minus their squared distances.

    Args:
        config: the model's configuration.
        weights: its float64 weights by name, every name of a tied one included.
        input_ids: S source tokens, none of them padding.
        decoder_input_ids: T target tokens, none of them padding.
    """
    states = run_decoder(config, weights, decoder_input_ids, run_encoder(config, weights, input_ids))
    if config.word_vector_size is None:
        return torch.stack([linear(weights, "lm_head", state) for state in states])
    predicted = [linear(weights, "lm_head.projection", state) for state in states]
    distances = [[(vector - word).square().sum() for word in weights["lm_head.weight"]] for vector in predicted]
    return -torch.stack([torch.stack(row) for row in distances])
