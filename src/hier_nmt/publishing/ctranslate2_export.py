# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""A model as a folder that CTranslate2 translates with, for the networks that CTranslate2 can express exactly."""

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import PreTrainedModel

from ..ops.document_structure import sentence_ids_from_tokens
from .onnx_export import ExportError

try:
    import ctranslate2
    from ctranslate2.converters import utils
    from ctranslate2.specs import common_spec, transformer_spec
except ImportError:
    ctranslate2 = None

NO_CTRANSLATE2 = "engine 'ctranslate2' needs ctranslate2: pip install 'hier_nmt[ctranslate2]'"
# Of the table of sinusoids, which CTranslate2 reads from a file; longer texts are left to PyTorch.
NUM_POSITIONS = 2048
# How far log-probabilities of float32 may be from those of PyTorch.
_TOLERANCE = 1e-3
_ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "gelu_new": "GELUTanh", "silu": "SWISH", "swish": "SWISH"}
# Values of the configuration that CTranslate2's Transformer has.
_EXPRESSIBLE = {
    "model_type": "hier_nmt",
    "encoder_self_attention": "document",
    "decoder_self_attention": "document",
    "cross_attention": "document",
    "context_block": "none",
    "position_encoding": "sequential",
    "token_position_origin": "document",
    "segment_embedding": "none",
    "restart_target_sentences": False,
}


def check_expressible(config: Any) -> None:
    """Raises ExportError for a network that CTranslate2 has no equal of, with the reason."""
    for name, value in _EXPRESSIBLE.items():
        if (found := getattr(config, name)) != value:
            raise ExportError(
                f"{name}={found!r} is not exported: CTranslate2 has only the Transformer of {name}={value!r}"
            )
    if config.activation_function not in _ACTIVATIONS:
        raise ExportError(
            f"activation_function={config.activation_function!r} is not exported: CTranslate2 has "
            f"{', '.join(_ACTIVATIONS)}"
        )


def num_positions(config: Any) -> int:
    """How many tokens a source, or a translation with its prefix, may have in CTranslate2."""
    learned = config.position_embedding_type == "learned"
    return config.max_position_embeddings if learned else NUM_POSITIONS


def token_names(size: int) -> list[str]:
    """A vocabulary of that size whose tokens are named after their ids."""
    return [f"<{index}>" for index in range(size)]


def export_ctranslate2(
    model: PreTrainedModel,
    folder: str | Path,
    tokens: tuple[Sequence[str], Sequence[str]] | None = None,
    unk_token: str | None = None,
    quantization: str | None = None,
) -> Path:
    """Writes the folder of a CTranslate2 model, and returns it.

    Args:
        model: on the processor.
        folder: created; it must not hold anything.
        tokens: of the source's and of the target's vocabulary, in the order of their ids; default: `token_names`.
        unk_token: what strings that are none of the tokens are taken for; default: padding.
        quantization: of CTranslate2, such as `int8`; default: float32.

    Raises:
        ExportError: the network cannot be expressed, or the result does not compute what the model computes.
        ImportError: CTranslate2 is not installed.
    """
    check_expressible(model.config)
    if ctranslate2 is None:
        raise ImportError(NO_CTRANSLATE2)
    config = model.config
    # A copy: CTranslate2 changes weights where they are.
    spec = _spec(copy.deepcopy(model).float().eval())
    source, target = tokens or (token_names(config.vocab_size), token_names(config.target_vocab_size))
    spec.register_source_vocabulary(list(source))
    spec.register_target_vocabulary(list(target))
    for name, index in (("bos", config.decoder_start_token_id), ("eos", config.eos_token_id)):
        setattr(spec.config, f"{name}_token", target[index])
    spec.config.unk_token = unk_token or target[config.pad_token_id]
    spec.config.decoder_start_token = target[config.decoder_start_token_id]
    spec.config.add_source_bos = spec.config.add_source_eos = False
    spec.validate()
    spec.optimize(quantization=quantization)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    spec.save(str(folder))
    return folder


