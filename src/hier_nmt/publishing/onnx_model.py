# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""A model whose encoder and decoding steps are run by onnxruntime, and whose `generate` is that of Transformers.

So beam search, constraints, prefixes and the translator itself are the same as with PyTorch.

Dimensions: B batch, S source tokens, Q newest target tokens, L target tokens so far, H heads, E head width, V
vocabulary.
"""

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
from ..ops.document_structure import sentence_ids_from_tokens
from .onnx_export import DECODER_FILE, ENCODER_FILE, ExportError, open_session

# How far logits of float32 graphs may be from those of PyTorch.
_TOLERANCE = 1e-3


class OnnxEncoder(torch.nn.Module):
    """The encoder graph; in place of states it returns what the decoder graph reads of them."""

    main_input_name = "input_ids"

    def __init__(self, session: Any) -> None:
        super().__init__()
        self.session = session

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor | None = None, **kwargs: Any
    ) -> BaseModelOutput:
        """Keys and values of all decoder layers, [B, 2 layers, H, S, E], for source tokens and their mask [B, S]."""
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask.long()
        outputs = self.session.run(None, _named(self.session, [input_ids, mask]))
        return BaseModelOutput(last_hidden_state=torch.stack([torch.from_numpy(one) for one in outputs], dim=1))


class OnnxModel(HierNMTForConditionalGeneration):
    """A model of the graphs in a folder, for `generate`: it has no weights and gives no gradients.

    Args:
        config: of the model that was exported.
        folder: output of `export_model` or `quantize_model`.
        num_threads: threads of the runtime; None: its own choice.
    """

    def __init__(self, config: Any, folder: str | Path, num_threads: int | None = None) -> None:
        # Not that of the model, which would make weights.
        PreTrainedModel.__init__(self, config)
        self.encoder = OnnxEncoder(open_session(Path(folder) / ENCODER_FILE, num_threads))
        self.session = open_session(Path(folder) / DECODER_FILE, num_threads)

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
        cache: EncoderDecoderCache | None = None,
        past_key_values: EncoderDecoderCache | None = None,
        **kwargs: Any,
    ) -> HierNMTLMOutput:
        """Logits [B, 1, V] of the token behind the newest, and the cache, extended.

        Args:
            encoder_outputs: of the encoder graph.
            attention_mask: of the source [B, S].
            decoder_input_ids: the newest target tokens [B, Q].
            decoder_sentence_ids: ids of the sentences of all target tokens [B, L], 0 for padding.
            cache: of earlier target tokens; `past_key_values` is its older name.
        """
        cache = one_cache(cache, past_key_values) or EncoderDecoderCache(DynamicCache(), DynamicCache())
        source = encoder_outputs.last_hidden_state
        batch_size, num_states, num_heads, num_tokens, head_dim = source.shape
        if attention_mask is None:
            attention_mask = torch.ones(batch_size, num_tokens, dtype=torch.long)
        layers: Any = cache.self_attention_cache.layers
        past = [tensor for layer in layers for tensor in (layer.keys, layer.values)]
        if not layers or past[0] is None:
            past = [torch.zeros(batch_size, num_heads, 0, head_dim) for _ in range(num_states)]
        # The runtime reads contiguous memory: made once, not in every step.
        states = kept_with_cache(cache, 0, "onnx_source", lambda: [one.contiguous() for one in source.unbind(1)])
        cache.is_updated[0] = True
        inputs = [decoder_input_ids, decoder_sentence_ids, attention_mask.long(), *states, *past]
        logits, *extended = self.session.run(None, _named(self.session, inputs))
        tensors = list(map(torch.from_numpy, extended))
        _replace(cache, tensors)
        return HierNMTLMOutput(logits=torch.from_numpy(logits)[:, None], **named_cache(cache))

    def decoding_cache(self) -> EncoderDecoderCache:
        """An empty cache; the graphs need no other than Transformers' own."""
        return EncoderDecoderCache(DynamicCache(), DynamicCache())


def _named(session: Any, tensors: list[Any]) -> dict[str, Any]:
    names = [one.name for one in session.get_inputs()]
    return {name: tensor.numpy() for name, tensor in zip(names, tensors, strict=True)}


def _replace(cache: EncoderDecoderCache, tensors: list[torch.Tensor]) -> None:
    """Puts keys and values [B, H, L, E] of each layer in turn in the place of what the cache holds."""
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
    separators = model.config.separator_token_ids
    sentence_ids = sentence_ids_from_tokens(target, separators)
    expected = model(input_ids=source, attention_mask=mask, decoder_input_ids=target).logits
    cache, encoded = other.decoding_cache(), other.encoder(source, mask)
    for stop in (num_tokens // 2, *range(num_tokens // 2 + 1, num_tokens + 1)):
        start = cache.get_seq_length()
        logits = other(encoded, mask, target[:, start:stop], sentence_ids[:, :stop], cache).logits[:, 0]
        distance = (logits - expected[:, stop - 1]).abs().max().item()
        if not distance < _TOLERANCE:
            raise ExportError(f"the exported graphs differ from the model: a logit by {distance}; please report it")
