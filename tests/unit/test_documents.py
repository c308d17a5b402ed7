# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""README, docs/ and the other documents name what exists: files, headings, commands with their options, functions."""

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from hier_nmt.cli.main import make_parser

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "hier_nmt"
ROOMS = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
# Entries of the changelog name files as they were.
DOCUMENTS = [path for path in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")) if path.name != "CHANGELOG.md"]
every_document = pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)


def links(text: str) -> Iterator[tuple[str, str]]:
    """The files and the headings that the links of a document lead to."""
    for target in re.findall(r"\[[^\]\n]*\]\(([^)\s]+)\)", text):
        if not re.match(r"[a-z]+:", target):
            file, _, heading = target.partition("#")
            yield file, heading


def headings(text: str) -> set[str]:
    """The anchors of a document's headings."""
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def commands(text: str) -> list[list[str]]:
    """The `hier-nmt` commands in the code blocks of a document."""
    found = re.findall(r"^ *```(\w*)\n(.*?)^ *```$", text, re.MULTILINE | re.DOTALL)
    blocks = [block for language, block in found if not language]
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    calls = [re.sub(r"\s+#.*", "", line).partition("hier-nmt ")[2] for line in lines if "hier-nmt " in line]
    return [shlex.split(call) for call in calls]


def definitions(path: Path) -> set[str]:
    """The functions and classes of a file, methods as `Class.method`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{one.name}" for one in node.body if isinstance(one, ast.FunctionDef)}
    return names


@every_document
def test_links_lead_to_files_and_headings_that_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for file, heading in links(text):
        target = path.parent / file if file else path
        assert target.exists(), f"{path.name} links to {file}"
        if heading:
            assert heading in headings(target.read_text(encoding="utf-8")), f"{path.name} links to {file}#{heading}"


@every_document
def test_commands_have_the_options_that_documents_give_them(path: Path) -> None:
    for command in commands(path.read_text(encoding="utf-8")):
        options, unknown = make_parser(command).parse_known_args(command)
        assert getattr(options.command, "TAKES_OVERRIDES", False) or not unknown, (
            f"{path.name}: hier-nmt {shlex.join(command)}"
        )


def test_commands_are_found_in_the_documents() -> None:
    found = {command[0] for path in DOCUMENTS for command in commands(path.read_text(encoding="utf-8"))}
    assert {"translate", "train", "evaluate", "contrastive", "compare", "corpus", "plot", "push", "export"} <= found


def test_the_walk_names_functions_where_they_are() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\|.*\| `(\w+/[\w/]+\.py)` \| (.*) \|$", text, re.MULTILINE)
    assert len(rows) > 30
    for file, names in rows:
        missing = set(re.findall(r"`([\w.]+)`", names)) - definitions(PACKAGE / file)
        assert not missing, f"{file} has no {missing}"


def test_files_that_the_architecture_names_exist() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    for file in re.findall(rf"`((?:{'|'.join(sorted(ROOMS))})/[\w/]+\.py)`", text):
        assert (PACKAGE / file).is_file(), file


def test_readme_is_about_a_hundred_lines() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


def test_the_site_shows_every_page_and_room() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    named = set(re.findall(r"^ +- (?:\w+: )?([\w/]+\.md)$", text, re.MULTILINE))
    pages = {path.name for path in (ROOT / "docs").glob("*.md")}
    rooms = {f"api/{room}.md" for room in ROOMS - {"cli"}}
    assert pages | rooms <= named
