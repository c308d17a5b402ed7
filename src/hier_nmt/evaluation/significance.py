# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Significance of differences between two or more systems on one test set, by paired tests.

Paired bootstrap resampling (Koehn 2004) and approximate randomisation (Riezler and Maxwell 2005) are sacrebleu's;
contrastive sets use McNemar's exact test.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest

from ..data.plain_typography import plain_text
from .intervals import mcnemar_p_value
from .metrics import Paragraphs, check_alignment, flat

Method = Literal["bootstrap", "randomisation"]
_TEST_TYPES = {"bootstrap": "bs", "randomisation": "ar"}
_DEFAULT_SAMPLES = {"bootstrap": 1000, "randomisation": 10000}


@dataclass(frozen=True)
class Comparison:
    """A system's score under one metric, and the significance of its difference from the first system.

    Attributes:
        system: name of the system.
        metric: name of the metric.
        score: from 0 to 100.
        p_value: probability of a difference this large between equally good systems; None for the first system.
        mean, interval: of bootstrap samples; the interval is half its width. None for other tests.
        signature: how all this was computed.
    """

    system: str
    metric: str
    score: float
    p_value: float | None
    mean: float | None
    interval: float | None
    signature: str

    def to_dict(self) -> dict[str, Any]:
        """The comparison in types of JSON."""
        return asdict(self)


def compare_translations(
    systems: Mapping[str, Sequence[Paragraphs]],
    references: Sequence[Paragraphs],
    *,
    method: Method = "bootstrap",
    num_samples: int | None = None,
    seed: int = 12345,
    target_language: str | None = None,
    plain_typography: bool = False,
) -> list[Comparison]:
    """BLEU, chrF and document BLEU of every system, compared with the first; document BLEU resamples documents.

    Args:
        systems: translated documents (paragraphs of sentences) of each system, the baseline first.
        references: the same for the reference.
        method: `bootstrap` or `randomisation`.
        num_samples: number of resamples; default: 1,000 for the bootstrap and 10,000 trials for randomisation.
        seed: of the samples.
        target_language: ISO 639 code, by which sacrebleu chooses the BLEU tokenizer.
        plain_typography: compare with straight quotation marks and apostrophes everywhere, as `score_documents` does.

    Raises:
        ValueError: fewer than two systems, an unknown method, or documents that do not match the reference.
    """
    if len(systems) < 2:
        raise ValueError(f"a comparison needs two systems, got {list(systems)}")
    if method not in _TEST_TYPES:
        raise ValueError(f"method must be one of {', '.join(_TEST_TYPES)}, got {method!r}")
    form = plain_text if plain_typography else str
    expected = [list(map(form, flat(document))) for document in references]
    outputs = {name: [list(map(form, flat(document))) for document in documents] for name, documents in systems.items()}
    for documents in outputs.values():
        check_alignment(documents, expected)
    by_sentence = {name: [text for document in documents for text in document] for name, documents in outputs.items()}
    by_document = {name: [" ".join(document) for document in documents] for name, documents in outputs.items()}
    language = target_language or ""
    samples = num_samples or _DEFAULT_SAMPLES[method]
    sentences = [text for document in expected for text in document]
    joined = [" ".join(document) for document in expected]
    metrics: dict[str, Any] = {"BLEU": BLEU(trg_lang=language, references=[sentences])}
    metrics["chrF"] = CHRF(references=[sentences])
    with _sacrebleu_seed(seed):
        found = list(_paired(by_sentence, metrics, method, samples))
        document_metric = {"docBLEU": BLEU(trg_lang=language, references=[joined])}
        found += _paired(by_document, document_metric, method, samples)
    if plain_typography:
        found = [replace(one, signature=f"{one.signature}|typography:plain") for one in found]
    return found


def compare_contrastive(outcomes: Mapping[str, Sequence[bool]], metric: str = "accuracy") -> list[Comparison]:
    """Accuracy of every system on one contrastive set, compared with the first by McNemar's exact test.

    Args:
        outcomes: for each system whether it got each example right, in the same order.
        metric: name of the row.

    Raises:
        ValueError: no example, or systems with different numbers of examples.
    """
    sizes = {name: len(values) for name, values in outcomes.items()}
    if len(set(sizes.values())) != 1 or not all(sizes.values()):
        raise ValueError(f"the systems must have outcomes of the same examples, got {sizes}")
    (first, baseline), *_ = outcomes.items()
    comparisons = []
    for name, values in outcomes.items():
        only_first = sum(one and not two for one, two in zip(baseline, values, strict=True))
        only_second = sum(two and not one for one, two in zip(baseline, values, strict=True))
        p_value = None if name == first else mcnemar_p_value(only_first, only_second)
        score = 100 * sum(values) / len(values)
        signature = f"test:mcnemar-exact|n:{len(values)}"
        comparisons.append(Comparison(name, metric, score, p_value, None, None, signature))
    return comparisons


def comparison_table(comparisons: Sequence[Comparison]) -> str:
    """The comparisons as a Markdown table, with the signatures below it."""
    lines = ["| system | metric | score | difference | p | bootstrap mean |", "|---|---|---|---|---|---|"]
    baseline: dict[str, float] = {}
    for item in comparisons:
        baseline.setdefault(item.metric, item.score)
        difference = "" if item.p_value is None else f"{item.score - baseline[item.metric]:+.2f}"
        p_value = "" if item.p_value is None else f"{item.p_value:.4f}"
        mean = "" if item.mean is None else f"{item.mean:.2f} ± {item.interval:.2f}"
        lines.append(f"| {item.system} | {item.metric} | {item.score:.2f} | {difference} | {p_value} | {mean} |")
    return "\n".join([*lines, "", *dict.fromkeys(f"{item.metric}: {item.signature}" for item in comparisons)])


def _paired(
    systems: dict[str, list[str]], metrics: dict[str, Any], method: Method, num_samples: int
) -> Iterator[Comparison]:
    test = PairedTest(
        list(systems.items()), metrics, references=None, test_type=_TEST_TYPES[method], n_samples=num_samples
    )
    signatures, scores = test()
    # sacrebleu has its own names of metrics ("chrF2"), in the given order.
    own_names = [name for name in scores if name != "System"]
    baseline = next(iter(systems.values()))
    for metric, own_name in zip(metrics, own_names, strict=True):
        results: Any = scores[own_name]
        for name, result in zip(systems, results, strict=True):
            is_bootstrap = method == "bootstrap"
            # sacrebleu counts only differences larger than the real one, so equal outputs would seem surely different.
            p_value = 1.0 if result.p_value is not None and systems[name] == baseline else result.p_value
            yield Comparison(
                name,
                metric,
                result.score,
                p_value,
                result.mean if is_bootstrap else None,
                result.ci if is_bootstrap else None,
                str(signatures[own_name]),
            )


@contextmanager
def _sacrebleu_seed(seed: int) -> Iterator[None]:
    """Passes the seed to sacrebleu, which reads it from the environment."""
    name = "SACREBLEU_SEED"
    earlier = os.environ.get(name)
    os.environ[name] = str(seed)
    try:
        yield
    finally:
        os.environ.pop(name)
        if earlier is not None:
            os.environ[name] = earlier
