# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The whole network once more, slowly: written from the description of the model alone, not from the package's code.

It shares nothing with the package but the names of the configuration's fields and of the weights. Everything is a
Python loop over layers, tokens, heads and sentences; a tensor is the vector of one token, sentence or tree node, or a
single number, so that gradients can be had of everything. One document at a time, without padding or dropout.

Minus infinity, the score of a sentence that is not read, is None, and so is the encoding of a sentence without tokens.

Dimensions: S source tokens, T target tokens, N sentences, t sentences kept, H heads, E head width, D model width,
V vocabulary.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import torch

Weights = Mapping[str, torch.Tensor]
Vectors = list[torch.Tensor]
# Of all sentences, or of all nodes of a level of the tree: encodings or keys, and scores.
MaybeVectors = Sequence[torch.Tensor | None]
Scores = Sequence[Any]


def linear(weights: Weights, name: str, vector: torch.Tensor) -> torch.Tensor:
    """The projection [D'] of a vector [D] by the weight, and the bias if there is one, of that name."""
    projected = weights[f"{name}.weight"] @ vector
    return projected + weights[f"{name}.bias"] if f"{name}.bias" in weights else projected


def layer_norm(weights: Weights, name: str, vector: torch.Tensor) -> torch.Tensor:
    """The vector [D] with mean 0 and variance 1, then scaled and shifted by the weights of that name."""
    centred = vector - vector.sum() / len(vector)
    variance = (centred * centred).sum() / len(vector)
    return centred / (variance + 1e-5).sqrt() * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def head_part(vector: torch.Tensor, head: int, width: int) -> torch.Tensor:
    """The entries [E] of a projected vector [H E] that belong to one head, counted from 0."""
    return vector[head * width : (head + 1) * width]


