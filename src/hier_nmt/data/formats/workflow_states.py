# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What XLIFF and TMX say about the work on a translation: which segments still need one, and who made those there are.

A translation with any text is somebody's work and stays, with one exception: a copy of the source in a state that says
that nobody has worked on it. What a machine writes is marked as such, and whatever claims a person for it is taken out.
"""

from dataclasses import dataclass

from .xml_files import Element, child, descendants

# XLIFF 1.2 (OASIS 2008), values of "state" that say that the text needs translation ("needs-adaptation" is about what
# is no text); its values for text that a machine suggests and somebody has to look through.
_UNTRANSLATED_1 = ("new", "needs-translation", "needs-l10n")
_MACHINE_1 = {"state": "needs-review-translation", "state-qualifier": "mt-suggestion"}
# XLIFF 2 (OASIS 2014, 2018) has "initial", "translated", "reviewed" and "final", where nothing means "initial". It has
# no state for a machine's translation, so a "subState" says it: a prefix of our own, a colon and a value, which the
# standard allows beside any state that is written out.
_UNTRANSLATED_2 = (None, "initial")
_MACHINE_2 = {"state": "translated", "subState": "hier_nmt:mt-suggestion"}
# TMX 1.4b, where the id of a user is any text; "MT!" on the target's <tuv> is how Okapi signs a machine's translation.
_MACHINE_TMX = {"creationtool": "hier_nmt", "creationid": "MT!"}
_PERSON_TMX = ("creationdate", "creationtoolversion", "changedate", "changeid", "lastusagedate", "usagecount")

_MEMOQ, _PHRASE, _TRADOS = "{MQXliff}", "{http://www.memsource.com/mxlf/2.0}", "{http://sdl.com/FileTypes/SdlXliff/1.0}"


@dataclass(frozen=True)
class UnitState:
    """The state of a segment of XLIFF 1.

    Attributes:
        unit: its `<trans-unit>`, which has the approval; the `<target>` in it has the state.
        segment: the "mid" of its `<mrk>`, by which Trados knows it; None if the unit is one segment.
    """

    unit: Element
    segment: str | None = None

    def is_translated(self, source: str, target: str | None) -> bool:
        """Whether there is a translation that stays, `target` being the text of the one in the file."""
        if not target or self.unit.get("approved") == "yes":
            return bool(target)
        return target != source or not self._needs_translation()

    def is_locked(self) -> bool:
        """Whether a tool says that the segment is not to be changed."""
        values = [self.unit.get(f"{_MEMOQ}locked"), self.unit.get(f"{_PHRASE}locked")]
        values += [definition.get("locked") for definition in self._definitions()]
        return any((value or "").lower() in ("locked", "true") for value in values)

    def set_machine_translated(self) -> None:
        """Says that a machine has written the translation."""
        target: Element = child(self.unit, "target")
        target.attrib.update(_MACHINE_1)
        # The phase names the person or tool that worked on it.
        target.attrib.pop("phase-name", None)
        self.unit.attrib.pop("approved", None)
        self._set_if_there(f"{_MEMOQ}status", "MachineTranslated")
        self._set_if_there(f"{_PHRASE}confirmed", "0")
        self._set_if_there(f"{_PHRASE}trans-origin", "mt")
        for definition in self._definitions():
            definition.attrib.update({"conf": "Draft", "origin": "mt", "origin-system": "hier_nmt"})
            definition.attrib.pop("percent", None)

    def _needs_translation(self) -> bool:
        target: Element = child(self.unit, "target")
        if target.get("state") in _UNTRANSLATED_1:
            return True
        is_new = self.unit.get(f"{_MEMOQ}status") == "NotStarted" or self.unit.get(f"{_PHRASE}confirmed") == "0"
        definitions = self._definitions()
        return is_new or (bool(definitions) and all(one.get("conf") is None for one in definitions))

    def _definitions(self) -> list[Element]:
        """What Trados says of the segment, or of all of a unit that is taken as one."""
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
        """Whether there is a translation that stays, `target` being the text of the one in the file."""
        return bool(target) and (target != source or self.segment.get("state") not in _UNTRANSLATED_2)

    def is_locked(self) -> bool:
        """Never: XLIFF 2 says so by "translate"."""
        return False

    def set_machine_translated(self) -> None:
        """Says that a machine has written the translation."""
        self.segment.attrib.update(_MACHINE_2)


def set_machine_translated_variant(variant: Element) -> None:
    """Says that a machine has written the segment of a `<tuv>`, and no longer who wrote the one before."""
    for name in _PERSON_TMX:
        variant.attrib.pop(name, None)
    variant.attrib.update(_MACHINE_TMX)
