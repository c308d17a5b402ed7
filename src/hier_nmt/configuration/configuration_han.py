# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Configuration of the model that reads summaries of the document beside its tokens (HAN)."""

from collections.abc import Collection, Mapping

from .configuration_choices import DECODER_SELF_ATTENTIONS, PYTORCH_KERNELS
from .hub_config import strict
from .translation_config import TransformerConfig

SELF_ATTENTIONS = ("document", "big_bird")


@strict
class HANConfig(TransformerConfig):
    """Everything that defines one HAN network (Shen 2023) and the windows it was trained on.

    Args:
        word_vector_size: width W of frozen word vectors (section IV.1). The model reads the vectors of the source words
            and predicts vectors of target words, trained with the squared error; the word with the nearest vector is
            chosen. `set_word_vectors` sets them, one table for each language. None: embeddings are learned, and words
            are chosen by softmax.
        encoder_self_attention, decoder_self_attention: `document` (full attention) or `big_bird` (section III.4).
        attention_kernel: how `big_bird` is computed: `reference` (masked), `grouped` (in blocks) or `auto`, whichever
            is faster.
        normalize_before: layer norm before each block and once at the end; False: after each block, as in the report.
        others: as in `TransformerConfig` and `TranslationConfig`.

    Raises:
        ValueError: an unknown name or an impossible number; the message has the value and what is possible.
    """

    model_type = "han_nmt"
    auto_classes = {
        "AutoConfig": "configuration_han.HANConfig",
        "AutoModel": "modeling_han.HANModel",
        "AutoModelForSeq2SeqLM": "modeling_han.HANForConditionalGeneration",
    }
    word_vector_size: int | None = None
    encoder_layers: int = 4
    decoder_layers: int = 4
    normalize_before: bool = False
    window_sentences: int = 0
    max_source_tokens: int = 4096
    max_target_tokens: int = 4096

    # Read by the parts that this family shares with `hier_nmt`; fixed here.
    cross_attention = "document"
    sentence_encoder = "conv"
    sentence_encoder_sharing = "model"
    position_encoding = "sequential"
    segment_embedding = "none"
    token_position_origin = "document"
    position_offset = 0
    sinusoid_endpoint = False
    normalize_embedding = False
    restart_target_sentences = False
    context_attention = None
    encoder_layerdrop = 0.0
    decoder_layerdrop = 0.0
    encoder_reads_encodings = True
    decoder_reads_source_encodings = True
    decoder_reads_target_encodings = False
    reads_paragraphs = False

    @property
    def reads_sentences(self) -> bool:
        """Whether a token's output depends on the sentences that the tokens before it belong to."""
        return DECODER_SELF_ATTENTIONS[self.decoder_self_attention].reads_sentences

    def name_choices(self) -> Mapping[str, Collection[str]]:
        """The fields that hold names, and the names that each may hold."""
        own = {
            "encoder_self_attention": SELF_ATTENTIONS,
            "decoder_self_attention": SELF_ATTENTIONS,
            "attention_kernel": PYTORCH_KERNELS,
        }
        return {**own, **super().name_choices()}

    def check_numbers(self) -> None:
        """Raises a ValueError for a number that no network or window can have."""
        super().check_numbers()
        if self.word_vector_size is not None:
            self.check_word_vectors(self.word_vector_size)

    def check_word_vectors(self, size: int) -> None:
        """Raises a ValueError for a width below 1, and for shared or untied embeddings, which word vectors exclude."""
        if size < 1:
            raise ValueError(f"word_vector_size={size} must be at least 1.")
        if self.share_encoder_decoder_embeddings or not self.tie_word_embeddings:
            raise ValueError(
                f"word_vector_size={size} needs share_encoder_decoder_embeddings=False and tie_word_embeddings=True: "
                f"each language has its own vectors, and predicted vectors are looked up among those of the target."
            )


__all__ = ["HANConfig"]
