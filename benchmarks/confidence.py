# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Measures whether the confidence of sentences tells good translations from bad ones.

python benchmarks/confidence.py MODEL corpus.jsonl --sentences 300

Whole documents are translated until they have that many sentences. Printed are the correlation of confidence and
sentence chrF, a reliability table (for each fifth of the sentences by confidence: mean chrF, and the share of sentences
with at least --good chrF), and how many of the others the least confident sentences have. With --fit also the two
parameters of a logistic curve from the mean log-probability to the share of good sentences, fitted on the one half of
the documents and tried on the other.
"""

import argparse
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy
import sacrebleu
import torch
from transformers import AutoModelForSeq2SeqLM

from hier_nmt.configuration.configuration_choices import ENGINES
from hier_nmt.data.corpora import read_documents
from hier_nmt.data.documents import ParallelDocument
from hier_nmt.data.plain_typography import plain_text
from hier_nmt.data.tokenization import load_tokenizers
from hier_nmt.jobs.confidence_calibration import fit_logistic, reliability_rows
from hier_nmt.registration import run_with_engine
from hier_nmt.translation.document_translator import STRATEGIES, DocumentTranslator
from hier_nmt.translation.translation_documents import SourceDocument


class Scored(NamedTuple):
    """A translated sentence, the index of its document, its confidence and its sentence chrF against the reference."""

    document: int
    source: str
    translation: str
    confidence: float
    chrf: float


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options, checked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="checkpoint directory")
    parser.add_argument("corpus", help="JSON lines of parallel documents")
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--skip-documents", type=int, default=0)
    parser.add_argument("--good", type=float, default=50.0, help="chrF from which a translation counts as good")
    parser.add_argument("--strategy", choices=STRATEGIES)
    parser.add_argument("--engine", choices=ENGINES, default="torch")
    parser.add_argument("--beams", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--output", type=Path, help="JSON file of all sentences")
    return parser.parse_args(arguments)


def scored_sentences(options: argparse.Namespace) -> list[Scored]:
    """Documents of the corpus, translated, with the confidence and the chrF of each sentence."""
    model = AutoModelForSeq2SeqLM.from_pretrained(
        options.model, dtype=torch.float32, attn_implementation="eager"
    ).eval()
    languages = (model.config.source_language, model.config.target_language)
    documents: list[ParallelDocument] = []
    for index, document in enumerate(read_documents([options.corpus], "json-lines", *languages)):
        if index >= options.skip_documents and sum(one.num_sentences for one in documents) < options.sentences:
            documents.append(document)
    translator = DocumentTranslator(
        run_with_engine(model, options.engine),
        *load_tokenizers(options.model),
        strategy=options.strategy,
        batch_size=options.batch_size,
        confidence=True,
        generate_kwargs={"num_beams": options.beams},
    )
    translated = translator.translate([SourceDocument(one.source_paragraphs) for one in documents])
    found = []
    for index, (document, one) in enumerate(zip(documents, translated, strict=True)):
        pairs = [pair for paragraph in document.paragraphs for pair in paragraph]
        texts = [text for paragraph in one.paragraphs for text in paragraph]
        for pair, text, told in zip(pairs, texts, one.confidences or (), strict=True):
            if told.confidence is not None:
                chrf = sacrebleu.sentence_chrf(plain_text(text), [plain_text(pair.target)]).score
                found.append(Scored(index, pair.source, text, told.confidence, chrf))
    return found


def correlations(sentences: Sequence[Scored]) -> tuple[float, float]:
    """Pearson's and Spearman's correlation of confidence and chrF."""
    values = numpy.array([[one.confidence for one in sentences], [one.chrf for one in sentences]])
    return float(numpy.corrcoef(values)[0, 1]), float(numpy.corrcoef([ranks(row) for row in values])[0, 1])


def ranks(values: Sequence[float]) -> numpy.ndarray:
    """The rank of each value from 0; equal values have the mean of their ranks."""
    _, place, counts = numpy.unique(values, return_inverse=True, return_counts=True)
    return (numpy.cumsum(counts) - (counts + 1) / 2)[place]


def reliability(sentences: Sequence[Scored], good: float) -> list[list[str]]:
    """For each fifth of the sentences by confidence: its bounds, mean confidence, mean chrF, and share of good ones."""
    values = [one.confidence for one in sentences], [one.chrf for one in sentences]
    return [
        [
            f"{row.lowest:.2f} to {row.highest:.2f}",
            str(row.num_sentences),
            f"{row.mean_confidence:.2f}",
            f"{row.mean_chrf:.1f}",
            f"{100 * row.share_good:.0f} %",
        ]
        for row in reliability_rows(*values, good)
    ]


def poor_in_least(sentences: Sequence[Scored], good: float, share: float) -> tuple[int, int, int]:
    """Of the least confident share of the sentences: how many there are, how many of them are not good; and how many
    of all are not."""
    ordered = sorted(sentences, key=lambda one: one.confidence)
    count = max(1, round(share * len(ordered)))
    return count, sum(one.chrf < good for one in ordered[:count]), sum(one.chrf < good for one in ordered)


def fit_report(sentences: Sequence[Scored], good: float) -> str:
    """The curve of the documents with even numbers, and its Brier score on the others beside that of their mean."""
    halves = [[one for one in sentences if one.document % 2 == half] for half in (0, 1)]
    slope, intercept = fit_logistic(
        [math.log(one.confidence) for one in halves[0]], [one.chrf >= good for one in halves[0]]
    )
    mean = sum(one.chrf >= good for one in halves[0]) / max(1, len(halves[0]))
    errors = [
        (
            (1 / (1 + math.exp(-slope * math.log(one.confidence) - intercept)) - (one.chrf >= good)) ** 2,
            (mean - (one.chrf >= good)) ** 2,
        )
        for one in halves[1]
    ]
    brier = [sum(column) / max(1, len(errors)) for column in zip(*errors, strict=True)]
    return (
        f"share with chrF >= {good:g}: 1 / (1 + exp(-({slope:.2f} * ln(confidence) + {intercept:.2f}))); Brier score "
        f"on {len(errors)} other sentences {brier[0]:.3f}, of the mean {brier[1]:.3f}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the figures."""
    options = parse_arguments(arguments)
    sentences = scored_sentences(options)
    pearson, spearman = correlations(sentences)
    print(f"{len(sentences)} sentences: Pearson {pearson:.3f}, Spearman {spearman:.3f} with sentence chrF")
    print(f"| confidence | sentences | mean | chrF | chrF >= {options.good:g} |\n|---|---|---|---|---|")
    for row in reliability(sentences, options.good):
        print(f"| {' | '.join(row)} |")
    for share in (0.1, 0.2):
        count, num_found, num_poor = poor_in_least(sentences, options.good, share)
        print(f"the {count} least confident have {num_found} of the {num_poor} sentences below chrF {options.good:g}")
    if options.fit:
        print(fit_report(sentences, options.good))
    if options.output is not None:
        options.output.write_text(json.dumps([one._asdict() for one in sentences], ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
