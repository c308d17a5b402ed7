# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Segments of XLIFF and TMX: the roles of their elements, and their positions in a translation."""

import pytest
from lxml import etree

from hier_nmt.data.corpora import read_documents
from hier_nmt.data.formats.subtitles import SrtFile
from hier_nmt.data.formats.tagged_text import TaggedText
from hier_nmt.text.protected_spans import LINE_BREAK, OBJECT

CODES = ("bpt", "ept", "ph", "it", "x", "bx", "ex", "sc", "ec", "sm", "em", "cp")
PARSER = etree.XMLParser(strip_cdata=False)


def filled(source: str, text: str) -> str:
    target = etree.Element("s")
    TaggedText.of(etree.fromstring(f"<s>{source}</s>", PARSER), CODES).fill(target, text)
    return etree.tostring(target, encoding="unicode")[3:-4]


def text_of(source: str) -> str:
    return TaggedText.of(etree.fromstring(f"<s>{source}</s>", PARSER), CODES).text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        # Acts as a word, between spaces or beside punctuation.
        ('The report of <x id="1"/> is done.', f"The report of {OBJECT} is done."),
        ('See <ph id="1">{1}</ph>, (<x id="2"/>).', f"See {OBJECT}, ({OBJECT})."),
        ('Call <mrk mtype="protected">A <b>B</b></mrk> now', f"Call {OBJECT} now"),
        ('Call <mrk id="m1" translate="no">A B</mrk> now', f"Call {OBJECT} now"),
        ('Call <g xmlns:i="http://www.w3.org/2005/11/its" i:translate="no">A</g> now', f"Call {OBJECT} now"),
        ('Type <sm id="1" translate="no"/>a <x/> b<em startRef="1"/> now', f"Type {OBJECT} now"),
        # Protection that is switched off inside.
        ('<mrk translate="no">Big <mrk translate="yes">a b</mrk> Name</mrk>, c', f"{OBJECT} a b {OBJECT}, c"),
        ('<mrk mtype="protected">B <g>C <mrk translate="yes">a</mrk></g></mrk> c', f"{OBJECT} {OBJECT} a c"),
        (
            '<mrk translate="no">B <mrk translate="yes">a <mrk translate="no">C</mrk> d</mrk></mrk>',
            f"{OBJECT} a {OBJECT} d",
        ),
        (
            'Type <sm id="1" translate="no"/>A <sm id="2" translate="yes"/>b<em startRef="2"/> C<em startRef="1"/> d',
            "Type b d",
        ),
        # Formatting, which touches words.
        ("<bpt i='1'>&lt;b></bpt>Start<ept i='1'/> now", "Start now"),
        ("a <ph>&lt;i></ph>b<ph>&lt;/i></ph> c", "a b c"),
        ('a <x equiv-text="&lt;b>"/> b <x equiv-text="&lt;/b>"/> c', "a b c"),
        ('a <ph disp="&lt;b>"/> b <ph disp="&lt;/b>"/> c', "a b c"),
        ("a <ph>[b]</ph> b <ph>[/b]</ph> c", "a b c"),
        ("a <ph>{1></ph> b <ph>&lt;1}</ph> c", "a b c"),
        ("a <ph>{\\b </ph> b <ph>}</ph> c", "a b c"),
        # Such signs without a partner are placeholders.
        ("a <ph>[b]</ph> b <ph>{name}</ph> c <ph>}</ph> d", f"a {OBJECT} b {OBJECT} c {OBJECT} d"),
        ('a word<x id="1"/> b', "a word b"),
        ('<mrk mtype="term">a</mrk> <mrk translate="yes">b</mrk> <sm id="1"/>c<em startRef="1"/>', "a b c"),
        # Line breaks in all notations.
        ("committee<ph>&lt;br/></ph>has", f"committee{LINE_BREAK}has"),
        ('committee<x ctype="lb"/>has', f"committee{LINE_BREAK}has"),
        ('committee<ph type="fmt" subType="xlf:lb"/>has', f"committee{LINE_BREAK}has"),
        ('committee<x equiv-text="&lt;br />"/>has', f"committee{LINE_BREAK}has"),
        ("committee<ph>\\n</ph>has", f"committee{LINE_BREAK}has"),
    ],
)
def test_what_an_element_is_to_the_sentence(source, text) -> None:
    assert text_of(source) == text


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        (
            '<mrk translate="no">Big <mrk translate="yes">a b</mrk> Name</mrk> c',
            f"{OBJECT} d e f",
            '<mrk translate="no">Big <mrk translate="yes">d e</mrk> Name</mrk> f',
        ),
        (
            'Type <sm id="1" translate="no"/>A <sm id="2" translate="yes"/>b<em startRef="2"/> C<em startRef="1"/> d',
            "Tapez e f",
            'Tapez <sm id="1" translate="no"/>A <sm id="2" translate="yes"/>e<em startRef="2"/> C<em startRef="1"/> f',
        ),
    ],
)
def test_translated_text_in_protected_text_stays_inside(source, text, expected) -> None:
    assert filled(source, text) == expected


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        (
            'The report of <x id="1"/> is finished.',
            f"Le rapport de {OBJECT} est fini.",
            'Le rapport de <x id="1"/> est fini.',
        ),
        # A translation without objects.
        ('The report of <x id="1"/> is finished.', "Le rapport est fini.", 'Le rapport <x id="1"/> est fini.'),
        ("committee<ph>&lt;br/&gt;</ph>has", f"a{LINE_BREAK}b", "a<ph>&lt;br/&gt;</ph>b"),
        ("committee<ph>&lt;br/&gt;</ph>has", "a b", "a<ph>&lt;br/&gt;</ph>b"),
        # Spaces between codes, and at the ends, are those of the source.
        ("a <x/> <x/> b", f"c {OBJECT} {OBJECT} d", "c <x/> <x/> d"),
        ("a <x/><x/> b", f"c {OBJECT} d", "c <x/><x/> d"),
        (" a <g>b</g> ", "c d", " c <g>d</g> "),
        (" a", "b", " b"),
        ("\n   a\n ", "b", "b"),
        # Pairs.
        ('the report<g id="1"/>.', "le rapport.", 'le rapport<g id="1"/>.'),
        ("a <g>b</g>", "c", "<g>c</g>"),
        ("a <g> b </g> c", "d e f", "d <g> e </g> f"),
        ("a <bx/> b", "c d", "c <bx/> d"),
        ("a <bx/>b<ex/> c", "d e f", "d <bx/>e<ex/> f"),
        ("a <ph>[b]</ph>b<ph>[/b]</ph> c", "d e f", "d <ph>[b]</ph>e<ph>[/b]</ph> f"),
        ("<g>5</g> euro<x/>", "5 euros", "<g>5</g> euros<x/>"),
        ("a <bpt i='1'/>b <bpt i='2'/>c<ept i='1'/> d<ept i='2'/>", "e", None),
        # CDATA stays CDATA, and escaped text stays escaped.
        ("<![CDATA[<p>a & b</p>]]>", "<p>c & d</p>", "<![CDATA[<p>c & d</p>]]>"),
        ("<![CDATA[a]]>", "b ]]> c", "b ]]&gt; c"),
        ("<![CDATA[a <x/>]]> <g>b</g>", "c <x/> d", "<![CDATA[c <x/> ]]><g><![CDATA[d]]></g>"),
        ("&lt;p&gt;a&lt;/p&gt;", "<p>b</p>", "&lt;p&gt;b&lt;/p&gt;"),
    ],
)
def test_tags_are_put_around_another_text(source, text, expected) -> None:
    result = filled(source, text)
    if expected is None:
        # Codes that overlap stay in their order.
        before, after = (etree.fromstring(f"<s>{one}</s>") for one in (source, result))
        assert [one.get("i") for one in after] == [one.get("i") for one in before]
        assert "".join(after.itertext()) == text
    else:
        assert result == expected


