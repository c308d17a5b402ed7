# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The recurrent translation network: the model and the model with a language modelling head.

Dimensions: B batch, S source tokens, T target tokens, Q decoder tokens of this call, L target tokens of the whole
prefix (cached ones included), E embedding width, V vocabulary.
"""

from typing import Any

import torch
from torch import nn
from transformers.cache_utils import Cache
from transformers.modeling_outputs import BaseModelOutput, Seq2SeqLMOutput, Seq2SeqModelOutput

from ...configuration.configuration_rnn_nmt import RNNNMTConfig
from ...configuration.library_internals import CACHE_NAME, can_return_tuple, named_cache, one_cache
from ..common.cross_entropy import mean_cross_entropy
from ..common.target_generation import TargetGenerationMixin
from ..common.translation_embeddings import EncoderDecoderEmbeddingsMixin, OutputLayerMixin
from .recurrent_cache import RecurrentCache
from .recurrent_encoder_decoder import RNNNMTDecoder, RNNNMTEncoder, RNNNMTPreTrainedModel, source_mask


class RNNNMTModel(EncoderDecoderEmbeddingsMixin, RNNNMTPreTrainedModel):
    """Encoder and decoder without the output layer."""

    _tied_weights_keys = {
        "encoder.embed_tokens.weight": "shared.weight",
        "decoder.embed_tokens.weight": "shared.weight",
    }

    def __init__(self, config: RNNNMTConfig):
        super().__init__(config)
        if config.has_one_embedding:
            self.shared = nn.Embedding(config.vocab_size, config.embedding_size, config.pad_token_id)
        else:
            self._tied_weights_keys = {}
        self.encoder = RNNNMTEncoder(config)
        self.decoder = RNNNMTDecoder(config)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        decoder_input_ids: torch.Tensor | None = None,
        decoder_attention_mask: torch.Tensor | None = None,
        *,
        encoder_outputs: tuple[torch.Tensor, ...] | BaseModelOutput | None = None,
        inputs_embeds: torch.Tensor | None = None,
        decoder_inputs_embeds: torch.Tensor | None = None,
        cache: Cache | None = None,
        use_cache: bool | None = None,
        output_hidden_states: bool | None = None,
        output_attentions: bool | None = None,
        past_key_values: Cache | None = None,
    ) -> Seq2SeqModelOutput:
        """Attentional vectors [B, Q, E] and the source's states.

        Args:
            input_ids: source tokens [B, S]; or `inputs_embeds` [B, S, E]; or `encoder_outputs`.
            attention_mask: [B, S], zero on source padding; default: everything but `pad_token_id`.
            decoder_input_ids: target tokens [B, Q]; or `decoder_inputs_embeds` [B, Q, E].
            decoder_attention_mask: mask of the whole target prefix [B, L].
            encoder_outputs: what the encoder returned earlier.
            cache: of earlier target tokens; `past_key_values` is its older name.
            use_cache: make a cache if there is none.
            output_hidden_states, output_attentions: see encoder and decoder.
        """
        wanted = {"output_hidden_states": output_hidden_states, "output_attentions": output_attentions}
        if encoder_outputs is None:
            encoder_outputs = self.encoder(input_ids, attention_mask, inputs_embeds, return_dict=True, **wanted)
        if not isinstance(encoder_outputs, BaseModelOutput):
            encoder_outputs = BaseModelOutput(*encoder_outputs)
        states: Any = encoder_outputs.last_hidden_state
        decoder_outputs = self.decoder(
            input_ids=decoder_input_ids,
            attention_mask=decoder_attention_mask,
            encoder_hidden_states=states,
            encoder_attention_mask=source_mask(self.config, input_ids, states, attention_mask),
            cache=one_cache(cache, past_key_values),
            inputs_embeds=decoder_inputs_embeds,
            use_cache=use_cache,
            return_dict=True,
            **wanted,
        )
        return Seq2SeqModelOutput(
            last_hidden_state=decoder_outputs.last_hidden_state,
            **named_cache(getattr(decoder_outputs, CACHE_NAME)),
            decoder_hidden_states=decoder_outputs.hidden_states,
            cross_attentions=decoder_outputs.cross_attentions,
            encoder_last_hidden_state=states,
            encoder_hidden_states=encoder_outputs.hidden_states,
        )


class RNNNMTForConditionalGeneration(OutputLayerMixin, RNNNMTPreTrainedModel, TargetGenerationMixin):
    """The recurrent translation model: logits of the next target token (Ogunnaike 2022, sections 3 and 4)."""

    _tied_weights_keys = {"lm_head.weight": "model.decoder.embed_tokens.weight"}

    def __init__(self, config: RNNNMTConfig):
        super().__init__(config)
        self.model = RNNNMTModel(config)
        self._tied_weights_keys = self.tied_weights()
        self.lm_head = nn.Linear(config.embedding_size, config.target_vocab_size, bias=False)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        decoder_input_ids: torch.Tensor | None = None,
        decoder_attention_mask: torch.Tensor | None = None,
        encoder_outputs: tuple[torch.Tensor, ...] | BaseModelOutput | None = None,
        cache: Cache | None = None,
        inputs_embeds: torch.Tensor | None = None,
        decoder_inputs_embeds: torch.Tensor | None = None,
        labels: torch.Tensor | None = None,
        num_items_in_batch: torch.Tensor | int | None = None,
        use_cache: bool | None = None,
        output_hidden_states: bool | None = None,
        output_attentions: bool | None = None,
        past_key_values: Cache | None = None,
    ) -> Seq2SeqLMOutput:
        """Logits [B, Q, V] and, with labels, the mean cross-entropy of the target tokens.

        Takes the arguments of `RNNNMTModel.forward`, and:

        Args:
            labels: target tokens [B, T], -100 where there is none; they also give `decoder_input_ids` if those are
                missing.
            num_items_in_batch: what the summed loss is divided by; default: the number of target tokens.
        """
        if labels is not None:
            use_cache = False
            if decoder_input_ids is None and decoder_inputs_embeds is None:
                decoder_input_ids = self.prepare_decoder_input_ids_from_labels(labels)
        outputs = self.model(
            input_ids=input_ids,
            attention_mask=attention_mask,
            decoder_input_ids=decoder_input_ids,
            decoder_attention_mask=decoder_attention_mask,
            encoder_outputs=encoder_outputs,
            cache=one_cache(cache, past_key_values),
            inputs_embeds=inputs_embeds,
            decoder_inputs_embeds=decoder_inputs_embeds,
            use_cache=use_cache,
            output_hidden_states=output_hidden_states,
            output_attentions=output_attentions,
            return_dict=True,
        )
        vectors = nn.functional.dropout(outputs.last_hidden_state, p=self.config.dropout, training=self.training)
        logits = self.lm_head(vectors)
        loss = None if labels is None else mean_cross_entropy(logits, labels, num_items_in_batch)
        return Seq2SeqLMOutput(
            loss=loss,
            logits=logits,
            **named_cache(getattr(outputs, CACHE_NAME)),
            decoder_hidden_states=outputs.decoder_hidden_states,
            cross_attentions=outputs.cross_attentions,
            encoder_last_hidden_state=outputs.encoder_last_hidden_state,
            encoder_hidden_states=outputs.encoder_hidden_states,
        )

    def decoding_cache(self) -> RecurrentCache:
        """An empty cache, as `generate` begins with."""
        return RecurrentCache()

    def prepare_inputs_for_generation(  # type: ignore[override]  # the cache has another name in each version
        self,
        input_ids: torch.LongTensor,
        next_sequence_length: int | None = None,
        cache: Cache | None = None,
        *,
        past_key_values: Cache | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Inputs of one decoding step: the tokens that the cache has not seen yet.

        Args:
            input_ids: the whole target prefix [B, L].
            next_sequence_length: number of its newest tokens that are not cached yet; default: all the cache lacks.
            cache: of earlier target tokens; `past_key_values` is its older name.
        """
        cache = one_cache(cache, past_key_values)
        if next_sequence_length is None and cache is not None:
            past_length = int(cache.get_seq_length())
            next_sequence_length = input_ids.shape[1] - past_length if 0 < past_length < input_ids.shape[1] else None
        return super().prepare_inputs_for_generation(  # type: ignore[misc]  # a protocol as the type of self
            input_ids, next_sequence_length=next_sequence_length, **named_cache(cache), **kwargs
        )


__all__ = ["RNNNMTForConditionalGeneration", "RNNNMTModel", "RNNNMTPreTrainedModel"]
