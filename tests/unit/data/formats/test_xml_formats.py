# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
import gzip
import zipfile

import pytest
from lxml import etree

from hier_nmt.data.corpora import read_documents
from hier_nmt.data.corpus_files import CorpusError
from hier_nmt.data.formats.opus_xml import OpusXmlFile
from hier_nmt.data.formats.tagged_text import TaggedText
from hier_nmt.data.formats.tmx import TmxFile
from hier_nmt.data.formats.wmt_xml import WmtXmlFile, references
from hier_nmt.data.formats.xliff import XliffFile
from hier_nmt.data.formats.xml_files import same_language

TMX = """<?xml version="1.0"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en-US"/><body>
<tu><prop type="x-document">a.txt</prop><tuv xml:lang="en-US">
  <seg>Press <bpt i="1">&lt;b&gt;</bpt>Start<ept i="1"/> now.</seg></tuv></tu>
<tu><prop type="x-document">a.txt</prop><tuv xml:lang="en-US"><seg>Yes.</seg></tuv>
  <tuv xml:lang="fr-CA"><seg>Oui.</seg></tuv></tu>
<tu><prop type="x-document">b.txt</prop><tuv lang="EN"><seg>No.</seg></tuv><tuv lang="FR"><seg>Non.</seg></tuv></tu>
<tu><tuv xml:lang="de"><seg>Nur deutsch.</seg></tuv></tu>
</body></tmx>
"""
XLIFF_1 = """<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
<file original="a.html" source-language="en" datatype="html"><body>
<trans-unit id="1"><source>Read the <g id="1">big <x id="2"/>report</g> today.</source></trans-unit>
<trans-unit id="2"><source>One. Two.</source>
<seg-source><mrk mtype="seg" mid="0">One.</mrk> <mrk mtype="seg" mid="1">Two.</mrk></seg-source></trans-unit>
<group translate="no"><trans-unit id="3"><source>A-1</source></trans-unit></group>
<trans-unit id="4"><source>Done.</source><target>Fini.</target><note>n</note></trans-unit>
</body></file></xliff>
"""
XLIFF_2 = """<xliff version="2.0" srcLang="en" xmlns="urn:oasis:names:tc:xliff:document:2.0"><file id="f">
<unit id="u"><segment id="s"><source>A <pc id="1">red</pc> door.</source></segment>
<ignorable><source> </source></ignorable><segment><source>Closed.</source><target>Close.</target></segment></unit>
<unit id="v" translate="no"><segment><source>X</source></segment></unit></file></xliff>
"""
WMT = """<dataset id="t"><doc id="d" origlang="en">
<src lang="en"><p><seg id="1">One.</seg><seg id="2">Two.</seg></p><p><seg id="3">Three.</seg></p></src>
<ref lang="fr" translator="A"><p><seg id="1">Un.</seg><seg id="2">Deux.</seg></p><p><seg id="3">Trois.</seg></p></ref>
<ref lang="fr" translator="B"><p><seg id="1">1.</seg><seg id="2">2.</seg></p><p><seg id="3">3.</seg></p></ref>
</doc></dataset>
"""


@pytest.fixture
def file(tmp_path):
    def write(content: str, name: str = "a.xml"):
        (tmp_path / name).write_text(content)
        return tmp_path / name

    return write


