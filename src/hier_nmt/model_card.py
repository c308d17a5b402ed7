# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Model cards, generated from what a training run and its evaluations wrote down; what is unknown says so."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from huggingface_hub import EvalResult, ModelCard, ModelCardData

from .data.text_files import write_text
from .evaluation.teacher_forcing import LABEL
from .hub import TAGS

UNKNOWN = "unknown"
SUMMARY_FILE = "training_summary.json"


@dataclass(frozen=True)
class Evaluation:
    """The scores of one model on one corpus.

    Attributes:
        model: name of the model, for the table.
        corpus: name of the corpus.
        content: what `training/evaluate.py` or `training/evaluate_contrastive.py` wrote.
    """

    model: str
    corpus: str
    content: dict[str, Any]

    @classmethod
    def load(cls, argument: str) -> "Evaluation":
        """The evaluation named by `MODEL:CORPUS:PATH`; ValueError says what is wrong with it."""
        model, _, rest = argument.partition(":")
        corpus, _, path = rest.partition(":")
        if not (model and corpus and path):
            raise ValueError(f"an evaluation is given as MODEL:CORPUS:PATH, not {argument!r}")
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, json.JSONDecodeError) as error:
            raise ValueError(f"{path} holds no scores: {error}") from None
        if "reports" not in content:
            raise ValueError(f"{path} holds no scores: it has no key 'reports'")
        return cls(model, corpus, content)

    @property
    def is_contrastive(self) -> bool:
        """Whether these are accuracies on a contrastive set, not scores of translations."""
        return any("accuracies" in report for report in self.content["reports"])


@dataclass(frozen=True)
class CardTexts:
    """What a card says that no file knows.

    Attributes:
        name: heading of the card.
        model_path: what a user gives `pipeline` as the model.
        description, limits: paragraphs in Markdown.
        license: of the weights, as the Hub names it.
        datasets: names of the training data.
    """

    name: str
    model_path: str
    description: str
    limits: str
    license: str = "apache-2.0"
    datasets: tuple[str, ...] = ()


def model_card(
    directory: str | Path, texts: CardTexts, evaluations: Sequence[Evaluation], template: str | Path
) -> ModelCard:
    """The card of the checkpoint in `directory`, from its `config.json`, its training summary and the evaluations.

    Args:
        directory: checkpoint directory.
        texts: what no file knows.
        evaluations: rows of the results table, in order.
        template: Jinja template of the card.

    Raises:
        FileNotFoundError: there is no `config.json`.
    """
    config = json.loads((Path(directory) / "config.json").read_text(encoding="utf-8"))
    summary_path = Path(directory) / SUMMARY_FILE
    summary = json.loads(summary_path.read_text(encoding="utf-8")) if summary_path.is_file() else {}
    languages = (config.get("source_language") or UNKNOWN, config.get("target_language") or UNKNOWN)
    return ModelCard.from_template(
        card_data=_card_data(texts, languages, evaluations),
        template_path=str(template),
        name=texts.name,
        model_path=texts.model_path,
        description=texts.description,
        limits=texts.limits,
        source_language=languages[0],
        target_language=languages[1],
        network=_network_rows(config, summary),
        training=_training_rows(summary),
        results=results_table([item for item in evaluations if not item.is_contrastive]),
        forced=forced_note(evaluations),
        context=context_table([item for item in evaluations if item.is_contrastive]),
    )


def write_model_card(card: ModelCard, path: str | Path) -> None:
    """Writes the card so that an interruption leaves the old one or the new one."""
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
    """What the scores are of: translations, and, named so, what was said with the reference fed in."""
    free = "BLEU, chrF and TER are those of free-running translations: the model reads its own words, no reference."
    if not any(report.get("label") == LABEL for item in evaluations for report in item.content["reports"]):
        return f"{free} Scores with the reference fed in (teacher-forced): {UNKNOWN}."
    return (
        f"{free} Those named teacher-forced are of no translation: for each word of the reference, the model's first "
        f"choice behind the reference's own words. They compare with nothing but the same."
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
        interval = f"{overall['low']:.1f} to {overall['high']:.1f}"
        cells = [item.corpus, item.model, report["kind"], f"{overall['accuracy']:.1f}", interval, chance]
        lines.append(f"| {' | '.join([*cells, str(overall['num_undecided']), str(overall['num_examples'])])} |")
    signatures = dict.fromkeys(f"- {item.corpus}, {item.model}: `{report['signature']}`" for item, report in reports)
    return "\n".join([*lines, "", "Signatures:", "", *signatures])


def _beams(evaluation: Evaluation) -> str:
    return str(evaluation.content.get("settings", {}).get("beams", UNKNOWN))


def _card_data(texts: CardTexts, languages: tuple[str, str], evaluations: Sequence[Evaluation]) -> ModelCardData:
    own = [item for item in evaluations if item.model == texts.name and not item.is_contrastive]
    results = [
        EvalResult(
            task_type="translation",
            dataset_type=item.corpus,
            dataset_name=item.corpus,
            metric_type=score["name"].lower(),
            metric_name=f"{score['name']} ({report['label']})",
            metric_value=round(score["value"], 2),
        )
        for item in own
        for report in item.content["reports"]
        for score in report["scores"]
    ]
    return ModelCardData(
        language=[language for language in languages if language != UNKNOWN] or None,
        license=texts.license,
        library_name="transformers",
        pipeline_tag="translation",
        tags=list(TAGS),
        datasets=list(texts.datasets) or None,
        model_name=texts.name if results else None,
        eval_results=results or None,
    )


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
        ("context discount", str(training.get("context_discount", 1.0)) if summary else UNKNOWN),
        ("steps", _thousands(summary.get("steps"))),
        ("target tokens seen", _thousands(summary.get("num_target_tokens"))),
        ("hours of training steps", UNKNOWN if seconds is None else f"{seconds / 3600:.2f}"),
        ("hardware", _hardware(summary)),
        ("precision", ("bfloat16 autocast" if training.get("bf16") else "float32") if summary else UNKNOWN),
        ("seed", str(summary.get("seed", UNKNOWN))),
        ("versions", ", ".join(versions) or UNKNOWN),
    ]


def _start(summary: dict[str, Any]) -> str:
    if not summary:
        return UNKNOWN
    start = summary["recipe"]["training"].get("init_from")
    return "random weights" if start is None else f"the weights of {Path(start).name}"


def _hardware(summary: dict[str, Any]) -> str:
    hardware = summary.get("hardware", {})
    if hardware.get("device") == "cpu":
        return f"{hardware.get('num_cpus', UNKNOWN)} CPU cores"
    return str(hardware.get("name", UNKNOWN))


def _thousands(number: int | None) -> str:
    return UNKNOWN if number is None else f"{number:,}"
