# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Files of Office Open XML (ECMA-376, part 2): a package of parts, whose types are listed in one of them."""

from collections.abc import Iterator
from functools import cached_property
from typing import ClassVar

from ..corpus_files import CorpusError
from .package_file import PackageFile
from .xml_files import Element, children, names_source

_TYPES = "[Content_Types].xml"


class OfficeFile(PackageFile):
    """A file of Office Open XML."""

    format_name: ClassVar[str]
    # What the content type of the main part contains.
    main_types: ClassVar[tuple[str, ...]]

    def _check(self) -> None:
        if self._main_part() is None:
            raise CorpusError(
                self._package.path, None, f"not {self.format_name}", "no part of that type in the package"
            )

    def _main_part(self) -> str | None:
        """The name of the main part."""
        is_main = (name for name, kind in self._types.items() if any(one in kind for one in self.main_types))
        return next(is_main, None)

    def _names_of_type(self, ending: str) -> list[str]:
        """The names of the parts whose content type has this ending, in the order of the numbers in them."""
        names = {name for name, kind in self._types.items() if kind.endswith(ending)}
        return sorted(names & set(self._package.names), key=lambda name: (len(name), name))

    @cached_property
    def _types(self) -> dict[str, str]:
        """The name of each part with a content type of its own, and that type."""
        root = self._package.parse(_TYPES).getroot()
        return {one.get("PartName", "").lstrip("/"): one.get("ContentType", "") for one in children(root, "Override")}

    def _set_language(self, root: Element) -> None:
        source, target = self._languages
        for element, attribute in self._language_attributes(root):
            if names_source(element.get(attribute), source, target):
                element.set(attribute, target)

    def _language_attributes(self, root: Element) -> Iterator[tuple[Element, str]]:
        """The elements that name the language of text, with the attribute that does."""
        raise NotImplementedError
