# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Text of documents: sentences and paragraphs, markup, untranslatable spans and windows."""
