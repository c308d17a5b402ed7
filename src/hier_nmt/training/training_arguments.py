# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The arguments of the trainer."""

import math
from dataclasses import dataclass, field

from transformers import Seq2SeqTrainingArguments

FROZEN = ("none", "base", "encoder")


@dataclass
class DocumentSeq2SeqTrainingArguments(Seq2SeqTrainingArguments):
    """The arguments of Transformers and those of documents."""

    context_discount: float = field(
        default=1.0, metadata={"help": "Weight, from 0 to 1, of the context sentences in the loss."}
    )
    max_tokens_per_batch: int | None = field(
        default=None,
        metadata={
            "help": "Maximum number of padded tokens, on the longer side, of a training batch of one device; rows of "
            "similar length go together and `per_device_train_batch_size` is not used. None: batches of that many rows."
        },
    )
    selection_warmup_steps: int = field(
        default=0,
        metadata={
            "help": "Training steps in which conditional and hierarchical attention attend to every sentence, their "
            "relevance added, before they attend to the selected sentences only."
        },
    )
    selection_annealing_steps: int = field(
        default=0,
        metadata={
            "help": "Training steps, after `selection_warmup_steps`, in which the number of attended sentences "
            "falls from all of them to the selected ones: in eight stages, by the same factor from one to the next."
        },
    )
    freeze: str = field(
        default="none",
        metadata={
            "help": "What is not trained: 'none' of the weights, the 'base': all but gated context blocks and the "
            "bias of the output, or the 'encoder' with the embeddings that it shares."
        },
    )
    base_learning_rate: float | None = field(
        default=None,
        metadata={
            "help": "Learning rate of all weights but gated context blocks and the bias of the output, which have "
            "`learning_rate`. None: all have that."
        },
    )

    source_word_dropout: float = field(
        default=0.0,
        metadata={
            "help": "Probability, in training, with which a token of the current source sentence is replaced by the "
            "unknown token, so that the context has to be read; without a current sentence, of all sentences."
        },
    )
    contrast_words: list[list[str]] | None = field(
        default=None,
        metadata={
            "help": "Pairs of target words between which the context decides, such as [[il, elle], [ils, elles]]; each "
            "is one token of the vocabulary. The first sentence of a window, which has no context, is not affected."
        },
    )
    contrast_weight: float = field(
        default=1.0, metadata={"help": "Factor on the loss of the target tokens that are `contrast_words`."}
    )
    contrast_margin: float = field(
        default=0.0,
        metadata={
            "help": "By how much the log-probability of one of the `contrast_words` must exceed that of its "
            "counterpart; what is missing is added to the loss. 0: nothing is added."
        },
    )
    contrast_margin_weight: float = field(
        default=1.0, metadata={"help": "Factor on what `contrast_margin` adds to the loss."}
    )

    def __post_init__(self) -> None:
        """Checks the added fields; ValueError names the bad value."""
        super().__post_init__()
        self._check_contrast()
        if not 0 <= self.source_word_dropout < 1:
            raise ValueError(f"source_word_dropout must be from 0 to below 1, got {self.source_word_dropout}")
        if not 0 <= self.context_discount <= 1:
            raise ValueError(f"context_discount must be from 0 to 1, got {self.context_discount}")
        if self.max_tokens_per_batch is not None and self.max_tokens_per_batch < 1:
            raise ValueError(f"max_tokens_per_batch must be at least 1, got {self.max_tokens_per_batch}")
        if self.save_on_each_node:
            raise ValueError(
                "save_on_each_node=True leaves checkpoints without a model on all machines but the first, since "
                "Transformers writes models there only: give an output_dir that all machines share"
            )
        for name in ("selection_warmup_steps", "selection_annealing_steps"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative, got {getattr(self, name)}")
        if self.freeze not in FROZEN:
            raise ValueError(f"freeze={self.freeze!r} is unknown; choose one of {', '.join(FROZEN)}")
        if self.base_learning_rate is not None and not 0 <= self.base_learning_rate < math.inf:
            raise ValueError(f"base_learning_rate must not be negative, got {self.base_learning_rate}")
        if self.base_learning_rate is not None and self.freeze == "base":
            raise ValueError(f"base_learning_rate={self.base_learning_rate} with freeze: base, which trains none of it")

    def _check_contrast(self) -> None:
        for name in ("contrast_weight", "contrast_margin", "contrast_margin_weight"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be at least 0 and finite, got {getattr(self, name)}")
        for name, neutral in (("contrast_weight", 1), ("contrast_margin", 0)):
            if not self.contrast_words and getattr(self, name) != neutral:
                raise ValueError(f"{name}={getattr(self, name)} needs contrast_words")
        for pair in self.contrast_words or ():
            if len(pair) != 2 or pair[0] == pair[1] or not all(word and word == word.strip() for word in pair):
                raise ValueError(f"contrast_words must be pairs of two different words, got {pair}")
