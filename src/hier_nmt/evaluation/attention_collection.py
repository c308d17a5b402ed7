# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Records what a model reads while it translates a document, in the windows it was trained with.

Dimensions: L layers, H heads, Q queries, C queries at a time, K keys, N sentences, E head width, D model width, R
queries whose walk is recorded, G pooling queries.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from transformers import PreTrainedModel
from transformers.cache_utils import DynamicCache, EncoderDecoderCache

from ..models.conditional_attention import HierarchicalAttention
from ..models.document_structure import sentence_ids_from_tokens
from ..models.document_windows import Window, document_blocks, fit_window, sliding_windows
from ..models.sentence_selection import full_precision
from ..models.translation_vocabulary import TranslationVocabulary
from ..visualization.attention_records import (
    POOLING_SIDES,
    SLOT_SIDES,
    AttentionRecord,
    SlotRecord,
    TokenRow,
    TreeRecord,
)
from .attention_calls import (
    Calls,
    attend_some,
    attention_implementation,
    context_of,
    decoder_layers,
    merged,
    pieces,
    pooling_weights,
    recorded_calls,
    sentence_encoders,
    walk_record,
)

# The largest array of token weights [L, H, Q, K], and of walks [L, H, R, nodes], that is recorded.
LARGEST_RECORD = 2**25


class Reading(NamedTuple):
    """A window, and the first of its sentences whose tokens are recorded while they read it."""

    window: Window
    first: int


class DocumentIds(NamedTuple):
    """The token ids of the sentences of a document, unclosed: `sides[0]` of the source, `sides[1]` of the target."""

    sides: tuple[list[list[int]], list[list[int]]]
    ends_paragraph: Sequence[bool]

    def lengths(self, side: int) -> list[int]:
        """Tokens of each sentence, the one that closes it counted."""
        return [len(ids) + 1 for ids in self.sides[side]]

    def starts(self, side: int) -> list[int]:
        """Place of the first token of each sentence, and behind the last the number of tokens."""
        return [0, *np.cumsum(self.lengths(side)).tolist()]

    def window(self, vocabulary: TranslationVocabulary, window: Window, side: int) -> list[int]:
        """The token ids of a window."""
        some = slice(window.start, window.stop)
        return vocabulary.join(self.sides[side][some], self.ends_paragraph[some], side)


@torch.inference_mode()
def record_attention(
    model: PreTrainedModel,
    vocabulary: TranslationVocabulary,
    source: Sequence[str],
    target: Sequence[str],
    ends_paragraph: Sequence[bool] | None = None,
    *,
    title: str = "",
    window_sentences: int | None = None,
    tree_sentences: Collection[int] | None = None,
) -> AttentionRecord:
    """What a model reads while it writes a given translation.

    A model of K sentences reads each sentence in the window in which it is the last one, as in training; nothing
    outside of the window gets any weight. The first token of a window, `<s>`, stands in the place of the token that
    closes the sentence before it.

    Token weights are recorded in documents short enough, weights between sentences always. Nothing as large as all
    pairs of tokens is made for them.

    Args:
        model: of this package, in evaluation mode.
        vocabulary: its tokenizers.
        source: the sentences of the document.
        target: a translation for each.
        ends_paragraph: whether each is the last of its paragraph; default: none but the last is.
        title: of the record.
        window_sentences: K; default: the one the model was trained with.
        tree_sentences: the sentences whose walks down the tree are recorded; default: all, where that is not too much,
            else none.

    Raises:
        ValueError: another kind of model or tokenizer, an empty document, sides of different lengths, a sentence longer
            than the model's limit, or too many `tree_sentences`.
    """
    config: Any = model.config
    if config.model_type != "hier_nmt" or not vocabulary.has_separators:
        raise ValueError(f"{config.model_type!r} is no model of this package with <sep> and <par> in its tokenizers")
    if not source or len(source) != len(target):
        raise ValueError(f"{len(source)} source sentences and {len(target)} target sentences; both must be the same")
    ends = [False] * len(source) if ends_paragraph is None else list(ends_paragraph)
    ids = DocumentIds((vocabulary.encode(source), vocabulary.encode(target, target=True)), ends)
    readings = _readings(ids, config, config.window_sentences if window_sentences is None else window_sentences)
    collector = Collector(model, vocabulary, ids, tree_sentences)
    for reading in readings:
        collector.read(reading)
    return AttentionRecord(title, collector.sides, collector.slots(), collector.poolings())


