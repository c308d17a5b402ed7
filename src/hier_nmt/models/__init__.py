# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The networks, one folder a family, with what they share in `common`."""
