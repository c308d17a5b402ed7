# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Every family of models through the same scripts: train, resume, load, evaluate, translate, pipeline."""

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from command_line import run_command
from safetensors.torch import load_file
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, pipeline

import hier_nmt

WORDS = {"house": "maison", "red": "rouge", "bird": "oiseau", "tree": "arbre", "green": "vert", "night": "nuit"}
MAX_STEPS = 240
LAYERS = {
    "d_model": 64,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 128,
    "decoder_ffn_dim": 128,
    "dropout": 0.0,
    "init_std": 0.1,
    "normalize_before": True,
}
MODELS: dict[str, dict[str, Any]] = {
    "hier_nmt": LAYERS,
    "han_nmt": {**LAYERS, "summary_kernel_size": 3},
    "rnn_nmt": {"embedding_size": 64, "hidden_size": 64, "init_std": 0.1},
}
LEARNING_RATES = {"hier_nmt": 0.003, "han_nmt": 0.004, "rnn_nmt": 0.01}
CLASSES = {
    "hier_nmt": hier_nmt.HierNMTForConditionalGeneration,
    "han_nmt": hier_nmt.HANForConditionalGeneration,
    "rnn_nmt": hier_nmt.RNNNMTForConditionalGeneration,
}
SENTENCES = ["house red bird.", "tree green house tree.", "night.", "bird bird green night red."]


def write_pairs(path: Path, num_pairs: int, seed: int) -> None:
    """Sentences of three to five words, translated word by word."""
    numbers = random.Random(seed)
    lines = []
    for _ in range(num_pairs):
        words = numbers.choices(list(WORDS), k=numbers.randint(3, 5))
        lines.append(f"{' '.join(words)}\t{' '.join(WORDS[word] for word in words)}\n")
    path.write_text("".join(lines))


