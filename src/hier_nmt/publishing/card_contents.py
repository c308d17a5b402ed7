# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The contents of a model card that no file of a checkpoint has: texts and evaluations."""

import json
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

from ..data.text_files import read_text
from .citations import CITATIONS

UNKNOWN = "unknown"


@dataclass(frozen=True)
class Evaluation:
    """The scores of one model on one corpus.

    Attributes:
        model: name of the model, for the table.
        corpus: name of the corpus.
        content: the output of `hier-nmt evaluate` or `hier-nmt contrastive`.
    """

    model: str
    corpus: str
    content: dict[str, Any]

    @classmethod
    def load(cls, argument: str) -> "Evaluation":
        """The evaluation named by `MODEL:CORPUS:PATH`; ValueError if it is malformed."""
        model, _, rest = argument.partition(":")
        corpus, _, path = rest.partition(":")
        if not (model and corpus and path):
            raise ValueError(f"an evaluation is given as MODEL:CORPUS:PATH, not {argument!r}")
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, json.JSONDecodeError) as error:
            raise ValueError(f"{path} has no scores: {error}") from None
        if "reports" not in content:
            raise ValueError(f"{path} has no scores: the key 'reports' is missing")
        return cls(model, corpus, content)

    @classmethod
    def of_scores(cls, row: dict[str, Any], signatures: dict[str, str]) -> "Evaluation":
        """The evaluation of a table row: `model`, `corpus`, `decoding`, `beams`, `sentences`, `documents`, and a score
        under the name of each metric."""
        facts = ("model", "corpus", "decoding", "beams", "sentences", "documents")
        scores = [
            {"name": name, "value": value, "signature": signatures.get(name, UNKNOWN)}
            for name, value in row.items()
            if name not in facts
        ]
        report = {"label": row.get("decoding", UNKNOWN), "scores": scores}
        sizes = {f"num_{name}": row.get(name, UNKNOWN) for name in ("sentences", "documents")}
        return cls(
            _named(row, "model"),
            _named(row, "corpus"),
            {"settings": {"beams": row.get("beams", UNKNOWN)}, "reports": [report | sizes]},
        )

    @classmethod
    def of_accuracy(cls, row: dict[str, Any]) -> "Evaluation":
        """The evaluation of a table row: `set`, `model`, `evaluation`, `accuracy`, `interval`, `chance`, `undecided`,
        `examples` and `signature`."""
        interval = row.get("interval")
        low, high = (None, None) if interval is None else interval
        accuracy = {
            "accuracy": row["accuracy"],
            "low": low,
            "high": high,
            "chance": row.get("chance"),
            "num_undecided": row.get("undecided", UNKNOWN),
            "num_examples": row.get("examples", UNKNOWN),
        }
        report = {
            "kind": row.get("evaluation", "contrastive"),
            "signature": row.get("signature", UNKNOWN),
            "accuracies": [accuracy],
        }
        return cls(_named(row, "model"), _named(row, "set"), {"reports": [report]})

    @property
    def is_contrastive(self) -> bool:
        """Whether these are accuracies on a contrastive set, not scores of translations."""
        return any("accuracies" in report for report in self.content["reports"])


@dataclass(frozen=True)
class CardTexts:
    """Contents of a card that no file of a checkpoint has: texts, and facts about models without a directory.

    Attributes:
        name: heading of the card.
        model_path: the argument of `pipeline` that loads the model.
        path_with_code: the same for users without the package, with the code beside the weights; default: `model_path`.
        description, intended_use, limits, training_data: paragraphs in Markdown; `training_data` includes the terms
            under which the data may be used.
        license: of the weights, as the Hub names it.
        datasets: names of the training data.
        recipe: path of the recipe, from the root of the repository.
        energy: used in training, as text.
        attention_figure: path or address of a figure of the model's attention.
        citations: keys of `CITATIONS`.
        results, signatures, accuracies: rows of tables, see `Evaluation.of_scores` and `Evaluation.of_accuracy`.
        summary: the training summary, for a model without a directory.
    """

    name: str
    model_path: str
    description: str
    limits: str
    path_with_code: str | None = None
    intended_use: str = UNKNOWN
    training_data: str = UNKNOWN
    license: str = "apache-2.0"
    datasets: tuple[str, ...] = ()
    recipe: str | None = None
    energy: str = UNKNOWN
    attention_figure: str | None = None
    citations: tuple[str, ...] = ()
    results: tuple[dict[str, Any], ...] = ()
    signatures: dict[str, str] = field(default_factory=dict)
    accuracies: tuple[dict[str, Any], ...] = ()
    summary: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, path: str | Path) -> "CardTexts":
        """The texts in a YAML file; ValueError if it is malformed, OSError if it cannot be read."""
        try:
            values = yaml.safe_load(read_text(path))
        except yaml.YAMLError as error:
            raise ValueError(f"{path} is not a YAML file: {error}") from None
        known = [item.name for item in fields(cls)]
        if not isinstance(values, dict) or not {"name", "model_path", "description", "limits"} <= values.keys():
            raise ValueError(f"{path} needs the keys name, model_path, description and limits")
        if unknown := [str(key) for key in values if key not in known]:
            raise ValueError(f"{path}: unknown key {unknown[0]!r}; known are {', '.join(known)}")
        if unknown_citations := [name for name in values.get("citations", ()) if name not in CITATIONS]:
            raise ValueError(f"{path}: unknown citation {unknown_citations[0]!r}; known are {', '.join(CITATIONS)}")
        typed: dict[str, Any] = {key: tuple(one) if isinstance(one, list) else one for key, one in values.items()}
        return cls(**typed)

    @property
    def evaluations(self) -> list[Evaluation]:
        """The evaluations of the table rows."""
        scores = [Evaluation.of_scores(row, self.signatures) for row in self.results]
        return scores + [Evaluation.of_accuracy(row) for row in self.accuracies]


def _named(row: dict[str, Any], key: str) -> str:
    if key not in row:
        raise ValueError(f"a row of results has no key {key!r}: {row}")
    return str(row[key])
