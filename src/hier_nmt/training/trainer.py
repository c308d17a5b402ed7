# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The Transformers trainer for windows of sentences: discounted loss, token batches, scores of the current sentence.

Dimensions: B batch, T target tokens, V vocabulary.
"""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate.utils import send_to_device
from torch.distributed.fsdp import FSDPModule
from torch.utils.data import DataLoader
from transformers import (
    PreTrainedModel,
    PreTrainedTokenizerBase,
    ProgressCallback,
    Seq2SeqTrainer,
    TrainerCallback,
)
from transformers.trainer_utils import EvalLoopOutput

from ..configuration.configuration_choices import IGNORED_LABEL
from ..configuration.library_internals import finish_upload, gather_without_padding, take_over_the_loss, use_one_gpu
from ..data.collator import DocumentCollator, TokenBatchSampler
from ..data.window_tables import CORPUS_COLUMN, LENGTH_COLUMN, column_of, side_lengths, window_ids
from ..models.hier_nmt.sentence_models import reveal_separators
from ..ops.document_structure import sentence_ids_from_tokens
from ..publishing.adapted_card import has_base
from ..publishing.hub import CARD_FILE, complete_card
from .configured_loss import configured_loss
from .losses import current_sentence_weights
from .sharding import check_full_state_dict, full_weights, shard_tied_weights
from .source_word_dropout import SourceWordDropout, source_word_dropout
from .trainer_callbacks import (
    SelectionWarmup,
    TokenBatchEpochs,
    TokenProgressCallback,
    TokenThroughput,
    WholeRepositoryCallback,
)
from .training_arguments import DocumentSeq2SeqTrainingArguments
from .validation_scores import window_scores
from .warm_start import freeze_base, freeze_encoder, give_base_its_rate

TARGET_INPUTS = ("labels", "decoder_input_ids", "decoder_attention_mask")


class DocumentSeq2SeqTrainer(Seq2SeqTrainer):
    """Trains and evaluates a model on window features.

    The loss is `context_discounted_cross_entropy` (`context_discounted_squared_error` for a model that predicts word
    vectors), divided by the target tokens of the whole batch over all accumulation steps and processes. In training
    alone, `source_word_dropout` changes the source and `contrast_words` the loss. Evaluation reports, with each window
    counted once:

    * `eval_loss`: mean negative log-likelihood (or squared error) of all target tokens, without discount and smoothing,
      so that runs with different settings compare; `eval_current_loss`: the same over the current sentences;
    * with `predict_with_generate`: `eval_bleu` and `eval_chrf` of the current sentences (of whole windows if
      `window_sentences` is 0), and `eval_wrong_sentence_count`, the share of windows whose translation has a different
      number of sentences than the reference.

    Args:
        model: maps `input_ids`, `attention_mask` and `decoder_input_ids` to `logits` [B, T, V].
        args: the arguments.
        data_collator: pads windows.
        train_dataset, eval_dataset: tables with the columns `input_ids`, `labels` and `length`.
        processing_class: the source tokenizer.
        target_tokenizer: the target tokenizer; None: the same.
        eval_corpora: names of the corpora by their index in the column `corpus` of the `eval_dataset`; the loss of each
            named corpus is also reported as `eval_loss_<name>`.
        callbacks, optimizers: as in Trainer.
    """

    args: DocumentSeq2SeqTrainingArguments
    model: PreTrainedModel
    data_collator: DocumentCollator
    eval_dataset: Any
    # compute_loss divides by the tokens of the accumulated batch; Trainer must not divide again.
    loss_is_scaled_for_ga = True

    def __init__(
        self,
        model: PreTrainedModel,
        args: DocumentSeq2SeqTrainingArguments,
        data_collator: DocumentCollator,
        train_dataset: Any = None,
        eval_dataset: Any = None,
        processing_class: PreTrainedTokenizerBase | None = None,
        target_tokenizer: PreTrainedTokenizerBase | None = None,
        eval_corpora: Sequence[str | None] = (),
        callbacks: list[TrainerCallback] | None = None,
        optimizers: tuple[Any, Any] = (None, None),
    ) -> None:
        if args.device.type == "cpu":
            args.dataloader_pin_memory = False
        if args.n_gpu > 1:
            warnings.warn("one process uses one GPU; start with `accelerate launch` to use all of them", stacklevel=2)
            use_one_gpu(args)
        if args.world_size > 1 and not args.average_tokens_across_devices:
            raise ValueError("average_tokens_across_devices=False would weigh the tokens of the processes unequally")
        if args.freeze == "base":
            freeze_base(model)
        elif args.freeze == "encoder":
            freeze_encoder(model)
        super().__init__(
            model=model,
            args=args,
            data_collator=data_collator,
            train_dataset=train_dataset,
            eval_dataset=eval_dataset,
            processing_class=processing_class,
            callbacks=callbacks,
            optimizers=optimizers,
        )
        self.target_tokenizer = target_tokenizer or processing_class
        self._eval_corpora = eval_corpora
        # The corpus of each row of the next evaluation.
        self._row_corpora: np.ndarray | None = None
        # compute_loss does both here: it smooths the labels and uses num_items_in_batch.
        take_over_the_loss(self)
        self._loss = configured_loss(model, args, self.target_tokenizer)
        self._separators = frozenset(model.config.separator_token_ids)
        self._source_word_dropout = _source_word_dropout(model, args, processing_class)
        self.add_callback(TokenThroughput())
        self.add_callback(TokenBatchEpochs())
        if args.selection_warmup_steps + args.selection_annealing_steps > 0:
            if not hasattr(model, "widen_selection"):
                raise ValueError(
                    "selection_warmup_steps and selection_annealing_steps need a model of this package, not "
                    f"{type(model).__name__}"
                )
            self.add_callback(SelectionWarmup())
        if self.pop_callback(ProgressCallback) is not None:
            self.add_callback(TokenProgressCallback())
        is_joint = self.target_tokenizer is processing_class
        self.add_callback(WholeRepositoryCallback(None if is_joint else self.target_tokenizer))

    @property
    def _throughput(self) -> TokenThroughput:
        # A resumed run may have another one, with `restore_callback_states_from_checkpoint`.
        return next(one for one in self.callback_handler.callbacks if isinstance(one, TokenThroughput))

    def train(self, *args: Any, **kwargs: Any) -> Any:
        """Trains as Trainer does, after `reveal_separators`."""
        # In a second call the weights may be divided among processes.
        if self.state.global_step == 0:
            reveal_separators(self.model)
        return super().train(*args, **kwargs)

    def create_accelerator_and_postprocess(self) -> None:
        """Creates the accelerator, which does not divide the loss by the accumulation steps."""
        super().create_accelerator_and_postprocess()
        check_full_state_dict(self.accelerator)
        # Some release between 5.4 and 5.23 made Trainer do this itself.
        self.accelerator.gradient_accumulation_steps = 1

    def create_optimizer(self, *args: Any, **kwargs: Any) -> torch.optim.Optimizer:
        """Creates the optimizer after the first step of sharding, since it must hold the sharded weights."""
        if self.accelerator.is_fsdp2:
            shard_tied_weights(self.model, self.accelerator)
        optimizer = super().create_optimizer(*args, **kwargs)
        if self.args.base_learning_rate is not None:
            give_base_its_rate(optimizer, self.model, self.args.base_learning_rate)
        return optimizer

    def get_train_dataloader(self) -> DataLoader:
        """Batches of `max_tokens_per_batch` tokens, divided among the processes, or the default batches."""
        if self.args.max_tokens_per_batch is None:
            return super().get_train_dataloader()
        dataset: Any = self.train_dataset
        if LENGTH_COLUMN not in getattr(dataset, "column_names", ()):
            raise ValueError(f"max_tokens_per_batch needs a dataset with a column {LENGTH_COLUMN!r}, got {dataset}")
        sampler = TokenBatchSampler(
            column_of(dataset, LENGTH_COLUMN),
            self.args.max_tokens_per_batch,
            side_lengths=side_lengths(dataset),
            window_ids=window_ids(dataset),
            seed=self.args.seed if self.args.data_seed is None else self.args.data_seed,
            pad_to_multiple_of=self.data_collator.pad_to_multiple_of,
            num_processes=self.args.world_size,
            process_index=self.args.process_index,
        )
        return DataLoader(
            dataset,
            batch_sampler=sampler,
            collate_fn=self.data_collator,
            num_workers=self.args.dataloader_num_workers,
            pin_memory=self.args.dataloader_pin_memory,
            persistent_workers=self.args.dataloader_persistent_workers,
            prefetch_factor=self.args.dataloader_prefetch_factor,
        )

    def get_eval_dataloader(self, eval_dataset: Any = None) -> DataLoader:
        """Batches of rows of similar length, the longest first; no score depends on the order."""
        if isinstance(eval_dataset, str):
            eval_dataset = self.eval_dataset[eval_dataset]
        dataset = self.eval_dataset if eval_dataset is None else eval_dataset
        if LENGTH_COLUMN in getattr(dataset, "column_names", ()):
            dataset = dataset.select(np.argsort(-column_of(dataset, LENGTH_COLUMN), kind="stable"))
        has_corpora = CORPUS_COLUMN in getattr(dataset, "column_names", ()) and any(self._eval_corpora)
        self._row_corpora = column_of(dataset, CORPUS_COLUMN) if has_corpora else None
        return super().get_eval_dataloader(dataset)

    def get_batch_samples(self, *args: Any, **kwargs: Any) -> tuple[list, torch.Tensor | int | None]:
        """The batches of one step and their number of target tokens, over all processes."""
        self._throughput.start_step()
        batches, num_items_in_batch = super().get_batch_samples(*args, **kwargs)
        self._throughput.add_tokens(num_items_in_batch)
        return batches, num_items_in_batch

    def compute_loss(
        self,
        model: torch.nn.Module,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: torch.Tensor | int | None = None,
    ) -> Any:
        """The discounted, smoothed loss (and the outputs); the mean of its gradients over processes is exact."""
        labels = inputs["labels"]
        if self._source_word_dropout is not None and model.training:
            source_ids = self._source_word_dropout(inputs["input_ids"], inputs["attention_mask"])
            inputs = {**inputs, "input_ids": source_ids}
        outputs = model(**_without(inputs, ("labels",)), use_cache=False)
        sentence_ids = self._label_sentence_ids(labels)
        loss = self._loss.discounted(
            outputs.logits, labels, sentence_ids, self.args.context_discount, num_items_in_batch
        )
        if num_items_in_batch is not None:
            # The divisor counts the tokens of all processes, whose gradients are averaged afterwards.
            loss = loss * self.accelerator.num_processes
        return (loss, outputs) if return_outputs else loss

    def floating_point_ops(self, inputs: dict[str, Any]) -> int:
        """0: the estimate costs time in every step and counts padding."""
        return 0

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Adds `tokens_per_second` (target tokens over all processes) and the totals to the log entries of training.

        The totals `num_target_tokens` and `train_seconds` continue after interruptions; the entry at the end, which has
        the mean loss, has them, too, as steps may have followed the last other one.
        """
        if "loss" in logs or "train_loss" in logs:
            num_tokens, seconds = self._throughput.read()
            totals = [entry for entry in self.state.log_history if "train_seconds" in entry][-1:]
            if "loss" in logs:
                logs["tokens_per_second"] = round(num_tokens / max(seconds, 1e-9), 1)
            logs["num_target_tokens"] = num_tokens + sum(entry["num_target_tokens"] for entry in totals)
            logs["train_seconds"] = round(seconds + sum(entry["train_seconds"] for entry in totals), 3)
        super().log(logs, start_time)

    def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, float]:
        """The metrics, as in Seq2SeqTrainer; `synced_gpus` is off, see `full_weights`."""
        return super().evaluate(*args, **{"synced_gpus": False, **kwargs})

    def predict(self, *args: Any, **kwargs: Any) -> Any:
        """Predictions and metrics, as in Seq2SeqTrainer; `synced_gpus` is off, see `full_weights`."""
        return super().predict(*args, **{"synced_gpus": False, **kwargs})

    def prediction_step(
        self,
        model: torch.nn.Module,
        inputs: dict[str, Any],
        prediction_loss_only: bool,
        ignore_keys: list[str] | None = None,
        **gen_kwargs: Any,
    ) -> tuple[None, Any, torch.Tensor | None]:
        """(None, statistics [B, 4] and, if requested, generated ids [B, length], labels [B, T]).

        The statistics of a row are the summed negative log-likelihood and the number of tokens, first of the whole
        target, then of its current sentence.
        """
        inputs = send_to_device(inputs, self.args.device)
        statistics = self._row_statistics(model, inputs)
        if prediction_loss_only or not self.args.predict_with_generate:
            return None, statistics, None
        sources = _without(inputs, TARGET_INPUTS)
        _, generated, _ = super().prediction_step(model, sources, False, ignore_keys, **gen_kwargs)
        return None, (statistics, generated), inputs["labels"]

    def evaluation_loop(
        self,
        dataloader: DataLoader,
        description: str,
        prediction_loss_only: bool | None = None,
        ignore_keys: list[str] | None = None,
        metric_key_prefix: str = "eval",
    ) -> EvalLoopOutput:
        """Losses and scores; `predictions` are the generated ids [number of windows, length], or None."""
        if self.accelerator.is_fsdp2 and not isinstance(self.model, FSDPModule):
            # accelerate shards a model only together with an optimizer; without training there is none.
            self.accelerator.prepare_model(self.model, device_placement=True, evaluation_mode=True)
        # Seq2SeqTrainer also gathers the rows that pad the last distributed batch, and would count them.
        gather_without_padding(self)
        with full_weights(self.model, self.accelerator):
            output = super().evaluation_loop(
                dataloader, description, self.args.prediction_loss_only, ignore_keys, metric_key_prefix
            )
        predictions: Any = output.predictions
        statistics, generated = predictions if isinstance(predictions, tuple) else (predictions, None)
        loss, num_tokens, current_loss, num_current_tokens = np.asarray(statistics, dtype=np.float64).sum(0)
        metrics = {"loss": loss / num_tokens, "current_loss": current_loss / num_current_tokens}
        metrics |= self._corpus_losses(np.asarray(statistics, dtype=np.float64))
        if generated is not None:
            metrics |= self._text_metrics(generated, np.asarray(output.label_ids))
        named = {f"{metric_key_prefix}_{name}": float(value) for name, value in metrics.items()}
        output = output._replace(predictions=generated)  # type: ignore[arg-type]  # nothing was generated: None
        return output._replace(metrics={**(output.metrics or {}), **named})

    def create_model_card(self, *args: Any, **kwargs: Any) -> None:
        """Writes Transformers' card of the training, with the metadata by which the Hub finds and runs the model.

        The card of an adapted model, which names its base and its licence, stays.
        """
        folder = Path(str(self.args.output_dir))
        if not has_base(folder / CARD_FILE):
            super().create_model_card(*args, **kwargs)
        if self.is_world_process_zero():
            complete_card(folder / CARD_FILE, self.model.config, self.hub_model_id or folder.absolute().name)

    def push_to_hub(self, *args: Any, **kwargs: Any) -> Any:
        """Uploads the output directory, after a checkpoint's upload that may still be running."""
        # Trainer itself would first rewrite the files that this upload is reading.
        finish_upload(self)
        return super().push_to_hub(*args, **kwargs)

    def _label_sentence_ids(self, labels: torch.Tensor) -> torch.Tensor:
        return sentence_ids_from_tokens(labels, self._separators, labels != IGNORED_LABEL)

    @torch.no_grad()
    def _row_statistics(self, model: torch.nn.Module, inputs: dict[str, Any]) -> torch.Tensor:
        labels = inputs["labels"]
        logits = model(**_without(inputs, ("labels",)), use_cache=False).logits
        losses = self._loss.per_token(logits, labels)
        is_predicted = labels != IGNORED_LABEL
        is_current = current_sentence_weights(is_predicted, self._label_sentence_ids(labels), 0.0)
        columns = (losses, is_predicted, losses * is_current, is_current)
        return torch.stack([column.sum(-1, dtype=losses.dtype) for column in columns], dim=1)

    def _corpus_losses(self, statistics: np.ndarray) -> dict[str, float]:
        """The loss of each named corpus, from the statistics of the rows [number of windows, 4]."""
        corpora, self._row_corpora = self._row_corpora, None
        if corpora is None or len(corpora) != len(statistics):
            return {}
        sums = {name: statistics[corpora == index].sum(0) for index, name in enumerate(self._eval_corpora) if name}
        return {f"loss_{name}": loss / num_tokens for name, (loss, num_tokens, *_) in sums.items() if num_tokens}

    def _text_metrics(self, generated: np.ndarray, labels: np.ndarray) -> dict[str, float]:
        if self.target_tokenizer is None:
            raise ValueError("predict_with_generate needs a tokenizer: give processing_class or target_tokenizer")
        config: Any = self.model.config
        return window_scores(self.target_tokenizer, self._separators, generated, labels, bool(config.window_sentences))


def _source_word_dropout(
    model: PreTrainedModel, args: DocumentSeq2SeqTrainingArguments, tokenizer: PreTrainedTokenizerBase | None
) -> SourceWordDropout | None:
    """The dropout of source words; None if the arguments ask for none."""
    if not args.source_word_dropout:
        return None
    config: Any = model.config
    separators = frozenset(config.separator_token_ids)
    has_current_sentence = config.window_sentences != 0
    return source_word_dropout(args.source_word_dropout, tokenizer, separators, has_current_sentence, args.device)


def _without(inputs: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in inputs.items() if name not in names}
