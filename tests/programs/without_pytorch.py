# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs the command line as the command `hier-nmt` does, and says at its end which slow libraries were imported."""

import sys

arguments = sys.argv[1:]
sys.argv = ["hier-nmt", *arguments]

from hier_nmt.cli.main import main  # noqa: E402

status = main(arguments)
print("imported:", *(name for name in ("torch", "transformers") if name in sys.modules))
sys.exit(status)
