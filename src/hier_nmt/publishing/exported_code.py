# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The code of a saved model: those files of the exported folders that it needs, in one flat folder.

Transformers loads and saves custom code in one folder without subfolders, so the copies import siblings.
"""

import ast
import os
import re
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ..configuration.hub_config import CUSTOM_PIPELINES, HubConfig

PACKAGE = Path(__file__).parents[1]
EXPORTED_FOLDERS = ("configuration", "ops", "attention", "models", "text", "translation")

_RELATIVE_IMPORT = re.compile(r"^(\s*from\s+)\.+(?:\w+\.)*(\w+)(?=\s+import)", re.MULTILINE)
_COPYRIGHT = re.compile(r"# Copyright \d{4} The hier_nmt Authors\.\n# SPDX-License-Identifier: Apache-2\.0\n")
_NAMED_FILE = re.compile(r"^    from \.(\w+) import \*$", re.MULTILINE)


def exported_files() -> dict[str, Path]:
    """The files that may be exported, by their names beside the weights, without ending."""
    paths = [path for folder in EXPORTED_FOLDERS for path in sorted((PACKAGE / folder).rglob("*.py"))]
    return {path.stem: path for path in paths if path.name != "__init__.py"}


def flattened(text: str) -> str:
    """The text of an exported file with relative imports of its own folder."""
    return _RELATIVE_IMPORT.sub(r"\1.\2", text)


def write_code(config_class: type[HubConfig], directory: str | os.PathLike) -> list[Path]:
    """Writes the files that the configuration's Auto classes need into a directory, which is created if necessary.

    Files that already have this content are not touched: an upload may be reading them.

    Returns:
        Files of an earlier export that are not needed any more, see `stale_code`.
    """
    os.makedirs(directory, exist_ok=True)
    texts = exported_texts(config_class)
    stale = stale_code(directory, {f"{name}.py" for name in texts})
    for name, text in texts.items():
        copy = Path(directory) / f"{name}.py"
        if not copy.is_file() or copy.read_text(encoding="utf-8") != text:
            copy.write_text(text, encoding="utf-8")
    return stale


def exported_texts(config_class: type[HubConfig]) -> dict[str, str]:
    """The files that the configuration's Auto classes need, by their names without ending."""
    files = exported_files()
    pipelines = _roots(CUSTOM_PIPELINES.values(), "impl")
    models = _roots([config_class.auto_classes], *(name for name in config_class.auto_classes if name != "AutoConfig"))
    roots = pipelines | models | _roots([config_class.auto_classes], "AutoConfig")
    needed = {root: _imported_names(root, files) for root in roots}
    # Without the package, Transformers saves what the model's file names: the pipeline is to come along.
    of_pipelines = pipelines.union(*(needed[root] for root in pipelines))
    needed |= {root: needed[root] | of_pipelines for root in models}
    names = sorted(roots.union(*needed.values()))
    namings = {root: _naming_lines(sorted(found - {root})) for root, found in needed.items()}
    return {name: flattened(files[name].read_text(encoding="utf-8")) + namings.get(name, "") for name in names}


def stale_code(directory: str | os.PathLike, needed: Collection[str]) -> list[Path]:
    """The files of an earlier export in a directory that are not among the needed names.

    They start with our copyright, and either their name is that of a file that may be exported, or a file of ours names
    them at its end. So a user's own files stay, even one that started as a copy of ours under another name.
    """
    if not Path(directory).is_dir() or PACKAGE in Path(directory).resolve().parents:
        return []
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in sorted(Path(directory).glob("*.py"))}
    ours = {path: text for path, text in texts.items() if _COPYRIGHT.match(text)}
    names = {f"{name}.py" for name in exported_files()}
    names.update(f"{name}.py" for text in ours.values() for name in _NAMED_FILE.findall(text))
    return [path for path in ours if path.name in names and path.name not in needed]


def _roots(references: Iterable[Mapping[str, Any]], *keys: str) -> set[str]:
    """The files of the classes that these entries of a saved configuration name as "file.Class"."""
    return {reference[key].partition(".")[0] for reference in references for key in keys}


def _imported_names(name: str, files: dict[str, Path], found: frozenset[str] = frozenset()) -> frozenset[str]:
    """The exported files that one of them imports, directly or indirectly, and those in `found`."""
    for imported in _relative_imports(files[name].read_text(encoding="utf-8")) - found:
        found = _imported_names(imported, files, found | {imported})
    return found


@cache  # Otherwise most of the time to save a small model.
def _relative_imports(text: str) -> frozenset[str]:
    """The names of the files that a file with this text imports from."""
    nodes = ast.walk(ast.parse(text))
    modules = [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.level and node.module]
    return frozenset(module.rpartition(".")[2] for module in modules)


def _naming_lines(names: list[str]) -> str:
    """Lines without effect that name all files that a file needs, directly or indirectly; empty if it needs none."""
    if not names:
        return ""
    reason = "# From a folder, Transformers before 5.8 copies only what the file that it loads names itself."
    return "\n".join(["", f"if False:  {reason}", *(f"    from .{name} import *" for name in names), ""])
