# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the site has besides docs/: pages from the top of the repository, API pages, links to files of the repository.

A hook of MkDocs (`hooks` in mkdocs.yml). The same Markdown is read on the site and in the repository, where links are
relative to its files.
"""

import ast
import logging
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PACKAGE = ROOT / "src" / "hier_nmt"
# Pages of the site that are files beside docs/.
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
# The command line is documented by its own --help.
ROOMS_WITHOUT_PAGE = ("cli", "resources")
LINK = re.compile(r"(!?)(\[[^\]\n]*\]\()([^)#\s]+)(#[^)\s]*)?(\))")

log = logging.getLogger("mkdocs.hooks.site_pages")


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages that are not in docs/, and the pictures outside of docs/ that pages show."""
    for name, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text(encoding="utf-8")))
    rooms = api_rooms()
    files.append(File.generated(config, "api/index.md", content=api_index(rooms)))
    for room in rooms:
        files.append(File.generated(config, f"api/{room}.md", content=api_page(room)))
    for picture in sorted(outside_pictures()):
        files.append(File.generated(config, site_path(picture), abs_src_path=str(picture)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """The page with its links as they are on the site; a link to a file that does not exist is a warning."""
    if page.file.src_uri.startswith("api/"):
        return markdown
    source = repository_file(page.file.src_uri)

    def on_site(match: re.Match[str]) -> str:
        picture, text, target, anchor, end = match.groups(default="")
        return f"{picture}{text}{link_on_site(source, target, config.extra['repository'], bool(picture))}{anchor}{end}"

    return LINK.sub(on_site, markdown)


def repository_file(page: str) -> Path:
    """The file of the repository that a page of the site is made of."""
    for name, of_site in PAGES.items():
        if page == of_site:
            return ROOT / name
    return DOCS / page


def link_on_site(source: Path, target: str, repository: str, is_picture: bool) -> str:
    """Where a link of a file of the repository leads on the site."""
    if re.match(r"[a-z]+:", target):
        return target
    path = Path(os.path.normpath(source.parent / target))
    if not path.exists():
        log.warning(f"{source.relative_to(ROOT)} links to {target}, which does not exist")
        return target
    if is_picture or DOCS in path.parents or (path.parent == ROOT and path.name in PAGES):
        return site_path(path)
    return f"{repository}/blob/main/{path.relative_to(ROOT).as_posix()}"


def site_path(path: Path) -> str:
    """The place on the site of a page or picture."""
    if DOCS in path.parents:
        return path.relative_to(DOCS).as_posix()
    name = path.relative_to(ROOT).as_posix()
    return PAGES.get(name, f"repository/{name}")


def outside_pictures() -> Iterator[Path]:
    """The pictures outside of docs/ that pages show."""
    sources = [*DOCS.glob("*.md"), *(ROOT / name for name in PAGES)]
    for source in sources:
        for match in LINK.finditer(source.read_text(encoding="utf-8")):
            path = Path(os.path.normpath(source.parent / match[3]))
            if match[1] and path.exists() and DOCS not in path.parents:
                yield path


def api_rooms() -> list[str]:
    """The folders of the package that have an API page."""
    names = [path.parent.name for path in sorted(PACKAGE.glob("*/__init__.py"))]
    return [name for name in names if name not in ROOMS_WITHOUT_PAGE]


def api_index(rooms: list[str]) -> str:
    """The page that lists the API pages."""
    rows = [f"| [{room}]({room}.md) | {first_line(PACKAGE / room / '__init__.py')} |" for room in rooms]
    return "\n".join(
        [
            "# API",
            "",
            "One page for each room of the package, made from the docstrings.",
            "",
            "| | |",
            "|---|---|",
            *rows,
        ]
    )


def api_page(room: str) -> str:
    """The API page of a room: its modules in alphabetical order."""
    folder = PACKAGE / room
    modules = sorted(path for path in folder.rglob("*.py") if path.name != "__init__.py")
    names = [".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in modules]
    blocks = [f"::: {name}\n    options:\n      show_root_full_path: true" for name in names]
    return "\n\n".join([f"# {room}", first_line(folder / "__init__.py"), *blocks])


def first_line(path: Path) -> str:
    """The first line of a module's docstring."""
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]
