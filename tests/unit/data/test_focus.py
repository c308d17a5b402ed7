# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import datasets
import numpy as np
import pytest

from hier_nmt.data.augmentation import Augmentation
from hier_nmt.data.corpus_files import CorpusError
from hier_nmt.data.corpus_tables import corpora_table
from hier_nmt.data.focus import Focus, focus_sentences, needs_context
from hier_nmt.data.pair_cleaning import Cleaning, Replacement
from hier_nmt.data.training_corpora import Corpus, CorpusReader, TrainingCorpora
from hier_nmt.data.window_tables import weighted_windows


@pytest.fixture(autouse=True)
def quiet():
    datasets.disable_progress_bars()
    yield
    datasets.enable_progress_bars()


def windows(*rows: tuple[int, str, int, int]) -> datasets.Dataset:
    """A table of windows: corpus, document, index of the last sentence, number of sentences."""
    names = ("corpus", "document_id", "sentence_index", "num_sentences")
    return datasets.Dataset.from_dict(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


def corpora(folder, *pairs: tuple[str, str], **options) -> TrainingCorpora:
    """A corpus with one document, whose id is `a` and whose sentence pairs are these."""
    path = folder / "corpus.txt"
    path.write_text("".join(f"a\t{source}\t{target}\n" for source, target in pairs))
    return TrainingCorpora((Corpus([str(path)], "id-column"),), CorpusReader("json-lines", "en", "fr"), **options)


def found(folder, training: TrainingCorpora, *pairs: tuple[str, str]) -> list[int]:
    """The indices of those sentences of the document that are found."""
    path = folder / "focus.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    table = corpora_table(training, folder / "cache")
    listed = focus_sentences(table, Focus(str(path), 2), training)
    assert list(listed) == [(0, "a")]
    return listed[0, "a"]


def test_a_window_needs_context_if_a_listed_sentence_is_in_it_but_not_first():
    table = windows((0, "a", 0, 1), (0, "a", 1, 2), (0, "a", 2, 3), (0, "a", 3, 3), (0, "a", 4, 3), (0, "b", 2, 3))
    assert needs_context(table, {(0, "a"): [1]}).tolist() == [False, True, True, False, False, False]
    # Their indices in other documents and corpora do not count.
    assert needs_context(table, {(0, "b"): [0, 1], (1, "a"): [1, 2]}).tolist() == [False] * 5 + [True]
    assert needs_context(table, {(0, "a"): [0]}).tolist() == [False] * 6


def test_needed_context_is_that_of_the_definition_for_random_windows():
    random = np.random.default_rng(0)
    rows = [(int(random.integers(2)), f"d{random.integers(5)}", int(last), int(random.integers(1, last + 2)))
            for last in random.integers(0, 12, 300)]  # fmt: skip
    listed = {(corpus, f"d{name}"): sorted(random.choice(12, 3, replace=False).tolist())
              for corpus in range(2) for name in range(4)}  # fmt: skip
    expected = [
        any(index in listed.get((corpus, name), []) for index in range(last - number + 2, last + 1))
        for corpus, name, last, number in rows
    ]
    assert needs_context(windows(*rows), listed).tolist() == expected
    assert any(expected)


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ([1, 1], [0, 0, 1, 2, 3, 3, 4, 4]),
        ([2, 1], [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4]),
        # 2 * 0.5 = 1 for those that need context; of the others the first.
        ([0.5, 0.5], [0, 1, 3, 4]),
    ],
)
def test_the_weights_of_windows_and_of_their_corpora_are_multiplied(weights, expected):
    table = datasets.Dataset.from_dict({"number": list(range(5)), "corpus": [0, 0, 0, 1, 1]})
    repeated = weighted_windows(table, weights, np.array([2.0, 1.0, 1.0, 2.0, 2.0]))
    assert repeated["number"][:] == expected


def test_a_fractional_weight_adds_an_evenly_spaced_subset():
    table = datasets.Dataset.from_dict({"number": list(range(6)), "corpus": [0] * 6})
    repeated = weighted_windows(table, [1], np.array([1.5, 1, 1.5, 1.5, 1, 1.5]))
    assert repeated["number"][:] == [0, 0, 1, 2, 3, 4, 5, 5]


