# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The benchmark of terms counts what stands in translations, by examples worked by hand."""

import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def terms(monkeypatch: pytest.MonkeyPatch):
    """The benchmark, which is in no package, imported for one test."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import terms

    yield terms
    sys.modules.pop("terms", None)


def test_terms_are_counted_as_given_in_another_form_and_too_often(terms) -> None:
    glossary = terms.Glossary([terms.Term("board", ("conseil",)), terms.Term("fee", ("droit",))], "en", "fr")
    pairs = [("the board", "le conseil"), ("the board and fees", "le conseil, des frais"), ("no term", "rien")]
    sentences = [terms.Sentence(*pair, glossary) for pair in pairs]
    wanted = [sentence.terms for sentence in sentences]
    assert [[term.source for term in row] for row in wanted] == [["board"], ["board", "fee"], []]
    assert [[term.source for term in sentence.confirmed] for sentence in sentences] == [["board"], ["board"], []]
    translations = ["le conseil du conseil", "la commission, les droits", "le conseil"]
    found = terms.figures(translations, sentences, wanted, 1.0)
    # Given: conseil; inflected: droits; unused: conseil.
    assert (found.num_terms, found.num_given, found.num_inflected) == (3, 1, 1)
    assert found.num_too_often == 1
    assert found.row()[:3] == ["33.3", "66.7", "1"]


def test_a_glossary_holds_for_the_documents_that_it_names(terms, tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text("board\tconseil\ta b\nfee\tdroit\tb\nact\tloi\ta\n")
    (tmp_path / "seen.tsv").write_text("act\tloi\tz\n")
    found = terms.document_glossaries(tmp_path / "terms.tsv", ("en", "fr"), tmp_path / "seen.tsv")
    assert {name: [term.source for term in one.terms] for name, one in found.items()} == {
        "a": ["board"],
        "b": ["board", "fee"],
    }
