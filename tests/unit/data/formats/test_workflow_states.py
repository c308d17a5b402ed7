# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Workflow states in files decide what is translated, and are updated correctly."""

import json
import re

import pytest
from lxml import etree

from hier_nmt.data.corpus_files import CorpusError
from hier_nmt.data.documents import ParallelDocument, SentencePair
from hier_nmt.data.formats.registry import FILE_CLASSES, format_of, read_document_file

XLIFF_1 = (
    '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"{spaces}>'
    '<file original="a"><body>{unit}</body></file></xliff>'
)
XLIFF_2 = (
    '<xliff version="2.0" srcLang="en" xmlns="urn:oasis:names:tc:xliff:document:2.0">'
    '<file id="f"><unit id="u">{unit}</unit></file></xliff>'
)
SPACES = (
    ' xmlns:sdl="http://sdl.com/FileTypes/SdlXliff/1.0" xmlns:mq="MQXliff" xmlns:m="http://www.memsource.com/mxlf/2.0"'
)


@pytest.fixture
def file(tmp_path):
    def read(content: str, name: str, format: str | None = None):
        (tmp_path / name).write_text(content)
        return read_document_file(tmp_path / name, "en", "fr", format)

    return read


def xliff_1(file, unit: str):
    return file(XLIFF_1.format(unit=unit, spaces=SPACES), "a.xlf")


def xliff_2(file, unit: str):
    return file(XLIFF_2.format(unit=unit), "a.xlf")


def is_translated(found) -> list[bool]:
    return [unit.is_translated for item in found.documents for unit in item.units]


def written(found, *texts: str):
    return etree.fromstring(found.translated([list(texts)]))


def one(root, name: str):
    return next(root.iter(f"{{*}}{name}"))


@pytest.mark.parametrize(
    ("unit", "target", "expected"),
    [
        ("", "", False),
        ("", "<target/>", False),
        ("", '<target state="final"></target>', False),
        ("", '<target state="new">Yes.</target>', False),
        ("", '<target state="needs-translation">Yes.</target>', False),
        ("", '<target state="needs-l10n"> Yes. </target>', False),
        ("", '<target state="new"><g id="1">Yes.</g></target>', False),
        # A target that differs from the source is a translation, whatever the state.
        ("", '<target state="new">Oui.</target>', True),
        ("", '<target state="needs-review-translation">Yes.</target>', True),
        ("", '<target state="needs-adaptation">Yes.</target>', True),
        ("", '<target state="signed-off">Yes.</target>', True),
        # Without a state a name or an "OK" may be the translation.
        ("", "<target>Yes.</target>", True),
        ('approved="yes"', '<target state="new">Yes.</target>', True),
        ('approved="no"', '<target state="new">Yes.</target>', False),
        ('approved="yes"', "<target/>", False),
        ('mq:status="NotStarted"', "<target>Yes.</target>", False),
        ('mq:status="ManuallyConfirmed"', "<target>Yes.</target>", True),
        ('m:confirmed="0"', "<target>Yes.</target>", False),
        ('m:confirmed="1"', "<target>Yes.</target>", True),
    ],
)
def test_xliff_1_states_decide_what_is_translated(file, unit, target, expected) -> None:
    found = xliff_1(file, f'<trans-unit id="1" {unit}><source>Yes.</source>{target}</trans-unit>')
    assert is_translated(found) == [expected]


@pytest.mark.parametrize(
    ("state", "target", "expected"),
    [
        ("", "", False),
        ('state="final"', "<target/>", False),
        ('state="initial"', "<target>Yes.</target>", False),
        ("", "<target>Yes.</target>", False),
        ('state="initial"', "<target>Oui.</target>", True),
        ('state="translated"', "<target>Yes.</target>", True),
        ('state="reviewed"', "<target>Oui.</target>", True),
        ('state="final"', "<target>Yes.</target>", True),
    ],
)
def test_xliff_2_states_decide_what_is_translated(file, state, target, expected) -> None:
    found = xliff_2(file, f"<segment {state}><source>Yes.</source>{target}</segment>")
    assert is_translated(found) == [expected]


@pytest.mark.parametrize("text", ["Oui.", "Yes."])
def test_xliff_1_says_that_a_machine_translated_it_and_nobody_approved(file, text) -> None:
    found = xliff_1(
        file,
        '<trans-unit id="1" approved="yes" mq:status="ManuallyConfirmed" m:confirmed="1" m:trans-origin="null">'
        '<source>Yes.</source><target state="final" phase-name="review" xml:lang="fr"/></trans-unit>',
    )
    root = written(found, text)
    unit, target = one(root, "trans-unit"), one(root, "target")
    assert target.text == text
    assert (target.get("state"), target.get("state-qualifier")) == ("needs-review-translation", "mt-suggestion")
    assert (target.get("phase-name"), unit.get("approved")) == (None, None)
    assert unit.get("{MQXliff}status") == "MachineTranslated"
    assert unit.get("{http://www.memsource.com/mxlf/2.0}confirmed") == "0"
    assert unit.get("{http://www.memsource.com/mxlf/2.0}trans-origin") == "mt"