def _readings(ids: DocumentIds, config: Any, window_sentences: int) -> list[Reading]:
    """The windows in which a document is read."""
    lengths, limits = [ids.lengths(0), ids.lengths(1)], (config.max_source_tokens, config.max_target_tokens)
    for side, name, limit in zip(lengths, ("source", "target"), limits, strict=True):
        if max(side) > limit:
            raise ValueError(f"{name} sentence {side.index(max(side)) + 1} has {max(side)} tokens, the model {limit}")
    if window_sentences == 0:
        blocks = document_blocks(lengths[0], limits[0], lengths[1], limits[1])
        return [Reading(block, block.start) for block in blocks]
    windows = sliding_windows(len(lengths[0]), window_sentences)
    return [Reading(fit_window(window, lengths[0], lengths[1], *limits), window.stop - 1) for window in windows]


class SlotArrays:
    """The arrays of one slot while they fill up, one piece at a time.

    Args:
        num_layers: L.
        num_queries, num_keys: tokens of the document that read and that are read.
        num_sentences: N.
    """

    def __init__(self, num_layers: int, num_queries: int, num_keys: int, num_sentences: int) -> None:
        self.num_layers, self.num_queries, self.num_keys = num_layers, num_queries, num_keys
        self.num_sentences = num_sentences
        self.arrays: dict[str, np.ndarray] = {}
        self.counts = np.zeros(num_sentences)

    def add_weights(
        self,
        layer: int,
        weights: torch.Tensor,
        queries: slice,
        keys: slice | None,
        query_sentence_ids: torch.Tensor,
        key_sentence_ids: torch.Tensor,
        first_sentence: int,
    ) -> None:
        """Adds weights [H, C, K] of some queries to the means of their sentences, and, where there is room, to all.

        Args:
            layer: from 0.
            weights: [H, C, K].
            queries, keys: their places in the document; no `keys` where they are encodings.
            query_sentence_ids, key_sentence_ids: their sentences in the window, [C] and [K], from 0.
            first_sentence: sentence of the document with which the window begins.
        """
        num_heads = weights.shape[0]
        weights = full_precision(weights)
        shape = (self.num_layers, num_heads)
        if keys is not None and np.prod(shape) * self.num_queries * self.num_keys <= LARGEST_RECORD:
            into = self._array("token_weights", (*shape, self.num_queries, self.num_keys), 0.0)
            into[layer, :, queries, keys] = weights.float().cpu().numpy()
        num_read = int(key_sentence_ids.max()) + 1
        read = weights.new_zeros(*weights.shape[:2], num_read).index_add_(2, key_sentence_ids, weights)
        num_reading = int(query_sentence_ids.max()) + 1
        sums = weights.new_zeros(num_heads, num_reading, num_read).index_add_(1, query_sentence_ids, read)
        into = self._array("sentence_weights", (*shape, self.num_sentences, self.num_sentences), 0.0)
        columns = slice(first_sentence, first_sentence + num_read)
        into[layer, :, first_sentence : first_sentence + num_reading, columns] += sums.float().cpu().numpy()
        if layer == 0:
            counts = torch.bincount(query_sentence_ids, minlength=num_reading).cpu().numpy()
            self.counts[first_sentence : first_sentence + num_reading] += counts

    def add_selected(
        self, layer: int, selected: torch.Tensor, scores: torch.Tensor, queries: slice, first_sentence: int
    ) -> None:
        """Adds the selected sentences of the window [H, C, t] and their scores [H, C, t]."""
        shape = (self.num_layers, selected.shape[0], self.num_queries, selected.shape[2])
        selected = (selected + first_sentence).masked_fill(scores == -torch.inf, -1)
        self._array("selected", shape, -1)[layer, :, queries] = selected.cpu().numpy()
        self._array("scores", shape, -np.inf)[layer, :, queries] = scores.float().cpu().numpy()

    def finish(self, trees: Sequence[TreeRecord]) -> SlotRecord:
        """The record."""
        means = self.arrays["sentence_weights"] / self.counts.clip(1)[:, None]
        others = {name: self.arrays.get(name) for name in ("token_weights", "selected", "scores")}
        return SlotRecord(means.astype(np.float32), **others, trees=tuple(trees))

    def _array(self, name: str, shape: tuple[int, ...], value: float) -> np.ndarray:
        if name not in self.arrays:
            self.arrays[name] = np.full(shape, value, np.int32 if name == "selected" else np.float32)
        return self.arrays[name]


