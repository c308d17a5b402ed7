# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The command line, run inside of a test's process."""

from hier_nmt.cli.main import main


def run_command(command: str, *arguments: object) -> int:
    """Runs `hier-nmt COMMAND ARGUMENTS` and gives its exit status."""
    return main([*command.split(), *map(str, arguments)])
