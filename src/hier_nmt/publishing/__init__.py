# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Repositories on the Hub: code beside weights, cards, exports."""
