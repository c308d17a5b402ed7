# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Translation of documents with any encoder-decoder: windows, decoding, retries, report and the pipeline."""
