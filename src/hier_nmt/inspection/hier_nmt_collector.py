# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Records the attention of `hier_nmt` models to tokens and sentence encodings, selected sentences and tree walks.

Dimensions: L layers, H heads, C queries of a chunk, R queries whose walk is recorded, G pooling queries.
"""

from collections import defaultdict
from collections.abc import Collection
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedModel
from transformers.cache_utils import DynamicCache, EncoderDecoderCache

from ..attention.conditional_attention import HierarchicalAttention
from ..ops.document_structure import sentence_ids_from_tokens
from ..translation.translation_vocabulary import TranslationVocabulary
from .attention_calls import (
    Calls,
    attend_chunk,
    attention_implementation,
    chunks,
    context_of,
    decoder_layers,
    merged,
    pooling_weights,
    recorded_calls,
    sentence_encoders,
    walk_record,
)
from .attention_collector import Collector, can_be_recorded
from .attention_records import POOLING_SIDES, SLOT_SIDES, TreeRecord
from .attention_windows import DocumentIds, Reading


class HierNMTCollector(Collector):
    """Runs a `hier_nmt` model over the windows, in chunks, so that windows of any length fit into memory.

    Args as in `Collector`.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        vocabulary: TranslationVocabulary,
        ids: DocumentIds,
        tree_sentences: Collection[int] | None,
    ) -> None:
        super().__init__(model, vocabulary, ids, tree_sentences)
        self.network: Any = model.base_model
        self.sentence_encoders = sentence_encoders(self.network)
        # Summaries of a convolution do not represent sentences, so attention to them cannot be shown.
        self.shows_context = self.config.sentence_encoder == "source2token"
        self._walks: dict[str, list[TreeRecord]] = defaultdict(list)
        self._poolings: dict[str, np.ndarray] = {}

    def poolings(self) -> dict[str, np.ndarray]:
        """The source2token weights, by slot."""
        return self._poolings

    def read(self, reading: Reading) -> None:
        """Records one window."""
        input_ids, labels = self._rows(reading)
        with recorded_calls(self.network) as calls, attention_implementation(self.model, "sdpa"):
            encoded = self.network.encoder(input_ids=input_ids)
            self.model.set_attn_implementation("eager")
            self._read_encoder(reading, calls, encoded)
            self._read_decoder(reading, calls, encoded, labels)
            self._read_poolings(reading, calls)

    def _trees(self, slot: str) -> list[TreeRecord]:
        """The recorded walks of a slot."""
        return self._walks[slot]

    def _read_encoder(self, reading: Reading, calls: Calls, encoded: Any) -> None:
        """Records the encoder from the calls of its layers."""
        source_sentence_ids = encoded.sentence_ids[0] - 1
        first = self._positions(reading, "encoder")[2]
        for slot, name in (("encoder", "self_attn"), ("encoder_context", "context")):
            modules: list[Any] = [
                context_of(layer) if name == "context" else layer.self_attn for layer in self.network.encoder.layers
            ]
            if modules[0] is None or (name == "context" and not self.shows_context):
                continue
            num_sentences = int(source_sentence_ids.max()) + 1
            key_ids = (
                torch.arange(num_sentences, device=source_sentence_ids.device)
                if name == "context"
                else source_sentence_ids
            )
            for queries in chunks(first, len(source_sentence_ids), modules[0].num_heads * len(key_ids)):
                layers = [attend_chunk(module, calls[module], queries) for module in modules]
                self._add(reading, slot, layers, queries, source_sentence_ids[queries], key_ids)
        self._read_trees(reading, "encoder", calls, slice(first, len(source_sentence_ids)), 0)

    def _read_decoder(self, reading: Reading, calls: Calls, encoded: Any, labels: torch.Tensor) -> None:
        """Runs the decoder over the window in chunks, and records them."""
        inputs = self._decoder_inputs(labels)
        target_sentence_ids, paragraphs = (
            sentence_ids_from_tokens(inputs, ids)
            for ids in (self.config.separator_token_ids, self.config.paragraph_token_ids)
        )
        written = sentence_ids_from_tokens(labels, self.config.separator_token_ids)[0] - 1
        source_ids = encoded.sentence_ids[0] - 1
        source_sentences = torch.arange(int(source_ids.max()) + 1, device=source_ids.device)
        key_ids = {"cross": source_ids, "decoder_context": source_sentences}
        first = self._positions(reading, "decoder")[2]
        num_weights = self.config.decoder_attention_heads * max(labels.shape[1], len(source_ids))
        cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
        for queries in [*chunks(0, first, num_weights), *chunks(first, labels.shape[1], num_weights)]:
            for module in self.sentence_encoders.get("decoder", ()):
                calls.pop(module, None)
            output = self.network(
                encoder_outputs=encoded,
                decoder_input_ids=inputs[:, queries],
                decoder_sentence_ids=target_sentence_ids[:, : queries.stop],
                decoder_paragraph_ids=paragraphs[:, : queries.stop],
                cache=cache,
                use_cache=True,
                output_attentions=True,
                output_selected_sentences=True,
                output_sentence_attentions=True,
                output_context_attentions=True,
            )
            self._read_target_poolings(reading, calls, queries.stop)
            if queries.start < first:
                continue
            key_ids["decoder"] = target_sentence_ids[0, : queries.stop] - 1
            for slot, layers in decoder_layers(output).items():
                if slot == "decoder_context" and not self.shows_context:
                    continue
                self._add(reading, slot, layers, queries, written[queries], key_ids[slot])
            self._read_trees(reading, "cross", calls, queries, queries.start)

    def _read_trees(self, reading: Reading, slot: str, calls: Calls, queries: slice, offset: int) -> None:
        """Records the walks of some queries of the window in the slot, if it has trees.

        Args:
            reading: the window.
            slot: `encoder` or `cross`.
            calls: of the modules.
            queries: positions in the window.
            offset: position in the window of the first query of the modules' call.
        """
        stack = self.network.encoder if slot == "encoder" else self.network.decoder
        modules = [layer.self_attn if slot == "encoder" else layer.encoder_attn for layer in stack.layers]
        if not isinstance(modules[0], HierarchicalAttention):
            return
        side = self.sides[SLOT_SIDES[slot][0]]
        query_start = self._positions(reading, slot)[0]
        places = np.arange(queries.start, queries.stop)
        if self.tree_sentences is not None:
            places = places[np.isin(side.sentence_ids[places + query_start], list(self.tree_sentences))]
        num_all = (
            len(side.tokens)
            if self.tree_sentences is None
            else np.isin(side.sentence_ids, list(self.tree_sentences)).sum()
        )
        num_nodes = 2 * (reading.window.stop - reading.window.start)
        has_room = can_be_recorded(len(modules), modules[0].num_heads, num_all, num_nodes)
        if not has_room and self.tree_sentences is not None:
            raise ValueError(
                f"the walks of {len(self.tree_sentences)} sentences are too large to record; choose fewer sentences"
            )
        if not len(places) or not has_room:
            return
        rows = torch.as_tensor(places - offset, device=self.model.device)
        layers = [
            walk_record(module, calls[module], rows, places + query_start, reading.window.start) for module in modules
        ]
        self._walks[slot].append(merged(layers))

    def _read_poolings(self, reading: Reading, calls: Calls) -> None:
        """Records the source2token weights of the encodings of the source."""
        for slot in ("encoder", "cross"):
            start, first = (self.ids.starts(0)[sentence] for sentence in (reading.window.start, reading.first))
            for layer, module in enumerate(self.sentence_encoders.get(slot, ())):
                weights = pooling_weights(module, calls[module])[:, first - start :]
                self._pooling(slot, weights.shape[0])[layer, :, first : first + weights.shape[1]] = weights

    def _read_target_poolings(self, reading: Reading, calls: Calls, stop: int) -> None:
        """Records the source2token weights of the sentences that the decoder has just completed.

        Args:
            reading: the window.
            calls: calls of the modules since the chunk began.
            stop: position in the window after the decoded tokens.
        """
        for layer, module in enumerate(self.sentence_encoders.get("decoder", ())):
            if module not in calls:
                continue
            weights = pooling_weights(module, calls[module])
            first = stop - weights.shape[1]
            # At the start of a later window another token replaces the one that closes the sentence before it.
            places = np.flatnonzero(calls[module].arguments[1][0].cpu().numpy() > 0)
            places = places[places + first > 0] if reading.window.start else places
            start = self.ids.starts(1)[reading.window.start] + first
            self._pooling("decoder", weights.shape[0])[layer, :, start + places] = weights[:, places].T

    def _pooling(self, slot: str, num_queries: int) -> np.ndarray:
        """The weights of a slot [L, G, tokens], zero where nothing was recorded."""
        if slot not in self._poolings:
            num_tokens = len(self.sides[POOLING_SIDES[slot]].tokens)
            shape = (len(self.sentence_encoders[slot]), num_queries, num_tokens)
            self._poolings[slot] = np.zeros(shape, np.float32)
        return self._poolings[slot]
