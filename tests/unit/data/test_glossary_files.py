# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Glossaries are read from tables and TBX, and errors name the file and the line."""

from pathlib import Path

import pytest

from hier_nmt.data.corpus_files import CorpusError
from hier_nmt.data.glossary_files import read_glossary, read_terms
from hier_nmt.text.glossary import Term

# As TBX-Basic has it: the dialect of 2008, and that of 2019 with notes as elements of their own.
MARTIF = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE martif SYSTEM "TBXBasiccoreStructV02.dtd">
<martif type="TBX-Basic" xml:lang="en"><martifHeader><fileDesc><sourceDesc/></fileDesc></martifHeader>
<text><body>
<termEntry id="c1"><descrip type="subjectField">law</descrip>
 <langSet xml:lang="en-CA"><tig><term>vessel</term><termNote type="partOfSpeech">noun</termNote></tig>
  <tig><term>ship</term></tig></langSet>
 <langSet xml:lang="fr"><tig><term>navire</term></tig>
  <ntig><termGrp><term>bateau</term>
   <termNote type="administrativeStatus">deprecatedTerm-admn-sts</termNote></termGrp></ntig></langSet>
</termEntry>
<termEntry id="c2"><langSet xml:lang="en"><tig><term>fee</term></tig></langSet></termEntry>
</body></text></martif>
"""
TBX = """<?xml version="1.0" encoding="UTF-8"?>
<tbx style="dct" type="TBX-Basic" xml:lang="en" xmlns="urn:iso:std:iso:30042:ed-2"
     xmlns:min="http://www.tbxinfo.net/ns/min"><tbxHeader><fileDesc><sourceDesc><p>x</p></sourceDesc></fileDesc></tbxHeader>
<text><body><conceptEntry id="c1">
 <langSec xml:lang="en"><termSec><term>vessel</term><min:partOfSpeech>noun</min:partOfSpeech></termSec></langSec>
 <langSec xml:lang="fr"><termSec><term>navire</term></termSec><termSec><term>bâtiment</term></termSec></langSec>
</conceptEntry></body></text></tbx>
"""


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.tsv", "board\tconseil\treg/1 reg/2\n\n fee \tdroit\n"),
        ("a.txt", "board\tconseil\r\nfee\tdroit\r\n"),
        ("a.csv", "board,conseil,x\nfee,droit\n"),
        ("a.csv", '"board",conseil\r\n"fee","droit"\r\n'),
        ("a.csv", "\ufeffboard;conseil\nfee;droit\n"),
        ("a.tsv", "target\tid\tsource\nconseil\t1\tboard\ndroit\t2\tfee\n"),
        ("a.csv", "Source Term,Target Term\nboard,conseil\nfee,droit\n"),
    ],
)
def test_a_table_has_a_term_and_its_translation_in_each_line(tmp_path: Path, name: str, text: str) -> None:
    glossary = read_glossary(written(tmp_path, name, text))
    assert glossary.terms == [Term("board", ("conseil",)), Term("fee", ("droit",))]


def test_columns_say_whether_case_counts_and_the_part_of_speech(tmp_path: Path) -> None:
    text = 'source,target,case,pos\n"Act, the",Loi,yes,noun\nact,acte,no\nfee,droit,,\n'
    assert read_glossary(written(tmp_path, "a.csv", text)).terms == [
        Term("Act, the", ("Loi",), True, "noun"),
        Term("act", ("acte",), False),
        Term("fee", ("droit",)),
    ]


def test_a_first_line_that_names_no_columns_is_a_term(tmp_path: Path) -> None:
    text = "source\tcode source\ntarget\tcible\n"
    assert [term.source for term in read_glossary(written(tmp_path, "a.tsv", text)).terms] == ["source", "target"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.tsv", "board\tconseil\nfee\n", r"a\.tsv:2: no tab between term and translation: 'fee'"),
        ("a.tsv", "board\t \n", r"a\.tsv:1: no translation"),
        ("a.tsv", "…\tconseil\n", r"a\.tsv:1: no term"),
        ("a.csv", "board conseil\n", r"a\.csv:1: no separator"),
        ("a.csv", 'a,b\n"board,conseil\n', r"a\.csv:2: broken CSV"),
        ("a.csv", "source,target,case\nboard,conseil,maybe\n", r"a\.csv:2: unknown case sensitivity: 'maybe'"),
        ("a.tsv", "\n\n", r"a\.tsv: no terms"),
        ("a.csv", "source,target\n", r"a\.csv: no terms"),
        ("a.csv", "", r"a\.csv: empty file"),
        ("a.tbx", "<tbx>", r"a\.tbx:1: not well-formed"),
        ("a.tbx", "<tmx/>", r"a\.tbx:1: not TBX: the root is <tmx>"),
        (
            "a.tbx",
            MARTIF.replace('"fr"', '"de"'),
            r"a language is missing: it has no terms in fr, but in: de, en, en-CA",
        ),
        ("a.tbx", MARTIF.replace("navire", " "), r"a\.tbx:8: no term: <tig> has no <term>"),
    ],
)
def test_a_broken_glossary_is_an_error_with_its_place(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        read_glossary(written(tmp_path, name, text), "en", "fr")


def test_a_glossary_in_another_encoding_is_an_error_with_its_place(tmp_path: Path) -> None:
    for name in ("a.tsv", "a.csv"):
        (tmp_path / name).write_bytes(
            "fee,droit\nfee,d\u00e9bours\n".replace(",", "," if ".csv" in name else "\t").encode("latin-1")
        )
        with pytest.raises(CorpusError, match=rf"{name}:2: not UTF-8"):
            read_glossary(tmp_path / name)


def test_tbx_gives_the_terms_of_a_concept_and_no_deprecated_translation(tmp_path: Path) -> None:
    assert read_glossary(written(tmp_path, "a.tbx", MARTIF), "en", "fr").terms == [
        Term("vessel", ("navire",), None, "noun"),
        Term("ship", ("navire",)),
    ]
    assert read_glossary(written(tmp_path, "b.tbx", TBX), "en", "fr").terms == [
        Term("vessel", ("navire", "bâtiment"), None, "noun")
    ]


def test_tbx_is_read_in_either_direction_and_needs_languages(tmp_path: Path) -> None:
    path = written(tmp_path, "a.xml", MARTIF)
    assert [term.targets for term in read_glossary(path, "fr", "en").terms] == [("vessel", "ship")] * 2
    with pytest.raises(ValueError, match=r"a\.xml has terms of several languages"):
        read_glossary(path)


def test_terms_are_read_one_in_a_line(tmp_path: Path) -> None:
    path = written(tmp_path, "names.txt", "Acme Widget\n\n# names\nOffice 365\r\n")
    assert read_terms(path) == ["Acme Widget", "Office 365"]
    with pytest.raises(CorpusError, match="no terms"):
        read_terms(written(tmp_path, "none.txt", "\n# nothing\n"))
