# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Metrics for `evaluate.load`, each in a file that is loaded by path; see `discourse_metrics.metric_path`."""
