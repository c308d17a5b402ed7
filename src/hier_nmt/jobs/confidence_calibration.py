# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the confidence of a model means: the share of development sentences with such a confidence whose translation was
good, that is, had at least some sentence chrF against its reference.

The share is a logistic curve of the logarithm of the confidence, which is the mean log-probability of the tokens (Platt
1999, "Probabilistic Outputs for Support Vector Machines", section 2). It is stored beside the weights and not in the
configuration: it belongs to the way of decoding and the kind of text, too, and must not go along when the configuration
is saved with other weights.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..data.text_files import write_text

FILE_NAME = "confidence_calibration.json"
FILE_FORMAT = "hier_nmt confidence calibration 1"
# Fewer say too little.
MIN_SENTENCES = 100
_NUM_BINS = 5
_NUM_STEPS = 50


class CalibrationError(ValueError):
    """A calibration that cannot be made, or a file that is none."""


class ReliabilityRow(NamedTuple):
    """Sentences of similar confidence: the lowest and highest confidence, how many they are, the means of confidence
    and chrF, and the share of good translations."""

    lowest: float
    highest: float
    num_sentences: int
    mean_confidence: float
    mean_chrf: float
    share_good: float


@dataclass(frozen=True)
class ConfidenceCalibration:
    """The curve of one model.

    Attributes:
        slope, intercept: of the logarithm of the confidence.
        good_chrf: the sentence chrF from which a translation is good.
        num_sentences: that were measured.
        table: what was measured, for people.
    """

    slope: float
    intercept: float
    good_chrf: float
    num_sentences: int
    table: tuple[ReliabilityRow, ...] = ()

    def share(self, confidence: float) -> float:
        """The share of good translations among those with this confidence."""
        if confidence <= 0:
            return 0.0
        return 1 / (1 + math.exp(-self.slope * math.log(confidence) - self.intercept))

    def __str__(self) -> str:
        return f"the share of {self.num_sentences} development sentences like it with chrF {self.good_chrf:g} or more"


def calibrated(confidence: float | None, calibration: ConfidenceCalibration | None) -> float | None:
    """A calibrated confidence; as it is where there is no calibration, None where there is no confidence."""
    return confidence if confidence is None or calibration is None else calibration.share(confidence)


def calibrate(confidences: Sequence[float], chrf: Sequence[float], good_chrf: float) -> ConfidenceCalibration:
    """The calibration that sentences with these confidences and values of chrF give.

    Raises:
        CalibrationError: they are too few, all good or all bad, or more confident ones are not better.
    """
    if len(confidences) < MIN_SENTENCES:
        raise CalibrationError(f"{len(confidences)} sentences with a confidence are too few, it takes {MIN_SENTENCES}")
    is_good = [one >= good_chrf for one in chrf]
    if len(set(is_good)) == 1:
        raise CalibrationError(f"{'all' if is_good[0] else 'none'} of the sentences have chrF {good_chrf:g} or more")
    # A probability may be too small for the number that holds it.
    slope, intercept = fit_logistic([math.log(max(one, 1e-30)) for one in confidences], is_good)
    if slope <= 0:
        raise CalibrationError("more confident translations of these sentences are not better: nothing to calibrate")
    table = tuple(reliability_rows(confidences, chrf, good_chrf))
    return ConfidenceCalibration(slope, intercept, good_chrf, len(confidences), table)


def reliability_rows(
    confidences: Sequence[float], chrf: Sequence[float], good_chrf: float, num_rows: int = _NUM_BINS
) -> list[ReliabilityRow]:
    """A row for each fifth of the sentences by confidence."""
    ordered = sorted(zip(confidences, chrf, strict=True))
    bounds = [round(index * len(ordered) / num_rows) for index in range(num_rows + 1)]
    return [_row(ordered[start:stop], good_chrf) for start, stop in pairwise(bounds) if start < stop]


def _row(sentences: Sequence[tuple[float, float]], good_chrf: float) -> ReliabilityRow:
    confidences, chrf = zip(*sentences, strict=True)
    count = len(sentences)
    share = sum(one >= good_chrf for one in chrf) / count
    return ReliabilityRow(confidences[0], confidences[-1], count, sum(confidences) / count, sum(chrf) / count, share)


def fit_logistic(values: Sequence[float], is_good: Sequence[bool]) -> tuple[float, float]:
    """(slope, intercept) of the logistic curve of greatest likelihood, by Newton's method with a weak prior on both."""
    inputs = np.stack([np.asarray(values), np.ones(len(values))], axis=1)
    wanted, weights = np.asarray(is_good, dtype=float), np.zeros(2)
    for _ in range(_NUM_STEPS):
        shares = 1 / (1 + np.exp(-inputs @ weights))
        gradient = inputs.T @ (wanted - shares) - 1e-3 * weights
        curvature = inputs.T @ (inputs * (shares * (1 - shares))[:, None]) + 1e-3 * np.eye(2)
        weights = weights + np.linalg.solve(curvature, gradient)
    return float(weights[0]), float(weights[1])


def write_calibration(checkpoint: str | Path, calibration: ConfidenceCalibration, **facts: Any) -> Path:
    """Stores a calibration beside the weights of a checkpoint, with how it was measured; returns its path."""
    path = Path(checkpoint) / FILE_NAME
    content = asdict(calibration) | {"table": [row._asdict() for row in calibration.table]}
    write_text(path, json.dumps({"format": FILE_FORMAT, **content, "measured": facts}, indent=1) + "\n")
    return path


def read_calibration(checkpoint: str | Path) -> ConfidenceCalibration | None:
    """The calibration that is stored beside the weights of a checkpoint, or None.

    Raises:
        CalibrationError: the file is there and has something else.
    """
    path = Path(checkpoint) / FILE_NAME
    if not path.is_file():
        return None
    try:
        content = json.loads(path.read_bytes())
        if content["format"] != FILE_FORMAT:
            raise ValueError(f"its format is {content['format']!r}")
        slope, intercept, good_chrf = (float(content[name]) for name in ("slope", "intercept", "good_chrf"))
        if not all(map(math.isfinite, (slope, intercept, good_chrf))):
            raise ValueError(f"slope, intercept and good_chrf are {slope}, {intercept} and {good_chrf}")
        table = tuple(ReliabilityRow(**row) for row in content["table"])
        return ConfidenceCalibration(slope, intercept, good_chrf, int(content["num_sentences"]), table)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CalibrationError(f"{path} is not a calibration ({error}); measure it again, or delete it") from error


def reliability_table(calibration: ConfidenceCalibration) -> str:
    """The rows and the curve as a Markdown table."""
    lines = [
        f"| confidence | sentences | mean | chrF | chrF >= {calibration.good_chrf:g} | calibrated |",
        "|---|---|---|---|---|---|",
    ]
    for row in calibration.table:
        share = calibration.share(row.mean_confidence)
        lines.append(
            f"| {row.lowest:.2f} to {row.highest:.2f} | {row.num_sentences} | {row.mean_confidence:.2f} | "
            f"{row.mean_chrf:.1f} | {100 * row.share_good:.0f} % | {100 * share:.0f} % |"
        )
    return "\n".join(lines)
