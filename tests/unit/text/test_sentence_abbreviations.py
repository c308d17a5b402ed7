# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Abbreviations do not end a sentence, and everything else still does."""

import pytest

from hier_nmt.text.segmentation import segment_text
from hier_nmt.text.sentence_abbreviations import rejoin_abbreviations

pytest.importorskip("sentencex")


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("fr", "M. Dupont est venu."), ("fr", "MM. Dupont et Durand sont venus."), ("fr", "Mme. Martin est là."),
        ("fr", "Le Pr. Tournesol est venu."), ("fr", "Dr. Knock arriva."), ("fr", "J. Martin est parti."),
        ("fr", "M. J. Martin est parti."), ("fr", "Le n. 5 est là."), ("fr", "En 52 av. J.-C. la ville fut prise."),
        ("fr-CA", "M. Dupont est venu."), ("fr", "Voir l'art. 5 et l'éq. (3)."), ("fr", "Il a vu M. de Gaulle."),
        ("en", "See Eq. 3 for it."), ("en", "It is in vol. 2 of it."), ("en", "It is in vol. II of it."),
        ("en", "Sec. 4 says so."), ("en", "Approx. 3 of them came."), ("en", "See ch. 3."), ("en", "Art. 5 is short."),
        ("en", "E.g. This one."), ("en", "That is, i.e. That one."), ("en", "See Eqs. (3) and (4)."),
        ("de", "Vgl. Müller 2000."), ("de", "Siehe Abb. 4 und Kap. 5."), ("de", "Herr Prof. Dr. Meier kam."),
        ("es", "D. Juan y Dña. Ana."), ("es", "Véase la pág. 12."), ("es", "Núm. 3 y art. 5."),
        ("it", "Dott. Verdi è qui."), ("it", "Vedi pag. 12 e n. 3."), ("it", "L'On. Rossi parla."),
        ("pt", "Ver pág. 12 e n. 3."), ("pt_BR", "O Sr. Silva e a Profa. Costa."),
        ("nl", "Dhr. Jansen en mevr. de Vries."), ("nl", "Zie blz. 12 en nr. 3."),
    ],
)  # fmt: skip
def test_an_abbreviation_does_not_end_a_sentence(language, text) -> None:
    following = "Z 1"
    segments = segment_text(f"{text} {following}", language)
    assert next(segment.text for segment in segments if segment.is_sentence) in (text, f"{text} {following}")


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("fr", "Il prend le plan B.|Il part."), ("fr", "C'est fini.|M. Dupont est là.|Il part."),
        ("fr", "Il est venu.|Me voilà."), ("en", "He wrote a vol.|It was long."), ("en", "He said no.|Then he left."),
        ("en", "See the ref.|He left."), ("de", "Er ist da.|Nr. 5 lebt.|Sie geht."), ("it", "Vedi la pag.|Non questa."),
        ("fr", "C'était en 52 av. J.-C.|Il partit."),
        ("xx", "One.|Two."),
    ],
)  # fmt: skip
def test_other_sentences_end_where_they_did(language, text) -> None:
    segments = segment_text(text.replace("|", " "), language)
    assert [segment.text for segment in segments if segment.is_sentence] == text.split("|")


def test_pieces_of_languages_without_a_list_stay() -> None:
    assert rejoin_abbreviations(["M. ", "X."], "ru") == ["M. ", "X."]
    assert rejoin_abbreviations(["M. ", "Xy. ", "Y."], "fr") == ["M. Xy. ", "Y."]
    assert rejoin_abbreviations([], "fr") == []


def test_a_long_piece_without_spaces_is_no_abbreviation() -> None:
    # A search from each of its characters to its end would not come to an end itself.
    pieces = ["{" * 300_000 + " x", "Smith"]
    assert rejoin_abbreviations(pieces, "en") == pieces
