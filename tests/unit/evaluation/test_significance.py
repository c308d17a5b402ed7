# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import os
import random

import pytest
from sacrebleu.metrics.bleu import BLEU

from hier_nmt.evaluation.significance import compare_contrastive, compare_translations, comparison_table

WORDS = ["the", "a", "cat", "dog", "sat", "lay", "on", "near", "mat", "rug"]


def documents(seed: int) -> list[list[list[str]]]:
    generator = random.Random(seed)
    return [[[" ".join(generator.choices(WORDS, k=8)) for _ in range(3)]] for _ in range(8)]


def noisy(texts: list[list[list[str]]], share: float, seed: int) -> list[list[list[str]]]:
    generator = random.Random(seed)

    def changed(text: str) -> str:
        return " ".join(generator.choice(WORDS) if generator.random() < share else word for word in text.split())

    return [[[changed(text) for text in paragraph] for paragraph in document] for document in texts]


REFERENCES = documents(1)
GOOD, BAD = noisy(REFERENCES, 0.1, 2), noisy(REFERENCES, 0.5, 3)


@pytest.mark.parametrize("method", ["bootstrap", "randomisation"])
def test_a_clear_difference_is_significant_and_equal_outputs_are_not(method) -> None:
    systems = {"bad": BAD, "good": GOOD, "same": BAD}
    found = compare_translations(systems, REFERENCES, method=method, num_samples=100)
    p_values = {(item.system, item.metric): item.p_value for item in found}
    for metric in ("BLEU", "chrF", "docBLEU"):
        assert p_values["bad", metric] is None
        assert p_values["good", metric] < 0.05
        assert p_values["same", metric] == 1.0


def test_scores_are_those_of_sacrebleu() -> None:
    found = compare_translations({"bad": BAD, "good": GOOD}, REFERENCES, num_samples=10)
    scores = {(item.system, item.metric): item.score for item in found}
    flat = [[text for document in texts for text in document[0]] for texts in (GOOD, REFERENCES)]
    joined = [[" ".join(document[0]) for document in texts] for texts in (GOOD, REFERENCES)]
    assert scores["good", "BLEU"] == pytest.approx(BLEU().corpus_score(flat[0], [flat[1]]).score)
    assert scores["good", "docBLEU"] == pytest.approx(BLEU().corpus_score(joined[0], [joined[1]]).score)


def test_plain_typography_sees_no_difference_between_apostrophes() -> None:
    straight = [[["l'eau de l'arbre est là"]] for _ in range(8)]
    curly = [[["l\u2019eau de l\u2019arbre est là"]] for _ in range(8)]
    systems = {"curly": curly, "straight": straight}
    found = compare_translations(systems, straight, num_samples=10)
    assert found[0].score < 100
    assert "typography" not in found[0].signature
    found = compare_translations(systems, straight, num_samples=10, plain_typography=True)
    assert [round(item.score) for item in found] == [100] * len(found)
    assert all(item.signature.endswith("|typography:plain") for item in found)


def test_the_order_of_two_systems_does_not_change_how_sure_their_difference_is() -> None:
    one = compare_translations({"a": GOOD, "b": BAD}, REFERENCES, num_samples=50, method="randomisation")
    two = compare_translations({"b": BAD, "a": GOOD}, REFERENCES, num_samples=50, method="randomisation")
    p_values = [{item.metric: item.p_value for item in found if item.p_value is not None} for found in (one, two)]
    assert p_values[0] == p_values[1]


def test_the_seed_decides_the_samples_and_leaves_no_trace() -> None:
    before = os.environ.get("SACREBLEU_SEED")
    runs = [compare_translations({"a": GOOD, "b": BAD}, REFERENCES, num_samples=50, seed=s) for s in (1, 1, 2)]
    means = [[item.mean for item in run] for run in runs]
    assert means[0] == means[1] != means[2]
    assert "seed:2" in runs[2][0].signature
    assert os.environ.get("SACREBLEU_SEED") == before


@pytest.mark.parametrize(
    ("systems", "options", "reason"),
    [
        ({"a": GOOD}, {}, r"needs two systems, got \['a'\]"),
        ({"a": GOOD, "b": BAD}, {"method": "t-test"}, "bootstrap, randomisation, got 't-test'"),
        ({"a": GOOD, "b": BAD[:-1]}, {}, "7 translated documents but 8 references"),
    ],
)
def test_what_cannot_be_compared_is_named(systems, options, reason) -> None:
    with pytest.raises(ValueError, match=reason):
        compare_translations(systems, REFERENCES, **options)


def test_contrastive_accuracies_are_compared_by_mcnemar() -> None:
    first = [True, True, False, False, False, False, False, False, False, True]
    second = [False, True, True, True, True, True, True, True, True, True]
    found = compare_contrastive({"first": first, "second": second})
    assert [item.score for item in found] == [30.0, 90.0]
    # One example only the first got right, seven only the second: 2 * (1 + 8) / 256.
    assert found[1].p_value == pytest.approx(18 / 256)
    assert "| second | accuracy | 90.00 | +60.00 | 0.0703 |" in comparison_table(found)


def test_contrastive_outcomes_of_different_sets_are_refused() -> None:
    with pytest.raises(ValueError, match="same examples"):
        compare_contrastive({"a": [True], "b": [True, False]})
