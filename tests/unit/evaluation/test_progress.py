# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import pytest

from hier_nmt.evaluation import progress
from hier_nmt.evaluation.progress import progress_bar


@pytest.mark.parametrize(("seconds", "num_lines"), [(0.0, 4), (1000.0, 1)])
def test_where_stderr_is_a_file_lines_are_written_as_time_passes(monkeypatch, capsys, seconds, num_lines):
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", seconds)
    with progress_bar(3, " windows", is_shown=True) as bar:
        for _ in range(3):
            bar.update()
        written = capsys.readouterr().err
    assert "\r" not in written
    lines = written.splitlines()
    assert len(lines) == num_lines
    assert "0/3" in lines[0]
    assert "3/3" in capsys.readouterr().err + lines[-1]


def test_nothing_is_written_unasked(capsys):
    with progress_bar(3, " windows", is_shown=False) as bar:
        bar.update(3)
    assert capsys.readouterr().err == ""
