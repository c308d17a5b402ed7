# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Confidence intervals of shares, and tests of their difference, from scipy."""

from typing import Any

try:
    from scipy.stats import binomtest
except ImportError:
    binomtest = None


def wilson_interval(num_right: int, num_total: int, confidence: float = 0.95) -> tuple[float, float]:
    """The Wilson score interval (Wilson 1927) of the share num_right / num_total, both ends from 0 to 1.

    Raises:
        ImportError: scipy is not installed.
        ValueError: the numbers do not form a share.
    """
    if not 0 <= num_right <= num_total or num_total < 1:
        raise ValueError(f"{num_right} of {num_total} is not a share")
    interval = _binomial_test(num_right, num_total).proportion_ci(confidence_level=confidence, method="wilson")
    return float(interval.low), float(interval.high)


def mcnemar_p_value(num_only_first: int, num_only_second: int) -> float:
    """Exact two-sided p value of the hypothesis that two systems are equally good (McNemar 1947).

    Args:
        num_only_first, num_only_second: examples that only one of the systems got right.
    """
    if not num_only_first + num_only_second:
        return 1.0
    return float(_binomial_test(num_only_first, num_only_first + num_only_second).pvalue)


def _binomial_test(num_right: int, num_total: int) -> Any:
    if binomtest is None:
        raise ImportError("intervals and tests need scipy: pip install 'hier_nmt[eval]'")
    return binomtest(num_right, num_total)
