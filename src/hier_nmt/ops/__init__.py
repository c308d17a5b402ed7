# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""Functions of tensors that the models are built of, each documented with its shapes beside its plain reference."""