def test_xliff_1_that_is_translated_again_loses_the_names_of_its_translators(file) -> None:
    unit = '<trans-unit id="1" approved="yes"><source>Yes.</source><target state="final">Si.</target></trans-unit>'
    kept, again = written(xliff_1(file, unit), "Si."), written(xliff_1(file, unit), "Oui.")
    assert (one(kept, "trans-unit").get("approved"), one(kept, "target").get("state")) == ("yes", "final")
    assert (one(again, "trans-unit").get("approved"), one(again, "target").get("state")) == (
        None,
        "needs-review-translation",
    )


def test_xliff_1_without_vendor_attributes_gets_none(file) -> None:
    root = written(xliff_1(file, '<trans-unit id="1"><source>Yes.</source></trans-unit>'), "Oui.")
    assert dict(one(root, "trans-unit").attrib) == {"id": "1"}


TRADOS = """<trans-unit id="1"><source>One. Two. Three.</source>
<seg-source><mrk mtype="seg" mid="1">One.</mrk> <mrk mtype="seg" mid="2">Two.</mrk>
<mrk mtype="seg" mid="3">Three.</mrk></seg-source>
<target><mrk mtype="seg" mid="1">Un.</mrk> <mrk mtype="seg" mid="2"/> <mrk mtype="seg" mid="3">Three.</mrk></target>
<sdl:seg-defs><sdl:seg id="1" conf="ApprovedTranslation" origin="interactive"/><sdl:seg id="2"/>
<sdl:seg id="3" locked="true"/></sdl:seg-defs></trans-unit>"""


def test_trados_has_a_state_for_each_segment(file) -> None:
    found = xliff_1(file, TRADOS)
    assert [unit.source for unit in found.documents[0].units] == ["One.", "Two."]
    assert is_translated(found) == [True, False]
    root = written(found, "Un.", "Deux.")
    states = [dict(one.attrib) for one in root.iter("{http://sdl.com/FileTypes/SdlXliff/1.0}seg")]
    assert states == [
        {"id": "1", "conf": "ApprovedTranslation", "origin": "interactive"},
        {"id": "2", "conf": "Draft", "origin": "mt", "origin-system": "hier_nmt"},
        {"id": "3", "locked": "true"},
    ]
    assert [mark.text for mark in one(root, "target").iter("{*}mrk")] == ["Un.", "Deux.", "Three."]


@pytest.mark.parametrize("lock", ['mq:locked="locked"', 'm:locked="true"'])
def test_locked_units_are_left_alone(file, lock) -> None:
    other = '<trans-unit id="2" m:locked="false"><source>Yes.</source></trans-unit>'
    units = f'<trans-unit id="1" {lock}><source>A-1</source></trans-unit>{other}'
    assert [unit.source for unit in xliff_1(file, units).documents[0].units] == ["Yes."]


def test_a_copied_source_does_not_hide_the_segments_of_a_unit(file) -> None:
    unit = """<trans-unit id="1"><source>One. Two.</source>
<seg-source><mrk mtype="seg" mid="1">One.</mrk> <mrk mtype="seg" mid="2">Two.</mrk></seg-source>
<target state="new">One. Two.</target></trans-unit>"""
    found = xliff_1(file, unit)
    assert [unit.source for unit in found.documents[0].units] == ["One.", "Two."]
    assert [mark.text for mark in one(written(found, "Un.", "Deux."), "target").iter("{*}mrk")] == ["Un.", "Deux."]


@pytest.mark.parametrize("state", ["", 'state="initial"', 'state="final" subState="tm:exact"'])
def test_xliff_2_says_that_a_machine_translated_it(file, state) -> None:
    segment = one(written(xliff_2(file, f"<segment {state}><source>Yes.</source></segment>"), "Oui."), "segment")
    assert (segment.get("state"), segment.get("subState")) == ("translated", "hier_nmt:mt-suggestion")
    # What the standard asks of it: a prefix that is not its own, a colon, a value; and "state" not left out (rule F7 of
    # its Schematron schema), nor "trgLang" where there is a target (F1).
    assert re.fullmatch(r"(?!xlf:)[^\s:]+:[^\s:]+", segment.get("subState"))
    assert segment.getroottree().getroot().get("trgLang") == "fr"


def test_xliff_2_keeps_the_state_of_what_it_keeps(file) -> None:
    segments = (
        '<segment state="final" subState="x:y"><source>Yes.</source><target>Oui.</target></segment>'
        '<segment state="reviewed"><source>No.</source><target>Nein.</target></segment>'
    )
    states = [
        dict(one.attrib) for one in written(xliff_2(file, segments), "Oui.", "Non.").iter("{*}segment")
    ]  # as with --retranslate for the second
    assert states == [
        {"state": "final", "subState": "x:y"},
        {"state": "translated", "subState": "hier_nmt:mt-suggestion"},
    ]