@pytest.fixture(scope="module", params=MODELS)
def family(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def recipe(family, tmp_path_factory) -> Path:
    """A recipe of a tiny model of the family."""
    folder = tmp_path_factory.mktemp(family)
    write_pairs(folder / "train.tsv", 280, seed=3)
    write_pairs(folder / "dev.tsv", 10, seed=4)
    sections = {
        "data": {
            "format": "tab-separated",
            "train": [str(folder / "train.tsv")],
            "validation": [str(folder / "dev.tsv")],
            "source_language": "en",
            "target_language": "fr",
        },
        "tokenizer": {"vocab_size": 320},
        "model": {"model_type": family, "window_sentences": 1, **MODELS[family]},
        "training": {
            "output_dir": str(folder / "run"),
            "max_tokens_per_batch": 300,
            "learning_rate": LEARNING_RATES[family],
            "warmup_steps": 40,
            "max_steps": MAX_STEPS,
            "logging_steps": 10,
            "save_strategy": "steps",
            "save_steps": MAX_STEPS // 2,
            "eval_strategy": "steps",
            "eval_steps": MAX_STEPS,
            "predict_with_generate": True,
            "use_cpu": True,
            "report_to": "none",
            "disable_tqdm": True,
        },
        "generation": {"num_beams": 2},
    }
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(sections), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def trained(recipe, repository) -> Path:
    assert run_command("train", recipe) == 0
    return recipe.parent / "run"


def test_it_learns_to_translate_unseen_sentences(family, trained) -> None:
    summary = json.loads((trained / "training_summary.json").read_text())
    assert summary["steps"] == MAX_STEPS
    assert summary["metrics"]["final"]["eval_bleu"] > 80
    assert type(AutoModelForSeq2SeqLM.from_pretrained(trained)) is CLASSES[family]


def test_a_resumed_run_ends_with_the_weights_of_an_uninterrupted_one(trained, recipe, repository, monkeypatch) -> None:
    resumed = recipe.parent / "resumed"
    resumed.mkdir()
    for name in ("recipe.yaml", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(trained / name, resumed)
    shutil.copytree(trained / f"checkpoint-{MAX_STEPS // 2}", resumed / f"checkpoint-{MAX_STEPS // 2}")
    run_command("train", recipe, f"--output-dir={resumed}")
    weights, resumed_weights = (load_file(folder / "model.safetensors") for folder in (trained, resumed))
    assert weights.keys() == resumed_weights.keys()
    assert all(torch.equal(weights[name], resumed_weights[name]) for name in weights)


def test_two_loads_agree_to_the_bit_and_so_does_what_is_saved_again(trained, tmp_path) -> None:
    models = [AutoModelForSeq2SeqLM.from_pretrained(trained).eval() for _ in range(2)]
    models[0].save_pretrained(tmp_path)
    models.append(AutoModelForSeq2SeqLM.from_pretrained(tmp_path).eval())
    inputs = AutoTokenizer.from_pretrained(trained)(SENTENCES, return_tensors="pt", padding=True)
    with torch.no_grad():
        logits = [model(**inputs, decoder_input_ids=inputs["input_ids"]).logits for model in models]
    assert torch.equal(logits[0], logits[1])
    assert torch.equal(logits[0], logits[2])


@pytest.mark.parametrize("options", [{"num_beams": 1}, {"num_beams": 3}], ids=["greedy", "beam"])
def test_a_batch_is_translated_as_each_sentence_alone(trained, options) -> None:
    model = AutoModelForSeq2SeqLM.from_pretrained(trained, dtype=torch.float64).eval()
    tokenizer = AutoTokenizer.from_pretrained(trained)
    limits = {"max_new_tokens": 20, "do_sample": False, **options}

    def translate(sentences: list[str]) -> list[str]:
        inputs = tokenizer(sentences, return_tensors="pt", padding=True)
        return tokenizer.batch_decode(model.generate(**inputs, **limits), skip_special_tokens=True)

    assert translate(SENTENCES) == [translate([sentence])[0] for sentence in SENTENCES]


def test_evaluate_reports_bleu_of_every_order(trained, recipe, repository, monkeypatch, capsys) -> None:
    options = ["--format", "tab-separated", "--no-ter", "--bleu-orders", "1", "2", "3"]
    assert run_command("evaluate", trained, str(recipe.parent / "dev.tsv"), *options) == 0
    table = capsys.readouterr().out
    assert table.startswith("|  | BLEU | chrF | BLEU-1 | BLEU-2 | BLEU-3 | docBLEU | sentences | documents |")
    assert "| 10 | 10 |" in table
    assert "|max_ngram_order:3" in table


def test_every_strategy_translates_windows_of_one_sentence_alike(
    trained, recipe, repository, tmp_path, monkeypatch, capsys
) -> None:
    lines = [line.split("\t") for line in (recipe.parent / "dev.tsv").read_text().splitlines()]
    paragraphs = [{"en": [source for source, _ in lines], "fr": [target for _, target in lines]}]
    corpus = tmp_path / "document.jsonl"
    corpus.write_text(json.dumps({"id": "one", "paragraphs": paragraphs}) + "\n")
    rows = []
    for strategy in ("sentence", "current", "prefix"):
        options = ["--no-ter", "--strategy", strategy]
        assert run_command("evaluate", trained, str(corpus), *options) == 0
        rows.append(capsys.readouterr().out.splitlines()[2].removeprefix(f"| {strategy} |"))
    assert rows[0].endswith(" 10 | 1 |")
    assert len(set(rows)) == 1


def test_translate_and_the_pipeline_translate_a_document_and_keep_its_white_space(
    trained, repository, tmp_path, monkeypatch, capsys
) -> None:
    pytest.importorskip("sentencex")
    text = "house red bird. \n\n  tree green house tree.\n"
    pipe = pipeline("translation", model=str(trained), device="cpu")
    (translated,) = pipe(text)
    alone = [pipe(sentence)[0]["translation_text"] for sentence in SENTENCES[:2]]
    assert translated["translation_text"] == f"{alone[0]} \n\n  {alone[1]}\n"
    (tmp_path / "in.txt").write_text(text)
    options = ["--model", trained, "--beams", "2", "--print", "translation"]
    assert run_command("translate", tmp_path / "in.txt", *options) == 0
    assert capsys.readouterr().out == translated["translation_text"]
