# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""XLIFF and TMX have the confidence of new translations where their standards have a place for it."""

import pytest
from lxml import etree

from hier_nmt.data.formats.registry import read_document_file

ITS = "{http://www.w3.org/2005/11/its}"
MDA = "{urn:oasis:names:tc:xliff:metadata:2.0}"
XLIFF_1 = (
    '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"{root}>'
    '<file original="a"><body>{units}</body></file></xliff>'
)
XLIFF_2 = (
    '<xliff version="2.0" srcLang="en" xmlns="urn:oasis:names:tc:xliff:document:2.0">'
    '<file id="f"><unit id="u">{unit}</unit></file></xliff>'
)
TMX = '<tmx version="1.4"><header/><body><tu><tuv xml:lang="en"><seg>A.</seg></tuv>{target}</tu></body></tmx>'
TWO_SEGMENTS = (
    '<trans-unit id="1"><source>A. B.</source><seg-source><mrk mtype="seg" mid="0">A.</mrk> '
    '<mrk mtype="seg" mid="1">B.</mrk></seg-source></trans-unit>'
)


@pytest.fixture
def written(tmp_path):
    """The root of a file with these translations and confidences, read again by lxml."""

    def write(content: str, name: str, texts: list[str], confidences: list[float | None] | None):
        (tmp_path / name).write_text(content)
        found = read_document_file(tmp_path / name, "en", "fr")
        found.confidences = None if confidences is None else [confidences]
        return etree.fromstring(found.translated([texts]))

    return write


def all_of(root, name: str):
    return list(root.iter(f"{{*}}{name}"))


def test_xliff_1_has_the_attribute_of_its_on_the_target(written) -> None:
    units = '<trans-unit id="1"><source>A.</source></trans-unit><trans-unit id="2"><source>B.</source></trans-unit>'
    root = written(XLIFF_1.format(units=units, root=""), "a.xlf", ["X.", "Y."], [0.83, None])
    assert [target.get(f"{ITS}mtConfidence") for target in all_of(root, "target")] == ["0.830", None]
    assert root.get(f"{ITS}version") == "2.0"
    assert root.get(f"{ITS}annotatorsRef").startswith("mt-confidence|")


def test_xliff_1_has_it_on_the_mark_of_each_segment(written) -> None:
    root = written(XLIFF_1.format(units=TWO_SEGMENTS, root=""), "a.xlf", ["X.", "Y."], [0.5, 0.75])
    marks = [mark for mark in all_of(root, "mrk") if mark.getparent().tag.endswith("target")]
    assert [mark.get(f"{ITS}mtConfidence") for mark in marks] == ["0.500", "0.750"]


def test_another_tool_keeps_its_name(written) -> None:
    root_attributes = ' xmlns:its="http://www.w3.org/2005/11/its" its:annotatorsRef="mt-confidence|http://b.example"'
    unit = '<trans-unit id="1"><source>A.</source></trans-unit>'
    root = written(XLIFF_1.format(units=unit, root=root_attributes), "a.xlf", ["X."], [0.5])
    assert root.get(f"{ITS}annotatorsRef") == "mt-confidence|http://b.example"
    (target,) = all_of(root, "target")
    assert target.get(f"{ITS}annotatorsRef").startswith("mt-confidence|")
    assert "b.example" not in target.get(f"{ITS}annotatorsRef")


def test_a_confidence_of_an_earlier_translation_goes(written) -> None:
    space = ' xmlns:its="http://www.w3.org/2005/11/its"'
    unit = '<trans-unit id="1"><source>A.</source><target state="new" its:mtConfidence="0.2">A.</target></trans-unit>'
    (target,) = all_of(written(XLIFF_1.format(units=unit, root=space), "a.xlf", ["X."], None), "target")
    assert (target.text, target.get(f"{ITS}mtConfidence")) == ("X.", None)
    old = '<tuv xml:lang="fr"><prop type="x-confidence">0.2</prop><prop type="x-a">1</prop><seg/></tuv>'
    root = written(TMX.format(target=old), "a.tmx", ["X."], None)
    assert [prop.get("type") for prop in all_of(root, "prop")] == ["x-a"]


