# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""HAN models through the scripts of the repository: train, resume, evaluate, translate a document.

One has a softmax over words and Big Bird attention; the others predict word vectors, which were trained on the
corpus: by fastText, where gensim is installed, and out of counts of neighbours.
"""

import itertools
import json
import random
import re
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from command_line import run_command
from safetensors.torch import load_file
from transformers import AutoModelForSeq2SeqLM, pipeline

from hier_nmt import HANForConditionalGeneration
from hier_nmt.data.tokenization import encode_sentences, load_tokenizers
from hier_nmt.data.word_vectors import read_vectors
from hier_nmt.text.windows import join_window

WORDS = {"house": "maison", "red": "rouge", "bird": "oiseau", "tree": "arbre", "green": "vert", "7": "7", "24": "24"}
MAX_STEPS = 260
SIZES: dict[str, Any] = {
    "model_type": "han_nmt",
    "window_sentences": 0,
    "d_model": 48,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 96,
    "decoder_ffn_dim": 96,
    "summary_kernel_size": 4,
    "dropout": 0.0,
    "init_std": 0.1,
    "max_source_tokens": 64,
    "max_target_tokens": 64,
}
BIG_BIRD = {
    "encoder_self_attention": "big_bird",
    "decoder_self_attention": "big_bird",
    "big_bird_block_size": 2,
    "attention_kernel": "grouped",
}
VECTOR_SIZE = 6


def make_documents(num_documents: int, seed: int) -> list[dict[str, Any]]:
    """Documents of one or two sentences of two or three words, translated word by word."""
    numbers = random.Random(seed)
    documents = []
    for index in range(num_documents):
        sentences = [numbers.choices(list(WORDS), k=numbers.randint(2, 3)) for _ in range(numbers.randint(1, 2))]
        sides = {"en": [" ".join(words) for words in sentences]}
        sides["fr"] = [" ".join(WORDS[word] for word in words) for words in sentences]
        documents.append({"id": f"{seed}-{index}", "paragraphs": [sides]})
    return documents


def write_documents(path: Path, documents: Iterable[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(document) + "\n" for document in documents), encoding="utf-8")


def split(sentences: Iterable[str]) -> list[list[str]]:
    """The words of sentences, each digit for itself."""
    spaced = ("".join(f" {c} " if c.isdigit() else c for c in sentence) for sentence in sentences)
    return [sentence.split() for sentence in spaced]


def write_neighbour_vectors(path: Path, sentences: Sequence[Sequence[str]]) -> None:
    """Vectors from the counts of left and right neighbours, by their singular values, as a .vec file."""
    words = sorted({word for sentence in sentences for word in sentence})
    counts = np.zeros((2, len(words), len(words)))
    for sentence in sentences:
        for first, second in itertools.pairwise(map(words.index, sentence)):
            counts[0, first, second] += 1
            counts[1, second, first] += 1
    shares = np.hstack(list(np.sqrt(counts / counts.sum(-1, keepdims=True))))
    left, _, _ = np.linalg.svd(shares - shares.mean(0))
    vectors = 2 * left[:, :VECTOR_SIZE]
    lines = [f"{word} {' '.join(f'{value:.6f}' for value in row)}" for word, row in zip(words, vectors, strict=True)]
    path.write_text("\n".join([f"{len(words)} {VECTOR_SIZE}", *lines]) + "\n", encoding="utf-8")


def write_fasttext_model(path: Path, sentences: Sequence[Sequence[str]]) -> None:
    """A .bin file of fastText, trained on the sentences."""
    models = pytest.importorskip("gensim.models", reason="needs gensim")
    fasttext = pytest.importorskip("gensim.models.fasttext", reason="needs gensim")
    options = {"vector_size": VECTOR_SIZE, "min_count": 1, "window": 2, "epochs": 20, "bucket": 1000}
    model = models.FastText(sentences, workers=1, seed=1, **options)
    fasttext.save_facebook_model(model, str(path))


def word_vector_sections(folder: Path, kind: str, documents: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The recipe keys of word vectors, which are written into the folder."""
    suffix, write = {"fasttext": (".bin", write_fasttext_model), "neighbours": (".vec", write_neighbour_vectors)}[kind]
    for language in ("en", "fr"):
        sides = [sentence for document in documents for sentence in document["paragraphs"][0][language]]
        write(folder / f"{language}{suffix}", split(sides))
    return {
        "tokenizer": {"algorithm": "word", "joint": False, "vocab_size": 100, "split_digits": True},
        "model": {"word_vector_size": VECTOR_SIZE},
        "training": {"source_vectors": str(folder / f"en{suffix}"), "target_vectors": str(folder / f"fr{suffix}")},
    }


