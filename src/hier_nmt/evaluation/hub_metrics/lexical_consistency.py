# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Consistency of terms within documents, for `evaluate.load`."""

import hashlib
import json
from dataclasses import asdict
from typing import Any

import datasets
import evaluate

from hier_nmt.evaluation.discourse_metrics import lexical_consistency

DESCRIPTION = """Lexical translation consistency ratio (Lyu et al. 2021): the share of the pairs of sentences of a
document with the same source term that have the same translation of it. The translations of each term are given."""
INPUTS = """
Args:
    predictions: translated documents, each a list of sentences.
    references: the SOURCE documents, with as many sentences.
    terms: for each source term a list of its translations, each a list of forms that count as the same.
Returns:
    lexical_consistency (0 to 100, None without any pair), num_pairs, num_occurrences, num_untranslated, signature.
"""


class LexicalConsistencyMetric(evaluate.Metric):
    """Lexical translation consistency ratio of given terms."""

    def _info(self) -> evaluate.MetricInfo:
        document = datasets.List(datasets.Value("string"))
        return evaluate.MetricInfo(
            description=DESCRIPTION,
            citation="",
            inputs_description=INPUTS,
            features=datasets.Features({"predictions": document, "references": document}),
        )

    def _compute(
        self, predictions: list[list[str]], references: list[list[str]], terms: dict[str, list[list[str]]]
    ) -> dict[str, Any]:
        figures = asdict(lexical_consistency(references, predictions, terms))
        digest = hashlib.sha256(json.dumps(terms, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:8]
        signature = f"lexical_consistency|pairs:sentences|terms:{len(terms)}:{digest}|case:folded"
        return {"lexical_consistency": figures.pop("consistency"), **figures, "signature": signature}
