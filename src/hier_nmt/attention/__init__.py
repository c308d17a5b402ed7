# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Attention modules over the operations, sentence encoders and position encodings."""
