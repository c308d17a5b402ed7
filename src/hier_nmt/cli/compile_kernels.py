# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Compiles the C++ form of attention for this machine; from then on it is used.

hier-nmt compile

It takes about ten seconds and needs a C++ compiler (the environment variable CXX, by default g++). The library is
stored in the folder HIER_NMT_CACHE, by default ~/.cache/hier_nmt; HIER_NMT_COMPILED_ATTENTION=0 disables it.
"""

import argparse

from ..kernels.cpu.compiled import is_compiled, library_path, use_compiled_attention

INPUT_ERRORS = (RuntimeError, OSError)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of the command: none."""


def run(options: argparse.Namespace) -> None:
    """Compiles the library, unless it exists."""
    was_compiled = is_compiled()
    use_compiled_attention()
    print(f"{'compiled before' if was_compiled else 'compiled'}: {library_path()}")
