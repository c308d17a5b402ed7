# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Configuration of the model that reads summaries of the document beside its tokens (HAN)."""

from typing import Any

from transformers.activations import ACT2FN

from .configuration_choices import DECODER_SELF_ATTENTIONS, PYTORCH_KERNELS
from .hub_config import HubConfig, strict

POSITION_VECTORS = ("sinusoidal", "learned")
SELF_ATTENTIONS = ("document", "big_bird")
BIG_BIRD_COUNTS = ("big_bird_global_tokens", "big_bird_window_blocks", "big_bird_random_blocks", "big_bird_seed")


@strict
class HANConfig(HubConfig):
    """Everything that defines one HAN network (Shen 2023) and the windows it was trained on.

    Args:
        vocab_size: number of (source) tokens V.
        decoder_vocab_size: number of target tokens where the vocabularies are separate; default: `vocab_size`.
        word_vector_size: width W of frozen word vectors (section IV.1): the model reads those of the source words and
            predicts, with the least squared error, those of the target words, the nearest of which is chosen. They
            are put in by `set_word_vectors`, one table for each language. None: embeddings are learned, and words
            chosen by softmax.
        d_model: width D of the hidden states.
        encoder_layers, decoder_layers: number of layers.
        encoder_attention_heads, decoder_attention_heads: number of heads H; must divide `d_model`.
        encoder_ffn_dim, decoder_ffn_dim: inner width of the feed-forward blocks.
        summary_kernel_size: tokens S of a window of the convolution that makes summaries, the mean length of a
            sentence; windows are half of it apart.
        encoder_self_attention, decoder_self_attention: `document`, full attention, or `big_bird` (section III.4).
        attention_kernel: how `big_bird` is computed: `reference` (masked), `grouped` (in blocks) or `auto`, whichever
            is faster.
        big_bird_block_size: tokens of a block of `big_bird` attention (Zaheer et al. 2020). Like the next four it is
            read at every forward.
        big_bird_global_tokens: first tokens of a document, which all see; those of a source see all.
        big_bird_window_blocks: blocks seen on either side of the own one (before it, in the decoder).
        big_bird_random_blocks: blocks seen elsewhere (before the window, in the decoder), others in each layer and
            head.
        big_bird_seed: from which it follows which these are.
        dropout: on embeddings and at the end of every block.
        attention_dropout: on the attention weights.
        activation_dropout: inside the feed-forward block.
        activation_function: name in `transformers.activations.ACT2FN`.
        normalize_before: layer norm in front of each block and once at the end; else behind each, as in the report.
        scale_embedding: multiply token embeddings by sqrt(D).
        position_embedding_type: `sinusoidal` or `learned` token positions.
        max_position_embeddings: size of the learned table. A position beyond its end is an error.
        tie_word_embeddings: output layer shares the decoder's embedding matrix.
        share_encoder_decoder_embeddings: encoder and decoder share one matrix (one joint vocabulary), unless
            `tie_word_embeddings` is off, which unties all three.
        init_std: standard deviation of the initial weights.
        window_sentences: K, the sentences of a window (1: sentence level; 0: whole document).
        max_source_tokens, max_target_tokens: longest window, separators counted.
        source_language, target_language: ISO 639 codes, or None.
        pad_token_id, bos_token_id, eos_token_id, decoder_start_token_id: as everywhere in Transformers.
        sep_token_id: closes a sentence.
        par_token_id: closes the last sentence of a paragraph, in place of `sep_token_id`.

    Raises:
        ValueError: an unknown name or an impossible number, naming the value and what is possible.
    """

    model_type = "han_nmt"
    auto_classes = {
        "AutoConfig": "configuration_han.HANConfig",
        "AutoModel": "modeling_han.HANModel",
        "AutoModelForSeq2SeqLM": "modeling_han.HANForConditionalGeneration",
    }
    keys_to_ignore_at_inference = ["past_key_values", "cache"]
    attribute_map = {
        "hidden_size": "d_model",
        "num_attention_heads": "encoder_attention_heads",
        "num_hidden_layers": "encoder_layers",
    }

    vocab_size: int = 16000
    decoder_vocab_size: int | None = None
    word_vector_size: int | None = None
    d_model: int = 512
    encoder_layers: int = 4
    decoder_layers: int = 4
    encoder_attention_heads: int = 8
    decoder_attention_heads: int = 8
    encoder_ffn_dim: int = 2048
    decoder_ffn_dim: int = 2048
    summary_kernel_size: int = 16
    encoder_self_attention: str = "document"
    decoder_self_attention: str = "document"
    attention_kernel: str = "auto"
    big_bird_block_size: int = 64
    big_bird_global_tokens: int = 2
    big_bird_window_blocks: int = 1
    big_bird_random_blocks: int = 3
    big_bird_seed: int = 0
    dropout: float | int = 0.1
    attention_dropout: float | int = 0.0
    activation_dropout: float | int = 0.0
    activation_function: str = "relu"
    normalize_before: bool = False
    scale_embedding: bool = True
    position_embedding_type: str = "sinusoidal"
    max_position_embeddings: int = 1024
    tie_word_embeddings: bool = True
    share_encoder_decoder_embeddings: bool = True
    init_std: float = 0.02
    window_sentences: int = 0
    max_source_tokens: int = 4096
    max_target_tokens: int = 4096
    source_language: str | None = None
    target_language: str | None = None
    is_encoder_decoder: bool = True
    use_cache: bool = True
    pad_token_id: int | None = 0
    bos_token_id: int | None = 1
    eos_token_id: int | list[int] | None = 2
    decoder_start_token_id: int | None = 1
    sep_token_id: int | None = 4
    par_token_id: int | None = 5

    # What the parts that this family shares with `hier_nmt` ask for, and what is no choice here.
    cross_attention = "document"
    sentence_encoder = "conv"
    sentence_encoder_sharing = "model"
    position_encoding = "sequential"
    segment_embedding = "none"
    encoder_layerdrop = 0.0
    decoder_layerdrop = 0.0
    encoder_reads_encodings = True
    decoder_reads_source_encodings = True
    decoder_reads_target_encodings = False
    reads_paragraphs = False

    def __post_init__(self, **kwargs: Any) -> None:
        if self.decoder_vocab_size is None:
            self.decoder_vocab_size = self.vocab_size
        super().__post_init__(**kwargs)
        # Not as validators of `strict`, which would hide these errors behind another class than ValueError.
        self.check_names()
        self.check_numbers()

    @property
    def target_vocab_size(self) -> int:
        """Number of target tokens V."""
        return self.vocab_size if self.decoder_vocab_size is None else self.decoder_vocab_size

    @property
    def separator_token_ids(self) -> tuple[int, ...]:
        """Ids of the tokens that close a sentence."""
        return tuple(token_id for token_id in (self.sep_token_id, self.par_token_id) if token_id is not None)

    @property
    def paragraph_token_ids(self) -> tuple[int, ...]:
        """Ids of the tokens that close a paragraph."""
        return () if self.par_token_id is None else (self.par_token_id,)

    @property
    def reads_sentences(self) -> bool:
        """Whether a token's result depends on more of the tokens before it than that they are there."""
        return DECODER_SELF_ATTENTIONS[self.decoder_self_attention].reads_sentences

    def check_names(self) -> None:
        """Raises a ValueError for a name that no table holds."""
        choices: dict[str, Any] = {
            "encoder_self_attention": SELF_ATTENTIONS,
            "decoder_self_attention": SELF_ATTENTIONS,
            "attention_kernel": PYTORCH_KERNELS,
            "position_embedding_type": POSITION_VECTORS,
            "activation_function": ACT2FN,
        }
        for name, possible in choices.items():
            if getattr(self, name) not in possible:
                raise ValueError(f"{name}={getattr(self, name)!r} is unknown; choose one of {', '.join(possible)}.")

    def check_numbers(self) -> None:
        """Raises a ValueError for a number that no network or window can have."""
        for side in ("encoder", "decoder"):
            num_heads = getattr(self, f"{side}_attention_heads")
            if num_heads < 1 or self.d_model % num_heads:
                raise ValueError(f"{side}_attention_heads={num_heads} must divide d_model={self.d_model}.")
        for name in ("dropout", "attention_dropout", "activation_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} must be at least 0 and below 1.")
        sizes = ("vocab_size", "decoder_vocab_size", "d_model", "encoder_ffn_dim", "decoder_ffn_dim")
        others = (
            "summary_kernel_size",
            "big_bird_block_size",
            "max_position_embeddings",
            "max_source_tokens",
            "max_target_tokens",
        )
        for name in (*sizes, *others):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} must be at least 1.")
        for name in ("window_sentences", *BIG_BIRD_COUNTS):
            if getattr(self, name) < 0:
                raise ValueError(f"{name}={getattr(self, name)} must not be negative.")
        if self.share_encoder_decoder_embeddings and self.decoder_vocab_size != self.vocab_size:
            raise ValueError(
                f"decoder_vocab_size={self.decoder_vocab_size} differs from vocab_size={self.vocab_size}: separate "
                f"vocabularies need share_encoder_decoder_embeddings=False."
            )
        if self.word_vector_size is not None:
            self.check_word_vectors(self.word_vector_size)

    def check_word_vectors(self, size: int) -> None:
        """Raises a ValueError for what frozen word vectors of that width rule out."""
        if size < 1:
            raise ValueError(f"word_vector_size={size} must be at least 1.")
        if self.share_encoder_decoder_embeddings or not self.tie_word_embeddings:
            raise ValueError(
                f"word_vector_size={size} needs share_encoder_decoder_embeddings=False and tie_word_embeddings=True: "
                f"each language has its vectors, and what is predicted is looked up among those of the target."
            )


__all__ = ["HANConfig"]
