# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""A model whose encoder and decoding steps are run by onnxruntime, and whose `generate` is that of Transformers.

So beam search, constraints, prefixes and the translator itself are the same as with PyTorch.

Dimensions: B batch, S source tokens, Q newest target tokens, L target tokens so far, H heads, E head width, V
vocabulary, X numbers that a source has in memory.
"""

import json
import math
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel
from transformers.cache_utils import DynamicCache, EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput

from ..attention.attention_plan import kept_with_cache
from ..configuration.library_internals import named_cache, one_cache
from ..models.common.model_outputs import HierNMTLMOutput
from ..models.hier_nmt.modeling_hier_nmt import HierNMTForConditionalGeneration
from ..ops.document_structure import sentence_ids_from_tokens, separator_positions
from .onnx_export import ExportError
from .onnx_files import DECODER_FILE, ENCODER_FILE, SETTINGS_FILE, open_session

# How far logits of float32 graphs may be from those of PyTorch.
_TOLERANCE = 1e-3


class OnnxEncoder(torch.nn.Module):
    """The encoder graph; in place of states it returns what the decoder graph reads of them, in one row a document:
    that is what `generate` repeats for beams."""

    main_input_name = "input_ids"

    def __init__(self, session: Any) -> None:
        super().__init__()
        self.session = session

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor | None = None, **kwargs: Any
    ) -> BaseModelOutput:
        """All outputs of the graph [B, 1, X] in float32, for source tokens and their mask [B, S]."""
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask.long()
        outputs = self.session.run(None, _named(self.session, [input_ids, mask]))
        rows = [torch.from_numpy(one).float().flatten(1) for one in outputs]
        return BaseModelOutput(last_hidden_state=torch.cat(rows, dim=1)[:, None])


class OnnxModel(HierNMTForConditionalGeneration):
    """A model of the graphs in a folder, for `generate`: it has no weights and gives no gradients.

    Args:
        model: the model that was exported; it decodes documents of more sentences than the graphs have.
        folder: output of `export_model` or `quantize_model`.
        num_threads: threads of the runtime; None: its own choice.
    """

    def __init__(self, model: PreTrainedModel, folder: str | Path, num_threads: int | None = None) -> None:
        # Not that of the model, which would make weights.
        PreTrainedModel.__init__(self, model.config)
        # In a list, so that it is no part of this module.
        self._exported = [model]
        self.settings = json.loads((Path(folder) / SETTINGS_FILE).read_text(encoding="utf-8"))
        self.encoder = OnnxEncoder(open_session(Path(folder) / ENCODER_FILE, num_threads))
        self.session = open_session(Path(folder) / DECODER_FILE, num_threads)

    def generate(self, *args: Any, input_ids: torch.Tensor | None = None, **kwargs: Any) -> Any:
        """As `generate` of the model."""
        most, separators = self.settings["max_sentences"], self.config.separator_token_ids
        if most is not None and input_ids is not None:
            num_sentences = 1 + int(separator_positions(input_ids, separators).sum(-1).max())
            if num_sentences > most:
                model: Any = self._exported[0]
                return model.generate(*args, input_ids=input_ids, **kwargs)
        return super().generate(*args, input_ids=input_ids, **kwargs)

    @property
    def pytorch_model(self) -> PreTrainedModel:
        """The model that was exported."""
        return self._exported[0]

    @property
    def device(self) -> torch.device:
        """Where inputs are wanted."""
        return torch.device("cpu")

    @property
    def dtype(self) -> torch.dtype:
        """Of the logits."""
        return torch.float32

    def get_encoder(self, *args: Any, **kwargs: Any) -> Any:
        """The encoder graph."""
        return self.encoder

    def forward(  # type: ignore[override]
        self,
        encoder_outputs: Any = None,
        attention_mask: Any = None,
        decoder_input_ids: torch.Tensor | None = None,
        decoder_sentence_ids: torch.Tensor | None = None,
        decoder_paragraph_ids: torch.Tensor | None = None,
        cache: EncoderDecoderCache | None = None,
        past_key_values: EncoderDecoderCache | None = None,
        **kwargs: Any,
    ) -> HierNMTLMOutput:
        """Logits [B, 1, V] of the token behind the newest, and the cache, extended.

        Args:
            encoder_outputs: of the encoder graph.
            attention_mask: of the source [B, S].
            decoder_input_ids: the newest target tokens [B, Q].
            decoder_sentence_ids, decoder_paragraph_ids: of all target tokens [B, L], 0 for padding; without the latter
                all are in one paragraph.
            cache: of earlier target tokens; `past_key_values` is its older name.
        """
        cache = one_cache(cache, past_key_values) or EncoderDecoderCache(DynamicCache(), DynamicCache())
        memory = encoder_outputs.last_hidden_state
        # The runtime reads contiguous memory: made once, not in every step.
        source = kept_with_cache(cache, 0, "onnx_source", lambda: self._unpacked(memory))
        cache.is_updated[0] = True
        if attention_mask is None:
            attention_mask = torch.ones(len(memory), self._num_source_tokens(memory), dtype=torch.long)
        layers: Any = cache.self_attention_cache.layers
        past = [tensor for layer in layers for tensor in (layer.keys, layer.values)]
        if not layers or past[0] is None:
            past = [torch.zeros(len(memory), *sizes) for sizes in self.settings["past"]]
        assert decoder_sentence_ids is not None  # as `prepare_inputs_for_generation` gives them
        if decoder_paragraph_ids is None:
            decoder_paragraph_ids = (decoder_sentence_ids > 0).long()
        if self.settings["max_sentences"] is not None:
            decoder_sentence_ids = decoder_sentence_ids.clamp_max(self.settings["max_sentences"])
        numbers = [decoder_sentence_ids, decoder_paragraph_ids]
        inputs = [decoder_input_ids, *numbers, attention_mask.long(), *source, *past]
        logits, *extended = self.session.run(None, _named(self.session, inputs))
        tensors = list(map(torch.from_numpy, extended))
        _replace(cache, tensors)
        return HierNMTLMOutput(logits=torch.from_numpy(logits)[:, None], **named_cache(cache))

    def _num_source_tokens(self, memory: torch.Tensor) -> int:
        """S of the memory [B, 1, X]."""
        fixed = sum(math.prod(shape) for _, shape in self.settings["source"] if 0 not in shape)
        of_token = sum(math.prod(size for size in shape if size) for _, shape in self.settings["source"] if 0 in shape)
        return (memory.shape[2] - fixed) // of_token

    def _unpacked(self, memory: torch.Tensor) -> list[torch.Tensor]:
        """The outputs of the encoder graph in their own shapes and types."""
        num_tokens = self._num_source_tokens(memory)
        shapes = [[size or num_tokens for size in shape] for _, shape in self.settings["source"]]
        parts = memory[:, 0].split([math.prod(shape) for shape in shapes], dim=1)
        types = [getattr(torch, dtype) for dtype, _ in self.settings["source"]]
        return [
            part.unflatten(1, shape).to(dtype).contiguous()
            for part, shape, dtype in zip(parts, shapes, types, strict=True)
        ]

    def decoding_cache(self) -> EncoderDecoderCache:
        """An empty cache; the graphs need no other than Transformers' own."""
        return EncoderDecoderCache(DynamicCache(), DynamicCache())