@pytest.mark.parametrize(
    ("code", "wanted", "is_same"),
    [
        ("en", "en", True), ("en-US", "en", True), ("EN_us", "en", True), ("en", "en-GB", True),
        ("en-US", "en-GB", False), ("eng", "en", False), (None, "en", False),
    ],
)  # fmt: skip
def test_languages_are_compared_by_their_parts(code, wanted, is_same) -> None:
    assert same_language(code, wanted) == is_same


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        ("<s>Plain.</s>", "Neu.", "Neu."),
        ("<s><b>All of it.</b></s>", "Tout.", "<b>Tout.</b>"),
        ("<s>A <b>red</b> door</s>", "Une porte rouge", "Une <b>porte</b> rouge"),
        ("<s><x/>Start</s>", "Debut", "<x/>Debut"),
        ("<s>End<x/></s>", "Fin", "Fin<x/>"),
        ("<s>A <b>c <i>d</i></b></s>", "a b c d", "a <b>b c <i>d</i></b>"),
        ("<s>A <b>word</b> here</s>", "", "<b/>"),
        ("<s>One <!--note-->two</s>", "un deux", "un <!--note-->deux"),
    ],
)
def test_tags_go_where_they_were_in_proportion(source, text, expected) -> None:
    element = etree.fromstring(source)
    tagged = TaggedText.of(element, ["x"])
    target = etree.Element("s")
    tagged.fill(target, text)
    assert etree.tostring(target).decode() in (f"<s>{expected}</s>", "<s><b/></s>")
    assert sum(1 for _ in target.iter()) == sum(1 for _ in element.iter())
    assert "".join(target.itertext(tag=("s", "b", "i", "x"))) == text


def test_tmx_has_documents_by_their_property_and_keeps_what_is_translated(file) -> None:
    found = TmxFile.read(file(TMX), "en", "fr")
    assert [item.id for item in found.documents] == ["a.txt", "b.txt"]
    units = found.documents[0].units
    assert [unit.source for unit in units] == ["Press Start now.", "Yes."]
    assert [unit.is_translated for unit in units] == [False, True]
    written = found.translated([["Appuyez sur Start maintenant.", "Oui."], ["Non."]]).decode()
    assert '<!DOCTYPE tmx SYSTEM "tmx14.dtd">' in written
    assert '<bpt i="1">&lt;b&gt;</bpt>' in written.partition('xml:lang="fr"')[2]
    assert '<tuv xml:lang="fr-CA">' in written
    assert written.count("\n") == TMX.count("\n")
    assert "Nur deutsch." in written


def test_tmx_without_the_language_says_which_it_has(file) -> None:
    with pytest.raises(CorpusError, match=r"no unit in 'it'; languages: EN, FR, de, en-US, fr-CA"):
        TmxFile.read(file(TMX), "it", "fr")


def test_a_unit_without_translation_is_named(file) -> None:
    with pytest.raises(CorpusError, match=r"a.xml:4: no translation: of Press Start now."):
        list(read_documents([file(TMX)], "tmx", "en", "fr"))
    documents = list(read_documents([file(TMX)], "tmx", "en", "fr", skip_bad=True))
    assert [item.source_sentences for item in documents] == [["Yes."], ["No."]]


@pytest.mark.parametrize("empty", ["<tuv xml:lang='fr'/>", "<tuv xml:lang='fr'><note>Yes?</note></tuv>"])
@pytest.mark.parametrize("other", ["", "<tuv xml:lang='fr'><seg>Oui.</seg></tuv>"])
def test_tmx_without_a_segment_in_the_language_gets_one(file, empty, other) -> None:
    unit = f"<tu><tuv xml:lang='en'><seg>Yes.</seg></tuv>{empty}{other}</tu>"
    found = TmxFile.read(file(f"<tmx version='1.4'><body>{unit}</body></tmx>"), "en", "fr")
    assert found.documents[0].units[0].target == ("Oui." if other else None)
    again = TmxFile.read(file(found.translated([["Si."]]).decode(), "b.tmx"), "en", "fr")
    assert again.documents[0].units[0].target == "Si."


def test_a_unit_of_which_a_part_is_translated_gets_the_other_part(file) -> None:
    half = """<xliff version="1.2"><file original="a"><body><trans-unit id="1"><source>One. Two.</source>
<seg-source><mrk mtype="seg" mid="0">One.</mrk> <mrk mtype="seg" mid="1">Two.</mrk></seg-source>
<target><mrk mtype="seg" mid="0">Un.</mrk></target></trans-unit></body></file></xliff>"""
    found = XliffFile.read(file(half), "en", "fr")
    assert [unit.is_translated for unit in found.documents[0].units] == [True, False]
    again = XliffFile.read(file(found.translated([["Un.", "Deux."]]).decode(), "b.xlf"), "en", "fr")
    assert [unit.target for unit in again.documents[0].units] == ["Un.", "Deux."]