@pytest.mark.parametrize("source", [" a  <g> b </g>\n<x/> ", "<![CDATA[a & b]]>", "a<!-- b --><?c d?><x/>e"])
def test_the_text_itself_gives_the_same_elements(source) -> None:
    assert filled(source, text_of(source)) == source


def test_white_space_that_counts_is_kept() -> None:
    source = etree.fromstring('<s xml:space="preserve"> a  <x/>\n b </s>')
    tagged = TaggedText.of(source, CODES)
    assert tagged.text == f" a  {OBJECT}\n b "
    target = etree.Element("s")
    tagged.fill(target, f" c  {OBJECT}\n d ")
    assert etree.tostring(target) == b"<s> c  <x/>\n d </s>"


def test_codes_alone_are_no_text() -> None:
    assert not TaggedText.of(etree.fromstring("<s><x/> <ph>&lt;br/></ph></s>"), CODES).has_text


def test_a_corpus_has_no_objects_in_its_sentences(tmp_path) -> None:
    path = tmp_path / "a.tmx"
    path.write_text(
        "<tmx version='1.4'><body><tu><tuv xml:lang='en'><seg>Of <x/> it<ph>&lt;br/></ph>all.</seg></tuv>"
        "<tuv xml:lang='fr'><seg>De <ph/> tout.</seg></tuv></tu></body></tmx>"
    )
    (document,) = read_documents([path], "tmx", "en", "fr")
    assert (document.source_sentences, document.target_sentences) == (["Of it all."], ["De tout."])


@pytest.mark.parametrize(
    ("line", "translation", "expected"),
    [
        ("Say <i>no</i>, please.", "Dites non, merci.", "Dites <i>non</i>, merci."),
        ("<b></b>Stop it.", "Halte.", "<b></b>Halte."),
        ("<i>No.</i>", "Non.", "<i>Non.</i>"),
        ("<b>A</b> <i>B</i>", "X", "<b><i>X</i></b>"),
        ("{\\an8}One {\\i1}two{\\i0} three", "Un deux trois", "{\\an8}Un {\\i1}deux{\\i0} trois"),
    ],
)
def test_tags_of_subtitles_are_projected_in_pairs(tmp_path, line, translation, expected) -> None:
    (tmp_path / "a.srt").write_text(f"1\n00:00:01,000 --> 00:00:02,000\n{line}\n")
    file = SrtFile.read(tmp_path / "a.srt", "en", "fr")
    assert file.translated([[translation]]).decode().splitlines()[2] == expected