def test_tmx_is_signed_by_who_wrote_the_segment(file) -> None:
    tmx = """<tmx version="1.4"><header/><body>
<tu><tuv xml:lang="en" creationid="ann"><seg>One.</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>Two.</seg></tuv><tuv xml:lang="fr" changeid="ann" usagecount="3"><seg>Deux.</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>Six.</seg></tuv><tuv xml:lang="fr" changeid="ann" usagecount="3"><seg>Cis.</seg></tuv></tu>
<tu changeid="ann"><tuv xml:lang="en"><seg>Yes.</seg></tuv><tuv xml:lang="fr"><seg/></tuv></tu>
</body></tmx>"""
    found = file(tmx, "a.tmx")
    assert is_translated(found) == [False, True, True, False]
    root = written(found, "Un.", "Deux.", "Six.", "Oui.")
    attributes = [dict(variant.attrib) for variant in root.iter("tuv")]
    language = "{http://www.w3.org/XML/1998/namespace}lang"
    machine = {language: "fr", "creationtool": "hier_nmt", "creationid": "MT!"}
    assert attributes[0] == {language: "en", "creationid": "ann"}
    assert attributes[1] == machine
    assert attributes[3] == {language: "fr", "changeid": "ann", "usagecount": "3"}
    assert attributes[5] == machine
    assert attributes[7] == machine


@pytest.mark.parametrize("name", ["tmx", "xliff"])
def test_a_written_corpus_is_not_marked_as_machine_translated(name) -> None:
    documents = [ParallelDocument("d", ((SentencePair("Yes.", "Oui."),),))]
    content = FILE_CLASSES[name].new(documents, "en", "fr").translated([["Oui."]])
    assert b"Oui." in content
    assert b"MT!" not in content
    assert b"state" not in content


@pytest.mark.parametrize(
    "header",
    [
        "doc_id\tsource\ttarget", "Document ID\tSource\tTarget", '"id"\t"en"\t"fr"', "docid\tsrc", "id\tEN\tFR\tnote",
        "\ndocument-id\tsource text\ttarget text",
    ],
)  # fmt: skip
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_the_names_of_columns_are_no_text(file, header, newline) -> None:
    rows = ["a\tYes.\tOui.\tx", "a\tNo.", "b\tGo.\t", "b\tWho?\t\tx"]
    content = newline.join([*header.split("\n"), *rows, ""])
    found = file(content, "a.tsv")
    assert [[unit.source for unit in item.units] for item in found.documents] == [["Yes.", "No."], ["Go.", "Who?"]]
    assert is_translated(found) == [True, False, False, False]
    result = found.translated([["Oui.", "Non."], ["Va.", "Qui ?"]]).decode()
    expected = ["a\tYes.\tOui.\tx", "a\tNo.\tNon.", "b\tGo.\tVa.", "b\tWho?\tQui ?\tx"]
    assert result == newline.join([*header.split("\n"), *expected, ""])


@pytest.mark.parametrize("row", ["7\tsource\tla source", "id\tYes.\tOui.", "a\ttext"])
def test_a_first_row_of_text_is_not_a_header(file, row) -> None:
    assert len(file(f"{row}\n", "a.tsv").documents[0].units) == 1


def test_json_lines_keep_the_translations_that_they_have(file) -> None:
    documents = [
        {"id": 1, "paragraphs": [{"en": ["Yes.", "No."], "fr": ["Oui.", " "]}, {"en": ["Go.", " "], "fr": []}]},
        {"id": 2, "paragraphs": [{"en": ["Who?"], "fr": None, "de": ["Wer?"]}, {"en": ["Me."], "fr": [None]}]},
    ]
    found = file("\r\n".join([json.dumps(documents[0]), "", json.dumps(documents[1])]), "a.jsonl")
    assert is_translated(found) == [True, False, False, False, False]
    result = found.translated([["Oui.", "Non.", "Va."], ["Qui ?", "Moi."]]).decode()
    lines = result.split("\r\n")
    assert lines[1] == ""
    assert [json.loads(lines[0])["paragraphs"], json.loads(lines[2])["paragraphs"]] == [
        [{"en": ["Yes.", "No."], "fr": ["Oui.", "Non."]}, {"en": ["Go.", " "], "fr": ["Va.", " "]}],
        [{"en": ["Who?"], "fr": ["Qui ?"], "de": ["Wer?"]}, {"en": ["Me."], "fr": ["Moi."]}],
    ]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ('["Un."]', "a.jsonl:1: uneven sentence lists: paragraph 1 has 2 in 'en' and 1 in 'fr'"),
        ('"Un."', "a.jsonl:1: not a list of strings: 'fr' in paragraph 1"),
        ("[1, 2]", "a.jsonl:1: not a list of strings: 'fr' in paragraph 1"),
    ],
)
def test_translations_in_json_lines_that_fit_nothing_are_refused(file, target, message) -> None:
    with pytest.raises(CorpusError, match=message):
        file(f'{{"id": 1, "paragraphs": [{{"en": ["A.", "B."], "fr": {target}}}]}}', "a.jsonl")


def test_files_of_other_tools_with_their_own_endings_are_xliff(tmp_path) -> None:
    for ending in ("sdlxliff", "mqxliff", "mxliff"):
        path = tmp_path / f"a.{ending}"
        path.write_text(XLIFF_1.format(unit=TRADOS, spaces=SPACES))
        assert format_of(path) == "xliff"
