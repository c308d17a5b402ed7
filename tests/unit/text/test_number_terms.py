# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which numbers a translation must have, and the forms in which it may have them."""

import pytest

from hier_nmt.text.number_terms import NumberTerm, number_terms


def found(text: str, *options: object) -> list[str]:
    return [match.term.source for match in number_terms(text, *options)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("The price is 1,250.50 euros.", ["1,250.50"]),
        ("In 2023, 14,000 people, 3.5% more than in 2019.", ["2023", "14,000", "3.5", "2019"]),
        ("185 000 tonnes in the 1999-2000 season", ["185 000", "1999", "2000"]),
        ("RFC 2822, version 3.11.2, subsection 159(2)", ["2822", "3.11.2", "159"]),
        ("42 of 100 people, 1,000 times", []),
        ("the 1980s, MP3000, v2.7b", []),
        ("1" * 31 + " and " + "1" * 30, ["1" * 30]),
        ("", []),
    ],
)
def test_numbers_of_three_digits_or_with_decimals_count(text: str, numbers: list[str]) -> None:
    assert found(text) == numbers
    assert all(text[match.start : match.stop] == match.term.source for match in number_terms(text))


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("It rose from $12m to €4.5bn, £1,200k and ¥3TN.", ["12m", "4.5bn", "1,200k", "3TN"]),
        ("US$100M", ["100M"]),
        ("12m away, $12, $5 million, $7moths, 300m", []),
    ],
)
def test_amounts_of_money_count_with_their_letters(text: str, numbers: list[str]) -> None:
    assert found(text) == numbers
    assert all(text[match.start : match.stop] == match.term.source for match in number_terms(text))
    assert found(text, "ja") == []


@pytest.mark.parametrize(
    "translation",
    ["12m $", "12\xa0M$", "12 millions de dollars", "12 Mio. Dollar", "12 млн долларов", "১২ কোটি", "12 juta dolar"],
)
def test_a_magnitude_may_be_a_word(translation: str) -> None:
    assert NumberTerm("12m", ()).is_in(translation)


@pytest.mark.parametrize("translation", ["12k $", "12\u202f000 $", "12.000 Dollar", "12000", "12 mille dollars"])
def test_thousands_may_be_written_out(translation: str) -> None:
    assert NumberTerm("12k", ()).is_in(translation)
    assert not NumberTerm("12k", ()).is_in(translation.replace("12", "13"))


@pytest.mark.parametrize(
    "translation", ["12 $", "12", "12 dollars", "12 000 $", "12 en 2020", "12k $", "12n $", "112m $", "1.2m", "m 12"]
)
def test_without_it_an_amount_is_another(translation: str) -> None:
    assert not NumberTerm("12m", ()).is_in(translation)


def test_stand_ins_do_not_count() -> None:
    assert found("The file 417 has 2,500 lines.", "fr", ["417"]) == ["2,500"]
    # Nor do two beside each other, or one beside a number, make a number.
    assert found("417 583 has 346,752 of 2 871 in 2,500", "fr", ["417", "583", "346", "752", "871"]) == ["2,500"]


@pytest.mark.parametrize("language", ["zh", "ja", "ko", "zh-Hant"])
def test_large_numbers_do_not_count_where_one_counts_in_ten_thousands(language: str) -> None:
    assert found("In 2023, 14,000 people", language) == ["2023"]


@pytest.mark.parametrize(
    ("number", "translation"),
    [
        ("1,250.50", "Il coûte 1250,50 euros."),
        ("1,250.50", "Il coûte 1 250,50 euros."),
        ("1,250.50", "1\u202f250,50 €"),
        ("2.4", "2,4 milliards"),
        ("11.30", "à 11 h 30"),
        ("14,000", "14 000 habitants"),
        ("14,000", "14.000 Einwohner"),
        ("14,000", "14'000"),
        ("2000", "2 000 tonnes"),
        ("185 000", "185,000 tonnes"),
        ("4,329,377.00", "la somme de 4 329 377,00 $"),
        ("1999", "سنة ١٩٩٩"),
        ("1999", "1999年"),
        ("3.11.2", "la version 3.11.2"),
    ],
)
def test_a_translation_may_have_a_number_in_any_of_its_forms(number: str, translation: str) -> None:
    assert NumberTerm(number, ()).is_in(translation)


@pytest.mark.parametrize(
    ("number", "translation"),
    [
        ("2000", "200"),
        ("2000", "20000"),
        ("14,000", "140 000"),
        ("2.4", "24 milliards"),
        ("16,000", "six mille"),
        ("4,329,377.00", "4 329,329,3777.00"),
        ("2822", "RFC 282"),
        ("120", "dix jours"),
        ("3.5", "13,5"),
        ("3.5", "3,51"),
    ],
)
def test_another_number_is_not_the_same(number: str, translation: str) -> None:
    assert not NumberTerm(number, ()).is_in(translation)


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        ("14,000", {"14,000", "14 000", "14000", "14.000"}),
        ("2.4", {"2.4", "2,4"}),
        ("$2.4bn", {"2.4bn", "2,4bn"}),
        ("€300m", {"300m"}),
        ("2023", {"2023"}),
        ("1,250.50", {"1,250.50", "1 250,50", "1250,50", "1.250,50", "1 250.50", "1250.50"}),
        ("3.11.2", {"3.11.2"}),
    ],
)
def test_the_forms_that_are_written_are_the_same_number(number: str, expected: set[str]) -> None:
    (match,) = number_terms(number)
    assert set(match.term.targets) == expected
    assert all(match.term.is_in(form) for form in expected)  # type: ignore[attr-defined]