def least_chrf(recipe: Path) -> float:
    """The required accuracy. FastText's vectors of a few words that all occur beside each other are similar."""
    training = yaml.safe_load(recipe.read_text())["training"]
    return 5 if training.get("source_vectors", "").endswith(".bin") else 60


@pytest.fixture(scope="module", params=["softmax", "neighbours", pytest.param("fasttext", marks=pytest.mark.slow)])
def recipe(request, tmp_path_factory) -> Path:
    """The recipe of a tiny model and its corpus."""
    folder = tmp_path_factory.mktemp("han")
    documents = make_documents(800, seed=1)
    write_documents(folder / "train.jsonl", documents)
    write_documents(folder / "dev.jsonl", make_documents(12, seed=2))
    special: dict[str, dict[str, Any]] = {"tokenizer": {"vocab_size": 300}, "model": BIG_BIRD, "training": {}}
    if request.param != "softmax":
        special = word_vector_sections(folder, request.param, documents)
    training = {
        "output_dir": str(folder / "run"),
        "seed": 1,
        "max_tokens_per_batch": 400,
        "learning_rate": 4e-3,
        "warmup_steps": 30,
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
    }
    data = {"train": [str(folder / "train.jsonl")], "validation": [str(folder / "dev.jsonl")]}
    sections = {
        "data": {**data, "source_language": "en", "target_language": "fr"},
        "tokenizer": special["tokenizer"],
        "model": {**SIZES, **special["model"]},
        "training": {**training, **special["training"]},
        "generation": {"num_beams": 2},
    }
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(sections), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def trained(recipe, repository) -> Path:
    assert run_command("train", recipe) == 0
    return recipe.parent / "run"


def test_it_learns_to_translate_documents_that_it_has_not_seen(trained, recipe) -> None:
    summary = json.loads((trained / "training_summary.json").read_text())
    assert summary["steps"] == MAX_STEPS
    assert summary["metrics"]["final"]["eval_chrf"] > least_chrf(recipe)
    assert type(AutoModelForSeq2SeqLM.from_pretrained(trained)) is HANForConditionalGeneration


def test_the_squared_error_is_far_below_that_of_a_constant_answer(trained, recipe) -> None:
    if "word_vector_size" not in yaml.safe_load(recipe.read_text())["model"]:
        pytest.skip("this model has no word vectors")
    tokenizer = load_tokenizers(trained)[1]
    documents = map(json.loads, (recipe.parent / "dev.jsonl").read_text().splitlines())
    ids = []
    for document in documents:
        rows = encode_sentences(tokenizer, document["paragraphs"][0]["fr"])
        ids += join_window(rows, [False] * len(rows), tokenizer.sep_token_id, 0, tokenizer.eos_token_id)
    vectors = AutoModelForSeq2SeqLM.from_pretrained(trained).lm_head.weight.detach()[ids]
    constant = float((vectors - vectors.mean(0)).square().mean())
    metrics = json.loads((trained / "training_summary.json").read_text())["metrics"]["final"]
    assert metrics["eval_loss"] < constant / 3


def test_the_vectors_are_those_of_the_files(trained, recipe) -> None:
    training = yaml.safe_load(recipe.read_text())["training"]
    if "source_vectors" not in training:
        pytest.skip("this model has no word vectors")
    model = AutoModelForSeq2SeqLM.from_pretrained(trained)
    stacks = (model.model.encoder, model.model.decoder)
    for name, tokenizer, stack in zip(("source", "target"), load_tokenizers(trained), stacks, strict=True):
        vectors = read_vectors(training[f"{name}_vectors"], ["7", "2", "4"])
        assert set(vectors) == {"7", "2", "4"}
        for word, vector in vectors.items():
            found = stack.embed_tokens.weight[tokenizer.convert_tokens_to_ids(word)]
            assert torch.equal(found, torch.from_numpy(vector))
        assert tokenizer.convert_tokens_to_ids("24") == tokenizer.unk_token_id


