# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What the package and the repository promise around the code: version, wheel, pins, licence, examples."""

import configparser
import importlib.metadata
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import hier_nmt

# A home directory, whoever's: nobody else has it.
MACHINE_PATH = re.compile(r"(?<![\w.~}])/(?:root|home|Users)/\w")


@pytest.fixture(scope="module")
def setup_cfg(repository: Path) -> configparser.ConfigParser:
    """The package's metadata as written."""
    parser = configparser.ConfigParser()
    parser.read(repository / "setup.cfg", encoding="utf-8")
    return parser


@pytest.fixture(scope="module")
def tracked_files(repository: Path) -> list[Path]:
    """The files git knows or would add."""
    if shutil.which("git") is None or not (repository / ".git").exists():
        pytest.skip("needs git and a clone")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=repository, check=True, capture_output=True, text=True).stdout
    return [repository / name for name in names.split("\0") if name and (repository / name).is_file()]


@pytest.fixture(scope="module")
def wheel_names(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The files in a wheel built from a copy of the sources, with the installed setuptools."""
    copy = tmp_path_factory.mktemp("sources")
    for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(repository / name, copy)
    shutil.copytree(repository / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(copy / "dist"), str(copy)]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    (wheel,) = (copy / "dist").glob("*.whl")
    return zipfile.ZipFile(wheel).namelist()


def read_pins(path: Path) -> dict[str, Version]:
    """The versions a constraints file names."""
    lines = [line.split("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines()]
    pairs = [line.split("==") for line in lines if line]
    return {name.lower().replace("_", "-"): Version(version) for name, version in pairs}


def read_requirements(setup_cfg: configparser.ConfigParser) -> list[Requirement]:
    """Everything the package and its extras ask for."""
    extras = [line for value in setup_cfg["options.extras_require"].values() for line in value.splitlines()]
    lines = setup_cfg["options"]["install_requires"].splitlines() + extras
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


def test_version_is_the_installed_one_and_has_a_changelog_entry(
    repository: Path, setup_cfg: configparser.ConfigParser
) -> None:
    version = setup_cfg["metadata"]["version"]
    assert re.search(rf"^## {re.escape(version)}\b", (repository / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    try:
        installed = importlib.metadata.version("hier_nmt")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the package is on the path, but not installed")
    assert hier_nmt.__version__ == version == installed


def test_wheel_holds_every_module_the_type_marker_and_the_licence(repository: Path, wheel_names: list[str]) -> None:
    modules = {
        path.relative_to(repository / "src").as_posix() for path in (repository / "src" / "hier_nmt").rglob("*.py")
    }
    assert modules <= set(wheel_names)
    assert "hier_nmt/py.typed" in wheel_names
    assert any(name.endswith("/licenses/LICENSE") for name in wheel_names)


def test_wheel_holds_what_the_commands_bring_along(repository: Path, wheel_names: list[str]) -> None:
    recipes = [
        path.relative_to(repository / "training") for path in (repository / "training" / "recipes").rglob("*.yaml")
    ]
    assert recipes
    for name in (*map(Path.as_posix, recipes), "card_template.md", "sample_document.en.txt", "demo.en.txt"):
        assert f"hier_nmt/resources/{name}" in wheel_names
    for page in ("inspection/attention_page.html", "server/page.html"):
        assert f"hier_nmt/{page}" in wheel_names


def test_wheel_installs_nothing_beside_the_package(
    setup_cfg: configparser.ConfigParser, wheel_names: list[str]
) -> None:
    metadata = f"hier_nmt-{setup_cfg['metadata']['version']}.dist-info"
    assert {name.split("/")[0] for name in wheel_names} == {"hier_nmt", metadata}


@pytest.mark.parametrize("constraints", ["constraints.txt", "constraints-oldest.txt"])
def test_constraints_pin_every_requirement_inside_its_range(
    repository: Path, setup_cfg: configparser.ConfigParser, constraints: str
) -> None:
    pins = read_pins(repository / constraints)
    for requirement in read_requirements(setup_cfg):
        # PyTorch asks for one version of it, where it has CUDA.
        if requirement.name == "triton":
            continue
        assert requirement.specifier.contains(pins[requirement.name.lower().replace("_", "-")]), requirement


def test_oldest_constraints_pin_the_lowest_supported_transformers(
    repository: Path, setup_cfg: configparser.ConfigParser
) -> None:
    (requirement,) = (one for one in read_requirements(setup_cfg) if one.name == "transformers")
    (lowest,) = (one.version for one in requirement.specifier if one.operator == ">=")
    pin = read_pins(repository / "constraints-oldest.txt")["transformers"]
    assert pin.release[: len(Version(lowest).release)] == Version(lowest).release


def test_every_source_file_states_its_licence(repository: Path) -> None:
    for path in (repository / "src").rglob("*.py"):
        if path.stat().st_size == 0:
            continue
        head = path.read_text(encoding="utf-8").splitlines()[:2]
        assert head == ["# Copyright 2026 The hier_nmt Authors.", "# SPDX-License-Identifier: Apache-2.0"], path


def test_no_file_names_a_path_of_the_machine_it_was_written_on(tracked_files: list[Path], repository: Path) -> None:
    for path in tracked_files:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found = MACHINE_PATH.search(text)
        assert found is None, f"{path.relative_to(repository)}: {found and found.group()}"
        assert f"{repository}/" not in text, path


def test_sample_document_has_sixty_sentences_in_eight_paragraphs(repository: Path) -> None:
    text = (repository / "examples" / "sample_document.en.txt").read_text(encoding="utf-8")
    paragraphs = text.strip().split("\n\n")
    assert len(paragraphs) == 8
    assert sum(len(re.findall(r"[.?](?=\s|$)", paragraph)) for paragraph in paragraphs) == 60
