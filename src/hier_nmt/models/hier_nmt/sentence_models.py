# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Sentence-level models, of Transformers (Marian, M2M100, NLLB, mBART) or our own, as networks for documents.

Their weights map to ours one to one. Separators begin as copies of the token that ends a text, in the source, and do
not occur in the target: their logits are hidden by a bias of -10,000 until they are trained (`reveal_separators`).

Dimensions: V vocabulary, D model width.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import nn
from transformers import AutoConfig, AutoModelForSeq2SeqLM, PreTrainedConfig, PreTrainedModel

from ...configuration.configuration_hier_nmt import HierNMTConfig
from ..common.safetensors_model import check_weights_are_safetensors

# Adds nothing to the denominator of a softmax, in any dtype.
HIDDEN_LOGIT = -10_000.0

# Sentences as the base model reads them; other sentences are read by a gated block alone.
_SENTENCES: dict[str, Any] = {
    "encoder_self_attention": "sentence",
    "decoder_self_attention": "sentence",
    "cross_attention": "sentence",
    "token_position_origin": "sentence",
    "restart_target_sentences": True,
    "window_sentences": 0,
    "max_source_tokens": 65536,
    "max_target_tokens": 65536,
}
ADAPTATIONS: dict[str, dict[str, Any]] = {
    "sentence": {**_SENTENCES, "window_sentences": 1, "max_source_tokens": 1024, "max_target_tokens": 1024},
    "document": {**_SENTENCES, "context_block": "document"},
    "conditional": {**_SENTENCES, "context_block": "conditional"},
    "hierarchical": {**_SENTENCES, "context_block": "hierarchical"},
    "s4to4": {"window_sentences": 4},
}

# What a model of this family must have to be adapted, and what its configuration says of the checkpoint.
_OWN_SENTENCE_LEVEL = {
    "encoder_self_attention": "document",
    "decoder_self_attention": "document",
    "cross_attention": "document",
    "context_block": "none",
    "position_encoding": "sequential",
    "window_sentences": 1,
}
_OF_THE_CHECKPOINT = ("architectures", "auto_map", "dtype", "model_type", "transformers_version", "_name_or_path")
_COPIED_FIELDS = (
    "d_model",
    "encoder_layers",
    "decoder_layers",
    "encoder_attention_heads",
    "decoder_attention_heads",
    "encoder_ffn_dim",
    "decoder_ffn_dim",
    "encoder_layerdrop",
    "decoder_layerdrop",
    "dropout",
    "attention_dropout",
    "activation_dropout",
    "activation_function",
    "scale_embedding",
    "tie_word_embeddings",
    "init_std",
    "max_position_embeddings",
    "pad_token_id",
    "bos_token_id",
    "eos_token_id",
    "decoder_start_token_id",
)
_MODULE_NAMES = (
    (r"\.self_attn_layer_norm\.", ".self_attn_residual.layer_norm."),
    (r"\.encoder_attn_layer_norm\.", ".encoder_attn_residual.layer_norm."),
    (r"\.final_layer_norm\.", ".feed_forward_residual.layer_norm."),
    (r"\.(fc[12])\.", r".feed_forward.\1."),
    (r"\.layernorm_embedding\.", ".embed_norm."),
)
# Of the weights that a sentence-level model does not have.
GATED_CONTEXT_NAME = re.compile(r"\.(target_)?context\.")
# Fixed sinusoids, which some versions of Transformers save.
_FIXED = re.compile(r"embed_positions\.weights?$")
_OF_A_LAYER = re.compile(r"\blayers\.\d+\.")


class _Family(NamedTuple):
    """How the networks of one `model_type` differ: fields of the configuration, and rows before the first position of
    learned tables."""

    fields: dict[str, Any]
    position_rows: int = 0


def _family(base: PreTrainedConfig) -> _Family:
    """The differences of a sentence-level model; ValueError for another network."""
    match base.model_type:
        case "marian":
            return _Family({"normalize_before": False})
        case "m2m_100":
            first_position = int(base.pad_token_id) + 1
            return _Family({"normalize_before": True, "position_offset": first_position, "sinusoid_endpoint": True})
        case "mbart":
            learned = {"position_embedding_type": "learned", "normalize_embedding": True}
            return _Family({"normalize_before": True, **learned}, position_rows=2)
        case "hier_nmt":
            for name, value in _OWN_SENTENCE_LEVEL.items():
                if getattr(base, name) != value:
                    raise ValueError(f"{name}={getattr(base, name)!r}: a model of single sentences must have {value!r}")
            own = {name: value for name, value in base.to_dict().items() if name not in _OF_THE_CHECKPOINT}
            return _Family(own)
        case other:
            raise ValueError(
                f"model_type={other!r} is not Marian (OPUS-MT), M2M100, NLLB (m2m_100) or mBART, the only networks "
                f"whose weights fit a hier_nmt model"
            )


