# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""A model and windows so small that a training step takes no time; as a script, a step for each set of arguments.

python -m torch.distributed.run --nproc_per_node 2 tests/tiny_training.py RESULT_FILE OUTPUT_DIR '{"seed": 1}' ...
"""

import json
import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from sharded_on_processors import ENVIRONMENT, shard_as_on_devices
from torch.distributed.tensor import DTensor
from transformers import TrainerCallback, set_seed
from word_translation import BOS, EOS, PAD, PAR, SEP, word_tokenizer

from hier_nmt.configuration.configuration_hier_nmt import HierNMTConfig
from hier_nmt.data.collator import DocumentCollator
from hier_nmt.models.hier_nmt.modeling_hier_nmt import HierNMTForConditionalGeneration
from hier_nmt.training.trainer import DocumentSeq2SeqTrainer
from hier_nmt.training.training_arguments import DocumentSeq2SeqTrainingArguments

FIRST_WORD = PAR + 1


class GradientKeeper(TrainerCallback):
    """Keeps what the first optimizer step is given."""

    def __init__(self) -> None:
        self.gradients: dict[str, torch.Tensor] = {}

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any) -> None:
        if not self.gradients:
            self.gradients = {
                name.removeprefix("module."): whole(parameter.grad).clone()
                for name, parameter in model.named_parameters()
            }


def whole(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor of which each process holds a part, or the tensor itself."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def tiny_windows(num_windows: int, max_sentences: int = 3, seed: int = 0) -> Dataset:
    """Windows of 1 to `max_sentences` sentences of 1 to 5 random words; the target is the source turned around."""
    numbers = random.Random(seed)
    rows = []
    for index in range(num_windows):
        sentences = [
            [numbers.randrange(FIRST_WORD, FIRST_WORD + 20) for _ in range(numbers.randint(1, 5))]
            for _ in range(numbers.randint(1, max_sentences))
        ]
        sides = []
        for turn in (1, -1):
            ids = [token for sentence in sentences for token in [*sentence[::turn], numbers.choice([SEP, PAR])]]
            sides.append([*ids[:-1], EOS])
        rows.append(
            {
                "input_ids": sides[0],
                "labels": sides[1],
                "length": max(map(len, sides)),
                "document_id": f"document {index}",
                "sentence_index": len(sentences) - 1,
                "num_sentences": len(sentences),
            }
        )
    return Dataset.from_list(rows)


def tiny_model(**changes: Any) -> HierNMTForConditionalGeneration:
    """A model of one layer of width 16, in float64, always with the same weights."""
    sizes = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16}
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
    values = {**sizes, **heads, "dropout": 0.0, "window_sentences": 3, **changes}
    set_seed(1)
    model = HierNMTForConditionalGeneration(HierNMTConfig(vocab_size=len(word_tokenizer()), **values)).double()
    model.generation_config.max_length = 12
    return model


def tiny_trainer(
    output_dir: Path | str,
    train: Dataset | None = None,
    validation: Dataset | None = None,
    dropout: float = 0.0,
    sharded: bool = False,
    eval_corpora: Sequence[str | None] = (),
    model: dict[str, Any] | None = None,
    **arguments: Any,
) -> DocumentSeq2SeqTrainer:
    """A trainer of `tiny_model`, with these changes, on the CPU with plain gradient descent and no files but those
    asked for.

    With `sharded`, all trainers that the process makes from then on shard their models over the processes.
    """
    quiet = {"report_to": "none", "save_strategy": "no", "disable_tqdm": True, "logging_steps": 1, "use_cpu": True}
    plain = {"optim": "sgd", "max_grad_norm": 0.0, "lr_scheduler_type": "constant", "seed": 5}
    args = DocumentSeq2SeqTrainingArguments(output_dir=str(output_dir), **{**quiet, **plain, **arguments})
    if sharded:
        os.environ.update(ENVIRONMENT)
        shard_as_on_devices(args)
    return DocumentSeq2SeqTrainer(
        model=tiny_model(dropout=dropout, **(model or {})),
        args=args,
        data_collator=DocumentCollator(PAD, BOS),
        train_dataset=train,
        eval_dataset=validation,
        processing_class=word_tokenizer(),
        eval_corpora=eval_corpora,
    )


def make_translations_differ_in_length(model: HierNMTForConditionalGeneration) -> None:
    """Has the model choose by its input, sharply, and end its translations with any of half of the tokens."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(40)
    model.generation_config.eos_token_id = [EOS, *range(FIRST_WORD, FIRST_WORD + 20)]


def one_step_and_scores(output_dir: Path | str, **arguments: Any) -> tuple[dict[str, torch.Tensor], dict[str, float]]:
    """Gradients of one step over 8 windows, and the scores of 9 others, one at a time, under other weights."""
    trainer = tiny_trainer(
        output_dir,
        tiny_windows(8),
        tiny_windows(9, seed=1),
        context_discount=0.1,
        contrast_words=[["a", "b"], ["c", "d"], ["d", "e"]],
        contrast_weight=2.0,
        contrast_margin=3.0,
        label_smoothing_factor=0.1,
        predict_with_generate=True,
        generation_num_beams=2,
        per_device_eval_batch_size=1,
        learning_rate=0.0,
        max_steps=1,
        **arguments,
    )
    keeper = GradientKeeper()
    trainer.add_callback(keeper)
    trainer.train()
    make_translations_differ_in_length(trainer.model)
    scores = trainer.evaluate()
    loss = next(entry["loss"] for entry in trainer.state.log_history if "loss" in entry)
    names = ("eval_loss", "eval_current_loss", "eval_bleu", "eval_chrf", "eval_wrong_sentence_count")
    return keeper.gradients, {"loss": loss, **{name: scores[name] for name in names}}


def main(result_file: str, output_dir: str, *settings: str) -> None:
    """Writes the gradients and scores under each of the JSON settings to a file."""
    results = [one_step_and_scores(output_dir, **json.loads(arguments)) for arguments in settings]
    if torch.distributed.get_rank() == 0:
        torch.save(results, result_file)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
