# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The same as `hier-nmt average`."""

import sys

from hier_nmt.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["average", *sys.argv[1:]]))
