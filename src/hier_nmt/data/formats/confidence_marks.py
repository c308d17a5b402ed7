# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Where XLIFF and TMX have the confidence of a machine translation.

* XLIFF 1.2: `its:mtConfidence` of ITS 2.0 (W3C 2013, MT Confidence) on the `<target>`, or on the `<mrk>` of a segment
  in it. The standard asks for the tool in `its:annotatorsRef`, which stands on the root. Okapi reads both.
* XLIFF 2: the metadata module (OASIS 2014): an `<mda:meta>` of the unit for each segment, whose type is the id of the
  segment, or its number if it has none.
* TMX 1.4: a `<prop>` of the target's `<tuv>`; types that the standard does not know begin with "x-".
"""

from lxml import etree

from .xml_files import Element, child, children, local_name

TMX_PROPERTY = "x-confidence"
CATEGORY = "hier_nmt:confidence"
_ITS, _METADATA = "http://www.w3.org/2005/11/its", "urn:oasis:names:tc:xliff:metadata:2.0"
_ANNOTATOR = "mt-confidence|https://github.com/hier-nmt/hier_nmt"
_VALUE, _TOOL, _VERSION = (f"{{{_ITS}}}{name}" for name in ("mtConfidence", "annotatorsRef", "version"))
# Prefixes of namespaces that a file does not declare.
etree.register_namespace("its", _ITS)
etree.register_namespace("mda", _METADATA)


def written(confidence: float) -> str:
    """A confidence as files have it."""
    return f"{confidence:.3f}"


def set_its_confidence(target: Element, confidence: float | None) -> None:
    """Sets the confidence of a `<target>` or `<mrk>` of XLIFF 1, or removes that of an earlier translation."""
    if confidence is None:
        target.attrib.pop(_VALUE, None)
        return
    # The root first, which declares the namespace for all.
    root = target.getroottree().getroot()
    root.set(_VERSION, root.get(_VERSION) or "2.0")
    tools = (root.get(_TOOL) or "").split()
    if not any(tool.startswith("mt-confidence|") for tool in tools):
        root.set(_TOOL, " ".join([*tools, _ANNOTATOR]))
    elif _ANNOTATOR not in tools:
        # The others are another tool's.
        target.set(_TOOL, _ANNOTATOR)
    target.set(_VALUE, written(confidence))


def set_metadata_confidence(segment: Element, confidence: float | None) -> None:
    """Sets the confidence of a `<segment>` of XLIFF 2, or removes that of an earlier translation."""
    unit = segment.getparent()
    segments = list(children(unit, "segment"))
    name = segment.get("id") or str(segments.index(segment) + 1)
    metadata = next((one for one in unit if one.tag == f"{{{_METADATA}}}metadata"), None)
    groups = [] if metadata is None else [one for one in metadata if one.get("category") == CATEGORY]
    for meta in [one for group in groups for one in group if one.get("type") == name]:
        meta.getparent().remove(meta)
    if confidence is not None:
        if metadata is None:
            metadata = unit.makeelement(f"{{{_METADATA}}}metadata")
            metadata.tail = unit.text
            unit.insert(0, metadata)
        attributes = {"category": CATEGORY, "appliesTo": "target"}
        group = groups[0] if groups else etree.SubElement(metadata, f"{{{_METADATA}}}metaGroup", attributes)
        etree.SubElement(group, f"{{{_METADATA}}}meta", type=name).text = written(confidence)
    elif metadata is not None:
        _remove_empty(metadata, groups)


def _remove_empty(metadata: Element, groups: list[Element]) -> None:
    for group in groups:
        if not len(group):
            metadata.remove(group)
    if not len(metadata):
        metadata.getparent().remove(metadata)


def set_property_confidence(variant: Element, confidence: float | None) -> None:
    """Sets the confidence of a `<tuv>` of TMX, or removes that of an earlier translation."""
    for prop in [one for one in children(variant, "prop") if one.get("type") == TMX_PROPERTY]:
        variant.remove(prop)
    if confidence is not None:
        segment = child(variant, "seg")
        assert segment is not None
        prop = variant.makeelement(segment.tag.replace(local_name(segment), "prop"), {"type": TMX_PROPERTY})
        prop.text, prop.tail = written(confidence), variant.text
        segment.addprevious(prop)
