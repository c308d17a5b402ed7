# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""A sentence-level model that Transformers alone trains: a folder like OPUS-MT's, which can be adapted."""

import json
import runpy
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from sentence_models import ENGLISH, FRENCH, write_corpus
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, MarianMTModel

from hier_nmt.jobs.adapt_model import adapt_model

TRAINING = Path(__file__).parents[2] / "training"
SCRIPT = TRAINING / "marian" / "train_marian.py"
RECIPE = TRAINING / "recipes" / "en-fr" / "marian-sentence.yaml"


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    """A recipe whose corpus has four documents of all sentences."""
    corpus = tmp_path / "corpus.jsonl"
    write_corpus(corpus)
    sections: dict[str, Any] = {
        "data": {"source_language": "en", "target_language": "fr", "train": [str(corpus)], "validation": [str(corpus)]},
        "model": {"window_sentences": 1},
        "training": {"output_dir": str(tmp_path / "unused"), "seed": 1},
    }
    (tmp_path / "text.yaml").write_text(yaml.safe_dump(sections), encoding="utf-8")
    settings = yaml.safe_load(RECIPE.read_text(encoding="utf-8"))
    settings["data"]["recipe"] = "text.yaml"
    settings["tokenizer"] |= {"vocab_size": 60, "max_sentences": 1000, "whole_words": ["est"]}
    settings["model"] |= {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1}
    settings["data"] |= {"max_tokens_per_batch": 100}
    settings["training"] |= {"output_dir": str(tmp_path / "base"), "use_cpu": True}
    settings["training"] |= {"max_steps": 3, "save_steps": 2, "eval_steps": 2, "warmup_steps": 1}
    settings["training"]["lr_scheduler_kwargs"] = {"num_decay_steps": 1}
    path = tmp_path / "marian.yaml"
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")
    return path


def test_the_trained_folder_is_one_of_marian_and_can_be_adapted(recipe: Path, tmp_path: Path) -> None:
    runpy.run_path(str(SCRIPT))["main"]([str(recipe)])
    base = tmp_path / "base"
    model, tokenizer = AutoModelForSeq2SeqLM.from_pretrained(base), AutoTokenizer.from_pretrained(base)
    assert isinstance(model, MarianMTModel)
    assert {"source.spm", "target.spm", "vocab.json"} <= {path.name for path in base.iterdir()}
    assert tokenizer.decode(tokenizer(text_target=FRENCH[0]).input_ids, skip_special_tokens=True) == FRENCH[0]
    adapt_model(str(base), tmp_path / "adapted", "conditional", source_language="en", target_language="fr")
    adapted = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "adapted")
    inputs = tokenizer(ENGLISH[1], return_tensors="pt")
    expected = model(**inputs, decoder_input_ids=torch.tensor([[model.config.decoder_start_token_id, 5, 6]])).logits
    start = torch.tensor([[adapted.config.decoder_start_token_id, 5, 6]])
    found = adapted(**inputs, decoder_input_ids=start).logits[..., : expected.shape[-1]]
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def test_the_same_command_continues_a_run(recipe: Path, tmp_path: Path) -> None:
    main = runpy.run_path(str(SCRIPT))["main"]
    main([str(recipe), "--training.max_steps=2"])
    first = (tmp_path / "base" / "checkpoint-2" / "trainer_state.json").stat().st_mtime_ns
    main([str(recipe), "--training.max_steps=3"])
    state = json.loads((tmp_path / "base" / "trainer_state.json").read_text(encoding="utf-8"))
    assert state["global_step"] == 3
    # A run from the beginning would have saved it again.
    assert (tmp_path / "base" / "checkpoint-2" / "trainer_state.json").stat().st_mtime_ns == first