def check_adaptation(base: PreTrainedConfig, attention: str, context_gate: float = 0.0) -> None:
    """Raises ValueError for another network, an `attention` that is no key of `ADAPTATIONS`, or an initial gate
    that is out of range or that it does not have."""
    if attention not in ADAPTATIONS:
        raise ValueError(f"attention={attention!r} is unknown; choose one of {', '.join(ADAPTATIONS)}.")
    if not 0.0 <= context_gate <= 1.0:
        raise ValueError(f"context_gate={context_gate!r} is not between 0 and 1.")
    if context_gate != 0.0 and "context_block" not in ADAPTATIONS[attention]:
        raise ValueError(f"context_gate={context_gate!r}: attention={attention!r} has no gated blocks.")
    _family(base)


def adapted_config(base: PreTrainedConfig, attention: str = "conditional", **options: Any) -> HierNMTConfig:
    """The configuration of a document-level model with the weights of a sentence-level one.

    Args:
        base: of the sentence-level model.
        attention: how other sentences are read, a key of `ADAPTATIONS`: by gated blocks over the tokens of the whole
            `document`, of the sentences that `conditional` or `hierarchical` attention selects; in windows of four with
            dense attention, `s4to4`; or not at all, `sentence`.
        options: fields of `HierNMTConfig` that differ; `sep_token_id` and `par_token_id` are by default the base's, or
            the next two ids after its vocabulary.

    Raises:
        ValueError: another network, an unknown `attention` or field, or separators that are one token or a special one.
    """
    check_adaptation(base, attention)
    known = HierNMTConfig()
    for name in options:
        if not hasattr(known, name):
            raise ValueError(f"{name}={options[name]!r}: HierNMTConfig has no such field.")
    family = _family(base)
    shares = getattr(base, "share_encoder_decoder_embeddings", True)
    sizes = (base.vocab_size, getattr(base, "decoder_vocab_size", None) or base.vocab_size)
    own = [family.fields.get(name) for name in ("sep_token_id", "par_token_id")]
    if None in own:
        own = [max(sizes), max(sizes) + 1]
    options = {"sep_token_id": own[0], "par_token_id": own[1], **options}
    _check_separators(base, options["sep_token_id"], options["par_token_id"])
    new_size = max(*sizes, options["sep_token_id"] + 1, options["par_token_id"] + 1)
    copied = {name: getattr(base, name) for name in _COPIED_FIELDS if hasattr(base, name)}
    # An integer in Transformers 5.4.
    copied["scale_embedding"] = bool(copied["scale_embedding"])
    return HierNMTConfig(
        **{
            **copied,
            **family.fields,
            "vocab_size": new_size,
            "decoder_vocab_size": new_size,
            "share_encoder_decoder_embeddings": shares,
            "output_bias": True,
            **ADAPTATIONS[attention],
            **options,
        }
    )


def _check_separators(base: PreTrainedConfig, sep: int, par: int) -> None:
    """Raises ValueError if the separators have the id of each other or of a special token of the base."""
    taken: set[Any] = {base.pad_token_id, base.bos_token_id, base.decoder_start_token_id}
    eos = base.eos_token_id
    taken |= set(eos) if isinstance(eos, list) else {eos}
    if sep == par or min(sep, par) < 0 or taken & {sep, par}:
        raise ValueError(f"sep_token_id={sep} and par_token_id={par} must be two ids that no other token has.")


def adapted_weights(
    base: PreTrainedConfig, weights: Mapping[str, torch.Tensor], config: HierNMTConfig
) -> dict[str, torch.Tensor]:
    """The weights of a sentence-level model under the names and in the shapes of `config`, float32 ones unchanged.

    Args:
        base: configuration of the sentence-level model.
        weights: its state dict.
        config: what `adapted_config` made of `base`.
    """
    family = _family(base)
    adapted = {}
    for name, weight in weights.items():
        if name == "final_logits_bias" or (_FIXED.search(name) and family.position_rows == 0):
            continue
        new_name = name if base.model_type == HierNMTConfig.model_type else _adapted_name(name)
        adapted[new_name] = weight[family.position_rows :] if _FIXED.search(name) else weight
    tables = [name for name in adapted if name.endswith(("embed_tokens.weight", "shared.weight", "lm_head.weight"))]
    for name in tables:
        adapted[name] = _with_separators(adapted[name], config)
    old_bias = weights.get("final_logits_bias", weights.get("lm_head.bias"))
    bias = torch.full((config.target_vocab_size,), HIDDEN_LOGIT)
    num_known = getattr(base, "decoder_vocab_size", None) or base.vocab_size
    bias[:num_known] = 0.0 if old_bias is None else old_bias.flatten().float()
    bias[list(config.separator_token_ids)] = HIDDEN_LOGIT
    return {**adapted, "lm_head.bias": bias}


def _adapted_name(name: str) -> str:
    if _FIXED.search(name):
        return name.replace("embed_positions.weight", "embed_positions.tokens.weight")
    for pattern, replacement in _MODULE_NAMES:
        name = re.sub(pattern, replacement, name)
    return name


def _with_separators(table: torch.Tensor, config: HierNMTConfig) -> torch.Tensor:
    """The rows [V, D] of a vocabulary with those of the separators, copies of the row of the token that ends a text."""
    missing = config.vocab_size - len(table)
    table = torch.cat([table, table.new_zeros(max(missing, 0), table.shape[1])])
    table[list(config.separator_token_ids)] = table[_end_token_id(config)].clone()
    return table


