# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""A trained model as two ONNX graphs, an encoder and a decoding step with cache.

The encoder graph returns the projected keys and values of the decoder's cross-attention; the decoder graph takes the
newest target token and the keys and values of the earlier ones, and returns logits and the extended cache.

Dimensions: B batch, S source tokens, L target tokens so far, H heads, E head width, V vocabulary.
"""

import itertools
import json
import logging
import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import PreTrainedModel
from transformers.cache_utils import DynamicCache, EncoderDecoderCache

from ..attention.average_keys import AverageKeys, sentence_averages
from ..ops.document_structure import DocumentStructure, graph_of_sentences
from .onnx_files import DECODER_FILE, ENCODER_FILE, NO_ONNX, SETTINGS_FILE

try:
    import onnx
    import onnxruntime
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxscript import opset18 as op
except ImportError:
    onnxruntime = None

# The largest number of sentences in the graphs of networks with context; longer documents are left to PyTorch.
NUM_SENTENCES = 256
# Graphs have room for one sentence per so many source tokens of a window. More room costs time in every step.
TOKENS_PER_SENTENCE = 16
_LENGTH = 7
_SPECIAL_IDS = ("pad_token_id", "eos_token_id", "decoder_start_token_id", "sep_token_id", "par_token_id")


class ExportError(ValueError):
    """A model that cannot be exported to ONNX; the message says why."""


class EncoderGraph(nn.Module):
    """The encoder, and all that the decoder keeps of the source: the keys and values of its cross-attention, and what
    it compares queries with to choose sentences."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.encoder, self.decoder = model.model.encoder, model.model.decoder
        self.start_id = model.config.decoder_start_token_id

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The tensors of a `SourceMemory` for source tokens and their mask [B, S]."""
        return tuple(tensors_in(self.memory(input_ids, attention_mask)))

    def memory(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> "SourceMemory":
        """What the first step of the decoder keeps."""
        source = self.encoder(input_ids=input_ids, attention_mask=attention_mask)
        cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
        start = torch.full_like(input_ids[:, :1], self.start_id)
        self.decoder(
            input_ids=start,
            sentence_ids=torch.ones_like(start),
            paragraph_ids=torch.ones_like(start),
            encoder_hidden_states=source.last_hidden_state,
            encoder_attention_mask=attention_mask,
            encoder_structure=DocumentStructure.from_ids(source.sentence_ids, source.paragraph_ids),
            encoder_sentence_states=source.sentence_states,
            cache=cache,
            use_cache=True,
        )
        layers: Any = cache.cross_attention_cache.layers
        kept = cache.__dict__.get("source_memory", {})
        # Spans are found again from the ids.
        kept = {name: value for name, value in sorted(kept.items()) if name[0] != "spans" and tensors_in(value)}
        return SourceMemory(
            [(layer.keys, layer.values) for layer in layers], kept, source.sentence_ids, source.paragraph_ids
        )


@dataclass(frozen=True)
class SourceMemory:
    """What a decoder keeps of the source.

    Attributes:
        keys_and_values: of the cross-attention of each layer [B, H, S, E].
        kept: by name and layer, see `kept_with_cache`.
        sentence_ids, paragraph_ids: of the source [B, S].
    """

    keys_and_values: list[tuple[torch.Tensor, torch.Tensor]]
    kept: dict[tuple[str, int], Any]
    sentence_ids: torch.Tensor
    paragraph_ids: torch.Tensor


def tensors_in(value: Any) -> list[torch.Tensor]:
    """All tensors in nested dictionaries, lists, tuples and data classes, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for part in _parts(value) for tensor in tensors_in(part)]


def with_tensors(value: Any, tensors: Iterator[torch.Tensor]) -> Any:
    """The same nested value with other tensors."""
    if isinstance(value, torch.Tensor):
        return next(tensors)
    parts = [with_tensors(part, tensors) for part in _parts(value)]
    if isinstance(value, dict):
        return dict(zip(value, parts, strict=True))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*parts)
    if is_dataclass(value):
        return type(value)(*parts)  # type: ignore[misc]
    return type(value)(parts) if isinstance(value, list | tuple) else value


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, list | tuple):
        return list(value)
    return [getattr(value, field.name) for field in fields(value)] if is_dataclass(value) else []


