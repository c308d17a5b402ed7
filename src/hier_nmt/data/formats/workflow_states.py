# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Workflow states of XLIFF and TMX: which segments still need a translation, and who made the existing ones.

A translation with any text is kept, with one exception: a copy of the source in a state that means that nobody has
translated it. Machine translations and exact matches of a translation memory are marked as such, and attributes that
name a person as their author are removed.
"""

from dataclasses import dataclass

from .xml_files import Element, child, descendants

# XLIFF 1.2 (OASIS 2008): values of "state" that ask for a translation ("needs-adaptation" is about other content than
# text), and values for machine suggestions that a person must review.
_UNTRANSLATED_1 = ("new", "needs-translation", "needs-l10n")
_MACHINE_1 = {"state": "needs-review-translation", "state-qualifier": "mt-suggestion"}
_MATCH_1 = {"state": "needs-review-translation", "state-qualifier": "exact-match"}
# XLIFF 2 (OASIS 2014, 2018) has "initial" (the default), "translated", "reviewed" and "final". It has no state for
# machine translation, so a "subState" marks it: our own prefix, a colon and a value, which the standard allows beside
# any explicit state.
_UNTRANSLATED_2 = (None, "initial")
_MACHINE_2 = {"state": "translated", "subState": "hier_nmt:mt-suggestion"}
_MATCH_2 = {"state": "translated", "subState": "hier_nmt:exact-match"}
# TMX 1.4b, where the id of a user is any text; "MT!" on the target's <tuv> is how Okapi marks machine translation.
_MACHINE_TMX = {"creationtool": "hier_nmt", "creationid": "MT!"}
_PERSON_TMX = ("creationdate", "creationtoolversion", "changedate", "changeid", "lastusagedate", "usagecount")

_MEMOQ, _PHRASE, _TRADOS = "{MQXliff}", "{http://www.memsource.com/mxlf/2.0}", "{http://sdl.com/FileTypes/SdlXliff/1.0}"


@dataclass(frozen=True)
class UnitState:
    """The state of a segment of XLIFF 1.

    Attributes:
        unit: its `<trans-unit>`, which has the approval; the `<target>` in it has the state.
        segment: the "mid" of its `<mrk>`, by which Trados identifies it; None if the unit is one segment.
    """

    unit: Element
    segment: str | None = None

    def is_translated(self, source: str, target: str | None) -> bool:
        """Whether the file has a translation that must be kept; `target` is its text."""
        if not target or self.unit.get("approved") == "yes":
            return bool(target)
        return target != source or not self._needs_translation()

    def is_locked(self) -> bool:
        """Whether a tool has locked the segment against changes."""
        values = [self.unit.get(f"{_MEMOQ}locked"), self.unit.get(f"{_PHRASE}locked")]
        values += [definition.get("locked") for definition in self._definitions()]
        return any((value or "").lower() in ("locked", "true") for value in values)

    def set_translated(self, from_memory: bool = False) -> None:
        """Marks the translation as machine-translated, or as an exact match of a translation memory."""
        target: Element = child(self.unit, "target")
        target.attrib.update(_MATCH_1 if from_memory else _MACHINE_1)
        # The phase names the person or tool that edited it.
        target.attrib.pop("phase-name", None)
        self.unit.attrib.pop("approved", None)
        self._set_if_there(f"{_MEMOQ}status", "Pretranslated" if from_memory else "MachineTranslated")
        self._set_if_there(f"{_PHRASE}confirmed", "0")
        origin = "tm" if from_memory else "mt"
        self._set_if_there(f"{_PHRASE}trans-origin", origin)
        for definition in self._definitions():
            definition.attrib.update({"conf": "Draft", "origin": origin, "origin-system": "hier_nmt"})
            definition.attrib.pop("percent", None)
            if from_memory:
                definition.set("percent", "100")

    def _needs_translation(self) -> bool:
        target: Element = child(self.unit, "target")
        if target.get("state") in _UNTRANSLATED_1:
            return True
        is_new = self.unit.get(f"{_MEMOQ}status") == "NotStarted" or self.unit.get(f"{_PHRASE}confirmed") == "0"
        definitions = self._definitions()
        return is_new or (bool(definitions) and all(one.get("conf") is None for one in definitions))

    def _definitions(self) -> list[Element]:
        """What Trados records about the segment, or about a unit that is one segment."""
        found = [one for one in descendants(self.unit, "seg") if one.tag == f"{_TRADOS}seg"]
        return [one for one in found if self.segment in (None, one.get("id"))]

    def _set_if_there(self, name: str, value: str) -> None:
        if name in self.unit.attrib:
            self.unit.set(name, value)


@dataclass(frozen=True)
class SegmentState:
    """The state of a `<segment>` of XLIFF 2."""

    segment: Element

    def is_translated(self, source: str, target: str | None) -> bool:
        """Whether the file has a translation that must be kept; `target` is its text."""
        return bool(target) and (target != source or self.segment.get("state") not in _UNTRANSLATED_2)

    def is_locked(self) -> bool:
        """Always False: XLIFF 2 locks segments by "translate" instead."""
        return False

    def set_translated(self, from_memory: bool = False) -> None:
        """Marks the translation as machine-translated, or as an exact match of a translation memory."""
        self.segment.attrib.update(_MATCH_2 if from_memory else _MACHINE_2)


def set_translated_variant(variant: Element, from_memory: bool = False) -> None:
    """Marks the segment of a `<tuv>` as machine-translated, unless it is an exact match of a translation memory, and
    removes the author of the previous one."""
    for name in (*_PERSON_TMX, *_MACHINE_TMX):
        variant.attrib.pop(name, None)
    variant.attrib.update({"creationtool": _MACHINE_TMX["creationtool"]} if from_memory else _MACHINE_TMX)
