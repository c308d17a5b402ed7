# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import datasets
import numpy as np
import pytest

from hier_nmt.data.augmentation import Augmentation, PairAugmenter
from hier_nmt.data.corpus_files import CorpusError
from hier_nmt.data.corpus_tables import corpora_table, read_report
from hier_nmt.data.documents import ParallelDocument, SentencePair
from hier_nmt.data.pair_cleaning import Cleaning
from hier_nmt.data.training_corpora import CleaningReport, Corpus, CorpusReader, TrainingCorpora, as_corpora
from hier_nmt.data.window_tables import weighted_windows, window_ids


@pytest.fixture(autouse=True)
def quiet():
    datasets.disable_progress_bars()
    yield
    datasets.enable_progress_bars()


@pytest.fixture
def corpora(tmp_path) -> TrainingCorpora:
    """Two corpora of other formats, the second with only dropped pairs at its end, and a test set."""
    (tmp_path / "a.tsv").write_text("one\tun\ntwo\tdeux\n")
    (tmp_path / "b.jsonl").write_text(
        '{"id": "b", "paragraphs": [{"en": ["two", "three"], "fr": ["deux", "trois"]}]}\n'
        '{"id": "c", "paragraphs": [{"en": ["two"], "fr": ["deux"]}]}\n'
    )
    (tmp_path / "test.tsv").write_text("one\tun\n")
    return TrainingCorpora(
        (Corpus([str(tmp_path / "a.tsv")], "tab-separated"), Corpus([str(tmp_path / "b.jsonl")], weight=2.5)),
        CorpusReader("json-lines", "en", "fr"),
        Cleaning(max_copies=1),
        (Corpus([str(tmp_path / "test.tsv")], "tab-separated"),),
    )


def test_corpora_of_several_formats_are_cleaned_as_one(corpora):
    report = CleaningReport()
    found = [(index, document.source_sentences) for index, document in corpora.documents(report)]
    assert found == [(0, ["two"]), (1, ["three"])]
    assert report.dropped == {(0, "in an excluded file"): 1, (1, "too many copies"): 2}
    assert (report.num_documents, report.num_sentences) == (4, 5)


def test_the_table_reports_what_was_skipped_even_after_the_last_document(corpora, tmp_path):
    for _ in range(2):
        table = corpora_table(corpora, tmp_path / "cache")
        report = read_report(table)
        assert table["corpus"][:] == [0, 1]
        assert report.dropped == {(0, "in an excluded file"): 1, (1, "too many copies"): 2}


def test_corpora_of_which_nothing_is_left_are_named_with_the_reasons(corpora, tmp_path):
    nothing = replace(corpora, excluded=corpora.corpora)
    message = r"a\.tsv, .*b\.jsonl: no sentence pair is left: 5 in an excluded file"
    with pytest.raises(CorpusError, match=message):
        corpora_table(nothing, tmp_path / "cache")


def test_a_change_of_the_cleaning_makes_another_table(corpora, tmp_path):
    assert len(corpora_table(corpora, tmp_path / "cache")) == 2
    uncleaned = TrainingCorpora(corpora.corpora, corpora.reader)
    assert len(corpora_table(uncleaned, tmp_path / "cache")) == 4


def test_plain_paths_are_one_corpus_and_mappings_one_each():
    other = Corpus(["c"], weight=2)
    assert as_corpora(["a", other, "b"]) == (Corpus(["a", "b"]), other)
    assert as_corpora([]) == ()


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ([1, 1], [0, 1, 2, 3, 4]),
        ([2, 1], [0, 0, 1, 1, 2, 3, 4]),
        ([1, 0.67], [0, 1, 2, 4]),
        ([0.5, 1.4], [0, 2, 2, 3, 4]),
    ],
)
def test_windows_occur_in_an_epoch_as_often_as_the_weight_of_their_corpus(weights, expected):
    windows = datasets.Dataset.from_dict({"number": list(range(5)), "corpus": [0, 0, 1, 1, 1]})
    assert weighted_windows(windows, weights)["number"][:] == expected


def test_copies_of_a_window_have_one_number():
    # Windows of two documents, and of a document of the same name in another corpus.
    columns = {"corpus": [0, 0, 0, 1], "document_id": ["a", "a", "b", "b"], "sentence_index": [0, 1, 1, 1]}
    windows = datasets.Dataset.from_dict(columns)
    assert window_ids(windows).tolist() == [0, 1, 2, 3]
    assert window_ids(weighted_windows(windows, [3, 1.5])).tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3]
    assert window_ids(weighted_windows(windows, [1, 1], np.array([1, 2, 1, 2]))).tolist() == [0, 1, 1, 2, 3, 3]
    assert window_ids(windows.select([])).tolist() == []
    assert window_ids(windows.remove_columns("corpus")).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("values", "message"),
    [({"path": []}, "path is empty"), ({"path": ["a"], "weight": 0}, "weight=0 must be more than 0")],
)
def test_an_impossible_corpus_is_named(values, message):
    with pytest.raises(ValueError, match=message):
        Corpus(**values)


def test_capitals_are_written_on_both_sides_of_the_share_of_pairs_that_was_asked_for():
    pairs = tuple(SentencePair(f"word {number} é", f"mot {number} à") for number in range(2000))
    document = ParallelDocument("d", (pairs,))
    once, again = (PairAugmenter(Augmentation(0.1)).augmented(document) for _ in range(2))
    changed = [new for old, new in zip(pairs, once.paragraphs[0], strict=True) if new != old]
    assert once == again
    assert all(pair == SentencePair(pair.source.upper(), pair.target.upper()) for pair in changed)
    # Six standard deviations of a binomial distribution.
    assert abs(len(changed) - 200) < 6 * np.sqrt(2000 * 0.1 * 0.9)
    assert PairAugmenter(Augmentation()).augmented(document) == document
