# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Publishes models in every way; as a script in a fresh process: publish.py JOBS.

A job is {"checkpoint": folder, "model": repository, "trainer": repository or null, "output": folder of its training}.
"""

import tempfile
from typing import Any

import pytest
from answers import jobs
from huggingface_hub.errors import HfHubHTTPError
from tiny_training import tiny_windows
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, TrainerCallback
from word_translation import BOS, PAD

from hier_nmt.data.collator import DocumentCollator
from hier_nmt.training.trainer import DocumentSeq2SeqTrainer
from hier_nmt.training.training_arguments import DocumentSeq2SeqTrainingArguments


class WaitForUpload(TrainerCallback):
    """Lets no training step come before the checkpoint has arrived: Trainer leaves out those that come too soon."""

    def __init__(self, trainer: Any) -> None:
        self._trainer = trainer

    def on_save(self, *args: Any, **kwargs: Any) -> None:
        self._trainer.push_in_progress.wait_until_done()


def publish(job: dict[str, Any]) -> None:
    """Pushes model and tokenizer, a configuration, and a training of two steps with every checkpoint of it."""
    model = AutoModelForSeq2SeqLM.from_pretrained(job["checkpoint"])
    tokenizer = AutoTokenizer.from_pretrained(job["checkpoint"])
    model.push_to_hub(job["model"])
    tokenizer.push_to_hub(job["model"])
    model.config.save_pretrained(f"{job['output']}-config", push_to_hub=True, repo_id=f"{job['model']}-config")
    if job["trainer"]:
        train(model, tokenizer, job["trainer"], job["output"])


def check_refusals(model: Any, repository: str) -> None:
    """Fails unless a wrong token neither pushes nor, from a private repository, loads, and the user is told why."""
    wrong = "hf_of_nobody"
    with pytest.raises(HfHubHTTPError, match=r"401[\s\S]*Invalid credentials"):
        model.push_to_hub(repository, token=wrong)
    model.push_to_hub(repository, private=True)
    AutoModelForSeq2SeqLM.from_pretrained(repository)
    told = {wrong: r"401[\s\S]*Invalid credentials", False: r"private repository[\s\S]*token"}
    for token, reason in told.items():
        with (
            tempfile.TemporaryDirectory() as empty,
            pytest.raises(OSError, match=rf"{repository}[\s\S]*{reason}"),
        ):
            AutoModelForSeq2SeqLM.from_pretrained(repository, token=token, cache_dir=empty)


def train(model: Any, tokenizer: Any, repository: str, output: str) -> None:
    """Trains with `hub_strategy="every_save"` and pushes what came out of it."""
    arguments = DocumentSeq2SeqTrainingArguments(
        output_dir=output,
        max_steps=2,
        save_steps=1,
        learning_rate=0.01,
        per_device_train_batch_size=4,
        use_cpu=True,
        report_to="none",
        disable_tqdm=True,
        push_to_hub=True,
        hub_model_id=repository,
        hub_strategy="every_save",
    )
    trainer = DocumentSeq2SeqTrainer(
        model=model,
        args=arguments,
        data_collator=DocumentCollator(PAD, BOS),
        train_dataset=tiny_windows(8),
        processing_class=tokenizer,
    )
    trainer.add_callback(WaitForUpload(trainer))
    trainer.train()
    trainer.push_to_hub()


if __name__ == "__main__":
    for one in jobs():
        publish(one)
    check_refusals(AutoModelForSeq2SeqLM.from_pretrained(one["checkpoint"]), f"{one['model']}-private")
