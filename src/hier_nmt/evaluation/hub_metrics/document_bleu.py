# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""BLEU over whole documents, for `evaluate.load`."""

from typing import Any

import datasets
import evaluate
from sacrebleu.metrics.bleu import BLEU

DESCRIPTION = (
    "BLEU in which a segment is a whole document, its sentences joined by a space; with sacrebleu's signature."
)
INPUTS = """
Args:
    predictions: translated documents, each a list of sentences.
    references: the same for the reference, with as many sentences.
    target_language: ISO 639 code; sacrebleu chooses the tokenizer by it (zh, ja, ko; others 13a).
Returns:
    document_bleu (0 to 100), num_documents, signature.
"""


class DocumentBLEU(evaluate.Metric):
    """Document BLEU with sacrebleu's signature."""

    def _info(self) -> evaluate.MetricInfo:
        document = datasets.List(datasets.Value("string"))
        return evaluate.MetricInfo(
            description=DESCRIPTION,
            citation="",
            inputs_description=INPUTS,
            features=datasets.Features({"predictions": document, "references": document}),
        )

    def _compute(
        self, predictions: list[list[str]], references: list[list[str]], target_language: str = ""
    ) -> dict[str, Any]:
        for index, (document, reference) in enumerate(zip(predictions, references, strict=True)):
            if len(document) != len(reference):
                raise ValueError(f"document {index}: {len(document)} sentences but {len(reference)} in the reference")
        metric = BLEU(trg_lang=target_language)
        joined = [[" ".join(document) for document in documents] for documents in (predictions, references)]
        result = metric.corpus_score(joined[0], [joined[1]])
        return {
            "document_bleu": result.score,
            "num_documents": len(predictions),
            "signature": str(metric.get_signature()),
        }
