# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Optional compiled code that computes the same as `hier_nmt.models`, faster."""
