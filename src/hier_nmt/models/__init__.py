# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The files that are uploaded to the Hub: flat, and closed over the standard library, torch and transformers."""
