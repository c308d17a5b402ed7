# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the programs of this folder share: comparing a model with what is expected of it, and training it further."""

import json
import sys
from pathlib import Path
from typing import Any

import torch
from transformers import DataCollatorForSeq2Seq, Seq2SeqTrainer, Seq2SeqTrainingArguments


def jobs() -> list[dict[str, Any]]:
    """The models to check: the JSON of the command line."""
    return json.loads(sys.argv[1])


def check_logits(model: Any, job: dict[str, Any]) -> None:
    """Fails unless the model answers as it did before it was saved."""
    expected = torch.load(job["expected"])
    with torch.no_grad():
        logits = model.eval()(**expected["inputs"]).logits
    torch.testing.assert_close(logits, expected["logits"], rtol=1e-5, atol=1e-5)


def check_translation(pipe: Any, job: dict[str, Any]) -> None:
    """Fails unless the pipeline translates as that of the model did before it was saved."""
    expected = torch.load(job["expected"])
    output = pipe(expected["text"], **expected["options"])
    assert output == [{"translation_text": expected["translation"]}], output


def fine_tune(model: Any, tokenizer: Any, folder: str) -> None:
    """Trains the model for three steps with the plain trainer of Transformers and saves it, and a checkpoint before."""
    rows = [{"input_ids": [number, 8, 9, 2], "labels": [12, number, 2]} for number in range(20, 28)]
    arguments = Seq2SeqTrainingArguments(
        output_dir=folder,
        max_steps=3,
        save_steps=2,
        learning_rate=0.01,
        per_device_train_batch_size=4,
        use_cpu=True,
        report_to="none",
        disable_tqdm=True,
    )
    trainer = Seq2SeqTrainer(
        model=model,
        args=arguments,
        train_dataset=rows,
        data_collator=DataCollatorForSeq2Seq(tokenizer, model=model),
        processing_class=tokenizer,
    )
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    trainer.train()
    assert any(not torch.equal(weight, before[name]) for name, weight in model.state_dict().items())
    trainer.save_model(folder)


def check_same_weights(model: Any, other: Any) -> None:
    """Fails unless both have the same weights."""
    weights, others = model.state_dict(), other.state_dict()
    assert weights.keys() == others.keys()
    assert all(torch.equal(weight, others[name]) for name, weight in weights.items())


def last_checkpoint(folder: str) -> str:
    """The checkpoint that `fine_tune` left."""
    return str(Path(folder) / "checkpoint-2")
