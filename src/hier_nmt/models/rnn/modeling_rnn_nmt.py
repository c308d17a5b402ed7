# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The recurrent translation network: encoder, decoder, model and the model with a language modelling head.

Dimensions: B batch, S source tokens, T target tokens, Q decoder tokens of this call, L target tokens of the whole
prefix (cached ones included), E embedding width, D width of the recurrent states, A width of attention, V vocabulary.
"""

from typing import Any

import torch
from torch import nn
from transformers import initialization as init
from transformers.cache_utils import Cache
from transformers.modeling_outputs import (
    BaseModelOutput,
    BaseModelOutputWithPastAndCrossAttentions,
    Seq2SeqLMOutput,
    Seq2SeqModelOutput,
)

from ...configuration.configuration_rnn_nmt import RNNNMTConfig
from ...configuration.library_internals import CACHE_NAME, MakesItsOwnCache, can_return_tuple, named_cache, one_cache
from ..common.cross_entropy import mean_cross_entropy
from ..common.safetensors_model import SafetensorsModel
from ..common.target_generation import TargetGenerationMixin
from ..common.target_labels import shift_tokens_right
from ..common.translation_embeddings import EncoderDecoderEmbeddingsMixin, OutputLayerMixin, TranslationModelMixin
from .additive_attention import ATTENTION_CLASSES, SourceStates
from .recurrent_cache import DecoderState, RecurrentCache
from .recurrent_layers import RNN_CLASSES, last_states, recurrent_layers, run_over_tokens, take_step


class RNNNMTPreTrainedModel(TranslationModelMixin, MakesItsOwnCache, SafetensorsModel):
    """What all RNNNMT models share: configuration class, initialisation and abilities."""

    config: RNNNMTConfig
    embed_tokens: nn.Embedding
    base_model_prefix = "model"
    _no_split_modules = ["RNNNMTEncoder", "RNNNMTDecoder"]

    def _init_weights(self, module: nn.Module) -> None:
        """Initialises as the base class does, and recurrent layers and cells by Xavier's uniform weights, no biases."""
        super()._init_weights(module)
        if isinstance(module, (nn.RNNBase, nn.RNNCellBase)):
            for name, parameter in module.named_parameters():
                if "weight" in name:
                    init.xavier_uniform_(parameter)
                else:
                    init.zeros_(parameter)

    def _embed(self, input_ids: torch.Tensor | None, inputs_embeds: torch.Tensor | None, side: str) -> torch.Tensor:
        """What enters the first layer, [B, S, E]: the embeddings, given or looked up, under dropout."""
        if (input_ids is None) == (inputs_embeds is None):
            raise ValueError(f"Pass exactly one of {side}input_ids and {side}inputs_embeds.")
        embeddings = self.embed_tokens(input_ids) if inputs_embeds is None else inputs_embeds
        return nn.functional.dropout(embeddings, p=self.config.dropout, training=self.training)


def source_mask(
    config: RNNNMTConfig,
    input_ids: torch.Tensor | None,
    states: torch.Tensor,
    attention_mask: torch.Tensor | None,
) -> torch.Tensor:
    """Which source tokens are none of the padding, boolean [B, S].

    Args:
        config: names the padding.
        input_ids: [B, S], or None.
        states: embeddings or states of the tokens [B, S, ...].
        attention_mask: [B, S], zero on padding; default: everything but `pad_token_id`.

    Raises:
        ValueError: a mask of another shape, or a row without a token.
    """
    shape = states.shape[:2]
    if attention_mask is not None:
        is_token = attention_mask != 0
    elif input_ids is not None and config.pad_token_id is not None:
        is_token = input_ids != config.pad_token_id
    else:
        is_token = torch.ones(shape, dtype=torch.bool, device=states.device)
    if is_token.shape != shape:
        raise ValueError(f"attention_mask must be {list(shape)} like the source, got {list(is_token.shape)}.")
    empty = (~is_token.any(1)).nonzero()[:, 0].tolist()
    if empty:
        raise ValueError(f"Rows {empty} of the source have no token, only padding.")
    return is_token


def target_mask(
    config: RNNNMTConfig,
    input_ids: torch.Tensor | None,
    embeddings: torch.Tensor,
    attention_mask: torch.Tensor | None,
) -> torch.Tensor:
    """At which of the newest target tokens the decoder goes on, boolean [B, Q].

    Args:
        config: names padding and start token.
        input_ids: [B, Q], or None.
        embeddings: of the tokens [B, Q, E].
        attention_mask: of the whole prefix [B, L], zero on padding; default: everything but `pad_token_id`, unless
            decoding starts with it.

    Raises:
        ValueError: a mask that is too short or of another batch.
    """
    num_rows, num_tokens = embeddings.shape[:2]
    if attention_mask is not None:
        if len(attention_mask) != num_rows or attention_mask.shape[1] < num_tokens:
            raise ValueError(
                f"decoder_attention_mask must be [{num_rows}, {num_tokens} or more], got {list(attention_mask.shape)}."
            )
        return attention_mask[:, -num_tokens:] != 0
    pad = config.pad_token_id
    if input_ids is None or pad is None or pad == config.decoder_start_token_id:
        return torch.ones(num_rows, num_tokens, dtype=torch.bool, device=embeddings.device)
    return input_ids != pad


