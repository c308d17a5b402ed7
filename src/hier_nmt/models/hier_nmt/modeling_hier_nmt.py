# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The document translation network, and the network with a language modelling head.

Dimensions: B batch, S source tokens, T target tokens, Q decoder tokens of this call, L target tokens of the whole
prefix (cached ones included), D model width, V vocabulary.
"""

import copy
import os
from typing import Any, Self, Unpack

import torch
from torch import nn
from transformers.cache_utils import Cache, EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput

from ...configuration.configuration_hier_nmt import HierNMTConfig
from ...configuration.library_internals import (
    CACHE_NAME,
    TransformersKwargs,
    can_return_tuple,
    named_cache,
    one_cache,
)
from ..common.model_outputs import (
    CHOSEN_SENTENCES,
    HierNMTLMOutput,
    HierNMTModelOutput,
    chosen_sentences,
    encoder_output_from_tuple,
)
from ..common.target_generation import TargetGenerationMixin
from ..common.translation_embeddings import EncoderDecoderEmbeddingsMixin, OutputLayerMixin
from .decoding_cache import decoding_cache
from .encoder_decoder import HierNMTDecoder, HierNMTEncoder, HierNMTPreTrainedModel
from .sentence_models import (
    GATED_CONTEXT_NAME,
    adapted_config,
    adapted_weights,
    check_adaptation,
    copy_attention_to_context_blocks,
    load_sentence_model,
)
from .structure_inputs import mask_right_padding, source_structure, target_numbers


class HierNMTModel(EncoderDecoderEmbeddingsMixin, HierNMTPreTrainedModel):
    """Encoder and decoder without the output layer.

    Attributes:
        encoder_class, decoder_class: classes of its parts; other model families set their own.
    """

    encoder_class: type[HierNMTEncoder] = HierNMTEncoder
    decoder_class: type[HierNMTDecoder] = HierNMTDecoder

    _tied_weights_keys = {
        "encoder.embed_tokens.weight": "shared.weight",
        "decoder.embed_tokens.weight": "shared.weight",
    }

    def __init__(self, config: HierNMTConfig):
        super().__init__(config)
        if config.share_encoder_decoder_embeddings:
            self.shared = self.token_embedding(config.vocab_size)
        else:
            self._tied_weights_keys = {}
        self.encoder = self.encoder_class(config)
        self.decoder = self.decoder_class(config)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        decoder_input_ids: torch.Tensor | None = None,
        decoder_attention_mask: torch.Tensor | None = None,
        *,
        inputs_embeds: torch.Tensor | None = None,
        decoder_inputs_embeds: torch.Tensor | None = None,
        encoder_outputs: tuple[torch.Tensor, ...] | BaseModelOutput | None = None,
        cache: Cache | None = None,
        use_cache: bool | None = None,
        sentence_ids: torch.Tensor | None = None,
        paragraph_ids: torch.Tensor | None = None,
        decoder_sentence_ids: torch.Tensor | None = None,
        decoder_paragraph_ids: torch.Tensor | None = None,
        past_key_values: Cache | None = None,
        **kwargs: Unpack[TransformersKwargs],
    ) -> HierNMTModelOutput:
        """Target states [B, Q, D] and the source's.

        Args:
            input_ids: source tokens [B, S]; or `inputs_embeds` [B, S, D]; or `encoder_outputs`.
            attention_mask: [B, S], zero on source padding; default: everything but `pad_token_id`.
            decoder_input_ids: target tokens [B, Q]; or `decoder_inputs_embeds` [B, Q, D].
            decoder_attention_mask: mask of the whole target prefix [B, L].
            sentence_ids, paragraph_ids: ids of the source tokens [B, S]; default: derived from the separators.
            decoder_sentence_ids, decoder_paragraph_ids: ids of the whole target prefix [B, L]; likewise.
            encoder_outputs: what the encoder returned earlier.
            cache: of earlier target tokens; `past_key_values` is its older name.
            use_cache: make a cache if there is none.
        """
        if encoder_outputs is None:
            encoder_outputs = self.encoder(
                input_ids=input_ids,
                attention_mask=attention_mask,
                sentence_ids=sentence_ids,
                paragraph_ids=paragraph_ids,
                inputs_embeds=inputs_embeds,
                return_dict=True,
                **kwargs,
            )
        if not isinstance(encoder_outputs, BaseModelOutput):
            encoder_outputs = encoder_output_from_tuple(encoder_outputs)
        source = source_structure(self.config, encoder_outputs, input_ids, attention_mask, sentence_ids, paragraph_ids)
        if attention_mask is None and source is not None:
            attention_mask = source.sentence_ids > 0

        for name in ("selected_sentences", "sentence_attentions"):
            if kwargs.get(f"output_{name}", getattr(self.config, f"output_{name}", False)):
                kwargs[f"output_cross_{name}"] = True  # type: ignore[literal-required]
        decoder_outputs = self.decoder(
            input_ids=decoder_input_ids,
            attention_mask=decoder_attention_mask,
            sentence_ids=decoder_sentence_ids,
            paragraph_ids=decoder_paragraph_ids,
            encoder_hidden_states=encoder_outputs.last_hidden_state,
            encoder_attention_mask=attention_mask,
            encoder_structure=source,
            encoder_sentence_states=getattr(encoder_outputs, "sentence_states", None),
            cache=one_cache(cache, past_key_values),
            inputs_embeds=decoder_inputs_embeds,
            use_cache=use_cache,
            return_dict=True,
            **kwargs,
        )
        return HierNMTModelOutput(
            last_hidden_state=decoder_outputs.last_hidden_state,
            **named_cache(getattr(decoder_outputs, CACHE_NAME)),
            decoder_hidden_states=decoder_outputs.hidden_states,
            decoder_attentions=decoder_outputs.attentions,
            cross_attentions=decoder_outputs.cross_attentions,
            encoder_last_hidden_state=encoder_outputs.last_hidden_state,
            encoder_hidden_states=encoder_outputs.hidden_states,
            encoder_attentions=encoder_outputs.attentions,
            **chosen_sentences(encoder_outputs, decoder_outputs),
        )


class HierNMTForConditionalGeneration(OutputLayerMixin, HierNMTPreTrainedModel, TargetGenerationMixin):
    """The document translation model: logits of the next target token.

    Attributes:
        model_class: class of its encoder-decoder; other model families set their own.
    """

    model_class: type[HierNMTModel] = HierNMTModel

    _tied_weights_keys = {"lm_head.weight": "model.decoder.embed_tokens.weight"}

    def __init__(self, config: HierNMTConfig):
        super().__init__(config)
        self.model = self.model_class(config)
        self._tied_weights_keys = self.tied_weights()
        self.lm_head = self.output_layer()
        self.post_init()

    @classmethod
    def from_sentence_model(
        cls,
        pretrained_model_name_or_path: str | os.PathLike,
        attention: str = "conditional",
        load_options: dict[str, Any] | None = None,
        context_gate: float = 0.0,
        dtype: torch.dtype = torch.float32,
        **options: Any,
    ) -> Self:
        """A document-level model with the weights of a Marian (OPUS-MT), M2M100, NLLB or mBART model.

        Untrained, it translates each sentence of a document exactly as that model translates the sentence alone, and it
        can be trained on documents. With `s4to4`, whose windows of four sentences are read with unchanged weights, this
        holds for single sentences only. `hier-nmt adapt` also makes the tokenizers and the card.

        Args:
            pretrained_model_name_or_path: the sentence-level model, a folder or a name on the Hub.
            attention: how other sentences are read: `document`, `conditional`, `hierarchical`, `s4to4` or `sentence`,
                see `adapted_config`.
            load_options: of `from_pretrained` of the sentence-level model, such as `revision` and `token`.
            context_gate: initial value of the gates of context blocks, which are copies of their layer's attention.
                With 0 translations are exactly those of the sentence-level model; with 0.5 the model must be trained
                before it translates as well, and learns to read its context with far fewer examples.
            dtype: of the weights. Train float32 ones, as others lose small updates.
            options: fields of the configuration that differ, such as `num_selected_sentences=8`; `sep_token_id` and
                `par_token_id` are the next ids after the vocabulary unless the tokenizer has others.

        Raises:
            ValueError: another kind of network, or an invalid option.
            OSError: there is no such model, or its weights are a pickle.
        """
        base = load_sentence_model(os.fspath(pretrained_model_name_or_path), **(load_options or {}))
        check_adaptation(base.config, attention, context_gate)
        config = adapted_config(base.config, attention, **options)
        model: Any = cls(config)
        weights = adapted_weights(base.config, base.state_dict(), config)
        missing = model.load_state_dict(weights, strict=False)
        unmapped = [name for name in missing.missing_keys if not GATED_CONTEXT_NAME.search(name)]
        if unmapped or missing.unexpected_keys:
            raise ValueError(f"weights that do not fit: {', '.join([*unmapped, *missing.unexpected_keys])}")
        model.tie_weights()
        copy_attention_to_context_blocks(model, context_gate)
        model.generation_config = copy.deepcopy(base.generation_config)
        return model.to(dtype).eval()

    @can_return_tuple
    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        decoder_input_ids: torch.Tensor | None = None,
        decoder_attention_mask: torch.Tensor | None = None,
        sentence_ids: torch.Tensor | None = None,
        paragraph_ids: torch.Tensor | None = None,
        decoder_sentence_ids: torch.Tensor | None = None,
        decoder_paragraph_ids: torch.Tensor | None = None,
        encoder_outputs: tuple[torch.Tensor, ...] | BaseModelOutput | None = None,
        cache: Cache | None = None,
        inputs_embeds: torch.Tensor | None = None,
        decoder_inputs_embeds: torch.Tensor | None = None,
        labels: torch.Tensor | None = None,
        use_cache: bool | None = None,
        past_key_values: Cache | None = None,
        **kwargs: Unpack[TransformersKwargs],
    ) -> HierNMTLMOutput:
        """Logits [B, Q, V] and, with labels, the mean cross-entropy of the target tokens.

        Takes the arguments of `HierNMTModel.forward`, and:

        Args:
            labels: target tokens [B, T], -100 where there is none; they also give `decoder_input_ids` if those are
                missing.
            num_items_in_batch (in kwargs): what the summed loss is divided by; default: the number of target tokens.
        """
        num_items_in_batch = kwargs.pop("num_items_in_batch", None)
        if labels is not None:
            use_cache = False
            if decoder_input_ids is None and decoder_inputs_embeds is None:
                decoder_input_ids = self.prepare_decoder_input_ids_from_labels(labels)
        outputs = self.model(
            input_ids,
            attention_mask=attention_mask,
            decoder_input_ids=decoder_input_ids,
            decoder_attention_mask=decoder_attention_mask,
            sentence_ids=sentence_ids,
            paragraph_ids=paragraph_ids,
            decoder_sentence_ids=decoder_sentence_ids,
            decoder_paragraph_ids=decoder_paragraph_ids,
            encoder_outputs=encoder_outputs,
            cache=one_cache(cache, past_key_values),
            inputs_embeds=inputs_embeds,
            decoder_inputs_embeds=decoder_inputs_embeds,
            use_cache=use_cache,
            return_dict=True,
            **kwargs,
        )
        logits = self.lm_head(outputs.last_hidden_state)
        loss = None if labels is None else self.mean_loss(logits, labels, num_items_in_batch)
        return HierNMTLMOutput(
            loss=loss,
            logits=logits,
            **named_cache(getattr(outputs, CACHE_NAME)),
            decoder_hidden_states=outputs.decoder_hidden_states,
            decoder_attentions=outputs.decoder_attentions,
            cross_attentions=outputs.cross_attentions,
            encoder_last_hidden_state=outputs.encoder_last_hidden_state,
            encoder_hidden_states=outputs.encoder_hidden_states,
            encoder_attentions=outputs.encoder_attentions,
            **{name: getattr(outputs, name) for name in CHOSEN_SENTENCES},
        )

    def decoding_cache(self) -> EncoderDecoderCache:
        """An empty cache, as `generate` makes it.

        A decoding step copies neither the whole translation nor, in beam search, the source. The rows are those of one
        batch of documents, whose order must not change.
        """
        num_layers = self.config.decoder_layers
        return decoding_cache(num_layers if self.config.context_attention is None else 2 * num_layers)

    def prepare_inputs_for_generation(  # type: ignore[override]  # the cache has another name in each version
        self,
        input_ids: torch.LongTensor,
        next_sequence_length: int | None = None,
        cache: Cache | None = None,
        *,
        past_key_values: Cache | None = None,
        decoder_attention_mask: torch.Tensor | None = None,
        decoder_sentence_ids: torch.Tensor | None = None,
        decoder_paragraph_ids: torch.Tensor | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Inputs of one decoding step, with the sentence and paragraph ids of the whole target prefix.

        The ids are derived from the prefix at every step, because beam search reorders the prefix but no stored ids.

        Args:
            input_ids: the whole target prefix [B, L].
            next_sequence_length: number of its newest tokens that are not cached yet; default: all that the cache
                lacks.
            cache: of earlier target tokens; `past_key_values` is its older name.
            decoder_attention_mask: [B, L], zero on left padding; default: found from `pad_token_id`.
            decoder_sentence_ids, decoder_paragraph_ids: the caller's ids of a forced prefix, which new tokens continue.
        """
        cache = one_cache(cache, past_key_values)
        if next_sequence_length is None and cache is not None:
            past_length = int(cache.get_seq_length())
            next_sequence_length = input_ids.shape[1] - past_length if 0 < past_length < input_ids.shape[1] else None
        if decoder_attention_mask is None:
            decoder_attention_mask = self._left_padding_mask(input_ids)
        mask = mask_right_padding(input_ids, self.config.pad_token_id, decoder_attention_mask)
        sentence_ids = target_numbers(input_ids, decoder_sentence_ids, self.config.separator_token_ids, mask)
        paragraph_ids = target_numbers(input_ids, decoder_paragraph_ids, self.config.paragraph_token_ids, mask)
        if isinstance(cache, EncoderDecoderCache) and cache.is_compileable:
            # Compiled code needs the same shape at every step: that of the whole static cache.
            layer: Any = cache.self_attention_cache.layers[0]
            missing = layer.max_cache_len - input_ids.shape[1]
            sentence_ids = nn.functional.pad(sentence_ids, (0, max(missing, 0)))
            paragraph_ids = nn.functional.pad(paragraph_ids, (0, max(missing, 0)))
        inputs = super().prepare_inputs_for_generation(  # type: ignore[misc]  # a protocol as the type of self
            input_ids,
            next_sequence_length=next_sequence_length,
            decoder_attention_mask=decoder_attention_mask,
            **named_cache(cache),
            **kwargs,
        )
        return {**inputs, "decoder_sentence_ids": sentence_ids, "decoder_paragraph_ids": paragraph_ids}

    def _left_padding_mask(self, input_ids: torch.Tensor) -> torch.Tensor | None:
        """Mask [B, L] of a target prefix [B, L] if a row starts with padding that is no start token; else None."""
        pad = self.config.pad_token_id
        if pad is None or pad == self.config.decoder_start_token_id or not bool(input_ids[:, 0].eq(pad).any()):
            return None
        return (input_ids.ne(pad).cumsum(-1) > 0).long()


__all__ = ["HierNMTForConditionalGeneration", "HierNMTModel", "HierNMTPreTrainedModel"]