def _spec(model: Any) -> Any:
    """CTranslate2's description of the network, with its weights."""
    config = model.config
    options = {
        "pre_norm": config.normalize_before,
        "activation": getattr(common_spec.Activation, _ACTIVATIONS[config.activation_function]),
        "layernorm_embedding": config.normalize_embedding,
    }
    spec = transformer_spec.TransformerSpec(
        transformer_spec.TransformerEncoderSpec(config.encoder_layers, config.encoder_attention_heads, **options),
        transformer_spec.TransformerDecoderSpec(config.decoder_layers, config.decoder_attention_heads, **options),
    )
    encoder, decoder = model.model.encoder, model.model.decoder
    spec.encoder.scale_embeddings = encoder.embed_scale
    spec.decoder.scale_embeddings = decoder.embed_scale
    spec.encoder.embeddings[0].weight = encoder.embed_tokens.weight
    spec.decoder.embeddings.weight = decoder.embed_tokens.weight
    for part, stack in ((spec.encoder, encoder), (spec.decoder, decoder)):
        with torch.no_grad():
            positions = torch.arange(num_positions(config))[None]
            part.position_encodings.encodings = stack.embed_positions.tokens(positions)[0].contiguous()
        if config.normalize_before:
            _set_norm(part.layer_norm, stack.layer_norm)
        if stack.embed_norm is not None:
            _set_norm(part.layernorm_embedding, stack.embed_norm)
        for layer_spec, layer in zip(part.layer, stack.layers, strict=True):
            _set_layer(layer_spec, layer)
    _set_linear(spec.decoder.projection, model.lm_head)
    return spec


def _set_layer(spec: Any, layer: Any) -> None:
    _set_attention(spec.self_attention, layer.self_attn, layer.self_attn_residual.layer_norm, 3)
    if hasattr(layer, "encoder_attn"):
        _set_attention(spec.attention, layer.encoder_attn, layer.encoder_attn_residual.layer_norm, 1)
    _set_norm(spec.ffn.layer_norm, layer.feed_forward_residual.layer_norm)
    _set_linear(spec.ffn.linear_0, layer.feed_forward.fc1)
    _set_linear(spec.ffn.linear_1, layer.feed_forward.fc2)


def _set_attention(spec: Any, attention: Any, norm: nn.LayerNorm, num_fused: int) -> None:
    """The projections of one slot; the first `num_fused` of those of queries, keys and values are one matrix."""
    parts = [common_spec.LinearSpec() for _ in range(3)]
    for part, name in zip(parts, ("q_proj", "k_proj", "v_proj"), strict=True):
        _set_linear(part, getattr(attention, name))
    utils.fuse_linear(spec.linear[0], parts[:num_fused])
    if num_fused < len(parts):
        utils.fuse_linear(spec.linear[1], parts[num_fused:])
    _set_linear(spec.linear[-1], attention.out_proj)
    _set_norm(spec.layer_norm, norm)


def _set_norm(spec: Any, norm: nn.LayerNorm) -> None:
    spec.gamma, spec.beta = norm.weight, norm.bias


def _set_linear(spec: Any, linear: Any) -> None:
    spec.weight = linear.weight
    if linear.bias is not None:
        spec.bias = linear.bias


@torch.no_grad()
def check_equal_scores(model: Any, translator: Any, num_tokens: int = 12) -> None:
    """Raises ExportError if a float32 translator does not give the log-probabilities of the model, on random tokens."""
    config = model.config
    generator = torch.Generator().manual_seed(0)
    special = {config.pad_token_id, config.bos_token_id, config.eos_token_id, config.decoder_start_token_id}
    ordinary = [
        torch.tensor([index for index in range(size) if index not in special])
        for size in (config.vocab_size, config.target_vocab_size)
    ]
    source, target = (ids[torch.randint(len(ids), (3, num_tokens), generator=generator)] for ids in ordinary)
    end = torch.full((3, 1), config.eos_token_id)
    start = torch.full((3, 1), config.decoder_start_token_id)
    names, target_names = token_names(config.vocab_size), token_names(config.target_vocab_size)
    scores = translator.score_batch(
        [[names[index] for index in row] for row in torch.cat([source, end], 1).tolist()],
        [[target_names[index] for index in row] for row in target.tolist()],
    )
    inputs = torch.cat([start, target], 1)
    sentence_ids = sentence_ids_from_tokens(inputs, config.separator_token_ids)
    logits = model(torch.cat([source, end], 1), decoder_input_ids=inputs, decoder_sentence_ids=sentence_ids).logits
    expected = logits.float().log_softmax(-1).gather(2, torch.cat([target, end], 1)[..., None])[..., 0]
    distance = (torch.tensor([row.log_probs for row in scores]) - expected).abs().max().item()
    if not distance < _TOLERANCE:
        raise ExportError(f"CTranslate2 differs from the model: a log-probability by {distance}; please report it")
