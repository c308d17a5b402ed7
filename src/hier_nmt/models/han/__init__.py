# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The network that reads summaries of the document in addition to its tokens."""