@pytest.mark.parametrize(
    "marks",
    [
        '<mrk mtype="seg" mid="0">One.</mrk> <mrk mtype="seg" mid="0">Two.</mrk>',
        '<mrk mtype="seg">One.</mrk> <mrk mtype="seg">Two.</mrk>',
        '<mrk mtype="seg" mid="0">One. <mrk mtype="seg" mid="1">Two.</mrk></mrk>',
    ],
)
def test_a_unit_with_ambiguous_segments_is_translated_as_a_whole(file, marks) -> None:
    text = f"""<xliff version="1.2"><file original="a"><body><trans-unit id="1"><source>One. Two.</source>
<seg-source>{marks}</seg-source></trans-unit></body></file></xliff>"""
    found = XliffFile.read(file(text), "en", "fr")
    assert [unit.source for unit in found.documents[0].units] == ["One. Two."]
    assert b"<target state=" in found.translated([["Un. Deux."]])
    assert b">Un. Deux.</target>" in found.translated([["Un. Deux."]])


def test_xliff_1_keeps_tags_segments_and_what_is_not_to_be_translated(file) -> None:
    found = XliffFile.read(file(XLIFF_1), "en", "fr")
    (document,) = found.documents
    assert document.id == "a.html"
    assert [[unit.source for unit in group] for group in document.paragraphs] == [
        ["Read the big report today."], ["One.", "Two."], ["Done."],
    ]  # fmt: skip
    written = found.translated([["Lisez le grand rapport ce jour.", "Un.", "Deux.", "Fini."]]).decode()
    root = etree.fromstring(written.encode())
    targets = [etree.tostring(one, with_tail=False).decode() for one in root.iter("{*}target")]
    assert '<g id="1">grand <x id="2"/>rapport</g>' in targets[0]
    assert '<mrk mtype="seg" mid="0">Un.</mrk> <mrk mtype="seg" mid="1">Deux.</mrk>' in targets[1]
    assert len(targets) == 3
    assert "Fini." in targets[2]
    assert 'state="needs-review-translation"' not in targets[2]
    assert root[0].get("target-language") == "fr"
    # A second run finds everything translated.
    again = XliffFile.read(file(written), "en", "fr")
    assert all(unit.is_translated for unit in again.documents[0].units)


def test_a_segmented_unit_that_was_translated_as_a_whole_keeps_its_translation(file) -> None:
    path = file(XLIFF_1.replace("</seg-source>", "</seg-source><target>Tout.</target>"))
    units = XliffFile.read(path, "en", "fr").documents[0].units
    assert [(unit.source, unit.target) for unit in units][1] == ("One. Two.", "Tout.")


def test_xliff_2_has_units_of_segments(file) -> None:
    found = XliffFile.read(file(XLIFF_2), "en", "fr")
    assert [[unit.source for unit in group] for group in found.documents[0].paragraphs] == [["A red door.", "Closed."]]
    written = found.translated([["Une porte rouge.", "Close."]]).decode()
    assert 'trgLang="fr"' in written
    assert '<target>Une <pc id="1">porte</pc> rouge.</target>' in written
    assert '<segment id="s" state="translated" subState="hier_nmt:mt-suggestion">' in written
    assert written.count("<target>") == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('<xliff version="3.0"/>', "unknown version of XLIFF: '3.0'"),
        (XLIFF_1.replace('"en"', '"de"'), "source-language='de', not 'en'"),
        (XLIFF_2.replace('srcLang="en"', 'srcLang="en" trgLang="es"'), "trgLang='es', not 'fr'"),
    ],
)
def test_xliff_of_another_version_or_language_is_refused(file, content, message) -> None:
    with pytest.raises(CorpusError, match=message):
        XliffFile.read(file(content), "en", "fr")


