# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Encoder and decoder of the document translation network, and what all its models share.

Dimensions: B batch, S source tokens, T target tokens, Q decoder tokens of this call, L target tokens of the whole
prefix (cached ones included), N sentences, D model width, V vocabulary.
"""

import math
from typing import Unpack

import torch
from torch import nn
from transformers import initialization as init
from transformers.cache_utils import Cache, DynamicCache, EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutputWithPastAndCrossAttentions

from ...attention.attention_plan import UNKNOWN_SENTENCES, AttentionInputs, kept_with_cache
from ...attention.conditional_attention import ConditionalAttention, SentenceContextAttention, SentencePooling
from ...attention.gated_context import ContextInputs, GatedContext, sentence_positions
from ...attention.multi_head_attention import MultiHeadAttention
from ...attention.positions import POSITION_ENCODING_CLASSES
from ...attention.sentence_encoder import SentenceEncoder
from ...configuration.configuration_hier_nmt import HierNMTConfig
from ...configuration.library_internals import (
    OutputRecorder,
    TransformersKwargs,
    capture_outputs,
    merge_with_config_defaults,
    named_cache,
    one_cache,
)
from ...ops.document_structure import DocumentStructure, Sentences
from ..common.cross_entropy import mean_cross_entropy
from ..common.model_outputs import HierNMTEncoderOutput
from ..common.safetensors_model import SafetensorsModel
from ..common.translation_embeddings import TranslationModelMixin
from .structure_inputs import (
    check_structure_ids,
    document_structure,
    embedded_target_ids,
    next_token_sentence_ids,
    restarted_structure,
    target_structure,
    token_mask,
)
from .transformer_layers import (
    CROSS_ATTENTION_CLASSES,
    DECODER_SELF_ATTENTION_CLASSES,
    ENCODER_SELF_ATTENTION_CLASSES,
    SENTENCE_ENCODER_CLASSES,
    HierNMTDecoderLayer,
    HierNMTEncoderLayer,
    sentence_units,
    target_context_attention,
)


def is_dropped(module: nn.Module, probability: float) -> bool:
    """Whether LayerDrop (Fan et al. 2019) skips a layer in this call."""
    return module.training and probability > 0.0 and torch.rand([]).item() < probability


class HierNMTPreTrainedModel(TranslationModelMixin, SafetensorsModel):
    """Base of all HierNMT models: configuration class, initialisation and capabilities."""

    config: HierNMTConfig
    base_model_prefix = "model"
    supports_gradient_checkpointing = True
    _no_split_modules = ["HierNMTEncoderLayer", "HierNMTDecoderLayer"]
    _supports_sdpa = True
    _supports_flex_attn = True
    _supports_attention_backend = True
    _can_compile_fullgraph = True

    def _init_weights(self, module: nn.Module) -> None:
        """Initialises as the base class does, and the queries of sentence encoders like a weight matrix."""
        super()._init_weights(module)
        if isinstance(module, SentenceEncoder):
            init.normal_(module.query, mean=0.0, std=self.config.init_std)
        elif isinstance(module, GatedContext):
            init.zeros_(module.gate)

    def widen_selection(self, widening: float = 1.0) -> None:
        """Makes conditional and hierarchical slots read more than t of the N sentences in training, with their scores
        added.

        This is a warm-up: relevance gets gradients from more sentences before it has to select few. Evaluation does not
        change.

        Args:
            widening: from 0 (t sentences) to 1 (all sentences); in between, N^widening t^(1 - widening) sentences. A
                compiled model, whose shapes must not depend on sentences, uses the number of tokens as N.

        Raises:
            ValueError: `widening` is not from 0 to 1.
        """
        if not 0 <= widening <= 1:
            raise ValueError(f"widening must be from 0 to 1, got {widening}")
        for module in self.modules():
            if isinstance(module, ConditionalAttention):
                module.selection_widening = widening

    def token_embedding(self, vocab_size: int) -> nn.Embedding:
        """A new embedding of this many tokens; other model families override this."""
        return nn.Embedding(vocab_size, self.config.d_model, self.config.pad_token_id)

    def output_layer(self) -> nn.Module:
        """A new output layer, from states [..., D] to logits [..., V]; likewise."""
        return nn.Linear(self.config.d_model, self.config.target_vocab_size, bias=self.config.output_bias)

    def mean_loss(
        self, logits: torch.Tensor, labels: torch.Tensor, num_items_in_batch: torch.Tensor | int | None
    ) -> torch.Tensor:
        """The loss of logits [B, T, V] for labels [B, T], see `mean_cross_entropy`; likewise."""
        return mean_cross_entropy(logits, labels, num_items_in_batch)


class HierNMTStack(HierNMTPreTrainedModel):
    """Token embedding, positions, layers and final norm: the common base of encoder and decoder."""

    def __init__(self, config: HierNMTConfig, vocab_size: int, layer_class: type[nn.Module], num_layers: int):
        super().__init__(config)
        self.embed_tokens = self.token_embedding(vocab_size)
        self.embed_scale = math.sqrt(config.d_model) if config.scale_embedding else 1.0
        self.embed_positions = POSITION_ENCODING_CLASSES[config.position_encoding](config)
        self.embed_norm = nn.LayerNorm(config.d_model) if config.normalize_embedding else None
        self.layers = nn.ModuleList([layer_class(config, index) for index in range(num_layers)])
        self.layer_norm = nn.LayerNorm(config.d_model) if config.normalize_before else nn.Identity()
        self.gradient_checkpointing = False

    def add_positions(self, inputs_embeds: torch.Tensor, structure: DocumentStructure) -> torch.Tensor:
        """The input of the first layer [B, S, D]: the scaled embeddings [B, S, D] plus the encodings of their
        positions."""
        positions = self.embed_positions(structure).to(inputs_embeds.dtype)
        hidden_states = inputs_embeds * self.embed_scale + positions
        if self.embed_norm is not None:
            hidden_states = self.embed_norm(hidden_states)
        return nn.functional.dropout(hidden_states, p=self.config.dropout, training=self.training)


class HierNMTEncoder(HierNMTStack):
    """Embeds a source window and runs it through the encoder layers."""

    _can_record_outputs = {
        "hidden_states": HierNMTEncoderLayer,
        "attentions": OutputRecorder(MultiHeadAttention, index=1, layer_name="self_attn"),
        "selected_sentences": OutputRecorder(ConditionalAttention, index=2),
        "sentence_attentions": OutputRecorder(ConditionalAttention, index=3),
        "context_attentions": OutputRecorder(SentenceContextAttention, index=1),
    }

    layer_class: type[nn.Module] = HierNMTEncoderLayer

    def __init__(self, config: HierNMTConfig):
        super().__init__(config, config.vocab_size, self.layer_class, config.encoder_layers)
        encodes_once = config.sentence_encoder_sharing == "model"
        reads_shared = encodes_once and (config.encoder_reads_encodings or config.decoder_reads_source_encodings)
        self.reads_encodings = reads_shared or config.encoder_reads_encodings
        self.sentence_encoder = SENTENCE_ENCODER_CLASSES[config.sentence_encoder](config) if reads_shared else None
        self.post_init()

    @merge_with_config_defaults
    @capture_outputs
    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        sentence_ids: torch.Tensor | None = None,
        paragraph_ids: torch.Tensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        **kwargs: Unpack[TransformersKwargs],
    ) -> HierNMTEncoderOutput:
        """Source states [B, S, D] with the document structure that they were computed with.

        Args:
            input_ids: [B, S]; or `inputs_embeds`.
            attention_mask: [B, S], zero on padding; default: everything but `pad_token_id`.
            sentence_ids, paragraph_ids: ids of the tokens [B, S] from 1, 0 on padding; default: derived from the
                separators in `input_ids`.
            inputs_embeds: [B, S, D], before scaling.

        Raises:
            ValueError: there are no source tokens, or the ids do not fit them.
        """
        if (input_ids is None) == (inputs_embeds is None):
            raise ValueError("Pass exactly one of input_ids and inputs_embeds.")
        if inputs_embeds is None:
            inputs_embeds = self.embed_tokens(input_ids)
        if inputs_embeds.shape[1] == 0:
            raise ValueError(f"The source has no tokens: its embeddings have the shape {tuple(inputs_embeds.shape)}.")
        check_structure_ids("sentence_ids", sentence_ids, inputs_embeds)
        check_structure_ids("paragraph_ids", paragraph_ids, inputs_embeds)
        mask = token_mask(self.config, input_ids, inputs_embeds, attention_mask)
        structure = document_structure(self.config, input_ids, mask, sentence_ids, paragraph_ids)

        hidden_states = self.add_positions(inputs_embeds, structure)
        inputs = AttentionInputs(
            self.config, inputs_embeds, mask if attention_mask is None else attention_mask, structure, structure
        )
        plan = ENCODER_SELF_ATTENTION_CLASSES[self.config.encoder_self_attention].plan(inputs)
        context = self._context_inputs(inputs)
        sentences = sentence_units(self.config, structure.sentence_ids) if self.reads_encodings else None
        sentence_states = None
        if self.sentence_encoder is not None and sentences is not None:
            sentence_states = self.sentence_encoder(hidden_states, sentences.sentence_ids, sentences.num_sentences)
        for layer in self.layers:
            if not is_dropped(self, self.config.encoder_layerdrop):
                hidden_states = layer(hidden_states, plan, sentences, sentence_states, context=context, **kwargs)
        return HierNMTEncoderOutput(
            last_hidden_state=self.layer_norm(hidden_states),
            sentence_ids=structure.sentence_ids,
            paragraph_ids=structure.paragraph_ids,
            sentence_states=sentence_states,
        )

    def _context_inputs(self, inputs: AttentionInputs) -> ContextInputs | None:
        """What the gated context blocks need; None without such blocks."""
        if self.config.context_attention is None:
            return None
        plan = ENCODER_SELF_ATTENTION_CLASSES[self.config.context_attention].plan(inputs)
        positions = sentence_positions(inputs.queries, inputs.inputs_embeds)
        return ContextInputs(plan, positions, sentences=Sentences.from_ids(inputs.queries.sentence_ids))


class HierNMTDecoder(HierNMTStack):
    """Runs a target prefix, or its newest tokens, through the decoder layers."""

    _can_record_outputs = {
        "hidden_states": HierNMTDecoderLayer,
        "attentions": OutputRecorder(MultiHeadAttention, index=1, layer_name="self_attn"),
        "cross_attentions": OutputRecorder(MultiHeadAttention, index=1, layer_name="encoder_attn"),
        "selected_sentences": OutputRecorder(ConditionalAttention, index=2, layer_name="self_attn"),
        "sentence_attentions": OutputRecorder(ConditionalAttention, index=3, layer_name="self_attn"),
        "cross_selected_sentences": OutputRecorder(ConditionalAttention, index=2, layer_name="encoder_attn"),
        "cross_sentence_attentions": OutputRecorder(ConditionalAttention, index=3, layer_name="encoder_attn"),
        "context_attentions": OutputRecorder(SentenceContextAttention, index=1),
    }

    layer_class: type[nn.Module] = HierNMTDecoderLayer

    def __init__(self, config: HierNMTConfig):
        super().__init__(config, config.target_vocab_size, self.layer_class, config.decoder_layers)
        encodes_once = config.sentence_encoder_sharing == "model" and config.decoder_reads_target_encodings
        self.sentence_encoder = SentenceEncoder(config) if encodes_once else None
        self.post_init()

    @merge_with_config_defaults
    @capture_outputs
    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        sentence_ids: torch.Tensor | None = None,
        paragraph_ids: torch.Tensor | None = None,
        encoder_hidden_states: torch.Tensor | None = None,
        encoder_attention_mask: torch.Tensor | None = None,
        encoder_structure: DocumentStructure | None = None,
        encoder_sentence_states: torch.Tensor | None = None,
        cache: Cache | None = None,
        inputs_embeds: torch.Tensor | None = None,
        use_cache: bool | None = None,
        past_key_values: Cache | None = None,
        **kwargs: Unpack[TransformersKwargs],
    ) -> BaseModelOutputWithPastAndCrossAttentions:
        """Target states [B, Q, D].

        Args:
            input_ids: the newest Q target tokens [B, Q]; or `inputs_embeds`.
            attention_mask: mask of the whole prefix [B, L], zero on padding; or a complete 4-dimensional mask.
            sentence_ids, paragraph_ids: ids of the whole prefix [B, L], from 1, 0 on padding (columns past the prefix,
                for static caches, are ignored); default: derived from `input_ids`, which then must be the whole prefix
                if the configuration reads sentences.
            encoder_hidden_states: source states [B, S, D].
            encoder_attention_mask: [B, S], zero on padding.
            encoder_structure: structure of the source, or None if it is unknown.
            encoder_sentence_states: encodings of the source's sentences [B, N, D], where all layers share them.
            cache: of earlier tokens; `past_key_values` is its older name.
            inputs_embeds: [B, Q, D], before scaling.
            use_cache: make a cache if there is none.
        """
        if (input_ids is None) == (inputs_embeds is None):
            raise ValueError("Pass exactly one of decoder_input_ids and decoder_inputs_embeds.")
        if inputs_embeds is None:
            inputs_embeds = self.embed_tokens(embedded_target_ids(self.config, input_ids))
        cache = self._cache(one_cache(cache, past_key_values), use_cache)
        check_structure_ids("decoder_sentence_ids", sentence_ids, inputs_embeds)
        check_structure_ids("decoder_paragraph_ids", paragraph_ids, inputs_embeds)
        queries, keys = target_structure(
            self.config, input_ids, inputs_embeds, attention_mask, sentence_ids, paragraph_ids, cache
        )

        if self.config.restart_target_sentences:
            queries, keys = restarted_structure(self.config, input_ids, keys, queries.sentence_ids.shape[1])

        self_inputs = self._self_attention_inputs(inputs_embeds, attention_mask, queries, keys, cache)
        self_plan = DECODER_SELF_ATTENTION_CLASSES[self.config.decoder_self_attention].plan(self_inputs)
        cross_plan, source_sentences, contexts = None, None, {}
        if encoder_hidden_states is not None:
            if self.config.decoder_reads_source_encodings:
                source_sentences = kept_with_cache(
                    cache, 0, "sentences", lambda: self._source_sentences(encoder_structure)
                )
            writing = next_token_sentence_ids(self.config, queries, input_ids)
            cross_inputs = AttentionInputs(
                self.config,
                inputs_embeds,
                encoder_attention_mask,
                writing,
                encoder_structure,
                encoder_hidden_states=encoder_hidden_states,
                source_cache=cache,
            )
            cross_plan = CROSS_ATTENTION_CLASSES[self.config.cross_attention].plan(cross_inputs)
            contexts = self._context_inputs(self_inputs, cross_inputs)
        hidden_states = self.add_positions(inputs_embeds, queries)
        pooling = None if self.sentence_encoder is None else SentencePooling(hidden_states, self.sentence_encoder)
        for layer in self.layers:
            if not is_dropped(self, self.config.decoder_layerdrop):
                hidden_states = layer(
                    hidden_states,
                    self_plan,
                    encoder_hidden_states,
                    cross_plan,
                    source_sentences,
                    encoder_sentence_states,
                    pooling=pooling,
                    cache=cache,
                    **contexts,
                    **kwargs,
                )
        return BaseModelOutputWithPastAndCrossAttentions(
            last_hidden_state=self.layer_norm(hidden_states), **named_cache(cache)
        )

    def _source_sentences(self, encoder_structure: DocumentStructure | None) -> Sentences:
        if encoder_structure is None:
            raise ValueError(
                "With encoder_outputs alone, pass sentence_ids: this configuration reads source sentences."
            )
        return sentence_units(self.config, encoder_structure.sentence_ids)

    def _cache(self, cache: Cache | None, use_cache: bool | None) -> EncoderDecoderCache | None:
        """The cache, a new one if none is given and one is wanted; ValueError if this network cannot use it."""
        if use_cache and cache is None:
            # A cache that is made from a configuration has no layers for context blocks.
            config = self.config if self.config.context_attention is None else None
            return EncoderDecoderCache(DynamicCache(config=config), DynamicCache(config=config))
        if cache is not None and not isinstance(cache, EncoderDecoderCache):
            raise ValueError(f"the cache must be an EncoderDecoderCache, not a {type(cache).__name__}.")
        reads_sentences = self.config.restart_target_sentences or self.config.context_attention is not None
        if cache is not None and reads_sentences and cache.is_compileable:
            raise ValueError(
                "context_block and restart_target_sentences do not work with a static cache; leave "
                "cache_implementation as it is."
            )
        return cache

    def _context_inputs(self, target: AttentionInputs, source: AttentionInputs) -> dict[str, ContextInputs]:
        """What the gated context blocks over target and source need, from the inputs of the slots that read them."""
        kind = self.config.context_attention
        states, source_structure = source.encoder_hidden_states, source.keys
        if kind is None or states is None:
            return {}
        if source_structure is None:
            raise ValueError(UNKNOWN_SENTENCES)
        key_states, sentences = kept_with_cache(
            source.source_cache,
            0,
            "context",
            lambda: (states + sentence_positions(source_structure, states), self._source_sentences(source_structure)),
        )
        positions = sentence_positions(source.queries, source.inputs_embeds)
        target_plan = DECODER_SELF_ATTENTION_CLASSES[target_context_attention(kind)].plan(target)
        source_plan = CROSS_ATTENTION_CLASSES[kind].plan(source)
        return {
            "target_context": ContextInputs(target_plan, positions),
            "source_context": ContextInputs(source_plan, positions, key_states, sentences),
        }

    def _self_attention_inputs(
        self,
        inputs_embeds: torch.Tensor,
        attention_mask: torch.Tensor | None,
        queries: DocumentStructure,
        keys: DocumentStructure | None,
        cache: EncoderDecoderCache | None,
    ) -> AttentionInputs:
        """The inputs of the self-attention, whose keys are the whole target prefix."""
        if attention_mask is None and keys is not None:
            attention_mask = keys.sentence_ids > 0
        target_cache = None if cache is None else cache.self_attention_cache
        return AttentionInputs(
            self.config, inputs_embeds, attention_mask, queries, keys, is_causal=True, cache=target_cache
        )


__all__ = ["HierNMTDecoder", "HierNMTEncoder", "HierNMTPreTrainedModel", "HierNMTStack"]
