# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Terms are found in a source as people write them, and recognized in a translation."""

import pytest

from hier_nmt.text.glossary import GIVEN, INFLECTED, UNUSED, Glossary, Term, glossary_of_pairs
from hier_nmt.text.word_forms import is_form_of, plural, plural_forms, plural_of_term


def glossary(**terms: str) -> Glossary:
    return glossary_of_pairs({name.replace("_", " "): text for name, text in terms.items()}).with_languages("en", "fr")


def found(one: Glossary, text: str) -> list[str]:
    return [text[match.start : match.stop] for match in one.find(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A permit, the permits; permitted.", ["permit", "permits"]),
        ("Permit holders need a permit.", ["Permit holders", "permit"]),
        # A hyphen is as good as a space, other punctuation is not.
        ("the permit-holder, the permit, holder", ["permit-holder", "permit"]),
        ("A PERMIT", ["PERMIT"]),
        ("", []),
        ("…", []),
    ],
)
def test_the_longest_term_is_found_also_in_the_plural(text: str, expected: list[str]) -> None:
    assert found(glossary(permit="licence", permit_holder="titulaire de licence"), text) == expected


@pytest.mark.parametrize(
    ("match_case", "expected"),
    [(None, ["Act", "Acts"]), (True, ["Act", "Acts"]), (False, ["Act", "act", "Acts"])],
)
def test_a_term_with_a_capital_letter_is_found_in_its_case_unless_the_glossary_says_otherwise(
    match_case: bool | None, expected: list[str]
) -> None:
    one = Glossary([Term("Act", ("Loi",), match_case)], "en", "fr")
    assert found(one, "The Act, an act and both Acts.") == expected
    assert found(one, "THE ACT") == ([] if match_case else ["ACT"])


def test_a_term_in_small_letters_is_found_in_every_case_unless_the_glossary_says_otherwise() -> None:
    assert found(Glossary([Term("act", ("acte",))]), "Act, act, ACT") == ["Act", "act", "ACT"]
    assert found(Glossary([Term("act", ("acte",), True)]), "Act, act, ACT") == ["Act", "act"]


def test_apostrophes_are_alike() -> None:
    assert found(glossary_of_pairs({"ship's master": "capitaine"}), "the ship’s master") == ["ship’s master"]


@pytest.mark.parametrize(
    ("translation", "expected"),
    [
        ("Le titulaire de licence paie.", GIVEN),
        ("Titulaire de licence", GIVEN),
        ("les titulaires de licences", INFLECTED),
        ("LE TITULAIRE DE LICENCE", INFLECTED),
        ("le titulaire, de licence", UNUSED),
        ("le titulaire d'une licence", UNUSED),
        ("", UNUSED),
    ],
)
def test_a_term_is_used_as_given_or_in_another_form(translation: str, expected: str) -> None:
    one = glossary(permit_holder="titulaire de licence")
    assert one.use(one.terms[0], translation) == expected


def test_any_of_several_translations_counts_and_the_first_is_preferred() -> None:
    one = glossary_of_pairs([("board", "conseil"), ("board", "commission"), ("board", "conseil")])
    (term,) = one.terms
    assert term.targets == ("conseil", "commission")
    assert one.use(term, "la commission") == GIVEN


def test_a_term_is_counted_once_where_two_of_its_translations_overlap() -> None:
    one = glossary_of_pairs([("board", "conseil"), ("board", "conseil d'administration")])
    uses = list(one.uses(one.terms[0], "le conseil d’administration et le conseil"))
    assert [text for _, text in uses] == [(3, 27), (34, 41)]


def test_forms_are_offered_as_the_source_has_them() -> None:
    one = glossary(permit_holder="titulaire de licence")
    (singular,), (several,) = one.find("a permit holder"), one.find("permit holders")
    assert one.target_forms(singular) == ["titulaire de licence"]
    assert set(one.target_forms(several)) == {
        "titulaire de licence",
        "titulaires de licence",
        "titulaire de licences",
        "titulaires de licences",
    }


