# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Encoder and decoder of the recurrent translation network, and what all its models share.

Dimensions: B batch, S source tokens, Q decoder tokens of this call, L target tokens of the whole prefix (cached ones
included), E embedding width, D width of the recurrent states.
"""

import torch
from torch import nn
from transformers import initialization as init
from transformers.cache_utils import Cache
from transformers.modeling_outputs import BaseModelOutput, BaseModelOutputWithPastAndCrossAttentions

from ...configuration.configuration_rnn_nmt import RNNNMTConfig
from ...configuration.library_internals import MakesItsOwnCache, can_return_tuple, named_cache, one_cache
from ..common.safetensors_model import SafetensorsModel
from ..common.translation_embeddings import TranslationModelMixin
from .additive_attention import ATTENTION_CLASSES, SourceStates
from .recurrent_cache import DecoderState, RecurrentCache
from .recurrent_layers import RNN_CLASSES, last_states, recurrent_layers, run_over_tokens, take_step


class RNNNMTPreTrainedModel(TranslationModelMixin, MakesItsOwnCache, SafetensorsModel):
    """Base of all RNNNMT models: configuration class, initialisation and capabilities."""

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
        """The input of the first layer [B, S, E]: the embeddings, given or looked up, with dropout."""
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
    """Boolean [B, S]: True on source tokens, False on padding.

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
    """Boolean [B, Q]: True on the newest target tokens, False on padding, at which the decoder keeps its state.

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
    step before (Luong et al. 2015, section 3.3). The first state is tanh(W [final state of the encoder]).
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
        """What the steps read of the source, with its keys from the cache if it has them."""
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
        """The state after one more token with the embedding [B, E], and the weights of the source tokens [B, S].

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


__all__ = ["RNNNMTDecoder", "RNNNMTEncoder", "RNNNMTPreTrainedModel"]
