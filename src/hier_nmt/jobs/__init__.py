# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Translation of files and corpora: parts, resumption and outputs."""