class RNNNMTEncoder(RNNNMTPreTrainedModel):
    """Embeds source sentences and runs them through the recurrent layers, in one direction or both."""

    def __init__(self, config: RNNNMTConfig):
        super().__init__(config)
        self.embed_tokens = nn.Embedding(config.vocab_size, config.embedding_size, config.pad_token_id)
        self.layers = recurrent_layers(
            config.rnn_type,
            config.embedding_size,
            config.hidden_size,
            config.encoder_layers,
            config.bidirectional,
        )
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        output_hidden_states: bool | None = None,
        output_attentions: bool | None = None,
    ) -> BaseModelOutput:
        """Source states [B, S, D], zeros on padding.

        Args:
            input_ids: [B, S]; or `inputs_embeds`.
            attention_mask: [B, S], zero on padding; default: everything but `pad_token_id`.
            inputs_embeds: [B, S, E].
            output_hidden_states: also give the embeddings and the states of each layer.
            output_attentions: has no effect, the encoder has no attention.
        """
        hidden_states = self._embed(input_ids, inputs_embeds, side="")
        is_token = source_mask(self.config, input_ids, hidden_states, attention_mask)
        all_states = [hidden_states]
        for index, layer in enumerate(self.layers):
            if index:
                hidden_states = nn.functional.dropout(hidden_states, p=self.config.dropout, training=self.training)
            hidden_states = run_over_tokens(layer, hidden_states, is_token)
            all_states.append(hidden_states)
        wanted = self.config.output_hidden_states if output_hidden_states is None else output_hidden_states
        return BaseModelOutput(last_hidden_state=hidden_states, hidden_states=tuple(all_states) if wanted else None)