def _named(session: Any, tensors: list[Any]) -> dict[str, Any]:
    names = [one.name for one in session.get_inputs()]
    return {name: tensor.numpy() for name, tensor in zip(names, tensors, strict=True)}


def _replace(cache: EncoderDecoderCache, tensors: list[torch.Tensor]) -> None:
    """Puts the pairs of tensors that a step returns in the place of what the cache holds: keys and values [B, H, L, E]
    of each layer in turn, and averages of sentences, as if these were of further layers."""
    held: Any = cache.self_attention_cache
    for index in range(len(tensors) // 2):
        keys, values = tensors[2 * index : 2 * index + 2]
        if index == len(held.layers) or held.layers[index].keys is None:
            held.update(keys, values, index)
        else:
            held.layers[index].keys, held.layers[index].values = keys, values


@torch.no_grad()
def check_equal(model: Any, other: OnnxModel, num_tokens: int = 12) -> None:
    """Raises ExportError if float32 graphs do not compute the logits of the model on windows of random tokens."""
    generator = torch.Generator().manual_seed(0)
    source = torch.randint(model.config.vocab_size, (3, num_tokens), generator=generator)
    mask = torch.ones_like(source)
    mask[0, num_tokens // 2 :] = 0
    target = torch.randint(model.config.target_vocab_size, (3, num_tokens), generator=generator)
    target[:, 0] = model.config.decoder_start_token_id
    target.masked_fill_(target == model.config.pad_token_id, model.config.eos_token_id)
    # Two sentences, where there are such.
    for tokens in (source, target):
        tokens[1, 4:5] = model.config.sep_token_id if model.config.sep_token_id is not None else tokens[1, 4]
    config = model.config
    sentence_ids = sentence_ids_from_tokens(target, config.separator_token_ids)
    paragraph_ids = sentence_ids_from_tokens(target, config.paragraph_token_ids)
    expected = model(input_ids=source, attention_mask=mask, decoder_input_ids=target).logits
    cache, encoded = other.decoding_cache(), other.encoder(source, mask)
    for stop in (num_tokens // 2, *range(num_tokens // 2 + 1, num_tokens + 1)):
        start = cache.get_seq_length()
        numbers = (sentence_ids[:, :stop], paragraph_ids[:, :stop])
        logits = other(encoded, mask, target[:, start:stop], *numbers, cache).logits[:, 0]
        distance = (logits - expected[:, stop - 1]).abs().max().item()
        if not distance < _TOLERANCE:
            raise ExportError(f"the exported graphs differ from the model: a logit by {distance}; please report it")