def test_wmt_xml_has_several_references(file) -> None:
    path = file(WMT)
    assert references(path) == ["A", "B"]
    first, second = (
        next(iter(read_documents([path], "wmt-xml", "en", "fr", columns={"reference": name}))) for name in ("A", "B")
    )
    assert first.target_sentences == ["Un.", "Deux.", "Trois."]
    assert second.target_sentences == ["1.", "2.", "3."]
    assert next(iter(read_documents([path], "wmt-xml", "en", "fr"))) == first
    with pytest.raises(CorpusError, match="no such reference: 'C'; document 'd' has 'A', 'B'"):
        list(read_documents([path], "wmt-xml", "en", "fr", columns={"reference": "C"}))
    with pytest.raises(ValueError, match="unknown keys in columns: translator"):
        list(read_documents([path], "wmt-xml", "en", "fr", columns={"translator": "C"}))


def test_wmt_xml_with_a_document_inside_a_text_is_refused(tmp_path) -> None:
    # The end tags of a text and its document are lost: the second document's segments would be the first one's, too.
    path = tmp_path / "nested.xml"
    document = '<doc id="{}"><src lang="en"><p><seg id="1">A.</seg></p>'
    path.write_text(f"<dataset>{document.format('a')}\n{document.format('b')}</src></doc></src></doc></dataset>")
    with pytest.raises(CorpusError, match=r"nested.xml:2: nested texts: <doc> inside <src>"):
        WmtXmlFile.read(path, "en", "fr")


def test_wmt_xml_gets_one_hypothesis_however_often_it_is_translated(file) -> None:
    path = file(WMT)
    for text in ("X.", "Y."):
        path.write_bytes(WmtXmlFile.read(path, "en", "fr").translated([[text, text, text]]))
    root = etree.parse(str(path)).getroot()
    (hypothesis,) = root.iter("hyp")
    assert [segment.text for segment in hypothesis.iter("seg")] == ["Y."] * 3
    assert [segment.get("id") for segment in hypothesis.iter("seg")] == ["1", "2", "3"]
    assert len(list(root.iter("ref"))) == 2


def test_a_reference_that_lacks_a_segment_is_named(file) -> None:
    path = file(WMT.replace('<seg id="2">Deux.</seg>', ""))
    with pytest.raises(CorpusError, match=r"a.xml:2: no translation: of Two."):
        list(read_documents([path], "wmt-xml", "en", "fr"))


OPUS_EN = '<document><p id="1"><s id="1">One.</s><s id="2">Two</s><s id="3">three.</s></p><s id="4">No.</s></document>'
OPUS_FR = (
    '<document><s id="1"><w id="1.1">Un</w> <w id="1.2">.</w></s><s id="2"><time id="T" value="0"/>Deux trois.</s>'
    "</document>"
)
ALIGNMENT = (
    '<!DOCTYPE cesAlign PUBLIC "-//CES//DTD XML cesAlign//EN" ""><cesAlign version="1.0">'
    '<linkGrp fromDoc="en/a.xml.gz" toDoc="fr/a.xml.gz"><link xtargets="1;1"/><link xtargets="2 3;2"/>'
    '<link xtargets="4;"/></linkGrp></cesAlign>'
)


@pytest.mark.parametrize("place", ["beside", "raw", "zip"])
def test_opus_documents_are_found_and_joined_by_their_links(tmp_path, file, place) -> None:
    path = file(ALIGNMENT)
    for language, content in (("en", OPUS_EN), ("fr", OPUS_FR)):
        if place == "zip":
            with zipfile.ZipFile(tmp_path / f"{language}.zip", "w") as archive:
                archive.writestr(f"Corpus/raw/{language}/a.xml", content)
            continue
        folder = tmp_path / ("raw" if place == "raw" else ".") / language
        folder.mkdir(parents=True)
        (folder / "a.xml").write_text(content)
    (document,) = read_documents([path], "opus-xml", "en", "fr")
    assert document.source_sentences == ["One.", "Two three."]
    assert document.target_sentences == ["Un .", "Deux trois."]
    (reverse,) = read_documents([path], "opus-xml", "fr", "en")
    assert reverse.source_sentences == document.target_sentences
    assert reverse.id == "fr/a.xml.gz"


