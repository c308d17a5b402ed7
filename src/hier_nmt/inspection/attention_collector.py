# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Records the attention of any encoder-decoder while it translates a document.

Dimensions: L layers, H heads, Q queries, C queries of a chunk, K keys, S source tokens, T target tokens, N sentences, t
selected sentences.
"""

import math
import re
from collections.abc import Collection, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from ..ops.numerics import full_precision
from ..translation.translation_vocabulary import TranslationVocabulary
from .attention_calls import attention_implementation
from .attention_records import SLOT_SIDES, SlotRecord, TokenRow, TreeRecord
from .attention_windows import DocumentIds, Reading

# Size limit of recorded arrays of token weights [L, H, Q, K] and of walks down trees [L, H, R, nodes].
MAX_RECORD_SIZE = 2**25
# A byte token, as tokenizers with byte fallback write characters outside of their vocabulary.
_BYTE = re.compile(r"<0x[0-9A-Fa-f]{2}>")
# Names of the slots' weights in the outputs of Transformers.
WEIGHTS_OF_SLOTS = {"encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"}


def can_be_recorded(*sizes: int) -> bool:
    """Whether an array of these sizes is small enough."""
    return math.prod(map(int, sizes)) <= MAX_RECORD_SIZE


class SlotArrays:
    """The arrays of one slot, filled chunk by chunk.

    Args:
        num_layers: L.
        num_queries, num_keys: numbers of query and key tokens in the document.
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
        """Adds weights [H, C, K] of some queries to the means of their sentences, and to the token weights if recorded.

        Args:
            layer: from 0.
            weights: [H, C, K].
            queries, keys: their positions in the document; no `keys` if the keys are sentence encodings.
            query_sentence_ids, key_sentence_ids: their sentences in the window, [C] and [K], from 0.
            first_sentence: first sentence of the window in the document.
        """
        num_heads = weights.shape[0]
        weights = full_precision(weights)
        shape = (self.num_layers, num_heads)
        if keys is not None and can_be_recorded(*shape, self.num_queries, self.num_keys):
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
        """Adds the selected sentences of the window [H, C, t] and their scores [H, C, t], in document order."""
        shape = (self.num_layers, selected.shape[0], self.num_queries, selected.shape[2])
        nothing = scores == -torch.inf
        order = selected.masked_fill(nothing, self.num_sentences).argsort(dim=-1)
        selected = (selected + first_sentence).masked_fill(nothing, -1).gather(-1, order)
        self._array("selected", shape, -1)[layer, :, queries] = selected.cpu().numpy()
        self._array("scores", shape, -np.inf)[layer, :, queries] = scores.gather(-1, order).float().cpu().numpy()

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
    """Runs a model over the windows of one document and collects its attention.

    It works with any encoder-decoder that returns attention weights as models of Transformers do.

    Args:
        model: in evaluation mode.
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
        self.config: Any = model.config
        self.tree_sentences = tree_sentences
        self.num_sentences = len(ids.ends_paragraph)
        self.sides = self._sides()
        self._slots: dict[str, SlotArrays] = {}

    def slots(self) -> dict[str, SlotRecord]:
        """What was recorded, by slot."""
        return {name: self._slots[name].finish(self._trees(name)) for name in SLOT_SIDES if name in self._slots}

    @property
    def recorded_slots(self) -> list[str]:
        """The slots that have recorded anything so far."""
        return list(self._slots)

    def poolings(self) -> dict[str, np.ndarray]:
        """The source2token weights, by slot."""
        return {}

    def read(self, reading: Reading) -> None:
        """Records one window."""
        input_ids, labels = self._rows(reading)
        with attention_implementation(self.model, "eager"):
            output = self.model(
                input_ids=input_ids,
                decoder_input_ids=self._decoder_inputs(labels),
                output_attentions=True,
                use_cache=False,
            )
        for slot in WEIGHTS_OF_SLOTS:
            weights = getattr(output, WEIGHTS_OF_SLOTS[slot], None) or ()
            if any(layer is None for layer in weights):
                continue
            ids = [self._sentence_ids(reading, side) for side in SLOT_SIDES[slot]]
            queries = slice(self._positions(reading, slot)[2], len(ids[0]))
            layers = [(layer[0][:, queries], None, None) for layer in weights]
            if layers:
                self._add(reading, slot, layers, queries, ids[0][queries], ids[1])

    def _trees(self, slot: str) -> list[TreeRecord]:
        """The recorded walks of a slot."""
        return []

    def _rows(self, reading: Reading) -> tuple[torch.Tensor, torch.Tensor]:
        """Source [1, S] and target [1, T] of a window."""
        source, target = (self.ids.row(self.vocabulary, side, reading.window) for side in (0, 1))
        return torch.tensor([source], device=self.model.device), torch.tensor([target], device=self.model.device)

    def _decoder_inputs(self, labels: torch.Tensor) -> torch.Tensor:
        """The decoder's input for these labels, both [1, T]."""
        return torch.cat([labels.new_tensor([[self.config.decoder_start_token_id]]), labels[:, :-1]], dim=1)

    def _sentence_ids(self, reading: Reading, side: str) -> torch.Tensor:
        """The sentence in the window of each token on a side, from 0."""
        sentence_ids = self.ids.sentence_ids(int(side != "source"), reading.window)
        return torch.as_tensor(_before(sentence_ids, 0) if side == "prefix" else sentence_ids, device=self.model.device)

    def _sides(self) -> dict[str, TokenRow]:
        """The tokens of the document."""
        source, target = (self.ids.row(self.vocabulary, side) for side in (0, 1))
        sentence_ids = [self.ids.sentence_ids(side) for side in (0, 1)]
        return {
            "source": TokenRow(_tokens(self.vocabulary.source, source), sentence_ids[0]),
            "target": TokenRow(_tokens(self.vocabulary.target, target), sentence_ids[1]),
            "prefix": TokenRow(
                _tokens(self.vocabulary.target, [self.config.decoder_start_token_id, *target[:-1]]),
                _before(sentence_ids[1], 0),
            ),
        }

    def _positions(self, reading: Reading, slot: str) -> tuple[int, int, int]:
        """Positions in the document of the window's first query and first key, and of the first query that is recorded
        in this window."""
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
        """Adds the output of each layer for some queries of the window: weights [H, C, K], and its selection or None.

        Args:
            reading: the window.
            slot: name.
            layers: (weights, selected, scores) of each.
            queries: their positions in the window.
            query_ids: sentences of the queries [C], from 0.
            key_ids: sentences of the keys [K], from 0.
        """
        query_start, key_start, _ = self._positions(reading, slot)
        queries = slice(queries.start + query_start, queries.stop + query_start)
        is_context = slot.endswith("_context")
        keys = None if is_context else slice(key_start, key_start + len(key_ids))
        arrays = self._slot(slot, len(layers))
        first = reading.window.start
        for layer, (weights, selected, scores) in enumerate(layers):
            arrays.add_weights(layer, weights, queries, keys, query_ids, key_ids, first)
            if selected is not None:
                arrays.add_selected(layer, selected, scores, queries, first)


def _tokens(tokenizer: PreTrainedTokenizerBase, row: list[int]) -> tuple[str, ...]:
    return characters_of_bytes(tokenizer.convert_ids_to_tokens(row))


def characters_of_bytes(tokens: Sequence[str]) -> tuple[str, ...]:
    """The tokens with characters in place of their bytes: the first of several byte tokens (`<0xE4><0xBD><0xA0>`)
    becomes the character, the others become empty. Bytes that do not form text are not changed."""
    texts = list(tokens)
    for is_byte, run in groupby(range(len(tokens)), key=lambda position: _BYTE.fullmatch(tokens[position]) is not None):
        positions = list(run)
        try:
            text = bytes(int(tokens[position][3:5], 16) for position in positions).decode() if is_byte else ""
        except UnicodeDecodeError:
            continue
        for character in text:
            first, *others = [positions.pop(0) for _ in character.encode()]
            texts[first] = character
            for position in others:
                texts[position] = ""
    return tuple(texts)


def _before(sentence_ids: np.ndarray, first: int) -> np.ndarray:
    """The ids shifted one position to the right, after `first`."""
    return np.concatenate([[first], sentence_ids[:-1]])
