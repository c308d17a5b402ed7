# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import json
from types import SimpleNamespace

import pytest
import torch

from hier_nmt.inspection.selection import (
    MAX_OFFSET,
    AmbiguousSentence,
    AnnotatedDocument,
    SelectionReport,
    measure_selection,
    read_annotated_documents,
)
from hier_nmt.inspection.selection_plots import plot_selection


def test_what_ambiguous_sentences_select_is_counted_by_distance():
    report = SelectionReport()
    # Sentence 3 is decided by 1; selected are 1, twice, itself and a later one. Of the others, 0 and 2, none is, but
    # for the word that is decided one is, and 1 is not.
    report.add(3, 1, [1, 1, 3, 5], [0])
    # Sentence 4 is decided by 2, which is not selected; of 0, 1 and 3 one is. Nothing is known of words.
    report.add(4, 2, [0])
    assert report.found == {2: [True, False]}
    assert report.control == {2: [0.0, 1 / 3]}
    counted = [0] * (MAX_OFFSET + 2)
    counted[2], counted[0], counted[-1], counted[4] = 2, 1, 1, 1
    assert report.offsets == {2: counted}
    assert report.counts == {2: [(2, 0.0), (0, 1 / 3)]}
    control = pytest.approx(100 / 6)
    by_word = {"recall_by_word": 0.0, "control_by_word": 50.0}
    row = {"distance": 2, "recall": 50.0, "control": control, **by_word, "preference": pytest.approx(6), "count": 2}
    assert report.rows() == [row]


def test_without_a_sentence_before_or_a_word_there_is_no_share():
    report = SelectionReport()
    report.add(1, 0, [0])
    nothing = dict.fromkeys(("control", "recall_by_word", "control_by_word", "preference"))
    assert report.rows() == [{"distance": 1, "recall": 100.0, **nothing, "count": 1}]


class Words:
    """A vocabulary whose tokens are letters and whose separator, after each sentence, is 0."""

    num_target_start_tokens = 0

    def encode(self, sentences, target=False):
        return [list(map(ord, sentence)) for sentence in sentences]

    def join(self, rows, ends_paragraph, side):
        return [token for row in rows for token in (*row, 0)]


class Choices:
    """A model whose decoder selects, in its one head, what it is told for each of its tokens."""

    device = torch.device("cpu")
    config = SimpleNamespace(separator_token_ids=(0,))

    def __init__(self, by_token):
        self.selected = torch.tensor(by_token)[None, None, :, None]

    def __call__(self, input_ids, labels, **requests):
        assert labels.shape[1] == self.selected.shape[2]
        scores = torch.where(self.selected < 0, -torch.inf, 0.0)
        output = dict.fromkeys(("encoder_selected_sentences", "cross_selected_sentences"), ())
        return SimpleNamespace(
            **output, decoder_selected_sentences=[self.selected], decoder_sentence_attentions=[scores]
        )


@pytest.mark.parametrize(("chosen_by_the_word", "recall"), [(0, 100.0), (1, 0.0), (-1, 0.0)])
def test_the_token_that_predicts_the_deciding_word_is_counted_separately(chosen_by_the_word, recall):
    # In "abcd", which sentence 0 decides, c is decided: d would have been wrong. All other tokens select sentence 0.
    ambiguity = AmbiguousSentence(2, 0, "abd")
    document = AnnotatedDocument(["x", "y", "z"], ["a", "b", "abcd"], [False] * 3, [ambiguity])
    model = Choices([0] * 6 + [chosen_by_the_word] + [0] * 2)
    (row,) = measure_selection(model, Words(), [document])["decoder"].rows()
    assert (row["recall"], row["recall_by_word"]) == (100.0, recall)
    assert row["control_by_word"] == (100.0 if chosen_by_the_word == 1 else 0.0)


def test_annotated_documents_are_read_with_their_paragraphs(tmp_path):
    path = tmp_path / "documents.jsonl"
    item = {
        "paragraphs": [{"en": ["A.", "B."], "fr": ["a.", "b."]}, {"en": ["C."], "fr": ["c."]}],
        "annotations": [{"sentence": 2, "decided_by": 0, "distance": 2, "wrong_translation": "d."}],
    }
    path.write_text(json.dumps(item) + "\n", encoding="utf-8")
    (document,) = read_annotated_documents(path)
    assert document == (["A.", "B.", "C."], ["a.", "b.", "c."], [False, True, True], [(2, 0, "d.")])


@pytest.mark.parametrize("line", ["no json", "[]", '{"paragraphs": [{"en": ["A."]}], "annotations": []}'])
def test_a_line_that_is_not_an_annotated_document_is_named(tmp_path, line):
    path = tmp_path / "documents.jsonl"
    path.write_text(line + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"documents.jsonl, line 1"):
        list(read_annotated_documents(path))


ANNOTATION = {"sentence": 1, "decided_by": 0, "wrong_translation": "c."}


@pytest.mark.parametrize(
    "change",
    [
        {"sentence": 2},
        {"sentence": "x"},
        {"decided_by": -5},
        {"wrong_translation": 5},
        {"paragraphs": []},
        {"paragraphs": [{"en": ["A.", "B."], "fr": ["a."]}]},
        {"paragraphs": [{"en": ["A.", 5], "fr": ["a.", "b."]}]},
    ],
    ids=str,
)
def test_an_annotation_that_cannot_be_is_named(tmp_path, change):
    path = tmp_path / "documents.jsonl"
    paragraphs = [{"en": ["A.", "B."], "fr": ["a.", "b."]}]
    right = {"paragraphs": paragraphs, "annotations": [ANNOTATION]}
    paragraphs = change.pop("paragraphs", paragraphs)
    wrong = {"paragraphs": paragraphs, "annotations": [ANNOTATION | change]}
    path.write_text(f"{json.dumps(right)}\n{json.dumps(wrong)}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"documents.jsonl, line 2"):
        list(read_annotated_documents(path))


def test_a_file_without_documents_is_named(tmp_path):
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(ValueError, match=r"empty.jsonl has no document"):
        list(read_annotated_documents(tmp_path / "empty.jsonl"))


def test_a_map_of_the_selections_is_written(tmp_path):
    report = SelectionReport()
    report.add(3, 1, [1, 2, 3])
    plot_selection(tmp_path / "selection.png", "model", {"encoder": report.offsets, "decoder": report.offsets})
    assert (tmp_path / "selection.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="nothing to plot"):
        plot_selection(tmp_path / "nothing.png", "model", {"encoder": {}})
