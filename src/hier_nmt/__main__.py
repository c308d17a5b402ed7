# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""`python -m hier_nmt` is the command line `hier-nmt`."""

import sys

from .cli.main import main

if __name__ == "__main__":
    sys.exit(main())
