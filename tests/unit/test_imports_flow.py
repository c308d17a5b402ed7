# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Reads the imports of the package, importing nothing, and holds the one-way flow and what is exported closed."""

import ast
import configparser
import re
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Collection, Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

from hier_nmt.publishing.exported_code import EXPORTED_FOLDERS, exported_files, flattened

PACKAGE = Path(__file__).parents[2] / "src" / "hier_nmt"
# The rooms of the package from the ground floor up, and the rooms below that each may import. The package's own
# __init__ registers and may import all.
MAY_IMPORT = {
    "configuration": set(),
    "ops": {"configuration"},
    "attention": {"configuration", "ops"},
    "models": {"configuration", "ops", "attention"},
    "text": set(),
    "translation": {"configuration", "ops", "text"},
    "kernels": {"configuration", "ops"},
    "data": {"text"},
    "evaluation": {"configuration", "text", "translation", "data"},
    "synthetic": {"data", "evaluation"},
    "inspection": {"configuration", "ops", "attention", "models", "text", "translation", "data", "evaluation"},
    "publishing": {"configuration", "ops", "attention", "models", "text", "translation", "data", "evaluation"},
    "training": {
        *("configuration", "ops", "attention", "models", "text", "translation", "kernels", "data", "evaluation"),
        "publishing",
    },
    "jobs": {
        *("configuration", "ops", "models", "text", "translation", "data", "evaluation", "inspection", "publishing"),
    },
    "server": {"text", "translation", "data", "jobs"},
    # Makes what the rooms below have known to Transformers; it is no room, but one file.
    "registration": {"configuration", "models", "text", "translation", "kernels", "data", "publishing"},
    "cli": {
        *("configuration", "ops", "text", "translation", "data", "evaluation", "synthetic", "inspection", "publishing"),
        *("kernels", "training", "jobs", "server", "registration"),
    },
    "__main__": {"cli"},
}

# Packages that are imported under another name than they are installed by.
DISTRIBUTIONS = {"yaml": "pyyaml"}
# Transformers' saving code looks for siblings with this pattern, in docstrings too.
COPIED_SIBLING = re.compile(r"^\s*from\s+\.(\S+)\s+import", re.MULTILINE)


class Import(NamedTuple):
    """One import statement's target: `hier_nmt` modules without the package's name, others in full."""

    module: str
    is_own: bool
    level: int  # the number of leading dots
    is_guarded: bool  # inside `try: ... except ImportError`
    line: int


def modules(package: Path = PACKAGE) -> dict[str, Path]:
    """The package's modules by dotted name; a folder's __init__ goes by the folder's name, the package's own by ''."""
    names = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


def body_lines(node: ast.If | ast.Try) -> range:
    """The lines of the first branch of a statement."""
    return range(node.body[0].lineno, node.body[-1].end_lineno + 1)


