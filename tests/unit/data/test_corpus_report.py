# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import json

import pytest

from hier_nmt.data.corpus_report import MIN_SHARED_WORDS, describe_corpus
from hier_nmt.data.documents import ParallelDocument, SentencePair

LONG = " ".join(["word"] * MIN_SHARED_WORDS)


def document(name: str, *paragraphs: list[tuple[str, str]]) -> ParallelDocument:
    return ParallelDocument(name, tuple(tuple(SentencePair(*pair) for pair in paragraph) for paragraph in paragraphs))


CORPUS = [
    document("a", [("one two three", "un deux"), ("yes", "oui")], [(LONG, "m" * len(LONG))]),
    document("b", [("One  two three", "un deux"), ("YES", "si"), ("same", "Same")]),
    document("c", [("x" * 30, "y" * 300)]),
    document("d", [("x" * 30, "y" * 300)]),
]


def test_sizes_and_lengths_are_counted() -> None:
    report = describe_corpus(CORPUS)
    assert (report.num_documents, report.num_paragraphs, report.num_pairs) == (4, 5, 8)
    assert report.sentences_of_documents.tolist() == [3, 3, 1, 1]
    assert report.source_words.tolist() == [3, 1, MIN_SHARED_WORDS, 3, 1, 1, 1, 1]
    assert report.target_characters.tolist() == [7, 3, len(LONG), 7, 2, 4, 300, 300]


def test_duplicates_are_counted_after_the_first() -> None:
    report = describe_corpus(CORPUS)
    assert report.num_duplicate_documents == 1
    assert report.num_duplicate_pairs == 2
    assert report.num_several_translations == 1
    assert report.num_copies == 1


def test_outliers_are_measured_by_what_is_usual_in_the_corpus() -> None:
    usual = [document(str(index), [("a" * 40, "b" * 80)]) for index in range(9)]
    strange = document("strange", [("a" * 40, "b" * 10), ("a" * 10, "b" * 100), ("hm", "b" * 19)])
    report = describe_corpus([*usual, strange])
    assert report.usual_ratio == 2
    assert report.num_outliers == 2
    assert [(item.document, round(item.factor, 3)) for item in report.outliers] == [
        ("strange", 0.125),
        ("strange", 5.0),
    ]
    assert report.outliers[0].source == "a" * 40
    assert len(describe_corpus([*usual, strange], num_examples=1).outliers) == 1


def test_overlap_counts_documents_pairs_and_long_sentences() -> None:
    other = [document("z", [("yes", "oui"), (LONG.upper(), "other")]), CORPUS[2]]
    overlap = describe_corpus(CORPUS, other).overlap
    assert (overlap.num_documents, overlap.total_documents) == (2, 4)
    assert (overlap.num_pairs, overlap.total_pairs) == (3, 8)
    assert (overlap.num_long_sources, overlap.num_long) == (1, 1)


def test_the_report_is_text_and_json() -> None:
    report = describe_corpus(CORPUS, CORPUS)
    text = str(report)
    assert "4 documents, 5 paragraphs, 8 sentence pairs" in text
    assert "| sentences of a document | 1 | 1 |" in text
    assert "duplicate pairs: 2 (25.00 %)" in text
    assert "8 of 8 pairs (100.00 %)" in text
    content = json.loads(json.dumps(report.as_json()))
    assert content["num_pairs"] == 8
    assert content["quantiles"]["words of a source sentence"][-1] == MIN_SHARED_WORDS
    assert content["overlap"]["num_pairs"] == 8


def test_an_empty_corpus_has_an_empty_report() -> None:
    assert "0 documents" in str(describe_corpus([]))


def test_a_page_of_plots_is_written(tmp_path) -> None:
    pytest.importorskip("matplotlib")
    from hier_nmt.inspection.corpus_plots import plot_corpus

    report = describe_corpus(CORPUS)
    lengths = (report.source_words, report.target_words), (report.source_characters, report.target_characters)
    for name in ("a.png", "new/a.pdf"):
        plot_corpus(tmp_path / name, "t", report.sentences_of_documents, *lengths, report.usual_ratio, 3.0)
        assert (tmp_path / name).stat().st_size > 1000
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["a.pdf"]
    empty = describe_corpus([]).source_words
    with pytest.raises(ValueError, match="the corpus is empty"):
        plot_corpus(tmp_path / "b.png", "t", empty, (empty, empty), (empty, empty), 1.0, 3.0)
    with pytest.raises(ValueError, match="xyz"):
        plot_corpus(tmp_path / "b.xyz", "t", report.sentences_of_documents, *lengths, 1.0, 3.0)
