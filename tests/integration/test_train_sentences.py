# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The script that trains sentence-level models in large batches: the package's network, the same each time."""

import json
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from sentence_models import ENGLISH, FRENCH, write_corpus
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from hier_nmt import HierNMTConfig, HierNMTForConditionalGeneration

SCRIPT = Path(__file__).parents[2] / "training" / "gpu" / "train_sentences.py"
SMALL = {
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 32,
    "output_bias": True,
    "dropout": 0.0,
}


@pytest.fixture
def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    """A recipe whose corpora have four documents of all sentences."""
    corpus = tmp_path / "corpus.jsonl"
    write_corpus(corpus)
    sections: dict[str, Any] = {
        "data": {
            "source_language": "en",
            "target_language": "fr",
            "train": [str(corpus)],
            "validation": [{"name": "same", "path": str(corpus)}],
            "cache_dir": str(tmp_path / "cache"),
        },
        "tokenizer": {"vocab_size": 300},
        "model": {**SMALL, "window_sentences": 1, "max_source_tokens": 200, "max_target_tokens": 200},
        "training": {
            "output_dir": str(tmp_path / "run"),
            "seed": 1,
            "max_tokens_per_batch": 512,
            "max_steps": 60,
            "learning_rate": 0.01,
            "warmup_steps": 5,
            "lr_scheduler_type": "warmup_stable_decay",
            "lr_scheduler_kwargs": {"num_decay_steps": 20, "decay_type": "1-sqrt"},
            "logging_steps": 1,
            "save_steps": 20,
            "use_cpu": True,
        },
    }
    path = tmp_path / "recipe.yaml"
    path.write_text(yaml.safe_dump(sections), encoding="utf-8")
    return path


def test_the_plain_network_is_that_of_the_package_in_values_and_gradients(script: dict[str, Any]) -> None:
    torch.manual_seed(0)
    config = HierNMTConfig(vocab_size=50, init_std=0.3, window_sentences=1, **SMALL)
    model = HierNMTForConditionalGeneration(config).double().eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.1 * torch.randn_like(weight))
    source = torch.tensor([[7, 8, 9, 2], [11, 2, 0, 0], [5, 6, 2, 0]])
    decoder_input = torch.tensor([[1, 20, 21], [1, 22, 0], [1, 23, 24]])
    expected = model(input_ids=source, attention_mask=source.ne(0).long(), decoder_input_ids=decoder_input).logits
    found = script["PlainNetwork"](model)(source, decoder_input)
    real = decoder_input.ne(0)
    torch.testing.assert_close(found[real], expected[real])
    weights = list(model.parameters())
    some = torch.randn_like(expected[real])
    gradients = [torch.autograd.grad((logits[real] * some).sum(), weights) for logits in (found, expected)]
    for mine, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(mine, theirs)


def test_batches_have_every_pair_once_in_few_shapes(script: dict[str, Any]) -> None:
    lengths = np.random.default_rng(0).integers(1, 250, 500)
    made = list(script["batches"](lengths, 1024, seed=1, num_epochs=1))
    assert sorted(np.concatenate([rows for rows, _ in made])) == list(range(500))
    assert {length for _, length in made} <= set(script["LENGTHS"])
    for rows, length in made:
        assert lengths[rows].max() <= length
        assert len(rows) * length <= 1024


def test_too_few_pairs_for_a_batch_are_an_error(script: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="3 pairs do not fill a batch of 4096 tokens"):
        next(script["batches"](np.array([5, 5, 9]), 4096, seed=1))


def test_a_run_learns_its_text_and_the_model_is_an_ordinary_one(script: dict[str, Any], recipe: Path) -> None:
    script["main"]([str(recipe)])
    folder = recipe.parent / "run"
    summary = json.loads((folder / "training_summary.json").read_text(encoding="utf-8"))
    assert summary["steps"] == 60
    assert summary["eval_loss"]["same"] < 3
    weights = folder / "model.safetensors"
    written = weights.stat().st_mtime_ns
    script["main"]([str(recipe)])
    assert weights.stat().st_mtime_ns == written
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForSeq2SeqLM.from_pretrained(folder)
    inputs = tokenizer([f"{ENGLISH[0]}"], return_tensors="pt")
    labels = tokenizer(text_target=FRENCH[:1], return_tensors="pt").input_ids
    with torch.inference_mode():
        assert float(model(**inputs, labels=labels).loss) < 3.5


def test_an_interrupted_run_ends_as_one_that_was_not(script: dict[str, Any], recipe: Path) -> None:
    folder = recipe.parent / "run"
    script["main"]([str(recipe), f"--training.output_dir={folder}-whole"])

    class Interruption(Exception):
        pass

    report = script["train"].__globals__["report"]

    def interrupt(step: int, *arguments: Any) -> None:
        if step == 30:
            raise Interruption
        report(step, *arguments)

    script["train"].__globals__["report"] = interrupt
    with pytest.raises(Interruption):
        script["main"]([str(recipe)])
    assert (folder / "state.safetensors").is_file()
    script["train"].__globals__["report"] = report
    script["main"]([str(recipe)])
    assert not (folder / "state.safetensors").exists()
    found, expected = (AutoModelForSeq2SeqLM.from_pretrained(path).state_dict() for path in (folder, f"{folder}-whole"))
    for name, weight in expected.items():
        torch.testing.assert_close(found[name], weight, msg=name)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("--model.window_sentences=2", "window_sentences=2 is not supported here"),
        ("--model.activation_function=gelu", "activation_function='gelu' is not supported here, only 'relu'"),
        ("--model.attention_dropout=0.1", "attention_dropout=0.1 is not supported here"),
        ("--training.gradient_accumulation_steps=2", "gradient_accumulation_steps=2 is not supported here"),
        ("--training.source_word_dropout=0.1", "source_word_dropout=0.1 is not supported here"),
        ("--training.lr_scheduler_kwargs={num_decay_steps: 5}", "is not supported here, only .*'decay_type': '1-sqrt'"),
        ("--training.max_tokens_per_batch=null", "max_tokens_per_batch is not set"),
    ],
)
def test_other_networks_and_trainings_are_refused(
    script: dict[str, Any], recipe: Path, change: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        script["main"]([str(recipe), change])