def scaled_product(query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    """q . k / sqrt(E), one number, of a query [E] and a key [E] (Trankova et al. 2024, eq. 1 and 3)."""
    return (query * key).sum() / math.sqrt(len(query))


def attend(query: torch.Tensor, keys: Vectors, values: Vectors, added: Sequence[Any]) -> torch.Tensor:
    """Mean [E] of the values under softmax(q . k / sqrt(E) + added); zeros where there is no key (eq. 1 and 7).

    Args:
        query: [E].
        keys, values: a vector [E] each per token read.
        added: a number per token read, the relevance of its sentence.
    """
    if not keys:
        return torch.zeros_like(query)
    logits = [scaled_product(query, key) + number for key, number in zip(keys, added, strict=True)]
    highest = max(as_float(logit) for logit in logits)
    exponentials = [(logit - highest).exp() for logit in logits]
    total = sum(exponentials[1:], exponentials[0])
    terms = [exponential / total * value for exponential, value in zip(exponentials, values, strict=True)]
    return sum(terms[1:], terms[0])


def source2token(weights: Weights, name: str, members: Vectors) -> torch.Tensor | None:
    """Encoding [D] of one sentence (or pair) from its members' states [D] each; None without members (eq. 2)."""
    if not members:
        return None
    query = weights[f"{name}.query"]  # [H', E']
    num_heads, width = query.shape
    keys = [linear(weights, f"{name}.k_proj", member) for member in members]
    values = [linear(weights, f"{name}.v_proj", member) for member in members]
    heads = []
    for head in range(num_heads):
        head_keys = [head_part(key, head, width) for key in keys]
        head_values = [head_part(value, head, width) for value in values]
        heads.append(attend(query[head], head_keys, head_values, [0.0] * len(members)))
    return linear(weights, f"{name}.out_proj", torch.cat(heads))


def summaries(weights: Weights, name: str, token_states: Vectors) -> Vectors:
    """Summaries [D] of the windows of a document, each half a window behind the one before (Shen 2023, III.1).

    Args:
        weights: `convolution.weight` [D, D, S] and `convolution.bias` [D] under that name.
        token_states: a vector [D] per token.
    """
    weight, bias = weights[f"{name}.convolution.weight"], weights[f"{name}.convolution.bias"]
    size, stride = weight.shape[2], max(weight.shape[2] // 2, 1)
    found: Vectors = []
    # As long as the last window has left tokens out.
    while token_states and (not found or (len(found) - 1) * stride + size < len(token_states)):
        window = token_states[len(found) * stride :][:size]
        terms = [weight[:, :, place] @ state for place, state in enumerate(window)]
        found.append(sum(terms, bias))
    return found


def encode_sentences(
    weights: Weights, name: str, token_states: Vectors, sentence_ids: Sequence[int]
) -> list[torch.Tensor | None]:
    """Encodings [D] of sentences 1, 2, ... N of a document; None for one without tokens (eq. 5).

    Args:
        weights, name: the sentence encoder.
        token_states: S vectors [D].
        sentence_ids: S numbers from 1.
    """
    if f"{name}.convolution.weight" in weights:
        return summaries(weights, name, token_states)
    encodings = []
    for number in range(1, max(sentence_ids) + 1):
        members = [state for state, own in zip(token_states, sentence_ids, strict=True) if own == number]
        encodings.append(source2token(weights, name, members))
    return encodings


def as_float(score: Any) -> float:
    """The score as a number without gradient."""
    return score.item() if isinstance(score, torch.Tensor) else float(score)


def best_indices(scores: Scores, t: int, always: int | None = None) -> list[int]:
    """The indices of the t highest scores, in order of index; of equal scores the first (section 3.2, eq. 4).

    Args:
        scores: N numbers, None where there is nothing to choose.
        t: how many; all where there are fewer.
        always: an index that takes the place of the worst of the t if it is not among them.
    """
    valid = [index for index, score in enumerate(scores) if score is not None]
    kept = sorted(valid, key=lambda index: (-as_float(scores[index]), index))[:t]
    if always is not None and always in valid and always not in kept:
        kept[-1] = always
    return sorted(kept)


def keep_top_t(scores: Scores, t: int, always: int | None = None) -> list[Any]:
    """The N scores with all but those of `best_indices` set to None (eq. 4)."""
    kept = best_indices(scores, t, always)
    return [score if index in kept else None for index, score in enumerate(scores)]


def relevance(query: torch.Tensor, keys: MaybeVectors) -> list[torch.Tensor | None]:
    """Relevance to a query [E] of N sentences with keys [E] each, N numbers (eq. 3)."""
    return [None if key is None else scaled_product(query, key) for key in keys]


def merge_pair(weights: Weights, name: str, pair: MaybeVectors) -> torch.Tensor | None:
    """Parent [D] of one or two nodes; a single one is copied up (section 3.3.1)."""
    members = [node for node in pair if node is not None]
    return source2token(weights, name, members) if len(members) == 2 else next(iter(members), None)


def build_tree(weights: Weights, name: str, encodings: MaybeVectors) -> list[list[torch.Tensor | None]]:
    """Levels of nodes [D] over the N sentences, the leaves first and the root last (section 3.3.1, Fig. 2)."""
    levels = [list(encodings)]
    while len(levels[-1]) > 1:
        below = levels[-1]
        levels.append([merge_pair(weights, name, below[index : index + 2]) for index in range(0, len(below), 2)])
    return levels


def traverse_tree(
    query: torch.Tensor, node_keys: Sequence[MaybeVectors], t: int, selection: str, own: int | None = None
) -> list[Any]:
    """Scores of the N leaves added up from the root, None but for the t leaves kept (section 3.3.2, Fig. 3).

    Args:
        query: [E].
        node_keys: keys [E] of the nodes of each level, leaves first.
        t: nodes kept per level.
        selection: what decides on a level, the `cumulative` score or that of the `node`.
        own: index of a leaf whose path is always kept, if there is that leaf.
    """
    if own not in [leaf for leaf, key in enumerate(node_keys[0]) if key is not None]:
        own = None
    kept = {0: relevance(query, node_keys[-1])[0]}  # index in the level: cumulative score
    for level in range(len(node_keys) - 2, -1, -1):
        num_nodes = len(node_keys[level])
        nodes: list[Any] = [None] * num_nodes
        totals: list[Any] = [None] * num_nodes
        for parent, parent_total in kept.items():
            for child in range(2 * parent, min(2 * parent + 2, num_nodes)):
                key = node_keys[level][child]
                if key is not None:
                    nodes[child] = scaled_product(query, key)
                    totals[child] = parent_total + nodes[child]
        always = None if own is None else own // 2**level
        kept = {node: totals[node] for node in best_indices(totals if selection == "cumulative" else nodes, t, always)}
    return [kept.get(leaf) for leaf in range(len(node_keys[0]))]


def with_slope(scores: Scores, slope: float, own: int) -> list[Any]:
    """The scores of N sentences, None where one is not read, minus the slope for each one between it and `own`, from
    0."""
    return [
        score if score is None or abs(number - own) < 2 else score - slope * (abs(number - own) - 1)
        for number, score in enumerate(scores)
    ]


def choose_earlier_sentences(
    query: torch.Tensor, keys: MaybeVectors, t: int, own: int, slope: float = 0.0
) -> list[Any]:
    """Scores of N target sentences: t of those before the own one by relevance, the own one 0 (decoder, section 3.2).

    Args:
        query: [E].
        keys: N vectors [E].
        t: sentences kept.
        own: index of the query's sentence, from 0.
        slope: subtracted for each sentence between.
    """
    scores = keep_top_t(with_slope(relevance(query, keys[:own]), slope, own), t)
    return [*scores, 0.0, *[None] * (len(keys) - own - 1)]


@dataclass(frozen=True)
class Slot:
    """Which attention this is.

    Attributes:
        name: of its weights.
        scope: `document`, `sentence`, `conditional` or `hierarchical`.
        num_heads: H.
        width: E.
        num_selected: t.
        tree_selection: `cumulative` or `node`.
        keeps_own: the own sentence, in cross-attention that with the number of the one written, is always one of the t.
        is_causal: no token reads a later one.
        bias: added to the relevance of other sentences than the own one.
        slope: subtracted from it for each sentence between the two.
    """

    name: str
    scope: str
    num_heads: int
    width: int
    num_selected: int = 0
    tree_selection: str = "cumulative"
    keeps_own: bool = False
    is_causal: bool = False
    bias: float = 0.0
    slope: float = 0.0

    @property
    def chooses(self) -> bool:
        """Whether it chooses sentences."""
        return self.scope in ("conditional", "hierarchical")


def sentence_scores(slot: Slot, sentence_query: torch.Tensor, node_keys: Any, head: int, own: int) -> list[Any]:
    """Score of each of N sentences for one query and one head, None where it is not read (eq. 3-4, section 3.3.2).

    Args:
        slot: the attention.
        sentence_query: [H E].
        node_keys: projected nodes [H E] of each level of the tree, of the leaves alone if there is no tree.
        head: from 0.
        own: index of the query's sentence, from 0.
    """
    query = head_part(sentence_query, head, slot.width)
    keys = [[None if key is None else head_part(key, head, slot.width) for key in level] for level in node_keys]
    if slot.is_causal:
        return choose_earlier_sentences(query, keys[0], slot.num_selected, own, slot.slope)
    always = own if slot.keeps_own else None
    if slot.scope == "hierarchical":
        found = traverse_tree(query, keys, slot.num_selected, slot.tree_selection, always)
        return with_slope(found, slot.slope, own)
    return keep_top_t(with_slope(relevance(query, keys[0]), slot.slope, own), slot.num_selected, always)


def with_bias(scores: Scores, bias: float, own: int) -> list[Any]:
    """The scores of N sentences, None where one is not read, with the bias for all but sentence `own`, from 0."""
    return [score if score is None or number == own else score + bias for number, score in enumerate(scores)]


def tokens_read(slot: Slot, position: int, own: int, key_ids: Sequence[int], scores: Scores | None) -> dict[int, Any]:
    """The tokens one query reads with one head: index of the token, and what is added to its logit (Table 1, eq. 7).

    Args:
        slot: the attention.
        position: the query's own index.
        own: the number from 1 of the query's sentence.
        key_ids: the numbers of the tokens' sentences.
        scores: a number per sentence where the slot chooses sentences.
    """
    read: dict[int, Any] = {}
    for index, number in enumerate(key_ids):
        if slot.is_causal and index > position:
            continue
        if scores is not None:
            if scores[number - 1] is not None:
                read[index] = scores[number - 1]
        elif slot.scope == "document" or number == own:
            read[index] = 0.0
    return read


def project_nodes(weights: Weights, slot: Slot, encodings: MaybeVectors) -> list[list[torch.Tensor | None]]:
    """Keys [H E] of all nodes of the tree over N encodings, or of these alone where the slot has no tree."""
    levels = [list(encodings)]
    if slot.scope == "hierarchical":
        levels = build_tree(weights, f"{slot.name}.tree_merge", encodings)
    name = f"{slot.name}.sentence_k_proj"
    return [[None if node is None else linear(weights, name, node) for node in level] for level in levels]


def attend_slot(
    weights: Weights,
    slot: Slot,
    queries: Vectors,
    query_ids: Sequence[int],
    keys: Vectors,
    key_ids: Sequence[int],
    encodings: MaybeVectors = (),
) -> Vectors:
    """What each query gets from the attention, a vector [D] each (eq. 7).

    Args:
        weights, slot: the attention.
        queries: states [D] of the tokens that read.
        query_ids: the numbers of their own sentences; in cross-attention, of the source sentences that belong to them.
        keys: states [D] of the tokens that are read.
        key_ids: the numbers of their sentences.
        encodings: N vectors [D], where the slot chooses sentences.
    """
    key_vectors = [linear(weights, f"{slot.name}.k_proj", key) for key in keys]
    value_vectors = [linear(weights, f"{slot.name}.v_proj", key) for key in keys]
    node_keys = project_nodes(weights, slot, encodings) if slot.chooses else None
    outputs = []
    for position, (state, own) in enumerate(zip(queries, query_ids, strict=True)):
        query, heads = linear(weights, f"{slot.name}.q_proj", state), []
        scores: list[Any] = [None] * slot.num_heads
        if slot.chooses:
            sentence_query = linear(weights, f"{slot.name}.sentence_q_proj", state)
            scores = [sentence_scores(slot, sentence_query, node_keys, head, own - 1) for head in range(slot.num_heads)]
            scores = [with_bias(of_head, slot.bias, own - 1) for of_head in scores]
        for head in range(slot.num_heads):
            read = tokens_read(slot, position, own, key_ids, scores[head])
            head_keys = [head_part(key_vectors[index], head, slot.width) for index in read]
            head_values = [head_part(value_vectors[index], head, slot.width) for index in read]
            heads.append(attend(head_part(query, head, slot.width), head_keys, head_values, list(read.values())))
        outputs.append(linear(weights, f"{slot.name}.out_proj", torch.cat(heads)))
    return outputs


def attend_encodings(
    weights: Weights, name: str, num_heads: int, width: int, queries: Vectors, encodings: MaybeVectors
) -> Vectors:
    """What each query [D] gets from reading all sentence encodings as if they were tokens, [D] each (section 2)."""
    present = [encoding for encoding in encodings if encoding is not None]
    slot = Slot(name, "document", num_heads, width)
    return attend_slot(weights, slot, queries, [1] * len(queries), present, [1] * len(present))


def count_units(token_ids: Sequence[int], separators: Sequence[int | None], opens: bool = False) -> list[int]:
    """The number from 1 of the sentence (or paragraph) of each of S tokens.

    A separator closes its own, or opens the next one.
    """
    numbers, number = [], 1
    for token_id in token_ids:
        before = number
        number += token_id in separators
        numbers.append(number if opens else before)
    return numbers


@cache
def sinusoid(position: int, d_model: int) -> torch.Tensor:
    """D / 2 sines of a position, then as many cosines, [D] (Vaswani et al. 2017, section 3.5), in float32."""
    num_frequencies = d_model // 2
    frequencies = [
        torch.exp(-math.log(10000.0) * (torch.tensor(float(index)) / num_frequencies))
        for index in range(num_frequencies)
    ]
    angles = [torch.tensor(float(position)) * frequency for frequency in frequencies]
    entries = [angle.sin() for angle in angles] + [angle.cos() for angle in angles]
    return torch.stack(entries + [torch.tensor(0.0)] * (d_model % 2)).double()


def level_position(config: Any, level: str, index: int, sentence_ids: Sequence[int], paragraph_ids: Any) -> int:
    """Position from 0 of token `index` on one structural level (section 1.2)."""
    if level == "sentence":
        return sentence_ids[index] - 1
    if level == "paragraph":
        return paragraph_ids[index] - 1
    if config.token_position_origin == "document":
        return index
    return sum(number == sentence_ids[index] for number in sentence_ids[:index])


def position_encoding(
    config: Any, weights: Weights, name: str, index: int, sentence_ids: Sequence[int], paragraph_ids: Sequence[int]
) -> torch.Tensor:
    """The vector [D] added to the embedding of token `index` (Trankova 2024, section 1.2; Lupo et al. 2022, 3.2)."""
    if config.position_encoding == "multi_level":
        vectors = []
        for level in config.structure_levels:
            place = level_position(config, level, index, sentence_ids, paragraph_ids)
            vectors.append(weights[f"{name}.levels.{level}.weight"][place])
        return sum(vectors[1:], vectors[0])
    sentence = sentence_ids[index] - 1
    shift = config.segment_shift if config.position_encoding == "segment_shifted" else 0
    place = level_position(config, "token", index, sentence_ids, paragraph_ids) + sentence * shift
    is_learned = config.position_embedding_type == "learned"
    vector = weights[f"{name}.tokens.weight"][place] if is_learned else sinusoid(place, config.d_model)
    if config.segment_embedding == "learned":
        return vector + weights[f"{name}.segments.weight"][sentence]
    return vector + sinusoid(sentence, config.d_model) if config.segment_embedding == "sinusoidal" else vector


def restarts(config: Any, name: str) -> bool:
    """Whether each sentence of that stack is written as if it were the first: a separator opens the one behind it."""
    return name == "model.decoder" and getattr(config, "restart_target_sentences", False)


def embed(config: Any, weights: Weights, name: str, token_ids: Sequence[int], sentence_ids: Sequence[int]) -> Vectors:
    """What enters the first layer: a vector [D] for each of S tokens."""
    paragraph_ids = count_units(token_ids, [config.par_token_id], restarts(config, name))
    scale = math.sqrt(config.d_model) if config.scale_embedding else 1.0
    states = []
    for index, token_id in enumerate(token_ids):
        if restarts(config, name) and token_id in (config.sep_token_id, config.par_token_id):
            token_id = config.decoder_start_token_id
        place = position_encoding(config, weights, f"{name}.embed_positions", index, sentence_ids, paragraph_ids)
        embedding = weights[f"{name}.embed_tokens.weight"][token_id]
        if f"{name}.embed_tokens.projection.weight" in weights:  # of frozen word vectors
            embedding = linear(weights, f"{name}.embed_tokens.projection", embedding)
        states.append(embedding * scale + place)
    return states


def sentences_written(config: Any, token_ids: Sequence[int], own_ids: Sequence[int]) -> list[int]:
    """The number of the sentence each of T target tokens writes.

    That is the sentence of the token behind it; behind the last one the same goes on, unless a separator has closed it.
    Where separators open sentences, each token writes its own.
    """
    if restarts(config, "model.decoder"):
        return list(own_ids)
    closes = token_ids[-1] in (config.sep_token_id, config.par_token_id)
    return [*own_ids[1:], own_ids[-1] + closes]


def residual(config: Any, weights: Weights, name: str, states: Vectors, block: Callable[[Vectors], Vectors]) -> Vectors:
    """states + block(states), a vector [D] per token, with the layer norm in front or behind."""
    changes = block(entering(config, weights, name, states))
    sums = [state + change for state, change in zip(states, changes, strict=True)]
    if config.normalize_before:
        return sums
    return [layer_norm(weights, f"{name}.layer_norm", state) for state in sums]


def entering(config: Any, weights: Weights, name: str, states: Vectors) -> Vectors:
    """What a block with that residual connection reads, a vector [D] per token: the states, normalised if pre-norm."""
    if not config.normalize_before:
        return states
    return [layer_norm(weights, f"{name}.layer_norm", state) for state in states]


def feed_forward(config: Any, weights: Weights, name: str, states: Vectors) -> Vectors:
    """The feed-forward block and its residual connection, a vector [D] per token."""
    activation = getattr(torch.nn.functional, config.activation_function)

    def block(inputs: Vectors) -> Vectors:
        inner = [activation(linear(weights, f"{name}.feed_forward.fc1", state)) for state in inputs]
        return [linear(weights, f"{name}.feed_forward.fc2", state) for state in inner]

    return residual(config, weights, f"{name}.feed_forward_residual", states, block)


def sentence_heads(config: Any) -> int:
    """How many heads of the attention that reads the source read its sentence encodings instead of its tokens."""
    return config.num_sentence_heads if getattr(config, "context_block", "none") == "heads" else 0


def make_slot(config: Any, kind: str, name: str) -> Slot:
    """The slot `encoder`, `decoder` or `cross` of the configuration, with weights of that name."""
    all_heads = config.encoder_attention_heads if kind == "encoder" else config.decoder_attention_heads
    t = getattr(config, f"num_selected_sentences_{kind}", None)
    return Slot(
        name=name,
        scope=config.cross_attention if kind == "cross" else getattr(config, f"{kind}_self_attention"),
        num_heads=all_heads - (0 if kind == "decoder" else sentence_heads(config)),
        width=config.d_model // all_heads,
        num_selected=getattr(config, "num_selected_sentences", 0) if t is None else t,
        tree_selection=getattr(config, "tree_selection", "cumulative"),
        # The decoder's self-attention reads the own sentence anyway, beside the t.
        keeps_own=kind != "decoder" and getattr(config, "always_keep_own_sentence", False),
        is_causal=kind == "decoder",
        bias=getattr(config, "relevance_bias", 0.0),
        slope=getattr(config, "relevance_slope", 0.0),
    )


def with_sentence_heads(
    config: Any, weights: Weights, layer: str, slot: Slot, queries: Vectors, outputs: Vectors, encodings: MaybeVectors
) -> Vectors:
    """The slot's outputs [D] plus those of the layer's heads that read sentence encodings, if any (section 2)."""
    num_heads = sentence_heads(config)
    if num_heads == 0:
        return outputs
    more = attend_encodings(weights, f"{layer}.sentence_heads", num_heads, slot.width, queries, encodings)
    return [output + extra for output, extra in zip(outputs, more, strict=True)]


def context_block(
    config: Any, weights: Weights, layer: str, slot: Slot, states: Vectors, encodings: MaybeVectors
) -> Vectors:
    """The states [D] after the layer's attention over sentence encodings, if it has one (section 2, Fig. 1)."""
    if getattr(config, "context_block", "none") != "block":
        return states
    num_heads = config.d_model // slot.width
    return residual(
        config,
        weights,
        f"{layer}.context_attn_residual",
        states,
        lambda inputs: attend_encodings(weights, f"{layer}.context_attn", num_heads, slot.width, inputs, encodings),
    )


def with_positions(config: Any, states: Vectors, sentence_ids: Sequence[int]) -> Vectors:
    """The states [D] with the sinusoid of the number, from 1, of each token's sentence."""
    return [state + sinusoid(number, config.d_model) for state, number in zip(states, sentence_ids, strict=True)]


def gated_context(
    config: Any,
    weights: Weights,
    name: str,
    kind: str,
    states: Vectors,
    query_ids: Sequence[int],
    key_ids: Sequence[int],
    place_ids: Sequence[int],
    source: "Source | None" = None,
) -> Vectors:
    """The states [D] after a gated block over tokens of other sentences, if there is one: h + g * A(norm(h) + place).

    Args:
        config, weights: of the model.
        name: of the block's weights.
        kind: `encoder`, `decoder` (its own earlier tokens) or `cross`.
        states: of the tokens that read.
        query_ids: the numbers of the sentences that they count as.
        key_ids: those of the tokens that are read.
        place_ids: those whose positions are added to the tokens that read; in the decoder, of the sentences written.
        source: what `cross` reads.
    """
    scope = getattr(config, "context_block", "none")
    if scope not in ("document", "conditional", "hierarchical"):
        return states
    # A tree would span target sentences that do not exist yet.
    scope = "conditional" if scope == "hierarchical" and kind == "decoder" else scope
    num_heads = config.encoder_attention_heads if kind == "encoder" else config.decoder_attention_heads
    slot = replace(make_slot(config, kind, f"{name}.attention"), scope=scope, num_heads=num_heads)
    queries = [layer_norm(weights, f"{name}.layer_norm", state) for state in states]
    queries = with_positions(config, queries, place_ids)
    keys = queries if source is None else with_positions(config, source.states, key_ids)
    encodings = encode_sentences(weights, f"{name}.sentence_encoder", keys, key_ids) if slot.chooses else ()
    changes = attend_slot(weights, slot, queries, query_ids, keys, key_ids, encodings)
    return [state + weights[f"{name}.gate"] * change for state, change in zip(states, changes, strict=True)]


def reads_encodings(config: Any, slot: Slot) -> bool:
    """Whether the layer's slot, or a block or heads beside it, reads sentence encodings."""
    return slot.chooses or (not slot.is_causal and getattr(config, "context_block", "none") in ("block", "heads"))


def encoder_layer(
    config: Any, weights: Weights, name: str, states: Vectors, sentence_ids: Sequence[int], shared: MaybeVectors | None
) -> Vectors:
    """States [D] of S tokens -> the same; `shared` are N encodings [D] made once for all layers, or None."""
    slot = make_slot(config, "encoder", f"{name}.self_attn")
    inputs = entering(config, weights, f"{name}.self_attn_residual", states)
    encodings: MaybeVectors = shared or ()
    if shared is None and reads_encodings(config, slot):
        encodings = encode_sentences(weights, f"{name}.sentence_encoder", inputs, sentence_ids)

    def block(inputs: Vectors) -> Vectors:
        outputs = attend_slot(weights, slot, inputs, sentence_ids, inputs, sentence_ids, encodings)
        return with_sentence_heads(config, weights, name, slot, inputs, outputs, encodings)

    states = residual(config, weights, f"{name}.self_attn_residual", states, block)
    states = context_block(config, weights, name, slot, states, encodings)
    context, ids = f"{name}.context", sentence_ids
    states = gated_context(config, weights, context, "encoder", states, ids, ids, ids)
    return feed_forward(config, weights, name, states)


@dataclass(frozen=True)
class Source:
    """What the decoder knows of the source.

    Attributes:
        states: the encoder's output, S vectors [D].
        sentence_ids: S numbers from 1.
        encodings: N vectors [D] made once for all layers, or None.
    """

    states: Vectors
    sentence_ids: Sequence[int]
    encodings: MaybeVectors | None


def decoder_self_attention(
    config: Any, weights: Weights, name: str, states: Vectors, own_ids: Sequence[int], shared: MaybeVectors | None
) -> Vectors:
    """States [D] of T tokens after the layer's self-attention; `shared` are N target encodings [D], or None."""
    slot = make_slot(config, "decoder", f"{name}.self_attn")
    inputs = entering(config, weights, f"{name}.self_attn_residual", states)
    encodings: MaybeVectors = shared or ()
    if shared is None and reads_encodings(config, slot):
        encodings = encode_sentences(weights, f"{name}.sentence_encoder", inputs, own_ids)
    return residual(
        config,
        weights,
        f"{name}.self_attn_residual",
        states,
        lambda inputs: attend_slot(weights, slot, inputs, own_ids, inputs, own_ids, encodings),
    )


def cross_attention(
    config: Any, weights: Weights, name: str, states: Vectors, written_ids: Sequence[int], source: Source
) -> Vectors:
    """States [D] of T tokens after the layer's cross-attention and its context block.

    A token that writes a sentence beyond the last one of the source reads, with `sentence`, that last one.
    """
    slot = make_slot(config, "cross", f"{name}.encoder_attn")
    last = max(source.sentence_ids)
    read_ids = [min(number, last) for number in written_ids] if slot.scope == "sentence" else written_ids
    encodings: MaybeVectors = source.encodings or ()
    if source.encodings is None and reads_encodings(config, slot):
        encoder = f"{name}.source_sentence_encoder"
        encodings = encode_sentences(weights, encoder, source.states, source.sentence_ids)

    def block(inputs: Vectors) -> Vectors:
        outputs = attend_slot(weights, slot, inputs, read_ids, source.states, source.sentence_ids, encodings)
        return with_sentence_heads(config, weights, name, slot, inputs, outputs, encodings)

    states = residual(config, weights, f"{name}.encoder_attn_residual", states, block)
    states = context_block(config, weights, name, slot, states, encodings)
    ids = source.sentence_ids
    return gated_context(config, weights, f"{name}.context", "cross", states, written_ids, ids, written_ids, source)


def shared_encodings(
    config: Any, weights: Weights, stack: str, states: Vectors, sentence_ids: Sequence[int]
) -> MaybeVectors | None:
    """N encodings [D] of a stack's embedded tokens, if all its layers share one sentence encoder; else None."""
    name = f"{stack}.sentence_encoder"
    if getattr(config, "sentence_encoder_sharing", "layer") == "layer" or not any(
        one.startswith(f"{name}.") for one in weights
    ):
        return None
    return encode_sentences(weights, name, states, sentence_ids)


def final_norm(config: Any, weights: Weights, stack: str, states: Vectors) -> Vectors:
    """A stack's output from its last layer's, a vector [D] per token."""
    if not config.normalize_before:
        return states
    return [layer_norm(weights, f"{stack}.layer_norm", state) for state in states]


def run_encoder(config: Any, weights: Weights, token_ids: Sequence[int], sentence_ids: Sequence[int]) -> Source:
    """The encoded source of S tokens."""
    stack = "model.encoder"
    states = embed(config, weights, stack, token_ids, sentence_ids)
    shared = shared_encodings(config, weights, stack, states, sentence_ids)
    for index in range(config.encoder_layers):
        states = encoder_layer(config, weights, f"{stack}.layers.{index}", states, sentence_ids, shared)
    return Source(final_norm(config, weights, stack, states), sentence_ids, shared)


def run_decoder(
    config: Any, weights: Weights, token_ids: Sequence[int], sentence_ids: Sequence[int], source: Source
) -> Vectors:
    """The decoder's output, a vector [D] for each of T tokens."""
    stack = "model.decoder"
    written_ids = sentences_written(config, token_ids, sentence_ids)
    states = embed(config, weights, stack, token_ids, sentence_ids)
    shared = shared_encodings(config, weights, stack, states, sentence_ids)
    for index in range(config.decoder_layers):
        name = f"{stack}.layers.{index}"
        states = decoder_self_attention(config, weights, name, states, sentence_ids, shared)
        context, ids = f"{name}.target_context", sentence_ids
        states = gated_context(config, weights, context, "decoder", states, ids, ids, written_ids)
        states = cross_attention(config, weights, name, states, written_ids, source)
        states = feed_forward(config, weights, name, states)
    return final_norm(config, weights, stack, states)


def independent_forward(
    config: Any,
    weights: Weights,
    input_ids: Sequence[int],
    decoder_input_ids: Sequence[int],
    sentence_ids: Sequence[int] | None = None,
    decoder_sentence_ids: Sequence[int] | None = None,
) -> torch.Tensor:
    """Logits [T, V] of the target tokens of one document.

    Args:
        config: the model's configuration.
        weights: its float64 weights by name, every name of a tied one included.
        input_ids: S source tokens, none of them padding.
        decoder_input_ids: T target tokens, none of them padding.
        sentence_ids, decoder_sentence_ids: the tokens' sentences, from 1; default: counted from the separators.
    """
    separators = [config.sep_token_id, config.par_token_id]
    source = run_encoder(config, weights, input_ids, sentence_ids or count_units(input_ids, separators))
    opens = restarts(config, "model.decoder")
    own_ids = decoder_sentence_ids or count_units(decoder_input_ids, separators, opens)
    states = run_decoder(config, weights, decoder_input_ids, own_ids, source)
    return torch.stack([linear(weights, "lm_head", state) for state in states])