def guarded_lines(tree: ast.Module) -> set[int]:
    """The lines inside the body of a `try` that catches ImportError."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Try):
            types = [name for handler in node.handlers if handler.type for name in ast.walk(handler.type)]
            if {"ImportError", "ModuleNotFoundError"} & {name.id for name in types if isinstance(name, ast.Name)}:
                lines.update(body_lines(node))
    return lines


def resolve(node: ast.ImportFrom, folder: tuple[str, ...]) -> list[str]:
    """The absolute dotted names an import statement in this folder of the package may bind as modules."""
    if node.level == 0:
        return [node.module]
    base = ("hier_nmt", *folder)[: len(folder) + 2 - node.level]
    if node.module is not None:
        return [".".join((*base, node.module))]
    return [".".join((*base, alias.name)) for alias in node.names]


def imports(path: Path, package: Path = PACKAGE) -> Iterator[Import]:
    """Every import of a file, wherever it stands in it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    guarded = guarded_lines(tree)
    folder = path.relative_to(package).parts[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names, level = [alias.name for alias in node.names], 0
        elif isinstance(node, ast.ImportFrom):
            names, level = resolve(node, folder), node.level
        else:
            continue
        for name in names:
            is_own = name.split(".")[0] == "hier_nmt"
            yield Import(
                name.partition(".")[2] if is_own else name,
                is_own,
                level,
                node.lineno in guarded,
                node.lineno,
            )


def part(module: str) -> str:
    """The part of the package a module belongs to."""
    return module.split(".")[0]


def flow_violations(package: Path = PACKAGE) -> list[str]:
    """Every import that points back, in words."""
    found = []
    for module, path in modules(package).items():
        if module == "":
            continue
        for one in imports(path, package):
            if not one.is_own or part(one.module) == part(module):
                continue
            where = f"{path.relative_to(package)}:{one.line}: {module} imports {one.module or 'the package itself'}"
            if one.module != "__version__" and part(one.module) not in MAY_IMPORT[part(module)]:
                found.append(where)
    return found


def closedness_violations(path: Path, names: Collection[str]) -> list[str]:
    """Everything in an exported file that would be missing from, or fail in, the flat folder on the Hub.

    Args:
        path: the file.
        names: of all exported files, without ending.
    """
    text = flattened(path.read_text(encoding="utf-8"))
    found = [
        f"{path.name}: 'from .{name} import' names no exported file"
        for name in COPIED_SIBLING.findall(text)
        if name not in names
    ]
    # huggingface_hub comes with Transformers.
    allowed = {"torch", "transformers", "huggingface_hub", *sys.stdlib_module_names}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.level and (node.level > 1 or node.module is None):
            found.append(f"{path.name}:{node.lineno}: only `from .file import name` is copied to the Hub")
    for one in imports(path, path.parents[1]):
        if one.level == 0 and (one.is_own or (part(one.module) not in allowed and not one.is_guarded)):
            known = "stdlib, torch, transformers, huggingface_hub"
            found.append(f"{path.name}:{one.line}: {one.module} is neither {known} nor an exported file")
    return found


def write_package(folder: Path, **files: str) -> Path:
    """A package with one file in `models` or `data`, for showing that the checks see what they should."""
    for name in ("models", "text", "data"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text("")
    for name, text in files.items():
        (folder / f"{name.replace('__', '/')}.py").write_text(text)
    return folder


def test_every_part_of_the_package_has_its_place_in_the_flow() -> None:
    assert {part(module) for module in modules() if module} == set(MAY_IMPORT)


def test_rooms_import_rooms_below_them() -> None:
    rooms = list(MAY_IMPORT)
    assert all(below <= set(rooms[: rooms.index(room)]) for room, below in MAY_IMPORT.items())


def test_the_picture_has_every_room_above_those_that_it_imports() -> None:
    svg = "{http://www.w3.org/2000/svg}"
    groups = ElementTree.parse(PACKAGE.parents[1] / "docs" / "images" / "rooms.svg").iter(f"{svg}g")
    heights = {group.find(f"{svg}text").text: float(group.find(f"{svg}rect").get("y")) for group in groups}
    files = {"__main__", "registration"}
    rooms = {room: below - files for room, below in MAY_IMPORT.items() if room not in files}
    assert heights.keys() == rooms.keys()
    for room, below in rooms.items():
        assert all(heights[room] < heights[one] for one in below), room


def test_no_import_points_back() -> None:
    assert flow_violations() == []


def test_no_two_modules_need_each_other() -> None:
    names = modules()
    graph = {
        module: {one.module for one in imports(path) if one.is_own and one.module in names}
        for module, path in names.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"modules import each other: {' <- '.join(error.args[1])}")


def test_every_third_party_import_is_a_declared_requirement() -> None:
    parser = configparser.ConfigParser()
    parser.read(PACKAGE.parents[1] / "setup.cfg", encoding="utf-8")
    declared = {re.split(r"\W", line.lower())[0] for line in parser["options"]["install_requires"].split()}
    # Who imports these modules is ready for it to fail.
    optional = {"kernels.triton.triton_attention": {"triton"}}
    optional |= {name: {"starlette"} for name in modules() if part(name) == "server"}
    for name, path in modules().items():
        imported = {part(one.module) for one in imports(path) if not one.is_own and not one.is_guarded}
        distributions = {DISTRIBUTIONS.get(name, name) for name in imported - sys.stdlib_module_names}
        distributions -= optional.get(name, set())
        assert distributions <= declared, f"{path}: {distributions - declared}"


def test_nothing_imports_the_training_scripts_or_the_tests() -> None:
    for path in modules().values():
        assert not {part(one.module) for one in imports(path) if not one.is_own} & {"training", "tests", "examples"}, (
            path
        )


def test_exported_files_have_different_names() -> None:
    paths = [path for folder in EXPORTED_FOLDERS for path in (PACKAGE / folder).rglob("*.py")]
    names = [path.stem for path in paths if path.name != "__init__.py"]
    assert sorted(set(names)) == sorted(names) == sorted(exported_files())


def test_what_is_exported_is_closed() -> None:
    files = exported_files()
    assert [line for path in files.values() for line in closedness_violations(path, set(files))] == []


def test_exported_rooms_import_no_others() -> None:
    assert all(MAY_IMPORT[room] <= set(EXPORTED_FOLDERS) for room in EXPORTED_FOLDERS)


@pytest.mark.parametrize("name", ["configuration_hier_nmt", "configuration_han", "configuration_rnn_nmt"])
def test_a_configuration_alone_is_at_most_eight_files(name: str) -> None:
    files, needed, new = exported_files(), set(), {name}
    while new:
        needed |= new
        read = {one.module.rpartition(".")[2] for file in new for one in imports(files[file]) if one.is_own}
        new = read - needed
    assert len(needed) <= 8


def test_text_knows_neither_torch_nor_transformers() -> None:
    """So does `data`, which never sees a model."""
    for path in (PACKAGE / "text").rglob("*.py"):
        assert not {part(one.module) for one in imports(path)} & {"torch", "transformers"}, path


def test_losses_read_no_config() -> None:
    names = {
        node.id if isinstance(node, ast.Name) else node.attr
        for node in ast.walk(ast.parse(modules()["training.losses"].read_text(encoding="utf-8")))
        if isinstance(node, ast.Name | ast.Attribute)
    }
    assert not {name for name in names if "config" in name.lower()}


@pytest.mark.parametrize(
    "statement",
    [
        "from ..losses import loss",
        "from hier_nmt.training.losses import loss",
        "import hier_nmt.training.losses",
        "from .. import losses",
        "from ..models.modeling_hier_nmt import HierNMTModel",
        "def late():\n    from ..training.trainer import Trainer",
    ],
)
def test_the_flow_check_sees_a_backward_import(tmp_path: Path, statement: str) -> None:
    assert len(flow_violations(write_package(tmp_path, data__reader=statement))) == 1


@pytest.mark.parametrize(
    "statement",
    [
        "from ..text.windows import Window",
        "from .reader import x",
        "from hier_nmt.text.windows import Window",
    ],
)
def test_the_flow_check_allows_what_data_needs(tmp_path: Path, statement: str) -> None:
    assert flow_violations(write_package(tmp_path, data__features=statement)) == []


@pytest.mark.parametrize(
    "statement",
    [
        "import numpy",
        "from sentencex import segment",
        "from ..data import corpora",
        "from . import sibling",
        "import hier_nmt.models.sibling",
        "from hier_nmt.models.sibling import x",
        "from .absent import x",
        '"""A docstring.\n\nfrom .absent import x\n"""',
        "try:\n    import numpy\nexcept ValueError:\n    numpy = None",
    ],
)
def test_the_closedness_check_sees_what_the_hub_would_miss(tmp_path: Path, statement: str) -> None:
    package = write_package(tmp_path, models__modeling=statement)
    assert closedness_violations(package / "models" / "modeling.py", {"sibling"})


@pytest.mark.parametrize(
    "statement",
    [
        "import math\nimport torch.nn.functional as F\nfrom transformers import AutoModel\nfrom .sibling import x",
        "try:\n    import sentencex\nexcept ImportError:\n    sentencex = None",
        "def late():\n    from .sibling import x",
        "from ..ops.sibling import x",
        "from ...models.hier_nmt.sibling import (\n    x,\n)",
    ],
)
def test_the_closedness_check_allows_what_the_hub_copies(tmp_path: Path, statement: str) -> None:
    package = write_package(tmp_path, models__modeling=statement)
    assert closedness_violations(package / "models" / "modeling.py", {"sibling"}) == []
