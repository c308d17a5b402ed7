# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess
import sys

import pytest
from sacrebleu.metrics.bleu import BLEU

from hier_nmt.evaluation.discourse_metrics import METRIC_NAMES, lexical_consistency, metric_path, repetition_rate

TERMS = {"bank": [["banque", "banques"], ["rive"]], "seal": [["sceau"], ["phoque"]]}
SOURCES = [
    ["The bank is here.", "Nothing.", "A bank, a BANK.", "The bank again.", "A seal."],
    ["The bank.", "The banker."],
]
TRANSLATIONS = [
    ["La banque est ici.", "Rien.", "Une rive, une banque.", "Les Banques.", "Un sceau."],
    ["La rive.", "Le banquier."],
]


def test_lexical_consistency_is_the_share_of_equal_pairs() -> None:
    # In the first document "bank" is in three sentences: banque, rive (the first counts), banque: one pair of three
    # is equal.
    # "seal" and the second document's "bank" are in one sentence each and form no pair.
    result = lexical_consistency(SOURCES, TRANSLATIONS, TERMS)
    assert result.consistency == pytest.approx(100 / 3)
    assert (result.num_pairs, result.num_occurrences, result.num_untranslated) == (3, 3, 0)


def test_an_unknown_translation_equals_nothing() -> None:
    result = lexical_consistency([["a bank"] * 3], [["x", "y", "une banque"]], TERMS)
    assert (result.consistency, result.num_untranslated) == (0.0, 2)


def test_without_a_pair_there_is_no_consistency() -> None:
    assert lexical_consistency([["a bank"]], [["une banque"]], TERMS).consistency is None


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (([["a"]], [], {}), "1 source documents but 0 translations"),
        (([["a"]], [["b", "c"]], {}), "document 0: 1 source sentences but 2 translations"),
        ((["a"], [["b"]], {}), "document 0 must be a list of sentences"),
        (([["a"]], [["b"]], {"a": [["x"], ["X"]]}), "'x' belongs to two translations of 'a'"),
        (([["a"]], [["b"]], {"a": ["x"]}), "translations of 'a' must be lists of forms"),
    ],
)
def test_lexical_consistency_names_what_does_not_fit(arguments, reason) -> None:
    with pytest.raises(ValueError, match=reason):
        lexical_consistency(*arguments)


@pytest.mark.parametrize(
    ("sentences", "n", "expected"),
    [
        (["a b a b a b"], 2, 100 * 3 / 5),  # ab ba ab ba ab
        (["a b c d"], 1, 0.0),
        (["a a", "a a"], 1, 50.0),  # only within a sentence
        (["a"], 2, 0.0),
        ([], 4, 0.0),
    ],
)
def test_repetition_rate_counts_repeated_n_grams(sentences, n, expected) -> None:
    assert repetition_rate(sentences, n) == pytest.approx(expected)


def test_an_n_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="n must be at least 1, got 0"):
        repetition_rate(["a"], 0)


def test_metric_path_names_the_known_metrics() -> None:
    with pytest.raises(ValueError, match="contrastive_accuracy, document_bleu"):
        metric_path("bleurt")


LOAD_ALL = """
import json, evaluate
from hier_nmt.evaluation.discourse_metrics import METRIC_NAMES, metric_path
inputs = {
    "document_bleu": dict(
        predictions=[["a b c d e .", "f g"], ["h i j k l"]], references=[["a b c d .", "f g"], ["h i j k m"]]
    ),
    "contrastive_accuracy": dict(predictions=[[1.0, 2.0], [0.0, 0.0, -1.0]], references=[1, 0]),
    "lexical_consistency": dict(
        predictions=[["la banque", "la rive"]],
        references=[["a bank", "a bank"]],
        terms={"bank": [["banque"], ["rive"]]},
    ),
    "repetition_rate": dict(predictions=["a b a b a b"], references=["a b c"], n=2),
}
print(json.dumps({name: evaluate.load(metric_path(name)).compute(**inputs[name]) for name in METRIC_NAMES}))
"""


def test_every_metric_loads_by_path_without_network_in_another_directory(tmp_path) -> None:
    offline = {"HF_HUB_OFFLINE": "1", "HF_EVALUATE_OFFLINE": "1", "HF_HOME": str(tmp_path / "home")}
    source = os.pathsep.join(sys.path)
    completed = subprocess.run(
        [sys.executable, "-c", LOAD_ALL],
        cwd=tmp_path,
        env={**os.environ, **offline, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=True,
    )
    results = json.loads(completed.stdout.splitlines()[-1])
    assert set(results) == set(METRIC_NAMES)
    assert all(result["signature"] for result in results.values())
    expected = BLEU().corpus_score(["a b c d e . f g", "h i j k l"], [["a b c d . f g", "h i j k m"]]).score
    assert results["document_bleu"]["document_bleu"] == pytest.approx(expected)
    contrastive = results["contrastive_accuracy"]
    assert (contrastive["accuracy"], contrastive["num_ties"]) == (50.0, 1)
    assert contrastive["chance"] == pytest.approx((50 + 100 / 3) / 2)
    assert results["lexical_consistency"]["lexical_consistency"] == 0.0
    assert results["repetition_rate"]["repetition_rate"] == pytest.approx(60.0)