def test_a_resumed_run_ends_with_the_weights_of_an_uninterrupted_one(trained, recipe, repository, monkeypatch) -> None:
    resumed = recipe.parent / "resumed"
    resumed.mkdir()
    for name in ("recipe.yaml", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(trained / name, resumed)
    if (trained / "target_tokenizer").is_dir():
        shutil.copytree(trained / "target_tokenizer", resumed / "target_tokenizer")
    shutil.copytree(trained / f"checkpoint-{MAX_STEPS // 2}", resumed / f"checkpoint-{MAX_STEPS // 2}")
    run_command("train", recipe, f"--output-dir={resumed}")
    weights, resumed_weights = (load_file(folder / "model.safetensors") for folder in (trained, resumed))
    assert weights.keys() == resumed_weights.keys()
    assert all(torch.equal(weights[name], resumed_weights[name]) for name in weights)


def test_two_loads_of_a_checkpoint_agree_to_the_bit(trained) -> None:
    tokenizer, _ = load_tokenizers(trained)
    inputs = tokenizer(["red house 24 tree green 7 bird"], return_tensors="pt", add_special_tokens=False)
    first, second = (AutoModelForSeq2SeqLM.from_pretrained(trained).eval() for _ in range(2))
    with torch.no_grad():
        logits = [model(**inputs, decoder_input_ids=inputs["input_ids"][:, :3]).logits for model in (first, second)]
    assert torch.equal(*logits)


def test_evaluate_names_scores_under_teacher_forcing(
    trained, recipe, repository, tmp_path, monkeypatch, capsys
) -> None:
    pytest.importorskip("scipy")
    options = ["--no-ter", "--teacher-forced", "--output-dir", tmp_path / "scores"]
    corpus = str(recipe.parent / "dev.jsonl")
    assert run_command("evaluate", trained, corpus, *options) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("|  | BLEU | chrF | docBLEU | teacher-forced BLEU | teacher-forced chrF |")
    assert [line.split("|")[1].strip() for line in lines[2:4]] == ["default", "teacher-forced"]
    reports = json.loads((tmp_path / "scores" / "scores.json").read_text())["reports"]
    values = {score["name"]: score["value"] for report in reports for score in report["scores"]}
    assert values["teacher-forced chrF"] > least_chrf(recipe)
    has_vectors = "source_vectors" in yaml.safe_load(recipe.read_text())["training"]
    assert ("vector accuracy" in values) == has_vectors
    assert values.get("vector accuracy", 100) > 30


def test_the_pipeline_translates_a_document_alone_as_among_others(trained) -> None:
    pytest.importorskip("sentencex")
    texts = ["house red bird 24.\n\ntree green 7.", "red red tree."]
    pipe = pipeline("translation", model=str(trained), device="cpu")
    together = [result["translation_text"] for result in pipe(texts, batch_size=2)]
    assert together == [pipe(text)[0]["translation_text"] for text in texts]
    assert together[0].count("\n\n") == 1
    assert all(together)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("--model.word_vector_size=null", "training.source_vectors and target_vectors need model.word_vector_size"),
        ("--training.target_vectors=null", "needs training.source_vectors and training.target_vectors"),
        ("--training.target_vectors=none.vec", "training.target_vectors: no such file: none.vec"),
        ("--tokenizer.algorithm=bpe", "tokenizer.algorithm=bpe with model.word_vector_size=6: use word"),
        ("--tokenizer.joint=true", "model.word_vector_size=6 needs tokenizer.joint: false"),
        ("--training.label_smoothing_factor=0.1", "label_smoothing_factor=0.1 with model.word_vector_size=6"),
    ],
)
def test_contradictions_about_word_vectors_are_named(recipe, change, message, capsys) -> None:
    if "word_vector_size" not in yaml.safe_load(recipe.read_text())["model"]:
        pytest.skip("this model has no word vectors")
    assert run_command("train", recipe, change) == 1
    assert message in capsys.readouterr().err


def test_vectors_of_another_width_are_named(recipe, tmp_path, capsys) -> None:
    if "word_vector_size" not in yaml.safe_load(recipe.read_text())["model"]:
        pytest.skip("this model has no word vectors")
    options = ["--model.word_vector_size=5", f"--output-dir={tmp_path / 'run'}"]
    assert run_command("train", recipe, *options) == 1
    assert re.search(r"model.word_vector_size=5, but the vectors in .* have 6 numbers", capsys.readouterr().err)
