# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Configurations of the model families, and what of the installed Transformers everything above stands on."""
