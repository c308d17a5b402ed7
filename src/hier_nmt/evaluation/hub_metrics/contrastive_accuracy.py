# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Contrastive accuracy, for `evaluate.load`."""

from typing import Any

import datasets
import evaluate

from hier_nmt.evaluation.intervals import wilson_interval

DESCRIPTION = """How often the right one of several translations has the highest score. A tie with a wrong one counts as
an error."""
INPUTS = """
Args:
    predictions: for each example the scores of its translations; higher is better.
    references: for each example the index of the right one.
Returns:
    accuracy, low, high (0 to 100; 95 % Wilson interval), chance, num_ties, num_examples, signature.
"""


class ContrastiveAccuracy(evaluate.Metric):
    """Accuracy of scores on a contrastive set, ties counted as errors."""

    def _info(self) -> evaluate.MetricInfo:
        features = {"predictions": datasets.List(datasets.Value("float64")), "references": datasets.Value("int64")}
        return evaluate.MetricInfo(
            description=DESCRIPTION, citation="", inputs_description=INPUTS, features=datasets.Features(features)
        )

    def _compute(self, predictions: list[list[float]], references: list[int]) -> dict[str, Any]:
        num_right = num_ties = 0
        for index, (scores, correct) in enumerate(zip(predictions, references, strict=True)):
            if not 0 <= correct < len(scores) or len(scores) < 2:
                raise ValueError(f"example {index}: {len(scores)} scores, but reference {correct}")
            best_wrong = max(score for index, score in enumerate(scores) if index != correct)
            num_right += scores[correct] > best_wrong
            num_ties += scores[correct] == best_wrong
        low, high = wilson_interval(num_right, len(predictions))
        return {
            "accuracy": 100 * num_right / len(predictions),
            "low": 100 * low,
            "high": 100 * high,
            "chance": sum(100 / len(scores) for scores in predictions) / len(predictions),
            "num_ties": num_ties,
            "num_examples": len(predictions),
            "signature": f"contrastive_accuracy|n:{len(predictions)}|ties:errors|interval:wilson95",
        }
