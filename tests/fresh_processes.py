# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Programs in processes of their own, with the package and, in a virtual environment of its own, without it."""

import os
import site
import subprocess
import sys
import venv
from pathlib import Path

TESTS = Path(__file__).parent
# What this process has set for itself, and what would lead another one to the package or to the real Hub.
_REMOVED = ("PYTHONPATH", "HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "HF_EVALUATE_OFFLINE", "HF_TOKEN", "HF_ENDPOINT")


def python_without_package(folder: Path, *lacking: str) -> str:
    """The interpreter of a new virtual environment that has all that this one has, but for hier_nmt.

    The libraries are linked, not copied; `.pth` files are skipped, because an editable installation is one.

    Args:
        folder: of the environment.
        lacking: beginnings of the names of further libraries that are skipped.
    """
    venv.create(folder, symlinks=True, with_pip=False)
    (packages,) = folder.glob("lib/python*/site-packages")
    # Debian's Python names folders that a virtual environment does not have.
    for directory in filter(Path.is_dir, map(Path, site.getsitepackages())):
        for path in directory.iterdir():
            is_skipped = path.name.startswith(("hier_nmt", "__editable__", *lacking)) or path.suffix == ".pth"
            if not is_skipped and not (packages / path.name).exists():
                (packages / path.name).symlink_to(path)
    return str(folder / "bin" / "python")


def environment(home: Path, *, with_package: bool = True, **variables: str) -> dict[str, str]:
    """Environment variables of a fresh process: an own home for the caches of Hugging Face, and those given."""
    kept = {name: value for name, value in os.environ.items() if name not in _REMOVED}
    path = {"PYTHONPATH": os.pathsep.join([str(TESTS.parent / "src"), str(TESTS)])} if with_package else {}
    return {**kept, **path, "HF_HOME": str(home), **variables}


def run(command: list[str], variables: dict[str, str], directory: Path) -> subprocess.CompletedProcess[str]:
    """The finished process of a command; nothing can be typed into it."""
    return subprocess.run(
        command, cwd=directory, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )


def run_program(
    name: str, *arguments: str, variables: dict[str, str], directory: Path, python: str = sys.executable
) -> None:
    """Runs a program of `tests/programs`; AssertionError with what it wrote if it fails."""
    result = run([python, str(TESTS / "programs" / f"{name}.py"), *arguments], variables, directory)
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-6000:]
