# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Model cards, generated from the results of a training run and its evaluations; unknown values are shown as such."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from huggingface_hub import EvalResult, ModelCard, ModelCardData

from ..configuration.config_classes import CONFIG_CLASSES
from ..data.text_files import read_text, write_text
from ..evaluation.teacher_forcing import LABEL
from .card_contents import UNKNOWN, CardTexts, Evaluation
from .citations import CITATIONS
from .hub import TAGS

SUMMARY_FILE = "training_summary.json"
WEIGHTS_FILE = "model.safetensors"


def model_card(
    directory: str | Path | None,
    texts: CardTexts,
    evaluations: Sequence[Evaluation],
    template: str | Path,
    recipes: str | Path = ".",
) -> ModelCard:
    """The card of a model, from its `config.json`, its training summary and the evaluations.

    Args:
        directory: checkpoint directory; None for a model that is elsewhere: then the recipe describes the network, and
            the texts its training.
        texts: contents that no file has.
        evaluations: further rows of the results tables, in order, after those of the texts.
        template: Jinja template of the card.
        recipes: folder that the path of the recipe is relative to.

    Raises:
        FileNotFoundError: no `config.json`, or no such recipe.
        ValueError: neither a directory nor a recipe.
    """
    if directory is None and texts.recipe is None:
        raise ValueError(f"{texts.name}: without a checkpoint directory, the texts must name a recipe")
    recipe = {} if texts.recipe is None else yaml.safe_load(read_text(Path(recipes) / texts.recipe))
    config = _recipe_config(recipe) if directory is None else _json_of(Path(directory) / "config.json")
    summary = texts.summary
    if directory is not None and (Path(directory) / SUMMARY_FILE).is_file():
        summary = _json_of(Path(directory) / SUMMARY_FILE)
    if recipe:
        summary = {"recipe": recipe, "seed": recipe["training"].get("seed", UNKNOWN), **summary}
    languages = (config.get("source_language") or UNKNOWN, config.get("target_language") or UNKNOWN)
    evaluations = [*texts.evaluations, *evaluations]
    return ModelCard.from_template(
        card_data=_card_data(texts, languages, evaluations, config),
        template_path=str(template),
        texts=texts,
        source_language=languages[0],
        target_language=languages[1],
        network=[*_network_rows(config, summary), ("SHA-256 of the weights", _checksum(directory))],
        training=[
            ("recipe", texts.recipe or UNKNOWN),
            *_training_rows(summary),
            ("energy", texts.energy),
        ],
        results=results_table([item for item in evaluations if not item.is_contrastive]),
        forced=forced_note([item for item in evaluations if not item.is_contrastive]),
        context=context_table([item for item in evaluations if item.is_contrastive]),
        citations=[CITATIONS[name] for name in texts.citations],
    )


def write_model_card(card: ModelCard, path: str | Path) -> None:
    """Writes the card atomically."""
    write_text(Path(path), str(card))


def results_table(evaluations: Sequence[Evaluation]) -> str:
    """Markdown table, one row per model, corpus and decoding strategy, with the signatures of the scores below it."""
    reports = [(item, report) for item in evaluations for report in item.content["reports"]]
    if not reports:
        return f"Results: {UNKNOWN}."
    names = list(dict.fromkeys(score["name"] for _, report in reports for score in report["scores"]))
    lines = [
        f"| model | corpus | decoding | beams | {' | '.join(names)} | sentences | documents |",
        f"|{'---|' * (len(names) + 6)}",
    ]
    for item, report in reports:
        values = {score["name"]: f"{score['value']:.2f}" for score in report["scores"]}
        cells = [item.model, item.corpus, report["label"], _beams(item), *(values.get(name, "") for name in names)]
        lines.append(f"| {' | '.join([*cells, str(report['num_sentences']), str(report['num_documents'])])} |")
    signatures = dict.fromkeys(
        f"- {score['name']}: `{score['signature']}`" for _, report in reports for score in report["scores"]
    )
    return "\n".join([*lines, "", "Signatures (sacrebleu):", "", *signatures])


def forced_note(evaluations: Sequence[Evaluation]) -> str:
    """Whether the scores are of translations or of teacher forcing; empty without scores."""
    if not evaluations:
        return ""
    free = (
        "BLEU, chrF and TER are those of free-running translations: the model's inputs are its own tokens, not the "
        "reference."
    )
    if not any(report.get("label") == LABEL for item in evaluations for report in item.content["reports"]):
        return f"{free} Scores under teacher forcing: {UNKNOWN}."
    return (
        f"{free} Scores named teacher-forced are not those of translations: they score the model's most likely token "
        f"at each position, given the reference's tokens before it, and are comparable only with each other."
    )


