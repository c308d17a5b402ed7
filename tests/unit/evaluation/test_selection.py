# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import json

import pytest

from hier_nmt.evaluation.selection import LARGEST_OFFSET, SelectionReport, read_annotated_documents
from hier_nmt.visualization.selection_plots import plot_selection


def test_what_ambiguous_sentences_select_is_counted_by_distance():
    report = SelectionReport()
    # Sentence 3 is decided by 1; selected are 1, twice, itself and a later one. Of the others, 0 and 2, none is.
    report.add(3, 1, [1, 1, 3, 5])
    # Sentence 4 is decided by 2, which is not selected; of 0, 1 and 3 one is.
    report.add(4, 2, [0])
    assert report.found == {2: [True, False]}
    assert report.control == {2: [0.0, 1 / 3]}
    counted = [0] * (LARGEST_OFFSET + 2)
    counted[2], counted[0], counted[-1], counted[4] = 2, 1, 1, 1
    assert report.offsets == {2: counted}
    assert report.rows() == [{"distance": 2, "recall": 50.0, "control": pytest.approx(100 / 6), "count": 2}]


def test_annotated_documents_are_read_with_their_paragraphs(tmp_path):
    path = tmp_path / "documents.jsonl"
    item = {
        "paragraphs": [{"en": ["A.", "B."], "fr": ["a.", "b."]}, {"en": ["C."], "fr": ["c."]}],
        "annotations": [{"sentence": 2, "decided_by": 0, "distance": 2}],
    }
    path.write_text(json.dumps(item) + "\n", encoding="utf-8")
    (document,) = read_annotated_documents(path)
    assert document == (["A.", "B.", "C."], ["a.", "b.", "c."], [False, True, True], [(2, 0)])


@pytest.mark.parametrize("line", ["no json", "[]", '{"paragraphs": [{"en": ["A."]}], "annotations": []}'])
def test_a_line_that_is_no_annotated_document_is_named(tmp_path, line):
    path = tmp_path / "documents.jsonl"
    path.write_text(line + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"documents.jsonl, line 1"):
        list(read_annotated_documents(path))


def test_a_map_of_the_selections_is_written(tmp_path):
    report = SelectionReport()
    report.add(3, 1, [1, 2, 3])
    plot_selection(tmp_path / "selection.png", "model", {"encoder": report.offsets, "decoder": report.offsets})
    assert (tmp_path / "selection.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="nothing to plot"):
        plot_selection(tmp_path / "nothing.png", "model", {"encoder": {}})
