# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""The server of `hier-nmt serve`: the interfaces of LibreTranslate and DeepL, in front of one model."""