def context_table(evaluations: Sequence[Evaluation]) -> str:
    """Markdown table, one row per model, contrastive set and kind of evaluation, with the signatures below it."""
    reports = [(item, report) for item in evaluations for report in item.content["reports"]]
    if not reports:
        return f"Accuracy on contrastive sets: {UNKNOWN}."
    lines = [
        "| set | model | evaluation | accuracy | 95 % interval | chance | undecided | examples |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for item, report in reports:
        overall = report["accuracies"][0]
        chance = "" if overall["chance"] is None else f"{overall['chance']:.1f}"
        interval = UNKNOWN if overall["low"] is None else f"{overall['low']:.1f} to {overall['high']:.1f}"
        cells = [item.corpus, item.model, report["kind"], f"{overall['accuracy']:.1f}", interval, chance]
        lines.append(f"| {' | '.join([*cells, str(overall['num_undecided']), str(overall['num_examples'])])} |")
    signatures = dict.fromkeys(f"- {item.corpus}, {item.model}: `{report['signature']}`" for item, report in reports)
    return "\n".join([*lines, "", "Signatures:", "", *signatures])


def _beams(evaluation: Evaluation) -> str:
    return str(evaluation.content.get("settings", {}).get("beams", UNKNOWN))


def _card_data(
    texts: CardTexts, languages: tuple[str, str], evaluations: Sequence[Evaluation], config: dict[str, Any]
) -> ModelCardData:
    own = [item for item in evaluations if item.model == texts.name]
    results = [result for item in own for result in (_accuracies(item) if item.is_contrastive else _scores(item))]
    return ModelCardData(
        language=[language for language in languages if language != UNKNOWN] or None,
        license=texts.license,
        library_name="transformers",
        pipeline_tag="translation",
        tags=[*TAGS, *({config.get("model_type", "hier_nmt")} - {"hier_nmt"})],
        datasets=list(texts.datasets) or None,
        metrics=list(dict.fromkeys(result.metric_type for result in results)) or None,
        model_name=texts.name,
        eval_results=results or None,
    )


def _scores(evaluation: Evaluation) -> list[EvalResult]:
    return [
        _result(evaluation, score["name"].lower(), f"{score['name']} ({report['label']})", score["value"])
        for report in evaluation.content["reports"]
        for score in report["scores"]
    ]


def _accuracies(evaluation: Evaluation) -> list[EvalResult]:
    return [
        _result(evaluation, "accuracy", f"{report['kind']} accuracy", report["accuracies"][0]["accuracy"])
        for report in evaluation.content["reports"]
    ]


def _result(evaluation: Evaluation, metric_type: str, metric_name: str, value: float) -> EvalResult:
    return EvalResult(
        task_type="translation",
        dataset_type=evaluation.corpus,
        dataset_name=evaluation.corpus,
        metric_type=metric_type,
        metric_name=metric_name,
        metric_value=round(value, 2),
    )


def _json_of(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def _checksum(directory: str | Path | None) -> str:
    path = None if directory is None else Path(directory) / WEIGHTS_FILE
    return UNKNOWN if path is None or not path.is_file() else f"`{hashlib.sha256(path.read_bytes()).hexdigest()}`"


def _recipe_config(recipe: dict[str, Any]) -> dict[str, Any]:
    """The configuration of the network that a recipe describes."""
    values = dict(recipe.get("model") or {})
    config_class = CONFIG_CLASSES[values.pop("model_type", next(iter(CONFIG_CLASSES)))]
    tokenizer, data = recipe.get("tokenizer") or {}, recipe["data"]
    languages = {name: data[name] for name in ("source_language", "target_language")}
    sizes = {"vocab_size": tokenizer["vocab_size"]} if "vocab_size" in tokenizer else {}
    config = config_class(**sizes, **languages, **values).to_dict()
    # The size of the vocabulary of another model's tokenizer is only known there.
    return config if sizes else {**config, "vocab_size": None}


def _network_rows(config: dict[str, Any], summary: dict[str, Any]) -> list[tuple[str, str]]:
    window = config.get("window_sentences", UNKNOWN)
    special = _SPECIAL_ROWS.get(config.get("model_type", ""), _transformer_rows)
    return [
        ("parameters", _thousands(summary.get("num_parameters"))),
        ("layers", f"{config.get('encoder_layers')} encoder, {config.get('decoder_layers')} decoder"),
        ("vocabulary", _thousands(config.get("vocab_size"))),
        ("window", "whole document" if window == 0 else f"{window} sentences"),
        *special(config),
    ]


def _recurrent_rows(config: dict[str, Any]) -> list[tuple[str, str]]:
    directions = "both directions" if config.get("bidirectional") else "one direction"
    return [
        ("width", f"{config.get('hidden_size')}, embeddings {config.get('embedding_size')}"),
        ("recurrent layers", f"{config.get('rnn_type')}, encoder in {directions}"),
        ("attention", f"{config.get('attention')}{', input feeding' if config.get('input_feeding') else ''}"),
    ]


def _han_rows(config: dict[str, Any]) -> list[tuple[str, str]]:
    size = config.get("word_vector_size")
    words = "chosen by softmax" if size is None else f"predicted as frozen word vectors of width {size}"
    return [
        ("width", f"{config.get('d_model')}, feed-forward {config.get('encoder_ffn_dim')}"),
        ("summaries", f"of {config.get('summary_kernel_size')} tokens, half of them apart"),
        (
            "attention",
            f"encoder {config.get('encoder_self_attention')}, decoder {config.get('decoder_self_attention')}, "
            f"beside the summaries",
        ),
        ("words", words),
    ]


def _transformer_rows(config: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        ("width", f"{config.get('d_model')}, feed-forward {config.get('encoder_ffn_dim')}"),
        (
            "attention",
            f"encoder {config.get('encoder_self_attention')}, decoder {config.get('decoder_self_attention')}, "
            f"cross {config.get('cross_attention')}",
        ),
        ("positions", f"{config.get('position_encoding')}, shift {config.get('segment_shift')}"),
    ]


_SPECIAL_ROWS = {"rnn_nmt": _recurrent_rows, "han_nmt": _han_rows}


def _training_rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    training = summary.get("recipe", {}).get("training", {})
    data = summary.get("data", {}).get("train", {})
    seconds = summary.get("train_seconds")
    versions = [f"{name} {version}" for name, version in summary.get("versions", {}).items()]
    return [
        ("documents", _thousands(data.get("num_documents"))),
        ("sentence pairs", _thousands(data.get("num_sentences"))),
        ("windows", _thousands(data.get("num_windows"))),
        ("started from", _start(summary)),
        ("context discount", str(training.get("context_discount", 1.0)) if training else UNKNOWN),
        ("steps", _thousands(summary.get("steps"))),
        ("target tokens seen", _thousands(summary.get("num_target_tokens"))),
        ("hours of training steps", _hours(seconds)),
        ("hardware", _hardware(summary)),
        ("precision", _precision(summary) if training else UNKNOWN),
        ("optimizer", _optimizer(training)),
        ("batches", _batches(training)),
        ("label smoothing", str(training.get("label_smoothing_factor", 0.0)) if training else UNKNOWN),
        ("seed", str(summary.get("seed", UNKNOWN))),
        ("versions", ", ".join(versions) or UNKNOWN),
    ]


def _precision(summary: dict[str, Any]) -> str:
    # Earlier summaries have it only in the recipe, which did not have `auto` then.
    uses_bf16 = summary.get("bf16", summary["recipe"]["training"].get("bf16"))
    return "bfloat16 autocast" if uses_bf16 else "float32"


def _start(summary: dict[str, Any]) -> str:
    if "recipe" not in summary:
        return UNKNOWN
    start = summary["recipe"]["training"].get("init_from")
    return "random weights" if start is None else f"the weights of {Path(start).name}"


def _hours(seconds: float | str | None) -> str:
    return UNKNOWN if seconds is None else seconds if isinstance(seconds, str) else f"{seconds / 3600:.2f}"


def _optimizer(training: dict[str, Any]) -> str:
    if "learning_rate" not in training:
        return UNKNOWN
    parts = [f"learning rate {training['learning_rate']:g}", str(training.get("lr_scheduler_type", "linear"))]
    return ", ".join([str(training.get("optim", "adamw_torch_fused")), *parts])


def _batches(training: dict[str, Any]) -> str:
    tokens = training.get("max_tokens_per_batch")
    steps = training.get("gradient_accumulation_steps", 1)
    if tokens is None:
        return UNKNOWN
    return f"up to {_thousands(tokens)} tokens" + (f", {steps} accumulated" if steps > 1 else "")


def _hardware(summary: dict[str, Any]) -> str:
    hardware = summary.get("hardware", {})
    if hardware.get("device") == "cpu":
        return f"{hardware.get('num_cpus', UNKNOWN)} CPU cores"
    return str(hardware.get("name", UNKNOWN))


def _thousands(number: int | str | None) -> str:
    """The number with commas; an approximate number is a text."""
    return UNKNOWN if number is None else number if isinstance(number, str) else f"{number:,}"
