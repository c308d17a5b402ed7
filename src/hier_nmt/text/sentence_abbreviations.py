# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Abbreviations that do not end a sentence, for languages in which sentencex splits after some of them.

sentencex 1.0 splits, for example, after "M." in French, "Eq." and "vol." in English, "pag." in Italian and "mevr." in
Dutch. Sentences that were split there are joined again.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple


class Abbreviations(NamedTuple):
    """The abbreviations of a language, without their final full stop.

    Attributes:
        before_names: titles, which precede a word with a capital letter.
        before_numbers: abbreviations, in any case, that precede a number (perhaps in brackets) or a word in lower case.
        anywhere: abbreviations, in any case, that never end a sentence.
        has_initials: whether a capital letter with a full stop may be an initial of the name that follows. False where
            sentencex handles initials itself.
    """

    before_names: frozenset[str]
    before_numbers: frozenset[str]
    anywhere: frozenset[str]
    has_initials: bool = True


def _abbreviations(names: str, numbers: str, anywhere: str, has_initials: bool = True) -> Abbreviations:
    return Abbreviations(
        frozenset(names.split()), frozenset(numbers.split()), frozenset(anywhere.split()), has_initials
    )


_BY_LANGUAGE = {
    "en": _abbreviations(
        "Mr Mrs Ms Messrs Mme Mlle Dr Drs Prof Rev Msgr Gen Maj Col Capt Cmdr Lt Sgt Adm Gov Sen Rep Hon Supt",
        "no nos vol vols p pp ch chap chaps sec secs sect fig figs eq eqs eqn art arts para paras ref refs tab v ver "
        "pt pts n nn l ll c ca approx cl reg regs app al tel ext",
        "e.g i.e cf viz vs incl",
        has_initials=False,
    ),
    "fr": _abbreviations(
        "M MM Mme Mmes Mlle Mlles Me Mes Dr Drs Pr Prof Mgr St Ste Cdt Cne Col Lt",
        "art p pp vol t n no nos num fig figs chap ch éq eq tab par al réf col f ff env ca tél j.-c",
        "cf ex c.-à-d av apr vs",
    ),
    "de": _abbreviations(
        "Hr Hrn Fr Dr Prof Dipl Hl St",
        "nr nrn s bd bde abs art abb tab kap ziff anm gl gln jg rn rz tel ca",
        "z.b b d.h h bzw vgl sog evtl ggf inkl insb u.a z.t o.g",
    ),
    "es": _abbreviations(
        "Sr Sra Srta Sres Sras D Dña Dr Dra Prof Lic Ing Arq Excmo Excma Ilmo Mons Gral Sto Sta",
        "pág págs p pp art arts núm núms n nº vol vols cap caps fig figs t tel",
        "ej p.ej cf aprox vs",
    ),
    "it": _abbreviations(
        "Sig Sigg Sig.ra Sig.na Dott Dott.ssa Prof Prof.ssa Avv Ing Arch Geom On Mons S",
        "pag pagg p pp art artt n nn nr vol voll cap capp fig figg tab par t tel",
        "es cfr vs",
    ),
    "pt": _abbreviations(
        "Sr Sra Srs Sras Srta D Dr Dra Prof Profa Exmo Exma Eng Arq Gen Sto Sta",
        "pág págs p pp art arts n nº núm vol cap fig tel",
        "ex cf aprox vs",
    ),
    "nl": _abbreviations(
        "Dhr dhr Mevr mevr Mw mw Drs drs Ir ir Ing Dr dr Prof prof Ds ds St",
        "nr nrs blz p art hfst vol fig tab afb tel ca",
        "bv bijv d.w.z m.a.w o.a i.p.v t.o.v evt resp vgl",
    ),
}
# "mevr. de Vries"
_NAME_PARTICLES = frozenset(["de", "den", "der", "van", "von", "du", "da", "di", "del", "della"])
_LAST_WORD = re.compile(r"([^\s(\[\"'’“«„]+)\.\s*$")
# Characters at the end of a piece that are looked at; abbreviations are short, and pieces may be very long.
_MAX_LAST_WORD = 100
_NUMBER = re.compile(r"[(\[#§]?\s*(?:\d|(?:[IVXLC]{2,}|[VX])\b)")
_FIRST_WORD = re.compile(r"\w+")


def rejoin_abbreviations(pieces: Iterable[str], language: str) -> list[str]:
    """The pieces of a text, joined where they were split after an abbreviation of the language.

    Args:
        pieces: consecutive pieces of the text, white space included.
        language: a code such as "en" or "pt-BR".
    """
    known = _BY_LANGUAGE.get(re.split("[-_]", language.lower())[0])
    joined: list[str] = []
    for piece in pieces:
        if known is not None and joined and _continues(joined[-1], piece, known):
            joined[-1] += piece
        else:
            joined.append(piece)
    return joined


def _continues(piece: str, following: str, known: Abbreviations) -> bool:
    last = _LAST_WORD.search(piece, max(0, len(piece) - _MAX_LAST_WORD))
    if last is None:
        return False
    if following.startswith("-") and not piece[-1].isspace():
        # "av. J.-C."
        return True
    word = last[1]
    if word.lower() in known.anywhere:
        return True
    if word.lower() in known.before_numbers and (_NUMBER.match(following) or following[:1].islower()):
        return True
    if word in known.before_names:
        return _begins_name(following)
    is_initial = known.has_initials and len(word) == 1 and word.isupper()
    return is_initial and following[:1].isupper() and _is_name_initial(piece[: last.start()], known)


def _begins_name(text: str) -> bool:
    first = _FIRST_WORD.match(text)
    return first is not None and (first[0][0].isupper() or first[0] in _NAME_PARTICLES)


def _is_name_initial(before: str, known: Abbreviations) -> bool:
    """Whether an initial after this text belongs to a name: it is at the start, or follows a title or another
    initial."""
    words = before.split()
    if not words:
        return True
    word = words[-1].removesuffix(".")
    return words[-1].endswith(".") and (word in known.before_names or (len(word) == 1 and word.isupper()))
