# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a confidence means, by examples worked by hand."""

import json
import math
from pathlib import Path

import pytest

from hier_nmt.jobs.confidence_calibration import (
    FILE_NAME,
    CalibrationError,
    calibrate,
    fit_logistic,
    read_calibration,
    reliability_table,
    write_calibration,
)

# Of those with the confidence 1/e a quarter is good, of those with 1 three quarters.
CONFIDENCES = [1 / math.e] * 400 + [1.0] * 400
CHRF = ([80.0] + [10.0] * 3) * 100 + ([80.0] * 3 + [10.0]) * 100


def test_the_curve_goes_through_the_shares_of_two_groups() -> None:
    # The intercept is ln 3, the slope twice that.
    values, is_good = [-1.0] * 400 + [0.0] * 400, [one >= 50 for one in CHRF]
    assert fit_logistic(values, is_good) == pytest.approx((2 * math.log(3), math.log(3)), rel=1e-3)


def test_a_calibrated_confidence_is_the_share_of_good_translations() -> None:
    calibration = calibrate(CONFIDENCES, CHRF, 50.0)
    assert calibration.share(1.0) == pytest.approx(0.75, abs=1e-3)
    assert calibration.share(1 / math.e) == pytest.approx(0.25, abs=1e-3)
    assert calibration.share(0.0) == 0.0
    assert str(calibration) == "the share of 800 development sentences like it with chrF 50 or more"


def test_the_table_has_the_sentences_of_each_fifth() -> None:
    confidences = [index / 100 for index in range(1, 101)]
    calibration = calibrate(confidences, [100 * one for one in confidences], 50.0)
    assert [row.num_sentences for row in calibration.table] == [20] * 5
    assert calibration.table[2][:4] == (0.41, 0.6, 20, pytest.approx(0.505))
    assert calibration.table[2].mean_chrf == pytest.approx(50.5)
    assert calibration.table[2].share_good == pytest.approx(11 / 20)
    assert reliability_table(calibration).splitlines()[2].startswith("| 0.01 to 0.20 | 20 | 0.10 | 10.5 | 0 % | 0 %")


@pytest.mark.parametrize(
    ("confidences", "chrf", "message"),
    [
        (CONFIDENCES[:99], CHRF[:99], "99 sentences with a confidence are too few, it takes 100"),
        (CONFIDENCES, [80.0] * 800, "all of the sentences have chrF 50 or more"),
        (CONFIDENCES, [10.0] * 800, "none of the sentences have chrF 50 or more"),
        (CONFIDENCES[::-1], CHRF, "more confident translations of these sentences are not better"),
    ],
)
def test_what_says_nothing_is_refused(confidences: list[float], chrf: list[float], message: str) -> None:
    with pytest.raises(CalibrationError, match=message):
        calibrate(confidences, chrf, 50.0)


def test_a_calibration_is_stored_beside_the_weights_and_read_again(tmp_path: Path) -> None:
    assert read_calibration(tmp_path) is None
    calibration = calibrate(CONFIDENCES, CHRF, 50.0)
    path = write_calibration(tmp_path, calibration, corpus=["dev.jsonl"], beams=4)
    assert path == tmp_path / FILE_NAME
    assert read_calibration(tmp_path) == calibration
    assert json.loads(path.read_text())["measured"] == {"corpus": ["dev.jsonl"], "beams": 4}


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"format": "other"}',
        '{"format": "hier_nmt confidence calibration 1", "slope": "steep"}',
        '{"format": "hier_nmt confidence calibration 1", "slope": 1, "intercept": NaN, "good_chrf": 50, '
        '"num_sentences": 100, "table": []}',
        '{"format": "hier_nmt confidence calibration 1", "slope": 1, "intercept": 1, "good_chrf": 50, '
        '"num_sentences": 100, "table": [{"lowest": 1}]}',
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / FILE_NAME).write_text(content)
    with pytest.raises(CalibrationError, match=r"confidence_calibration\.json is not a calibration"):
        read_calibration(tmp_path)