@pytest.mark.parametrize(
    ("alignment", "message"),
    [
        (ALIGNMENT, r"missing document: en/a.xml.gz is not beside this file"),
        (ALIGNMENT.replace('fromDoc="en/a.xml.gz" ', ""), "missing attribute"),
        (
            ALIGNMENT.replace("en/a.xml.gz", "en/b.xml").replace('"1;1"', '"9;1"'),
            "unknown sentence: '9' is not in",
        ),
        (ALIGNMENT.replace("en/a.xml.gz", "en/b.xml").replace('"1;1"', '"1"'), "bad link: '1' does not have the form"),
        (ALIGNMENT.replace("en/a.xml.gz", "../../secret.xml"), "missing document"),
    ],
)
def test_broken_alignments_are_named(tmp_path, file, alignment, message) -> None:
    for name, content in (("en/b.xml", OPUS_EN), ("fr/a.xml", OPUS_FR)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    with pytest.raises(CorpusError, match=message):
        list(read_documents([file(alignment)], "opus-xml", "en", "fr"))


def test_an_alignment_file_has_nothing_to_translate(file) -> None:
    with pytest.raises(CorpusError, match="an alignment file: it has no text"):
        OpusXmlFile.read(file(ALIGNMENT), "en", "fr")


@pytest.mark.parametrize("damage", ["cut off", "not gzip", "encrypted", "no archive"])
def test_a_broken_archive_is_named(tmp_path, file, damage) -> None:
    path = file(ALIGNMENT)
    for language, content in (("en", OPUS_EN), ("fr", OPUS_FR)):
        with zipfile.ZipFile(tmp_path / f"{language}.zip", "w") as archive:
            archive.writestr(
                f"raw/{language}/a.xml.gz", content if damage == "not gzip" else gzip.compress(content.encode())
            )
    whole = (tmp_path / "en.zip").read_bytes()
    if damage == "cut off":
        (tmp_path / "en.zip").write_bytes(whole[:60] + bytes(20) + whole[80:])
    elif damage == "encrypted":
        # Bit 0 of the flags, in the header of the file and in the list at the end.
        place = whole.index(b"PK\x01\x02")
        changed = bytearray(whole)
        changed[6] |= 1
        changed[place + 8] |= 1
        (tmp_path / "en.zip").write_bytes(changed)
    elif damage == "no archive":
        (tmp_path / "en.zip").write_bytes(whole[:50])
    with pytest.raises(CorpusError, match=r"en.zip: broken zip archive"):
        list(read_documents([path], "opus-xml", "en", "fr"))


def test_names_in_archives_and_alignments_lead_nowhere_else(tmp_path, file) -> None:
    outside = tmp_path / "outside.xml"
    outside.write_text(OPUS_EN)
    corpus = tmp_path / "a" / "b"
    corpus.mkdir(parents=True)
    with zipfile.ZipFile(corpus / "en.zip", "w") as archive:
        archive.writestr("../../escaped.xml", OPUS_EN)
        archive.writestr("/escaped.xml", OPUS_EN)
    for name in ("../../outside.xml", str(outside), "../../../etc/passwd", "9" * 5000):
        path = corpus / "corpus.xml"
        path.write_text(ALIGNMENT.replace("en/a.xml.gz", name))
        with pytest.raises(CorpusError, match="missing document"):
            list(read_documents([path], "opus-xml", "en", "fr"))
    assert sorted(one.name for one in tmp_path.rglob("*") if one.is_file()) == ["corpus.xml", "en.zip", "outside.xml"]