def test_xliff_2_has_it_in_the_metadata_of_the_unit(written) -> None:
    segments = "<segment id='s'><source>A.</source></segment><segment><source>B.</source></segment>"
    root = written(XLIFF_2.format(unit=segments), "a.xlf", ["X.", "Y."], [0.25, 0.875])
    (unit,) = all_of(root, "unit")
    # The schema has modules before the segments.
    assert unit[0].tag == f"{MDA}metadata"
    (group,) = unit[0]
    assert (group.tag, group.get("appliesTo")) == (f"{MDA}metaGroup", "target")
    assert [(meta.get("type"), meta.text) for meta in group] == [("s", "0.250"), ("2", "0.875")]


def test_xliff_2_keeps_other_metadata(written) -> None:
    other = (
        '<mda:metadata xmlns:mda="urn:oasis:names:tc:xliff:metadata:2.0"><mda:metaGroup category="a">'
        '<mda:meta type="b">c</mda:meta></mda:metaGroup></mda:metadata><segment><source>A.</source></segment>'
    )
    with_ours = written(XLIFF_2.format(unit=other), "a.xlf", ["X."], [0.5])
    (metadata,) = all_of(with_ours, "metadata")
    assert [group.get("category") for group in metadata] == ["a", "hier_nmt:confidence"]
    source = etree.tostring(with_ours, encoding="unicode").replace("<target>X.</target>", "")
    again = written(source, "b.xlf", ["Y."], None)
    assert [group.get("category") for group in all_of(again, "metaGroup")] == ["a"]
    alone = written(XLIFF_2.format(unit="<segment><source>A.</source></segment>"), "c.xlf", ["X."], [0.5])
    source = etree.tostring(alone, encoding="unicode").replace("<target>X.</target>", "")
    assert all_of(written(source, "d.xlf", ["Y."], None), "metadata") == []


def test_tmx_has_a_property_before_the_segment(written) -> None:
    root = written(TMX.format(target=""), "a.tmx", ["X."], [0.83])
    variant = all_of(root, "tuv")[1]
    assert [(one.tag, one.get("type"), one.text) for one in variant] == [
        ("prop", "x-confidence", "0.830"),
        ("seg", None, "X."),
    ]


def test_kept_translations_get_no_confidence(written) -> None:
    kept = '<tuv xml:lang="fr"><seg>Gardé.</seg></tuv>'
    root = written(TMX.format(target=kept), "a.tmx", ["Gardé."], [None])
    assert all_of(root, "prop") == []


def test_matches_of_a_memory_are_marked_as_such(tmp_path) -> None:
    units = '<trans-unit id="1"><source>A.</source></trans-unit><trans-unit id="2"><source>B.</source></trans-unit>'
    files = {
        "a.xlf": (XLIFF_1.format(units=units, root=""), ["X.", "Y."]),
        "b.xlf": (XLIFF_2.format(unit="<segment><source>A.</source></segment>"), ["X."]),
        "c.tmx": (TMX.format(target='<tuv xml:lang="fr" creationid="MT!" changeid="b"><seg/></tuv>'), ["X."]),
    }
    roots = {}
    for name, (content, texts) in files.items():
        (tmp_path / name).write_text(content)
        found = read_document_file(tmp_path / name, "en", "fr")
        found.from_memory = [[True, False][: len(texts)]]
        roots[name] = etree.fromstring(found.translated([texts]))
    qualifiers = [target.get("state-qualifier") for target in all_of(roots["a.xlf"], "target")]
    assert qualifiers == ["exact-match", "mt-suggestion"]
    assert all_of(roots["b.xlf"], "segment")[0].get("subState") == "hier_nmt:exact-match"
    assert dict(all_of(roots["c.tmx"], "tuv")[1].attrib)["creationtool"] == "hier_nmt"
    assert not {"creationid", "changeid"} & set(all_of(roots["c.tmx"], "tuv")[1].attrib)