@pytest.mark.parametrize(
    ("source", "target", "text", "expected"),
    [
        ("vessel", "navire", "a vessel", "navire"),
        ("vessel", "navire", "two vessels", "navires"),
        ("vessel", "navire", "SALE OF A VESSEL", "NAVIRE"),
        ("permit holder", "titulaire de licence", "permit holders", "titulaires de licence"),
        ("merchant ship", "navire marchand", "merchant ships", "navires marchands"),
        ("order", "décret", "Order", "décret"),
    ],
)
def test_the_preferred_form_has_the_number_and_the_capitals_of_the_source(
    source: str, target: str, text: str, expected: str
) -> None:
    one = Glossary([Term(source, (target, "autre"))], "en", "fr")
    (match,) = one.find(text)
    assert one.preferred_form(match) == expected
    assert expected in one.target_forms(match)


@pytest.mark.parametrize(
    ("translation", "expected"),
    [
        ("Il la donne à l'exploitant.", True),
        ("Il la donne à l’exploitant.", True),
        ("Le seul exploitant", True),
        ("Il la donne au exploitant.", False),
        ("Le exploitant", False),
        ("L'exploitant est le exploitant.", False),
        ("EXPLOITANT", True),
    ],
)
def test_an_article_suits_a_french_term(translation: str, expected: bool) -> None:
    one = glossary(owner="exploitant")
    assert one.is_elided_well(one.terms[0], translation) == expected
    assert Glossary(one.terms, "fr", "en").is_elided_well(one.terms[0], translation)


@pytest.mark.parametrize(
    ("target", "translation", "expected"),
    [
        ("gare", "de l'gare", False),
        ("gare", "de la gare", True),
        ("habit", "l'habit", True),
        ("hibou", "le hibou", True),
        ("onzième", "le onzième", True),
        ("OTAN", "de OTAN", True),
        ("SMS", "l'SMS", True),
    ],
)
def test_articles_of_consonants_names_and_exceptions(target: str, translation: str, expected: bool) -> None:
    one = glossary(word=target)
    assert one.is_elided_well(one.terms[0], translation) == expected


@pytest.mark.parametrize("pairs", [{"": "a"}, {"a": "…"}, [("a",)], [("a", None)], ["ab"], ["abc"]])
def test_what_is_no_pair_of_terms_is_an_error_that_names_it(pairs: object) -> None:
    with pytest.raises(ValueError, match=r"glossary has pairs|need a word each"):
        glossary_of_pairs(pairs)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("word", "language", "expected"),
    [
        ("permit", "en", "permits"),
        ("agency", "en", "agencies"),
        ("key", "en", "keys"),
        ("process", "en", "processes"),
        ("licence", "fr", "licences"),
        ("tribunal", "fr", "tribunaux"),
        ("bureau", "fr", "bureaux"),
        ("avis", "fr", "avis"),
        ("festival", "fr", "festivals"),
        ("Travail", "fr", "Travaux"),
        ("child", "en", "children"),
        ("ley", "es", "leyes"),
        ("comissão", "pt", "comissões"),
        ("Gesetz", "de", "Gesetz"),
        ("de", "fr", "de"),
        ("a", None, "a"),
    ],
)
def test_plurals(word: str, language: str | None, expected: str) -> None:
    assert plural(word, language) == expected


@pytest.mark.parametrize(
    ("term", "language", "expected"),
    [
        ("order in council", "en", "orders in council"),
        ("driving licence", "en", "driving licences"),
        ("navire marchand de la flotte", "fr", "navires marchands de la flotte"),
        ("permiso de conducir", "es", "permisos de conducir"),
        ("Gesetz", "de", "Gesetz"),
        ("of", "en", "of"),
    ],
)
def test_the_plural_of_a_term_changes_its_noun(term: str, language: str, expected: str) -> None:
    assert " ".join(plural_of_term(term.split(), language)) == expected


def test_forms_of_a_word() -> None:
    assert is_form_of("Nationaux", "national", "fr-CA")
    assert is_form_of("nationale", "national", "fr")
    assert is_form_of("directrices", "directeur", "fr")
    assert not is_form_of("nation", "national", "fr")
    assert not is_form_of("licences", "licence", "xx")


def test_forms_of_a_long_term_are_few() -> None:
    assert len(plural_forms(("abcd", "efgh", "ijkl", "mnop", "qrst", "uvwx"), "fr")) == 2**4
