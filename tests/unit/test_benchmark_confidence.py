# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The benchmark of confidences, by examples worked by hand."""

import math
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch):
    """The benchmark, which is in no package, imported for one test."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import confidence

    yield confidence
    sys.modules.pop("confidence", None)


def scored(benchmark, pairs):
    return [benchmark.Scored(0, "", "", *pair) for pair in pairs]


def test_equal_values_share_their_rank(benchmark) -> None:
    assert benchmark.ranks([3.0, 1.0, 3.0, 2.0]).tolist() == [2.5, 0.0, 2.5, 1.0]


def test_correlations_are_those_of_pearson_and_spearman(benchmark) -> None:
    # Means 0.5 and 40; deviations -0.3, -0.1, 0.4 and -30, -20, 50: 31 / sqrt(0.26 * 3800).
    pearson, spearman = benchmark.correlations(scored(benchmark, [(0.2, 10.0), (0.4, 20.0), (0.9, 90.0)]))
    assert pearson == pytest.approx(31 / math.sqrt(0.26 * 3800))
    assert spearman == pytest.approx(1.0)


def test_the_table_has_the_means_of_each_fifth(benchmark) -> None:
    pairs = [(index / 10, 10.0 * index) for index in range(10)]
    rows = benchmark.reliability(scored(benchmark, pairs[::-1]), good=50.0)
    assert rows[0] == ["0.00 to 0.10", "2", "0.05", "5.0", "0 %"]
    assert rows[2] == ["0.40 to 0.50", "2", "0.45", "45.0", "50 %"]
    assert len(rows) == 5


def test_poor_sentences_among_the_least_confident_are_counted(benchmark) -> None:
    pairs = [(0.1, 20.0), (0.2, 70.0), (0.3, 80.0), (0.4, 30.0), (0.5, 90.0)]
    assert benchmark.poor_in_least(scored(benchmark, pairs), 50.0, 0.4) == (2, 1, 2)
