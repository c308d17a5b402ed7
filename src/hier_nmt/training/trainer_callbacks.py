# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Callbacks of the trainer: throughput, progress, warm-up of sentence selection, epochs of token batches, uploads."""

import math
import time
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedTokenizerBase, ProgressCallback, TrainerCallback
from transformers.trainer_callback import ExportableState

from ..data.collator import TokenBatchSampler
from ..data.tokenization import TARGET_TOKENIZER_FOLDER
from ..publishing.hub import CARD_FILE, complete_card

# Number of stages in which the number of sentences falls; a compiled model is recompiled for each.
ANNEALING_STAGES = 8


class TokenThroughput(TrainerCallback, ExportableState):
    """Counts target tokens and the seconds of training steps, without evaluation and saving.

    A checkpoint has what has been counted since the last log entry.
    """

    def __init__(self) -> None:
        self._tokens: torch.Tensor | int = 0
        self._seconds = 0.0
        self._step_start: float | None = None

    def state(self) -> dict[str, Any]:
        """What a checkpoint stores."""
        return {"args": {}, "attributes": {"_tokens": int(self._tokens), "_seconds": self._seconds}}

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Continues counting where the checkpoint of a resumed run did."""
        # Trainer expects an entry; checkpoints of earlier versions have none.
        saved = state.stateful_callbacks.setdefault(type(self).__name__, self.state())
        self._tokens, self._seconds = saved["attributes"]["_tokens"], saved["attributes"]["_seconds"]

    def start_step(self) -> None:
        """Starts the clock, before the batches of a step are fetched."""
        self._step_start = time.perf_counter()

    def add_tokens(self, num_tokens: torch.Tensor | int | None) -> None:
        """Adds the target tokens of a step; a tensor stays on its device until it is read."""
        if num_tokens is not None:
            self._tokens = self._tokens + num_tokens

    def on_step_end(self, *args: Any, **kwargs: Any) -> None:
        """Stops the clock."""
        if self._step_start is not None:
            self._seconds += time.perf_counter() - self._step_start
            self._step_start = None

    def read(self) -> tuple[int, float]:
        """(target tokens, seconds) since the last reading."""
        reading = int(self._tokens), self._seconds
        self._tokens, self._seconds = 0, 0.0
        return reading


class SelectionWarmup(TrainerCallback):
    """Ends the warm-up of sentence selection after its steps, at once or gradually; also in resumed runs."""

    def on_step_begin(self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any) -> None:
        steps_left = args.selection_warmup_steps + args.selection_annealing_steps - state.global_step
        stage = math.ceil(ANNEALING_STAGES * steps_left / max(1, args.selection_annealing_steps))
        model.widen_selection(min(max(stage / ANNEALING_STAGES, 0.0), 1.0))


class TokenProgressCallback(ProgressCallback):
    """The progress bar of Transformers, with the loss and the target tokens per second appended."""

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **kwargs: Any) -> None:
        """Writes the log entry and updates the end of the bar."""
        super().on_log(args, state, control, logs=logs, **kwargs)
        bar: Any = self.training_bar
        if bar is not None and logs and "tokens_per_second" in logs:
            bar.set_postfix_str(f"loss {logs['loss']:.3f}, {logs['tokens_per_second']:.0f} tokens/s")


class TokenBatchEpochs(TrainerCallback):
    """Tells the token batches which epoch starts; Trainer does not reach them when it resumes within an epoch."""

    def on_epoch_begin(self, args: Any, state: Any, control: Any, train_dataloader: Any = None, **kwargs: Any) -> None:
        sampler = getattr(train_dataloader, "batch_sampler", None)
        if isinstance(sampler, TokenBatchSampler):
            sampler.set_epoch(int(state.epoch or 0))


class WholeRepositoryCallback(TrainerCallback):
    """Completes the folder that Trainer uploads during training (`hub_strategy="every_save"` and similar).

    Trainer copies weights, configuration and its tokenizer from the checkpoint, but not the code of the model, which
    the configuration refers to, and not the target tokenizer. `DocumentSeq2SeqTrainer` adds this callback itself; other
    Trainers can be given it.

    Args:
        target_tokenizer: of the target language, if it has its own.
    """

    def __init__(self, target_tokenizer: PreTrainedTokenizerBase | None = None) -> None:
        self._target_tokenizer = target_tokenizer

    def on_push_begin(self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any) -> None:
        """Writes the code of the model, the target tokenizer and the card."""
        if not args.should_save:
            return
        folder = Path(args.output_dir)
        model.config.save_pretrained(folder)
        if self._target_tokenizer is not None:
            self._target_tokenizer.save_pretrained(folder / TARGET_TOKENIZER_FOLDER)
        complete_card(folder / CARD_FILE, model.config, args.hub_model_id or folder.absolute().name)
