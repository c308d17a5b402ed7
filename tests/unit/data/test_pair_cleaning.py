# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import pytest

from hier_nmt.data.documents import ParallelDocument, SentencePair
from hier_nmt.data.pair_cleaning import Cleaning, CorpusSurvey, PairCleaner, Replacement
from hier_nmt.data.text_hashes import KnownTexts


def document(*paragraphs: list[tuple[str, str]]) -> ParallelDocument:
    return ParallelDocument("d", tuple(tuple(SentencePair(*pair) for pair in paragraph) for paragraph in paragraphs))


def cleaned(cleaning: Cleaning, *paragraphs: list[tuple[str, str]], excluded: KnownTexts | None = None):
    """The remaining pairs of a document by paragraph, and the counts of the dropped ones."""
    cleaner = PairCleaner(cleaning, excluded)
    survey = CorpusSurvey()
    survey.add(document(*paragraphs))
    cleaner.start_corpus(survey)
    result, dropped = cleaner.clean(document(*paragraphs))
    kept = [] if result is None else [[(p.source, p.target) for p in paragraph] for paragraph in result.paragraphs]
    return kept, dict(dropped)


def test_by_default_nothing_is_changed_or_dropped():
    pairs = [("Yes.", "Oui."), ("Yes.", "Oui."), ("a b c d", "a b c d"), ("x", "y" * 500)]
    assert cleaned(Cleaning(), pairs) == ([pairs], {})


def test_pairs_with_unusual_length_ratios_are_dropped():
    # 25 and 75 characters: three times as many; 76 are more. Of short sentences (20 at most) any length fits.
    fits, does_not, short = ("a" * 25, "b" * 75), ("a" * 25, "b" * 76), ("a", "b" * 20)
    kept, dropped = cleaned(Cleaning(max_length_ratio=3), [fits, does_not, short, does_not[::-1]])
    assert kept == [[fits, short]]
    assert dropped == {"length ratio": 2}


def test_a_pair_is_kept_as_often_as_allowed_whatever_its_case_and_spaces():
    pairs = [
        ("Thank you.", "Merci."),
        ("thank  you.", "MERCI."),
        ("Thank you.", "Merci bien."),
        ("Thank you.", "Merci."),
    ]
    kept, dropped = cleaned(Cleaning(max_copies=2), pairs)
    assert kept == [pairs[:3]]
    assert dropped == {"too many copies": 1}


def test_copies_are_counted_over_all_corpora():
    cleaner = PairCleaner(Cleaning(max_copies=1))
    pair = document([("Yes.", "Oui.")])
    assert cleaner.clean(pair)[0] == pair
    cleaner.start_corpus(CorpusSurvey())
    assert cleaner.clean(pair) == (None, {"too many copies": 1})


def test_untranslated_sentences_are_dropped_but_not_names():
    name, sentence = ("Jean Dupont", "Jean Dupont"), ("This is English.", "this is  english.")
    kept, dropped = cleaned(Cleaning(drop_copied=True), [name, sentence])
    assert (kept, dropped) == ([[name]], {"target copies source": 1})


def test_pairs_of_excluded_texts_and_their_long_sources_are_dropped():
    long = "One two three four five six seven eight."
    excluded = KnownTexts([document([("Yes.", "Oui."), (long, "Un.")])])
    pairs = [("yes.", "OUI."), ("Yes.", "Si."), (long, "Autre chose."), ("No.", "Non.")]
    kept, dropped = cleaned(Cleaning(), pairs, excluded=excluded)
    assert kept == [[("Yes.", "Si."), ("No.", "Non.")]]
    assert dropped == {"in an excluded file": 2}


def test_an_excluded_pair_is_known_also_once_its_text_is_replaced():
    excluded = KnownTexts([document([("a b", "c :")])])
    cleaning = Cleaning(replace=[Replacement(r" :", ":", "target")])
    assert cleaned(cleaning, [("a b", "c :")], excluded=excluded) == ([], {"in an excluded file": 1})


def test_sentences_in_the_other_language_are_dropped():
    pairs = [("the house is red and the garden is green", "la maison est rouge et le jardin est vert")] * 5
    untranslated = ("the garden and the house", "the red house and the garden")
    swapped = ("la maison est verte et rouge", "the house is red and green")
    kept, dropped = cleaned(Cleaning(drop_wrong_language=True), [*pairs, untranslated, swapped])
    assert kept == [pairs]
    assert dropped == {"wrong language": 2}


def test_replacements_change_their_side_alone_and_in_order():
    cleaning = Cleaning(
        replace=[Replacement(r"(\w)([:;])", r"\1 \2", "target"), Replacement("colour", "color", "source")]
    )
    assert cleaned(cleaning, [("colour: red;", "colour: red;")])[0] == [[("color: red;", "colour : red ;")]]


def test_a_paragraph_of_which_nothing_is_left_is_none():
    kept, dropped = cleaned(Cleaning(replace=[Replacement("gone")]), [("gone", "a")], [("b", "c")], [("d", "gone ")])
    assert (kept, dropped) == ([[("b", "c")]], {"nothing but marks": 2})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"max_length_ratio": 0.5}, "max_length_ratio=0.5 must be at least 1"),
        ({"max_copies": 0}, "max_copies=0 must be at least 1"),
    ],
)
def test_impossible_limits_are_named(values, message):
    with pytest.raises(ValueError, match=message):
        Cleaning(**values)


@pytest.mark.parametrize(("pattern", "text"), [("(", ""), ("a", r"\1")])
def test_a_pattern_that_cannot_be_used_is_named(pattern, text):
    with pytest.raises(ValueError, match="pattern '"):
        Replacement(pattern, text)