class Collector:
    """Runs a model over the windows of one document and puts together what it reads.

    Args:
        model: of this package.
        vocabulary: its tokenizers.
        ids: the document.
        tree_sentences: as in `record_attention`.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        vocabulary: TranslationVocabulary,
        ids: DocumentIds,
        tree_sentences: Collection[int] | None,
    ) -> None:
        self.model, self.vocabulary, self.ids = model, vocabulary, ids
        self.network: Any = model.base_model
        self.config: Any = model.config
        self.tree_sentences = tree_sentences
        self.num_sentences = len(ids.ends_paragraph)
        self.sides = self._sides()
        self._slots: dict[str, SlotArrays] = {}
        self._trees: dict[str, list[list[TreeRecord]]] = defaultdict(list)
        self._poolings: dict[str, np.ndarray] = {}

    def slots(self) -> dict[str, SlotRecord]:
        """What was recorded, by slot."""
        trees = {name: [merged(layers) for layers in windows] for name, windows in self._trees.items()}
        return {name: self._slots[name].finish(trees.get(name, ())) for name in SLOT_SIDES if name in self._slots}

    def poolings(self) -> dict[str, np.ndarray]:
        """The source2token weights, by slot."""
        return self._poolings

    def read(self, reading: Reading) -> None:
        """Records one window."""
        window = reading.window
        rows = [self.ids.window(self.vocabulary, window, side) for side in (0, 1)]
        input_ids, labels = (torch.tensor([row], device=self.model.device) for row in rows)
        with recorded_calls(self.network) as calls, attention_implementation(self.model, "sdpa"):
            encoded = self.network.encoder(input_ids=input_ids)
            self.model.set_attn_implementation("eager")
            self._read_encoder(reading, calls, encoded)
            self._read_decoder(reading, calls, encoded, labels)
            self._read_poolings(reading, calls)

    def _sides(self) -> dict[str, TokenRow]:
        """The tokens of the document."""
        whole = Window(0, self.num_sentences)
        source, target = (self.ids.window(self.vocabulary, whole, side) for side in (0, 1))
        rows = {"source": source, "target": target, "prefix": [self.config.decoder_start_token_id, *target[:-1]]}
        sides = {}
        for name, row in rows.items():
            tokenizer = self.vocabulary.source if name == "source" else self.vocabulary.target
            numbers = sentence_ids_from_tokens(torch.tensor([row]), self.config.separator_token_ids)[0] - 1
            sides[name] = TokenRow(tuple(tokenizer.convert_ids_to_tokens(row)), numbers.numpy())
        return sides

    def _places(self, reading: Reading, slot: str) -> tuple[int, int, int]:
        """Places in the document at which the window of queries and that of keys begin, and of the first query that is
        recorded in the window."""
        sides = [int(name != "source") for name in SLOT_SIDES[slot]]
        query_starts, key_starts = (self.ids.starts(side) for side in sides)
        query_start = query_starts[reading.window.start]
        return query_start, key_starts[reading.window.start], query_starts[reading.first] - query_start

    def _slot(self, name: str, num_layers: int) -> SlotArrays:
        if name not in self._slots:
            num_queries, num_keys = (len(self.sides[side].tokens) for side in SLOT_SIDES[name])
            self._slots[name] = SlotArrays(num_layers, num_queries, num_keys, self.num_sentences)
        return self._slots[name]

    def _add(
        self,
        reading: Reading,
        slot: str,
        layers: Sequence[Any],
        queries: slice,
        query_ids: torch.Tensor,
        key_ids: torch.Tensor,
    ) -> None:
        """Adds what each layer gave for some queries of the window: weights [H, C, K], and what it selected, or None.

        Args:
            reading: the window.
            slot: name.
            layers: (weights, selected, scores) of each.
            queries: their places in the window.
            query_ids: sentences of the queries [C], from 0.
            key_ids: sentences of the keys [K], from 0.
        """
        query_start, key_start, _ = self._places(reading, slot)
        queries = slice(queries.start + query_start, queries.stop + query_start)
        is_context = slot.endswith("_context")
        keys = None if is_context else slice(key_start, key_start + len(key_ids))
        arrays = self._slot(slot, len(layers))
        first = reading.window.start
        for layer, (weights, selected, scores) in enumerate(layers):
            arrays.add_weights(layer, weights, queries, keys, query_ids, key_ids, first)
            if selected is not None:
                arrays.add_selected(layer, selected, scores, queries, first)

    def _read_encoder(self, reading: Reading, calls: Calls, encoded: Any) -> None:
        """Records the encoder, whose layers were called."""
        numbers = encoded.sentence_ids[0] - 1
        first = self._places(reading, "encoder")[2]
        for slot, name in (("encoder", "self_attn"), ("encoder_context", "context")):
            modules: list[Any] = [
                context_of(layer) if name == "context" else layer.self_attn for layer in self.network.encoder.layers
            ]
            if modules[0] is None:
                continue
            num_sentences = int(numbers.max()) + 1
            key_ids = torch.arange(num_sentences, device=numbers.device) if name == "context" else numbers
            for queries in pieces(first, len(numbers), modules[0].num_heads * len(key_ids)):
                layers = [attend_some(module, calls[module], queries) for module in modules]
                self._add(reading, slot, layers, queries, numbers[queries], key_ids)
        self._read_trees(reading, "encoder", calls, slice(first, len(numbers)), 0)

    def _read_decoder(self, reading: Reading, calls: Calls, encoded: Any, labels: torch.Tensor) -> None:
        """Runs the decoder over the window in pieces, and records them."""
        start = labels.new_tensor([[self.config.decoder_start_token_id]])
        inputs = torch.cat([start, labels[:, :-1]], dim=1)
        numbers, paragraphs = (
            sentence_ids_from_tokens(inputs, ids)
            for ids in (self.config.separator_token_ids, self.config.paragraph_token_ids)
        )
        written = sentence_ids_from_tokens(labels, self.config.separator_token_ids)[0] - 1
        source_ids = encoded.sentence_ids[0] - 1
        source_sentences = torch.arange(int(source_ids.max()) + 1, device=source_ids.device)
        key_ids = {"cross": source_ids, "decoder_context": source_sentences}
        first = self._places(reading, "decoder")[2]
        num_keys = max(labels.shape[1], len(source_ids))
        some = [slice(0, first)] if first else []
        cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
        for queries in [*some, *pieces(first, labels.shape[1], self.config.decoder_attention_heads * num_keys)]:
            output = self.network(
                encoder_outputs=encoded,
                decoder_input_ids=inputs[:, queries],
                decoder_sentence_ids=numbers[:, : queries.stop],
                decoder_paragraph_ids=paragraphs[:, : queries.stop],
                past_key_values=cache,
                use_cache=True,
                output_attentions=True,
                output_selected_sentences=True,
                output_sentence_attentions=True,
                output_context_attentions=True,
            )
            if queries.start < first:
                continue
            key_ids["decoder"] = numbers[0, : queries.stop] - 1
            for slot, layers in decoder_layers(output).items():
                self._add(reading, slot, layers, queries, written[queries], key_ids[slot])
            self._read_trees(reading, "cross", calls, queries, queries.start)

    def _read_trees(self, reading: Reading, slot: str, calls: Calls, queries: slice, offset: int) -> None:
        """Records the walks of some queries of the window in the slot, if it has trees.

        Args:
            reading: the window.
            slot: `encoder` or `cross`.
            calls: of the modules.
            queries: places in the window.
            offset: place in the window of the first query that the modules were called with.
        """
        stack = self.network.encoder if slot == "encoder" else self.network.decoder
        modules = [layer.self_attn if slot == "encoder" else layer.encoder_attn for layer in stack.layers]
        if not isinstance(modules[0], HierarchicalAttention):
            return
        side = self.sides[SLOT_SIDES[slot][0]]
        query_start = self._places(reading, slot)[0]
        places = np.arange(queries.start, queries.stop)
        if self.tree_sentences is not None:
            places = places[np.isin(side.sentence_ids[places + query_start], list(self.tree_sentences))]
        num_all = (
            len(side.tokens)
            if self.tree_sentences is None
            else np.isin(side.sentence_ids, list(self.tree_sentences)).sum()
        )
        size = len(modules) * modules[0].num_heads * int(num_all) * 2 * (reading.window.stop - reading.window.start)
        if size > LARGEST_RECORD and self.tree_sentences is not None:
            raise ValueError(f"{len(self.tree_sentences)} sentences are too many for recorded walks; choose fewer")
        if not len(places) or size > LARGEST_RECORD:
            return
        rows = torch.as_tensor(places - offset, device=self.model.device)
        layers = [
            walk_record(module, calls[module], rows, places + query_start, reading.window.start) for module in modules
        ]
        self._trees[slot].append(layers)

    def _read_poolings(self, reading: Reading, calls: Calls) -> None:
        """Records the source2token weights of the sentence encoders that were called."""
        for slot, modules in sentence_encoders(self.network).items():
            side = self.sides[POOLING_SIDES[slot]]
            starts = self.ids.starts(int(POOLING_SIDES[slot] == "prefix"))
            start, first = starts[reading.window.start], starts[reading.first]
            # Of the target, what stands before each token: the start of the document, and one place later the first.
            first += int(POOLING_SIDES[slot] == "prefix" and reading.first > reading.window.start)
            weights = np.stack([pooling_weights(module, calls[module]) for module in modules])  # [L, G, S]
            if slot not in self._poolings:
                self._poolings[slot] = np.zeros((*weights.shape[:2], len(side.tokens)), np.float32)
            stop = start + weights.shape[2]
            self._poolings[slot][:, :, first:stop] = weights[:, :, first - start :]
