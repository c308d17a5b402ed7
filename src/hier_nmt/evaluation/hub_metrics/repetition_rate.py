# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Repeated n-grams within sentences, for `evaluate.load`."""

from typing import Any

import datasets
import evaluate

from hier_nmt.evaluation.discourse_metrics import repetition_rate

DESCRIPTION = """Share of n-grams that already occurred in the same sentence (seq-rep-n of Welleck et al. 2020, summed
over the corpus): a sign of a repetition loop in decoding. The share in the references is given for comparison."""
INPUTS = """
Args:
    predictions: sentences.
    references: sentences of the reference, for comparison.
    n: length of the n-grams in words.
Returns:
    repetition_rate and reference_repetition_rate (0 to 100), signature.
"""


class RepetitionRate(evaluate.Metric):
    """Share of repeated n-grams."""

    def _info(self) -> evaluate.MetricInfo:
        sentence = datasets.Value("string")
        return evaluate.MetricInfo(
            description=DESCRIPTION,
            citation="",
            inputs_description=INPUTS,
            features=datasets.Features({"predictions": sentence, "references": sentence}),
        )

    def _compute(self, predictions: list[str], references: list[str], n: int = 4) -> dict[str, Any]:
        return {
            "repetition_rate": repetition_rate(predictions, n),
            "reference_repetition_rate": repetition_rate(references, n),
            "signature": f"repetition_rate|n:{n}|scope:sentence|words:whitespace",
        }