class RNNNMTDecoder(RNNNMTPreTrainedModel):
    """Runs a target prefix, or its newest tokens, through the recurrent layers, step by step.

    With the token y of the step, the state s before it and a context c, which is what the attention slot reads of the
    source (Ogunnaike 2022, eq. 3 and 5 to 7): the new state is f(s, [y, c]), and the attentional vector, from which the
    next token is predicted, tanh(W [new state, c, y]). With input feeding f also reads the attentional vector of the
    step before (Luong et al. 2015, section 3.3). The first state is tanh(W of the state in which the encoder ended).
    """

    def __init__(self, config: RNNNMTConfig):
        super().__init__(config)
        width, embedding_size = config.hidden_size, config.embedding_size
        self.embed_tokens = nn.Embedding(config.target_vocab_size, embedding_size, config.pad_token_id)
        self.attention = ATTENTION_CLASSES[config.attention](config)
        step = RNN_CLASSES[config.rnn_type].step
        fed = embedding_size if config.input_feeding else 0
        sizes = [embedding_size + width + fed, *[width] * (config.decoder_layers - 1)]
        self.layers = nn.ModuleList([step(size, width) for size in sizes])
        self.num_states = step.num_states
        self.start_proj = nn.Linear(width, config.decoder_layers * step.num_states * width)
        self.output_proj = nn.Linear(2 * width + embedding_size, embedding_size)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        encoder_hidden_states: torch.Tensor | None = None,
        encoder_attention_mask: torch.Tensor | None = None,
        cache: Cache | None = None,
        inputs_embeds: torch.Tensor | None = None,
        use_cache: bool | None = None,
        output_hidden_states: bool | None = None,
        output_attentions: bool | None = None,
        past_key_values: Cache | None = None,
    ) -> BaseModelOutputWithPastAndCrossAttentions:
        """Attentional vectors [B, Q, E] of the newest tokens.

        Args:
            input_ids: the newest Q target tokens [B, Q]; or `inputs_embeds`.
            attention_mask: mask of the whole prefix [B, L], zero on padding, on which the state stays as it is;
                default: everything but `pad_token_id`, unless decoding starts with it.
            encoder_hidden_states: source states [B, S, D].
            encoder_attention_mask: [B, S], zero on padding; default: there is none.
            cache: of earlier tokens; `past_key_values` is its older name.
            inputs_embeds: [B, Q, E].
            use_cache: make a cache if there is none.
            output_hidden_states: also give the embeddings and the states [B, Q, D] of each layer.
            output_attentions: also give the weights of the source tokens, a tuple of one [B, 1, Q, S]; nothing without
                attention.

        Raises:
            ValueError: no source, or a cache of another kind.
        """
        if encoder_hidden_states is None:
            raise ValueError("A recurrent decoder starts from a source: pass encoder_hidden_states.")
        cache = one_cache(cache, past_key_values)
        if cache is not None and not isinstance(cache, RecurrentCache):
            raise ValueError(f"the cache must be a RecurrentCache, not a {type(cache).__name__}.")
        embeddings = self._embed(input_ids, inputs_embeds, side="decoder_")
        goes_on = target_mask(self.config, input_ids, embeddings, attention_mask)
        if cache is None and (self.config.use_cache if use_cache is None else use_cache):
            cache = RecurrentCache()
        source = self._source(encoder_hidden_states, encoder_attention_mask, cache)
        known = None if cache is None else cache.state
        state = self._first_state(source) if known is None else known

        vectors, states, weights = [], [], []
        for embedding, row_goes_on in zip(embeddings.unbind(1), goes_on.unbind(1), strict=True):
            state, step_weights = self._step(state, embedding, source, row_goes_on[:, None])
            vectors.append(state.attentional_vector)
            states.append([layer[0] for layer in state.layers])
            weights.append(step_weights)
        if cache is not None:
            cache.remember(state, source.keys, embeddings.shape[1])
        wants_states = self.config.output_hidden_states if output_hidden_states is None else output_hidden_states
        wants_weights = self.config.output_attentions if output_attentions is None else output_attentions
        return BaseModelOutputWithPastAndCrossAttentions(
            last_hidden_state=torch.stack(vectors, dim=1),  # [B, Q, E]
            hidden_states=_layers_over_time(embeddings, states) if wants_states else None,
            cross_attentions=_weights_over_time(weights) if wants_weights else None,
            **named_cache(cache),
        )

    def _source(
        self, states: torch.Tensor, attention_mask: torch.Tensor | None, cache: RecurrentCache | None
    ) -> SourceStates:
        """What the steps read of the source; its keys from the cache where they are there."""
        is_token = source_mask(self.config, None, states, attention_mask)
        keys = self.attention.keys(states) if cache is None or cache.source_keys is None else cache.source_keys
        return SourceStates(states, is_token, last_states(states, is_token, self.config.bidirectional), keys)

    def _first_state(self, source: SourceStates) -> DecoderState:
        """The state before the first token."""
        start = torch.tanh(self.start_proj(source.summary))
        tensors = start.chunk(len(self.layers) * self.num_states, dim=-1)
        layers = tuple(
            tensors[index * self.num_states : (index + 1) * self.num_states] for index in range(len(self.layers))
        )
        return DecoderState(layers, start.new_zeros(len(start), self.config.embedding_size))

    def _step(
        self, state: DecoderState, embedding: torch.Tensor, source: SourceStates, goes_on: torch.Tensor
    ) -> tuple[DecoderState, torch.Tensor | None]:
        """The state behind one more token with the embedding [B, E], and the weights of the source tokens [B, S].

        Rows whose `goes_on`, boolean [B, 1], is False keep their state.
        """
        context, weights = self.attention(state.layers[-1][0], source)
        fed = [state.attentional_vector] if self.config.input_feeding else []
        layers = take_step(
            self.layers,
            torch.cat([embedding, context, *fed], dim=-1),
            state.layers,
            goes_on,
            self.config.dropout if self.training else 0.0,
        )
        vector = torch.tanh(self.output_proj(torch.cat([layers[-1][0], context, embedding], dim=-1)))
        return DecoderState(layers, torch.where(goes_on, vector, state.attentional_vector)), weights


def _layers_over_time(embeddings: torch.Tensor, states: list[list[torch.Tensor]]) -> tuple[torch.Tensor, ...]:
    """The embeddings [B, Q, E] and, for each layer, its states [B, Q, D], of states [B, D] by step and layer."""
    return (embeddings, *(torch.stack(layer, dim=1) for layer in zip(*states, strict=True)))


def _weights_over_time(weights: list[torch.Tensor | None]) -> tuple[torch.Tensor, ...] | None:
    """The weights [B, S] of all steps as those of one layer with one head [B, 1, Q, S]; None without attention."""
    known = [one for one in weights if one is not None]
    return (torch.stack(known, dim=1)[:, None],) if known else None


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
        encoder_outputs: tuple[torch.Tensor, ...] | BaseModelOutput | None = None,
        cache: Cache | None = None,
        inputs_embeds: torch.Tensor | None = None,
        decoder_inputs_embeds: torch.Tensor | None = None,
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
        use_cache: bool | None = None,
        output_hidden_states: bool | None = None,
        output_attentions: bool | None = None,
        num_items_in_batch: torch.Tensor | int | None = None,
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

    def prepare_decoder_input_ids_from_labels(self, labels: torch.Tensor) -> torch.Tensor:
        """Decoder inputs [B, T] that go with the labels [B, T]."""
        if self.config.pad_token_id is None or self.config.decoder_start_token_id is None:
            raise ValueError("Labels need a configuration with pad_token_id and decoder_start_token_id.")
        return shift_tokens_right(labels, self.config.pad_token_id, self.config.decoder_start_token_id)

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