class DecoderGraph(nn.Module):
    """One decoding step, for one new token or for several, such as a given prefix.

    Args:
        model: the model.
        memory: of some source; others have the same form.
    """

    output_matrix: torch.Tensor
    output_bias: torch.Tensor

    def __init__(self, model: Any, memory: SourceMemory) -> None:
        super().__init__()
        self.decoder, self.memory = model.model.decoder, memory
        # A separate matrix: the quantizer stores it transposed, while the model shares it with the embedding.
        self.register_buffer("output_matrix", model.lm_head.weight.detach().T.clone())  # [D, V]
        bias = model.lm_head.bias
        self.register_buffer("output_bias", torch.zeros(len(model.lm_head.weight)) if bias is None else bias.detach())
        config = model.config
        self.num_layers = config.decoder_layers * (1 if config.context_attention is None else 2)
        # The layers whose self-attention has `sentence_averages`.
        self.averaging: list[int] = []

    def forward(
        self,
        decoder_input_ids: torch.Tensor,
        decoder_sentence_ids: torch.Tensor,
        decoder_paragraph_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        source: list[torch.Tensor],
        past: list[torch.Tensor],
    ) -> tuple[torch.Tensor, ...]:
        """Logits [B, V] of the next token, keys and values [B, H, L, E] of each layer in turn, and then the
        `sentence_averages` of the layers that have some, two tensors each.

        Args:
            decoder_input_ids: the newest target tokens [B, Q].
            decoder_sentence_ids, decoder_paragraph_ids: of all L target tokens [B, L], 0 for padding.
            attention_mask: of the source [B, S].
            source: outputs of the encoder graph.
            past: what the previous step returned beside its logits; nothing before the first.
        """
        cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
        memory: SourceMemory = with_tensors(self.memory, iter(source))
        for index, (keys, values) in enumerate(memory.keys_and_values):
            cache.cross_attention_cache.update(keys, values, index)
            cache.is_updated[index] = True
        pairs = [past[index : index + 2] for index in range(0, len(past), 2)]
        for index, (keys, values) in enumerate(pairs[: self.num_layers]):
            cache.self_attention_cache.update(keys, values, index)
        if past:
            averages = (AverageKeys(*pair) for pair in pairs[self.num_layers :])
            sentence_averages(cache).update(zip(self.averaging, averages, strict=True))
        cache.__dict__["source_memory"] = memory.kept
        states = self.decoder(
            input_ids=decoder_input_ids,
            sentence_ids=decoder_sentence_ids,
            paragraph_ids=decoder_paragraph_ids,
            # Only the number of the source's states is still used.
            encoder_hidden_states=attention_mask[..., None].to(self.output_matrix.dtype),
            encoder_attention_mask=attention_mask,
            encoder_structure=DocumentStructure.from_ids(memory.sentence_ids, memory.paragraph_ids),
            cache=cache,
            use_cache=True,
        ).last_hidden_state
        layers: Any = cache.self_attention_cache.layers
        self.averaging = sorted(sentence_averages(cache))
        kept = [[layer.keys, layer.values] for layer in layers]
        kept += [list(sentence_averages(cache)[index]) for index in self.averaging]
        return states[:, -1] @ self.output_matrix + self.output_bias, *itertools.chain(*kept)


def check_exportable(config: Any) -> None:
    """Raises ExportError for a network that cannot be exported, with the reason."""
    if config.model_type != "hier_nmt":
        raise ExportError(
            f"model_type {config.model_type!r} is not exported: only the Transformer is (hier_nmt); other families "
            "have caches of their own"
        )
    for slot in ("encoder_self_attention", "decoder_self_attention"):
        if getattr(config, slot) == "big_bird":
            raise ExportError(f"{slot}='big_bird' is not exported: its blocks depend on the length of the text")
    if config.sentence_encoder == "conv" and (config.encoder_reads_encodings or config.decoder_reads_source_encodings):
        raise ExportError(
            "sentence_encoder='conv' is not exported: how many summaries there are depends on the length of the text"
        )


def num_graph_sentences(config: Any) -> int:
    """How many sentences the graphs of a network have room for: a power of two, enough for most windows."""
    num_sentences = max(config.max_source_tokens / TOKENS_PER_SENTENCE, 16)
    return min(2 ** math.ceil(math.log2(num_sentences)), NUM_SENTENCES)


def export_model(model: PreTrainedModel, folder: str | Path) -> Path:
    """Writes both graphs and the settings of decoding into the folder, and returns the folder.

    Args:
        model: in float32 on the CPU.
        folder: created if necessary.

    Raises:
        ExportError: the network cannot be exported.
        ImportError: onnx and its companions are not installed.
    """
    check_exportable(model.config)
    if onnxruntime is None:
        raise ImportError(NO_ONNX)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    # Other attention implementations branch on shapes.
    model = model.float().eval()
    model.set_attn_implementation("eager")
    num_sentences = num_graph_sentences(model.config)
    # And for the one that a separator behind the last of them opens.
    with torch.no_grad(), graph_of_sentences(num_sentences + 1):
        encoder = EncoderGraph(model)
        # Lengths that nothing else has tell which dimensions are those of tokens.
        memory, longer = (encoder.memory(*_source(length)) for length in (_LENGTH, _LENGTH + 2))
        lengths = [
            [index for index, size in enumerate(one.shape) if size != other.shape[index]]
            for one, other in zip(tensors_in(memory), tensors_in(longer), strict=True)
        ]
        _export_encoder(encoder, folder / ENCODER_FILE)
        decoder = DecoderGraph(model, memory)
        past = _first_cache(decoder, memory)
        _export_decoder(decoder, memory, lengths, past, folder / DECODER_FILE)
    config: Any = model.config
    settings = {name: getattr(config, name) for name in _SPECIAL_IDS}
    # The sizes behind that of the batch: of the cache, 0 for target tokens, and of the outputs of the encoder, 0 for
    # source tokens.
    num_growing = 2 * decoder.num_layers
    settings["past"] = [
        [tensor.shape[1], 0 if index < num_growing else tensor.shape[2], tensor.shape[3]]
        for index, tensor in enumerate(past)
    ]
    settings["source"] = [
        [
            str(one.dtype).removeprefix("torch."),
            [0 if index in places else size for index, size in enumerate(one.shape)][1:],
        ]
        for one, places in zip(tensors_in(memory), lengths, strict=True)
    ]
    encodes = config.encoder_reads_encodings or config.decoder_reads_source_encodings
    encodes = encodes or config.decoder_reads_target_encodings or config.context_attention is not None
    settings["max_sentences"] = num_sentences if encodes else None
    (folder / SETTINGS_FILE).write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    return folder


