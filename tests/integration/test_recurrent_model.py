# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""A recurrent model through the scripts of the repository: split, train, resume, evaluate, translate, pipeline."""

import json
import random
import shutil
from pathlib import Path

import pytest
import torch
import yaml
from safetensors.torch import load_file
from training_scripts import run, script
from transformers import AutoModelForSeq2SeqLM, pipeline

from hier_nmt import RNNNMTForConditionalGeneration

WORDS = {"house": "maison", "red": "rouge", "bird": "oiseau", "tree": "arbre", "green": "vert", "night": "nuit"}
MAX_STEPS = 240


def write_pairs(path: Path, num_pairs: int) -> None:
    """Different sentences of three to five words, translated word by word."""
    numbers = random.Random(3)
    sentences: dict[str, str] = {}
    while len(sentences) < num_pairs:
        words = numbers.choices(list(WORDS), k=numbers.randint(3, 5))
        sentences[" ".join(words)] = " ".join(WORDS[word] for word in words)
    path.write_text("".join(f"{source}\t{target}\tby someone\n" for source, target in sentences.items()))


@pytest.fixture(scope="module")
def recipe(tmp_path_factory, repository) -> Path:
    """A recipe of a tiny model on a corpus that the script has split."""
    folder = tmp_path_factory.mktemp("recurrent")
    write_pairs(folder / "pairs.txt", 330)
    with pytest.MonkeyPatch.context() as patch:
        options = ["--first", "300", "--dev", "10", "--test", "10"]
        assert run(script(repository, "split_pairs"), patch, folder / "pairs.txt", folder, *options) == 0
    sections = {
        "data": {
            "format": "tab-separated",
            "train": [str(folder / "train.tsv")],
            "validation": [str(folder / "dev.tsv")],
            "source_language": "en",
            "target_language": "fr",
        },
        "tokenizer": {"vocab_size": 320},
        "model": {"model_type": "rnn_nmt", "embedding_size": 64, "hidden_size": 64, "init_std": 0.1},
        "training": {
            "output_dir": str(folder / "run"),
            "max_tokens_per_batch": 300,
            "learning_rate": 0.01,
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
    with pytest.MonkeyPatch.context() as patch:
        run(script(repository, "train"), patch, recipe)
    return recipe.parent / "run"


def test_the_split_has_the_sizes_asked_for_and_no_common_source(recipe) -> None:
    sources = [
        [line.split("\t")[0] for line in (recipe.parent / f"{name}.tsv").read_text().splitlines()]
        for name in ("train", "dev", "test")
    ]
    assert [len(part) for part in sources] == [280, 10, 10]
    assert len({source for part in sources for source in part}) == 300


def test_a_split_that_is_impossible_is_named(repository, recipe, tmp_path, monkeypatch, capsys) -> None:
    pairs = recipe.parent / "pairs.txt"
    assert run(script(repository, "split_pairs"), monkeypatch, pairs, tmp_path, "--dev", "330") == 1
    assert "330 pairs cannot give 330 for development" in capsys.readouterr().err


def test_it_learns_to_translate_what_it_has_not_seen(trained) -> None:
    summary = json.loads((trained / "training_summary.json").read_text())
    assert summary["steps"] == MAX_STEPS
    assert summary["metrics"]["final"]["eval_bleu"] > 80
    assert type(AutoModelForSeq2SeqLM.from_pretrained(trained)) is RNNNMTForConditionalGeneration


def test_a_resumed_run_ends_with_the_weights_of_an_uninterrupted_one(trained, recipe, repository, monkeypatch) -> None:
    resumed = recipe.parent / "resumed"
    resumed.mkdir()
    for name in ("recipe.yaml", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(trained / name, resumed)
    shutil.copytree(trained / f"checkpoint-{MAX_STEPS // 2}", resumed / f"checkpoint-{MAX_STEPS // 2}")
    run(script(repository, "train"), monkeypatch, recipe, f"--output-dir={resumed}")
    weights, resumed_weights = (load_file(folder / "model.safetensors") for folder in (trained, resumed))
    assert weights.keys() == resumed_weights.keys()
    assert all(torch.equal(weights[name], resumed_weights[name]) for name in weights)


def test_evaluate_reports_bleu_of_every_order(trained, recipe, repository, monkeypatch, capsys) -> None:
    options = ["--format", "tab-separated", "--no-ter", "--bleu-orders", "1", "2", "3"]
    corpus = str(recipe.parent / "test.tsv")
    assert run(script(repository, "evaluate"), monkeypatch, trained, corpus, *options) == 0
    table = capsys.readouterr().out
    assert table.startswith("|  | BLEU | chrF | BLEU-1 | BLEU-2 | BLEU-3 | docBLEU | sentences | documents |")
    assert "| 10 | 10 |" in table
    assert "|max_ngram_order:3" in table


def test_a_strategy_of_windows_translates_sentence_by_sentence(
    trained, recipe, repository, tmp_path, monkeypatch, capsys
) -> None:
    lines = [line.split("\t") for line in (recipe.parent / "test.tsv").read_text().splitlines()]
    paragraphs = [{"en": [source for source, _ in lines], "fr": [target for _, target in lines]}]
    (tmp_path / "document.jsonl").write_text(json.dumps({"id": "one", "paragraphs": paragraphs}) + "\n")
    rows = []
    for strategy in ("sentence", "current", "prefix"):
        options = ["--no-ter", "--strategy", strategy]
        assert (
            run(script(repository, "evaluate"), monkeypatch, trained, str(tmp_path / "document.jsonl"), *options) == 0
        )
        rows.append(capsys.readouterr().out.splitlines()[2].removeprefix(f"| {strategy} |"))
    assert rows[0].endswith(" 10 | 1 |")
    assert len(set(rows)) == 1


def test_translate_and_the_pipeline_translate_a_document_sentence_by_sentence(
    trained, repository, tmp_path, monkeypatch, capsys
) -> None:
    pytest.importorskip("sentencex")
    text = "house red bird. \n\n  tree green house tree.\n"
    pipe = pipeline("translation", model=str(trained), device="cpu")
    (translated,) = pipe(text)
    alone = [pipe(sentence)[0]["translation_text"] for sentence in ("house red bird.", "tree green house tree.")]
    assert translated["translation_text"] == f"{alone[0]} \n\n  {alone[1]}\n"
    (tmp_path / "in.txt").write_text(text)
    options = ["--model", trained, "--beams", "2", "--print", "translation"]
    assert run(script(repository, "translate"), monkeypatch, tmp_path / "in.txt", *options) == 0
    assert capsys.readouterr().out == translated["translation_text"]