def _end_token_id(config: HierNMTConfig) -> int:
    eos = config.eos_token_id
    ids = eos if isinstance(eos, list) else [eos]
    if ids[0] is None:
        raise ValueError("eos_token_id=None: the sentence-level model has no token that ends a text.")
    return ids[0]


@torch.no_grad()
def copy_attention_to_context_blocks(model: Any, gate: float) -> None:
    """Gives each gated context block, if there are any, the weights of its layer's attention, and its gates one value.

    A block that can already read tokens learns to read those of other sentences with far fewer examples than one with
    random weights. The selection of sentences keeps its initial weights.

    Args:
        model: of this package, with the weights of a sentence-level model.
        gate: the value. Above 0 the model no longer translates exactly as its sentence-level model.
    """
    if model.config.context_attention is None:
        return
    pairs = [(layer.context, layer.self_attn, layer.self_attn_residual) for layer in model.model.encoder.layers]
    for layer in model.model.decoder.layers:
        pairs.append((layer.target_context, layer.self_attn, layer.self_attn_residual))
        pairs.append((layer.context, layer.encoder_attn, layer.encoder_attn_residual))
    for block, attention, residual in pairs:
        block.attention.load_state_dict(attention.state_dict(), strict=False)
        block.layer_norm.load_state_dict(residual.layer_norm.state_dict())
        block.gate.fill_(gate)


def load_sentence_model(path: str, **kwargs: Any) -> PreTrainedModel:
    """A sentence-level model in float32, from its safetensors files.

    Args:
        path: a folder, or a name on the Hub.
        kwargs: of `AutoConfig.from_pretrained`, such as `revision`, `token` or `cache_dir`.

    Raises:
        ValueError: it is another network, or weights and configuration do not fit.
        OSError: its weights are a pickle; the message says how to convert them.
    """
    family = _family(AutoConfig.from_pretrained(path, **kwargs))
    try:
        check_weights_are_safetensors(path, variant=kwargs.get("variant"))
        # What does not fit is told in one line below, and not in a table of the log.
        model, report = AutoModelForSeq2SeqLM.from_pretrained(
            path,
            use_safetensors=True,
            dtype=torch.float32,
            ignore_mismatched_sizes=True,
            output_loading_info=True,
            **kwargs,
        )
        _check_that_all_fits(path, family, report)
        return model
    except KeyError as error:
        raise ValueError(f"{path}: config.json has a value that Transformers does not know: {error}") from error
    except OSError as error:
        if "safetensors" not in str(error) or isinstance(error, FileNotFoundError):
            raise
        raise OSError(
            f"{error}. If you trust the file, convert it once: load the model with "
            f"AutoModelForSeq2SeqLM.from_pretrained({str(path)!r}, use_safetensors=False) and save it with "
            f"save_pretrained(folder), then give that folder"
        ) from None


def _check_that_all_fits(path: str, family: _Family, report: Mapping[str, Any]) -> None:
    """Raises ValueError where the configuration of a sentence-level model has other layers or sizes than its weights.

    Args:
        path: of the model.
        family: of the model.
        report: what `from_pretrained` returns with `output_loading_info`.
    """
    complaints = [
        f"{name} is {[*saved]} in the weights and {[*wanted]} by the configuration"
        for name, saved, wanted in sorted(report["mismatched_keys"])
    ]
    for name in sorted(report["missing_keys"]):
        is_fixed = _FIXED.search(name) is not None and family.position_rows == 0
        if name != "final_logits_bias" and not is_fixed:
            complaints.append(f"the weights lack {name}")
    for name in sorted(report["unexpected_keys"]):
        if _OF_A_LAYER.search(name):
            complaints.append(f"the configuration has no {name}")
    if complaints:
        more = f", and {len(complaints) - 1} more" if len(complaints) > 1 else ""
        raise ValueError(f"{path}: config.json and the weights do not fit: {complaints[0]}{more}")


def reveal_separators(model: Any) -> bool:
    """Gives separators that are hidden in the output the logits of the token that ends a text; returns whether any
    were.

    Call it when training on documents begins: from then on the model learns to tell these tokens apart.
    """
    config, layer = model.config, model.get_output_embeddings()
    bias = getattr(layer, "bias", None)
    if not isinstance(bias, nn.Parameter) or getattr(config, "sep_token_id", None) is None:
        return False
    values = bias.detach()
    # A trained bias is far above that, and an average with weights that hide them far below.
    ids = [token_id for token_id in config.separator_token_ids if values[token_id] <= HIDDEN_LOGIT / 100]
    values[ids] = values[_end_token_id(config)].item()
    return bool(ids)


__all__ = [
    "ADAPTATIONS",
    "GATED_CONTEXT_NAME",
    "adapted_config",
    "adapted_weights",
    "check_adaptation",
    "copy_attention_to_context_blocks",
    "load_sentence_model",
    "reveal_separators",
]
