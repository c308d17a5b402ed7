# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The scripts of `training/`, run inside of a test's process."""

import importlib.util
from types import ModuleType


def script(repository, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, repository / "training" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(module: ModuleType, monkeypatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", [module.__name__, *map(str, arguments)])
    return module.main()
