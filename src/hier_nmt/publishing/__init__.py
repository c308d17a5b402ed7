# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Publishing: repositories on the Hub with code beside the weights, model cards, exports."""