PAIRS = [("One.", "Un."), ("It is a test.", "Elle est un test."), ("Two.", "Deux."), ("They work.", "Ils vont.")]


def test_sentences_are_found_by_the_text_of_both_sides(tmp_path):
    training = corpora(tmp_path, *PAIRS)
    listed = [PAIRS[3], ("it  is a TEST.", "Elle est un test."), ("One.", "Une."), ("Three.", "Trois.")]
    assert found(tmp_path, training, *listed) == [1, 3]


def test_sentences_are_found_where_cleaning_has_moved_and_changed_them(tmp_path):
    cleaning = Cleaning(drop_copied=True, replace=[Replacement("test", "exam"), Replacement(r" ([;!])", r"\1")])
    copied = ("Only a copy.", "Only a copy.")
    training = corpora(tmp_path, copied, ("One.", "Un !"), ("It is a test.", "Elle est un test !"), cleaning=cleaning)
    assert found(tmp_path, training, ("It is a test.", "Elle est un test !")) == [1]
    # As it is after the cleaning.
    assert found(tmp_path, training, ("It is a exam.", "Elle est un exam!")) == [1]


def test_sentences_are_found_without_the_marks_that_cleaning_removes(tmp_path):
    pairs = [(f"It is {number}.", f"(EN) Elle est {number}.") for number in range(3)]
    path = tmp_path / "marked.jsonl"
    paragraphs = [f'{{"en": ["{source}"], "fr": ["{target}"]}}' for source, target in pairs]
    path.write_text(f'{{"id": "a", "paragraphs": [{", ".join(paragraphs)}]}}\n')
    reader = CorpusReader("json-lines", "en", "fr")
    training = TrainingCorpora((Corpus([str(path)]),), reader, Cleaning(remove_marks=True))
    assert corpora_table(training, tmp_path / "cache")["target"][0] == [f"Elle est {number}." for number in range(3)]
    assert found(tmp_path, training, pairs[1]) == [1]


def test_sentences_are_found_in_capitals_and_with_inline_terms(tmp_path):
    (tmp_path / "terms.tsv").write_text("test\ttest\n")
    terms = Augmentation(glossary=str(tmp_path / "terms.tsv"), glossary_share=1, uppercase_share=0.999999)
    table = corpora_table(corpora(tmp_path, *PAIRS, augmentation=terms), tmp_path / "cache")
    assert table["source"][0][1] == "IT IS A TEST \ufdd1TEST\ufdd2."
    assert found(tmp_path, corpora(tmp_path, *PAIRS, augmentation=terms), PAIRS[1]) == [1]


def test_of_a_divided_pair_the_first_half_is_listed_so_that_a_window_of_both_halves_does_not_count(tmp_path):
    long = ("It is a test of the long sentences.", "Elle est un test de la longue phrase.")
    training = corpora(tmp_path, PAIRS[0], long, PAIRS[2], augmentation=Augmentation(split_share=1))
    assert corpora_table(training, tmp_path / "cache")["source"][0][1:3] == ["It is a test", "of the long sentences."]
    listed = found(tmp_path, training, long)
    assert listed == [1]
    halves, with_context = (0, "a", 2, 2), (0, "a", 2, 3)
    assert needs_context(windows(halves, with_context), {(0, "a"): listed}).tolist() == [False, True]


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (
            "One.\tUne.\nTwo.\tTrois.\n",
            ValueError,
            r"focus\.tsv: none of its 2 sentence pairs is in the training corpora",
        ),
        ("One.\tUn.\nTwo.\n", CorpusError, r"focus\.tsv:2: no tab"),
        ("", CorpusError, r"focus\.tsv"),
    ],
)
def test_a_list_that_cannot_be_meant_is_named(tmp_path, text, error, message):
    (tmp_path / "focus.tsv").write_text(text)
    training = corpora(tmp_path, *PAIRS)
    table = corpora_table(training, tmp_path / "cache")
    with pytest.raises(error, match=message):
        focus_sentences(table, Focus(str(tmp_path / "focus.tsv"), 2), training)


@pytest.mark.parametrize("weight", [0.5, float("inf"), float("nan")])
def test_an_impossible_weight_is_named(weight):
    with pytest.raises(ValueError, match=f"weight={weight} must be"):
        Focus("a", weight)
