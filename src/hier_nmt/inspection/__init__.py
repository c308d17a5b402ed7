# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a model reads: recorded attention and selections, figures and pages."""
