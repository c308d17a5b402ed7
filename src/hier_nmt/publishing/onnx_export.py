# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""A trained model as two ONNX graphs, an encoder and a decoding step with cache, and greedy decoding with them.

The encoder graph returns the projected keys and values of the decoder's cross-attention; the decoder graph takes the
newest target token and the keys and values of the earlier ones, and returns logits and the extended cache.

Dimensions: B batch, S source tokens, L target tokens so far, H heads, E head width, V vocabulary.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from transformers import PreTrainedModel
from transformers.cache_utils import DynamicCache, EncoderDecoderCache

try:
    import onnx
    import onnxruntime
    from onnxruntime.quantization import QuantType, quantize_dynamic
except ImportError:
    onnxruntime = None

ENCODER_FILE = "encoder.onnx"
DECODER_FILE = "decoder.onnx"
SETTINGS_FILE = "onnx.json"
_DENSE = ("document", "sentence")
_SPECIAL_IDS = ("pad_token_id", "eos_token_id", "decoder_start_token_id", "sep_token_id", "par_token_id")
_NO_ONNX = "exporting needs onnx, onnxscript and onnxruntime: pip install 'hier_nmt[export]'"


class ExportError(ValueError):
    """A model that cannot be exported to ONNX; the message says why."""


class EncoderGraph(nn.Module):
    """The encoder, and the projections of its states for the decoder's cross-attention."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.encoder = model.model.encoder
        self.attentions = nn.ModuleList(layer.encoder_attn for layer in model.model.decoder.layers)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Keys and values [B, H, S, E] of each decoder layer in turn, for source tokens and their mask [B, S]."""
        states = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        attentions: Any = self.attentions
        projected = ((attention.k_proj(states), attention.v_proj(states)) for attention in attentions)
        heads = [(attention.num_heads, attention.head_dim) for attention in attentions]
        return tuple(
            tensor.unflatten(-1, size).transpose(1, 2)
            for pair, size in zip(projected, heads, strict=True)
            for tensor in pair
        )


