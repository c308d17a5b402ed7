# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Compiles the C++ form of attention for this machine; from then on it is used.

hier-nmt compile

It takes about ten seconds and a C++ compiler (the environment variable CXX, else g++). The library is kept in the
folder that HIER_NMT_CACHE names, else in ~/.cache/hier_nmt; HIER_NMT_COMPILED_ATTENTION=0 leaves it unused.
"""

import argparse

from ..kernels.cpu.compiled import is_compiled, library_path, use_compiled_attention

INPUT_ERRORS = (RuntimeError, OSError)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of the command: none."""


def run(options: argparse.Namespace) -> None:
    """Compiles, unless that has been done."""
    was_compiled = is_compiled()
    use_compiled_attention()
    print(f"{'compiled before' if was_compiled else 'compiled'}: {library_path()}")