def _source(length: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Source tokens and their mask [2, S], for an example."""
    ids = torch.arange(6, 6 + length).expand(2, -1).contiguous()
    ids[1, -1] = 0
    return ids, (ids > 0).long()


def _first_cache(decoder: DecoderGraph, memory: SourceMemory) -> list[torch.Tensor]:
    """An example of a cache, of three tokens: the outputs of a step that has none."""
    ids = torch.full((2, 3), 6)
    numbers, mask = torch.ones_like(ids), _source(_LENGTH)[1]
    return [tensor.contiguous() for tensor in decoder(ids, numbers, numbers, mask, tensors_in(memory), [])[1:]]


def quantize_model(folder: str | Path, output: str | Path) -> Path:
    """Writes the graphs with int8 matrices (activations are quantized dynamically), and returns the output folder."""
    if onnxruntime is None:
        raise ImportError(NO_ONNX)
    folder, output = Path(folder), Path(output)
    output.mkdir(parents=True, exist_ok=True)
    for name in (ENCODER_FILE, DECODER_FILE):
        graph = onnx.load(folder / name)
        # The shapes recorded by the exporter do not hold for the transposed weights of the quantizer.
        del graph.graph.value_info[:]
        # Unsigned: sums of products with signed weights overflow on processors without VNNI instructions.
        quantize_dynamic(graph, output / name, weight_type=QuantType.QUInt8, per_channel=True)
    (output / SETTINGS_FILE).write_bytes((folder / SETTINGS_FILE).read_bytes())
    return output


def _export_encoder(graph: EncoderGraph, path: Path) -> None:
    axes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("source_tokens")}
    _export(graph, path, _source(_LENGTH), (axes, axes))


def _export_decoder(
    graph: DecoderGraph, memory: SourceMemory, lengths: list[list[int]], past: list[torch.Tensor], path: Path
) -> None:
    source = tensors_in(memory)
    numbers = torch.ones(2, 2 + past[0].shape[2], dtype=torch.long)
    names = ("batch", "source_tokens", "past_tokens", "new_tokens")
    batch, source_length, past_length, new_length = (torch.export.Dim(name) for name in names)
    # The exporter takes none of the others for 0 or 1, which they may be all the same.
    target_length = torch.export.Dim("target_tokens", min=4)
    axes = (
        {0: batch, 1: new_length},
        {0: batch, 1: target_length},
        {0: batch, 1: target_length},
        {0: batch, 1: source_length},
        [{0: batch, **dict.fromkeys(places, source_length)} for places in lengths],
        [{0: batch, 2: past_length} if index < 2 * graph.num_layers else {0: batch} for index in range(len(past))],
    )
    newest, mask = torch.full((2, 2), 6), _source(_LENGTH)[1]
    # A tensor that is given twice would be one input.
    _export(graph, path, (newest, numbers, numbers.clone(), mask, source, past), axes)


def _export(graph: nn.Module, path: Path, arguments: tuple[Any, ...], axes: tuple[Any, ...]) -> None:
    exporter = logging.getLogger("torch.onnx")
    level = exporter.level
    # Names of shared dimensions and torchvision that is not installed: nothing that a user could change.
    exporter.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(
                graph.eval(),
                arguments,
                path,
                dynamo=True,
                dynamic_shapes=axes,
                external_data=False,
                verbose=False,
                custom_translation_table={torch.ops.aten.sort.stable: _stable_sort},
            )
    finally:
        exporter.setLevel(level)


def _stable_sort(values: Any, stable: bool = True, dim: int = -1, descending: bool = False) -> Any:
    """A stable sort in ONNX, whose TopK takes the first of equal values first."""
    axis = op.Constant(value_ints=[dim])
    shape: Any = op.Shape(values)
    size = op.Gather(shape, axis, axis=0)  # type: ignore[type-var]
    return op.TopK(values, size, axis=dim, largest=int(descending), sorted=1)