class DecoderGraph(nn.Module):
    """One decoding step, for one new token or for several, such as a given prefix."""

    output_matrix: torch.Tensor
    output_bias: torch.Tensor

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.decoder = model.model.decoder
        # A separate matrix: the quantizer stores it transposed, while the model shares it with the embedding.
        self.register_buffer("output_matrix", model.lm_head.weight.detach().T.clone())  # [D, V]
        bias = model.lm_head.bias
        self.register_buffer("output_bias", torch.zeros(len(model.lm_head.weight)) if bias is None else bias.detach())

    def forward(
        self,
        decoder_input_ids: torch.Tensor,
        decoder_sentence_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        source: list[torch.Tensor],
        past: list[torch.Tensor],
    ) -> tuple[torch.Tensor, ...]:
        """Logits [B, V] of the next token, and keys and values [B, H, L, E] of each layer in turn.

        Args:
            decoder_input_ids: the newest target tokens [B, Q].
            decoder_sentence_ids: ids of the sentences of all L target tokens [B, L], 0 for padding.
            attention_mask: of the source [B, S].
            source: outputs of the encoder graph, [B, H, S, E] each.
            past: cache of the previous step, [B, H, L - Q, E] each.
        """
        cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
        for index in range(len(past) // 2):
            cache.self_attention_cache.update(past[2 * index], past[2 * index + 1], index)
            cache.cross_attention_cache.update(source[2 * index], source[2 * index + 1], index)
            cache.is_updated[index] = True
        states = self.decoder(
            input_ids=decoder_input_ids,
            sentence_ids=decoder_sentence_ids,
            # Only the number of the source's states is still used.
            encoder_hidden_states=attention_mask[..., None].to(past[0].dtype),
            encoder_attention_mask=attention_mask,
            cache=cache,
            use_cache=True,
        ).last_hidden_state
        layers: Any = cache.self_attention_cache.layers
        return states[:, -1] @ self.output_matrix + self.output_bias, *(
            tensor for layer in layers for tensor in (layer.keys, layer.values)
        )


def check_exportable(config: Any) -> None:
    """Raises ExportError for a network that cannot be exported, with the reason."""
    if config.model_type != "hier_nmt":
        raise ExportError(
            f"model_type {config.model_type!r} is not exported: only the Transformer is (hier_nmt); other families "
            "have caches of their own"
        )
    slots = ("encoder_self_attention", "decoder_self_attention", "cross_attention")
    for slot in slots:
        kind = getattr(config, slot)
        if kind not in _DENSE:
            raise ExportError(
                f"{slot}={kind!r} is not exported: it reads only the sentences that it selects, in steps whose shapes "
                f"depend on the text, and an ONNX graph is fixed; {' and '.join(_DENSE)} attention are exported"
            )
    if config.context_block != "none":
        raise ExportError(
            f"context_block={config.context_block!r} is not exported: how many sentence encodings there are depends on "
            "the text"
        )
    if config.restart_target_sentences:
        raise ExportError(
            "restart_target_sentences=True is not exported: the exported decoder does not know what separates sentences"
        )
    if config.cross_attention == "sentence":
        raise ExportError(
            "cross_attention='sentence' is not exported: the exported decoder has no sentence ids of the source"
        )
    if "paragraph" in config.structure_levels and config.position_encoding == "multi_level":
        raise ExportError(
            "position_encoding='multi_level' with the level 'paragraph' is not exported: the exported decoder gets "
            "sentence ids, but no paragraph ids"
        )


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
        raise ImportError(_NO_ONNX)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    # Other attention implementations branch on shapes.
    model = model.float().eval()
    model.set_attn_implementation("eager")
    with torch.no_grad():
        _export_encoder(EncoderGraph(model), folder / ENCODER_FILE)
        _export_decoder(DecoderGraph(model), model.config, folder / DECODER_FILE)
    config: Any = model.config
    settings = {name: getattr(config, name) for name in _SPECIAL_IDS}
    settings |= {"num_layers": config.decoder_layers, "num_heads": config.decoder_attention_heads}
    settings |= {"head_dim": config.d_model // config.decoder_attention_heads}
    (folder / SETTINGS_FILE).write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    return folder


def quantize_model(folder: str | Path, output: str | Path) -> Path:
    """Writes the graphs with int8 matrices (activations are quantized dynamically), and returns the output folder."""
    if onnxruntime is None:
        raise ImportError(_NO_ONNX)
    folder, output = Path(folder), Path(output)
    output.mkdir(parents=True, exist_ok=True)
    for name in (ENCODER_FILE, DECODER_FILE):
        graph = onnx.load(folder / name)
        # The shapes recorded by the exporter do not hold for the transposed weights of the quantizer.
        del graph.graph.value_info[:]
        quantize_dynamic(graph, output / name, weight_type=QuantType.QInt8, per_channel=True)
    (output / SETTINGS_FILE).write_bytes((folder / SETTINGS_FILE).read_bytes())
    return output


class OnnxTranslator:
    """Greedy decoding with the graphs of a folder.

    Args:
        folder: output of `export_model` or `quantize_model`.
        num_threads: threads of the runtime.
    """

    def __init__(self, folder: str | Path, num_threads: int = 1) -> None:
        if onnxruntime is None:
            raise ImportError(_NO_ONNX)
        folder = Path(folder)
        self.settings = json.loads((folder / SETTINGS_FILE).read_text(encoding="utf-8"))
        self._encoder, self._decoder = (
            open_session(folder / name, num_threads) for name in (ENCODER_FILE, DECODER_FILE)
        )

    def generate(self, sources: Sequence[Sequence[int]], max_new_tokens: int) -> list[list[int]]:
        """The most likely token at each step for each window of source ids, without start and end tokens."""
        pad, eos = self.settings["pad_token_id"], self.settings["eos_token_id"]
        length = max(map(len, sources))
        input_ids = np.array([[*row, *[pad] * (length - len(row))] for row in sources], dtype=np.int64)
        mask = np.array([[1] * len(row) + [0] * (length - len(row)) for row in sources], dtype=np.int64)
        source = _run(self._encoder, [input_ids, mask])
        shape = (len(sources), self.settings["num_heads"], 0, self.settings["head_dim"])
        past = [np.zeros(shape, dtype=np.float32) for _ in range(2 * self.settings["num_layers"])]
        newest = np.full((len(sources), 1), self.settings["decoder_start_token_id"], dtype=np.int64)
        sentence_ids = np.ones((len(sources), 1), dtype=np.int64)
        written: list[list[int]] = [[] for _ in sources]
        is_done = np.zeros(len(sources), dtype=bool)
        for _ in range(max_new_tokens):
            logits, *past = _run(self._decoder, [newest, sentence_ids, mask, *source, *past])
            chosen = np.where(is_done, pad, logits.argmax(-1))
            is_done |= chosen == eos
            for row, token in zip(written, chosen, strict=True):
                if token not in (pad, eos):
                    row.append(int(token))
            if is_done.all():
                break
            sentence_ids = self._extended_ids(sentence_ids, newest[:, 0], is_done)
            newest = chosen[:, None]
        return written

    def _extended_ids(self, sentence_ids: np.ndarray, last: np.ndarray, is_done: np.ndarray) -> np.ndarray:
        """The sentence ids [B, L] extended by those of the next tokens: after a separator a sentence starts; padding
        has 0."""
        separators = [self.settings["sep_token_id"], self.settings["par_token_id"]]
        following = sentence_ids[:, -1] + np.isin(last, [one for one in separators if one is not None])
        return np.concatenate([sentence_ids, np.where(is_done, 0, following)[:, None]], axis=1)


def open_session(path: Path, num_threads: int | None) -> Any:
    """An onnxruntime session of a graph on the processor; ImportError without onnxruntime."""
    if onnxruntime is None:
        raise ImportError(_NO_ONNX)
    options = onnxruntime.SessionOptions()
    if num_threads is not None:
        options.intra_op_num_threads = num_threads
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _run(session: Any, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    names = [one.name for one in session.get_inputs()]
    return session.run(None, dict(zip(names, arrays, strict=True)))


def _export_encoder(graph: EncoderGraph, path: Path) -> None:
    ids = torch.tensor([[6, 7, 8, 9, 10], [6, 7, 8, 9, 0]])
    batch, length = torch.export.Dim("batch"), torch.export.Dim("source_tokens")
    axes = {0: batch, 1: length}
    _export(graph, path, (ids, (ids > 0).long()), (axes, axes))


def _export_decoder(graph: DecoderGraph, config: Any, path: Path) -> None:
    num_heads = config.decoder_attention_heads
    size = (num_heads, config.d_model // num_heads)
    past, source = (
        [torch.zeros(2, size[0], length, size[1]) for _ in range(2 * config.decoder_layers)] for length in (3, 5)
    )
    newest, sentence_ids, mask = (
        torch.full((2, 2), 6),
        torch.ones(2, 5, dtype=torch.long),
        torch.ones(2, 5, dtype=torch.long),
    )
    names = ("batch", "source_tokens", "past_tokens", "new_tokens")
    batch, source_length, past_length, new_length = (torch.export.Dim(name) for name in names)
    axes = (
        {0: batch, 1: new_length},
        {0: batch, 1: torch.export.Dim("target_tokens")},
        {0: batch, 1: source_length},
        [{0: batch, 2: source_length}] * len(source),
        [{0: batch, 2: past_length}] * len(past),
    )
    _export(graph, path, (newest, sentence_ids, mask, source, past), axes)


def _export(graph: nn.Module, path: Path, arguments: tuple[Any, ...], axes: tuple[Any, ...]) -> None:
    torch.onnx.export(
        graph.eval(), arguments, path, dynamo=True, dynamic_shapes=axes, external_data=False, verbose=False
    )
